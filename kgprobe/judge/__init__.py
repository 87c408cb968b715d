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
    rate: float = option(1e-4, "How far a step of its training goes (Adam).", minimum=0.0)
    batch: int = option(8, "Statements that such a step is about.", minimum=1)


@dataclass(frozen=True, slots=True)
class JudgeOptions(NetworkOptions):
    """How a judge is made of labels."""

    layers: tuple[int, ...] = option(
        (), "Read this layer; repeatable.", metavar="N", shown_default="every one", minimum=0
    )
    aside: float = option(
        0.3,
        "The share of the facts that no judge learns from: they tell how good it is.",
        minimum=0.0,
        maximum=1.0,
    )
    apart: float = option(
        0.2,
        "The share of the rest whose relations, and of what is left whose entities, tell how layers compare.",
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
    encoder_rate: float = option(2e-5, "How far a step of their learning goes (AdamW).", minimum=0.0)
    encoder_batch: int = option(8, "Statements that such a step is about.", minimum=1)


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
