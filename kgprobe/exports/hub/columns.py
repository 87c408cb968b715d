"""Columns of a published label table, with their descriptions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from kgprobe.labelling.table import BASES, FACTS, SCHEMES, LabelTable

_DESCRIPTIONS = {
    "fact": "id of the fact in the graph",
    "subject": "id of the subject",
    "subject_name": "label of the subject",
    "relation": "id of the relation",
    "relation_name": "label of the relation",
    "object": "id of the object",
    "object_name": "label of the object",
    "basis": f"origin of the labels: {' or '.join(BASES)} (without an answer to this fact)",
    "known": "probability that the model knows the fact, in [0, 1]",
    "known_low": "lower end of its 90% interval",
    "known_high": "upper end of its 90% interval",
    "belief": f"belief in words: {', '.join(SCHEMES['belief'])}",
    "slick": f"class by SliCK: {', '.join(SCHEMES['slick'])}; null if the answers do not decide",
    "profile": f"profile of the fact: {', '.join(SCHEMES['profile'])}; null if the answers do not decide",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        type: ``text``, ``number`` or ``count``.
    """

    name: str
    type: str
    description: str


def columns_of(table: LabelTable) -> list[Column]:
    """Return the columns of a label table, in order."""
    columns = []
    for column in pq.read_schema(table.folder / FACTS):
        type_ = "count" if pa.types.is_integer(column.type) else "number"
        if pa.types.is_string(column.type):
            type_ = "text"
        columns.append(Column(column.name, type_, _DESCRIPTIONS.get(column.name) or _described_way(column.name)))
    return columns


def _described_way(name: str) -> str:
    """Return the description of a column of answers, such as ``questions_right``."""
    way, _, kind = name.rpartition("_")
    return f"number of {'right ' if kind == 'right' else ''}answers, by the way of asking {way}"


def class_counts(table: LabelTable) -> Mapping[str, Counter[str]]:
    """Return the number of facts of each class, by scheme, without empty schemes. Cost: a pass over the file."""
    counts: dict[str, Counter[str]] = {scheme: Counter() for scheme in SCHEMES}
    with pq.ParquetFile(table.folder / FACTS) as file:
        for batch in file.iter_batches(columns=list(SCHEMES)):
            for scheme, counter in counts.items():
                for entry in batch.column(scheme).value_counts().to_pylist():
                    if entry["values"] is not None:
                        counter[entry["values"]] += entry["counts"]
    return {scheme: counter for scheme, counter in counts.items() if counter}


def in_order(scheme: str, counts: Mapping[str, int]) -> Sequence[tuple[str, int]]:
    """Return the classes of a scheme with their numbers of facts, in the scheme's order."""
    return [(name, counts[name]) for name in SCHEMES[scheme] if counts.get(name)]
