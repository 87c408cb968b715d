"""Multiple-choice data sets of a graph's facts, by the rules of T-REx-MC.

Section 4 and appendix A.2 of the latent-knowledge paper; docs/methods/data-sets.md. :mod:`.building` draws choices
from a graph, :mod:`.folder` writes and reads them, with the sentences of the relations, :mod:`.card` writes the data
card. :mod:`.importing` reads published files. :mod:`.asking` asks a model, :mod:`.harness` exports the same prompts to
lm-evaluation-harness.
"""

from dataclasses import dataclass

from kgprobe.base.options import option

# File formats of rows.
FORMATS = ("parquet", "jsonl")
# Probes that ask the facts of a data set.
DATASET_PROBES = ("examples", "generation")


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    """Options of a data set; the defaults are those of T-REx-MC."""

    min_facts: int = option(500, "Minimum number of askable facts per relation.", minimum=1, common=True)
    min_objects: int = option(100, "Minimum number of distinct objects per relation.", minimum=2, common=True)
    train: int = option(100, "Facts per relation in the training split (few-shot examples).", minimum=1, common=True)
    test: int = option(400, "Facts per relation in the test split.", minimum=1, common=True)
    alternatives: int = option(
        99, "Number of distractors per fact: other objects of the relation.", minimum=1, common=True
    )
    format: str = option("parquet", "File format; jsonl is JSON Lines.", choices=FORMATS, common=True)
    name: str | None = option(
        None, "Name of the data set on its card.", metavar="NAME", shown_default="the folder's name"
    )
    licence: str | None = option(
        None,
        "Licence on the card, by its id on the Hugging Face Hub, such as cc0-1.0.",
        metavar="ID",
        shown_default="no licence",
    )
