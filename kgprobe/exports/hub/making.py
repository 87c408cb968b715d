"""The folder of a published label table."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from kgprobe.errors import ArgumentError
from kgprobe.exports.hub import HubOptions
from kgprobe.exports.hub.card import card_of, description_of
from kgprobe.exports.hub.columns import class_counts, columns_of, in_order
from kgprobe.exports.hub.croissant import croissant_of
from kgprobe.files import appearing, make_folder, sha256_of
from kgprobe.labelling.table import FACTS, LabelTable
from kgprobe.results.result import Result
from kgprobe.sanitize import counted
from kgprobe.tables import Heading, ResultRow, Table, row_table

_DATA, _CARD, _CROISSANT = "data/train.parquet", "README.md", "croissant.json"


@dataclass(frozen=True, slots=True)
class ClassCount(ResultRow):
    """Number of facts of a class."""

    scheme: Annotated[str, Heading("column")]
    class_: Annotated[str, Heading("class")]
    facts: Annotated[int, Heading("facts")]


@dataclass(frozen=True, slots=True, repr=False)
class PublishedTable(Result):
    """A folder with a label table for the Hugging Face hub; one row for each class.

    Attributes:
        folder: its folder.
        facts: number of facts.
        counts: number of facts by scheme and class.
    """

    folder: Path
    facts: int
    counts: Mapping[str, Mapping[str, int]]

    row = ClassCount

    def records(self) -> list[ClassCount]:
        """Return the number of facts of each class."""
        rows = []
        for scheme, counts in self.counts.items():
            rows += [ClassCount(scheme, name, count) for name, count in in_order(scheme, counts)]
        return rows

    def tables(self) -> list[Table]:
        """Return the numbers as a table."""
        return [row_table("classes", "", self.records())]

    def summary(self) -> str:
        """Return the number of facts, and the folder."""
        return f"{counted(self.facts, 'fact')} in {self.folder}. Read {_CARD} before you publish it."

    def to_dict(self) -> dict[str, Any]:
        """Return the folder and the numbers of facts."""
        return {"folder": str(self.folder), "facts": self.facts, "classes": self.rows()}


def publish_table(table: LabelTable, folder: Path, options: HubOptions) -> PublishedTable:
    """Write the folder of a label table; see :func:`kgprobe.export_hub`."""
    if folder.exists():
        raise ArgumentError("folder", f"is {folder}, which exists. Name another, or delete it.")
    name, columns, counts = options.name or table.name, columns_of(table), class_counts(table)
    make_folder(folder.parent)
    with appearing(folder) as unfinished:
        (unfinished / "data").mkdir()
        shutil.copyfile(table.folder / FACTS, unfinished / _DATA)
        digest = sha256_of(unfinished / _DATA)
        metadata = croissant_of(name, description_of(table), options.licence, _DATA, digest, columns)
        (unfinished / _CROISSANT).write_bytes(f"{json.dumps(metadata, indent=2, ensure_ascii=False)}\n".encode())
        (unfinished / _CARD).write_bytes(card_of(table, name, options.licence, _DATA, columns, counts).encode())
    return PublishedTable(folder, len(table), counts)
