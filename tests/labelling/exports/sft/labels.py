"""A label table of the example graph, with made-up classes that depend on the ids of the facts."""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from kgprobe.graph.client import Graph
from kgprobe.graph.subgraphs import facts_of
from kgprobe.labelling.table import SLICK, LabelledFact, LabelTable, write_label_table

AS_OF = 20251231
CONFIG = {"model": "demo", "ways": ["distractors"], "as_of": AS_OF}
# Belief and probability by class; the beliefs of two classes are equal.
_BELIEFS = {
    "highly known": ("surely known", 0.95),
    "maybe known": ("leans known", 0.7),
    "weakly known": ("leans unknown", 0.3),
    "unknown": ("surely unknown", 0.05),
}


def write_example_labels(graph: Graph, folder: Path) -> LabelTable:
    """Write a label table of a third of the current facts of the example graph."""
    return write_label_table(folder, CONFIG, (row for row in rows_of(graph) if _number_of(row.fact) % 3 == 0))


def rows_of(graph: Graph) -> Iterator[LabelledFact]:
    """Yield a row for each current fact."""
    for row in facts_of(graph, as_of="2025-12-31").to_frame().sort_values("fact").to_dict("records"):
        class_ = SLICK[_number_of(row["fact"]) // 3 % 4]
        belief, known = _BELIEFS[class_]
        yield LabelledFact(
            *(row["fact"], row["subject"], row["subject_label"], row["relation"], row["relation_label"]),
            *(row["object"], row["object_label"], "asked", known, known, known, belief, class_, None),
            {"distractors": (1, 1)},
        )


def _number_of(fact: str) -> int:
    return int.from_bytes(blake2b(fact.encode(), digest_size=2).digest(), "big")
