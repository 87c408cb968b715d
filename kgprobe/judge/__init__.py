"""The judge: a classifier on hidden states that predicts a model's answers to statements without asking it.

*Evaluating the Factuality of Large Language Models using Large-Scale Knowledge Graphs*; docs/methods/judge.md. Labels
of some thousand statements are the model's own answers (:mod:`.labels`). Judges of every layer are trained on them
and compared on statements of other entities and relations (:mod:`.training`). The best one predicts for the whole
graph.
"""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.models.on_ray import RayOptions

# Kinds of classifiers, or the linear probe or network with the lower log loss in cross-validation.
CLASSIFIERS = ("best", "linear", "network", "published")
# Number of the last layer, whatever the model.
LAST_LAYER = -1
# Units of means.
FACTS, RELATIONS = "facts", "relations"
# Treatment of statements without a label.
UNLABELLED = ("skip", "unknown")


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Options of training a judge; the network's defaults are the paper's (section 4).

    The paper gives no width; 256 is our choice. The published code has another network, the classifier ``published``.
    """

    classifier: str = option(
        "best",
        "Classifier: a linear probe, the paper's network, or the better one; or the network of the published code,"
        " which knows the truth of statements.",
        choices=CLASSIFIERS,
        common=True,
    )
    unlabelled: str = option(
        "skip",
        "Statements whose answers disagree or are unreadable: leave them out, or label them as unknown.",
        choices=UNLABELLED,
    )
    units: int = option(256, "Units of the network's hidden layer.", minimum=1)
    epochs: int = option(100, "Epochs.", minimum=1)
    learning_rate: float = option(1e-4, "Learning rate (Adam).", minimum=0.0)
    batch_size: int = option(8, "Batch size.", minimum=1)
    layers: tuple[int, ...] = option(
        (),
        "Read this layer, -1 for the last; repeatable.",
        metavar="N",
        shown_default="all",
        minimum=LAST_LAYER,
        common=True,
    )
    test_size: float = option(
        0.3, "Share of the facts held out for testing.", above=0, below=1, is_share=True, common=True
    )
    holdout: float = option(
        0.2,
        "Held-out share of the training statements, by relation and then by entity, to compare layers.",
        above=0,
        below=1,
        is_share=True,
    )
    words: str = option(
        "True/False/Unknown", "Words of the baseline, whose probabilities the judge is compared with.", metavar="T/F/U"
    )
    prompt_encoder: bool = option(
        False, "Learn virtual tokens that replace the instruction, and read states after them.", common=True
    )
    virtual_tokens: int = option(20, "Number of virtual tokens.", minimum=1)
    encoder_units: int = option(4096, "Units of the prompt encoder's hidden layers.", minimum=1)
    encoder_epochs: int = option(5, "Epochs of the prompt encoder.", minimum=1)
    encoder_learning_rate: float = option(2e-5, "Learning rate of the prompt encoder (AdamW).", minimum=0.0)
    encoder_batch_size: int = option(8, "Batch size of the prompt encoder.", minimum=1)


@dataclass(frozen=True, slots=True)
class JudgedGraphOptions(RayOptions):
    """Options of judging a whole graph."""

    negatives: int = option(1, "Negatives per fact: false statements made from the fact.", minimum=1, common=True)
    replace: str | None = option(
        None,
        "Part that is replaced in a negative; any draws it for each negative.",
        choices=("subject", "relation", "object", "any"),
        shown_default="as in the labels",
    )
    any_type: bool = option(
        False,
        "Replace by any entity or relation, regardless of types.",
    )
    all_relations: bool = option(
        False, "Predict for facts of all relations, not only for those of the labels.", common=True
    )
    shard: str | None = option(
        None,
        "Predict for one share of the graph, such as 1/4; run the other shares in other processes, in the same folder.",
        metavar="I/N",
        common=True,
    )
    compare_speed: int = option(
        0,
        "Then time the judge and the labelled model's answers in words on this many of the statements.",
        minimum=0,
    )


@dataclass(frozen=True, slots=True)
class FigureOptions:
    """Options of the figures of a judged graph, by type."""

    types_of: str | None = option(
        None,
        "Use the types of this vocabulary only: those whose ids begin with it and a colon, such as schema.",
        metavar="PREFIX",
        shown_default="all types",
    )
    mean_over: str = option(
        FACTS,
        "Groups by the relations' types are means over their facts, or over their relations, as in the paper on large"
        " graphs.",
        choices=(FACTS, RELATIONS),
    )


ALL_TYPES = FigureOptions()
