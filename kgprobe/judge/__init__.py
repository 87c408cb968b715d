"""The judge: a classifier over hidden states that tells what a model would answer to statements it was never asked.

*Evaluating the Factuality of Large Language Models using Large-Scale Knowledge Graphs*; docs/methods/judge.md. Labels
of some thousand statements come from the model's own answers (:mod:`.labels`); judges of every layer are trained on
them and compared on statements of other entities and relations (:mod:`.training`); the best one answers for the whole
graph.
"""

from dataclasses import dataclass

from kgprobe.options import option
from kgprobe.sampling.statement_negatives import REPLACED


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """How the network is made; the defaults are the paper's (section 4) but for the width, of which it says nothing."""

    units: int = option(256, "Units of the network's inner layer.", minimum=1)
    epochs: int = option(100, "How often the network sees each statement.", minimum=1)
    learning_rate: float = option(1e-4, "Learning rate of the network (Adam).", minimum=0.0)
    batch_size: int = option(8, "Batch size of its training, in statements.", minimum=1)


@dataclass(frozen=True, slots=True)
class JudgeOptions(NetworkOptions):
    """How a judge is made of labels."""

    layers: tuple[int, ...] = option(
        (), "Read this layer; repeatable.", metavar="N", shown_default="every one", minimum=0
    )
    test_size: float = option(
        0.3,
        "Share of the facts for testing: no judge learns from them.",
        minimum=0.0,
        maximum=1.0,
    )
    holdout: float = option(
        0.2,
        "Held-out share of the training statements, by relation and then by entity, on which layers are compared.",
        minimum=0.0,
        maximum=1.0,
    )
    words: str = option(
        "True/False/Unknown", "The words whose probabilities the judge is compared with.", metavar="T/F/U"
    )
    prompt_encoder: bool = option(
        False, "Learn virtual tokens that stand in place of the instruction, and read states behind these."
    )
    virtual_tokens: int = option(20, "Virtual tokens.", minimum=1)
    encoder_units: int = option(4096, "Units of the layers that virtual tokens come from.", minimum=1)
    encoder_epochs: int = option(5, "How often virtual tokens see each statement.", minimum=1)
    encoder_learning_rate: float = option(2e-5, "Learning rate of the virtual tokens (AdamW).", minimum=0.0)
    encoder_batch_size: int = option(8, "Batch size of their training, in statements.", minimum=1)


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """How a judge goes through a graph."""

    negatives: int = option(1, "False statements beside each fact's own, made of the fact.", minimum=1)
    replace: str | None = option(
        None,
        "What is replaced in a negative; any draws it anew for each.",
        choices=REPLACED,
        shown_default="as for the labels",
    )
    any_type: bool = option(
        False,
        "Replace by any entity or relation, not only by an entity that shares a type, or a relation between such.",
    )
    all_relations: bool = option(False, "Judge facts of all relations, not only of those that the labels are of.")
    shard: str | None = option(
        None,
        "Make a share of the graph only, such as 1/4: each process or machine another one, in the same folder.",
        metavar="I/N",
    )
    ray: int | None = option(
        None,
        "Judge with so many workers of the Ray cluster that RAY_ADDRESS names, or of one on this machine.",
        metavar="N",
        minimum=1,
    )
