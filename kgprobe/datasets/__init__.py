"""Multiple-choice data sets of a graph's facts, by the rules of T-REx-MC: made, read, asked, handed on.

Section 4 and appendix A.2 of the latent-knowledge paper; docs/methods/data-sets.md. :mod:`.rows` is one fact with its
choices, :mod:`.building` draws them from a graph, :mod:`.folder` writes and reads them, :mod:`.card` describes them
to people and to ``datasets``; :mod:`.asking` asks a model, :mod:`.harness` hands the same prompts to
lm-evaluation-harness.
"""

from dataclasses import dataclass

from kgprobe.options import option

# How rows are kept.
FORMATS = ("parquet", "jsonl")


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    """Which relations and how many facts make up a data set, and how it is kept; the defaults are T-REx-MC's."""

    min_facts: int = option(500, "Relations with fewer facts that can be asked are left out.", minimum=1)
    min_objects: int = option(100, "Relations with fewer distinct objects are left out.", minimum=2)
    train: int = option(100, "Facts of each relation to take examples from.", minimum=1)
    test: int = option(400, "Facts of each relation to ask.", minimum=1)
    alternatives: int = option(99, "Other objects of the relation beside the right one of each fact.", minimum=1)
    format: str = option("parquet", "How rows are kept; jsonl is JSON lines.", choices=FORMATS)
    name: str | None = option(
        None, "What the card calls the data set.", metavar="NAME", shown_default="the folder's name"
    )
    licence: str | None = option(
        None,
        "The licence that the card names, by its id on the hub, such as cc0-1.0.",
        metavar="ID",
        shown_default="none is named",
    )
