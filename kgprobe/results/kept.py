"""List of all results on this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from kgprobe.files import home
from kgprobe.results.result import Result
from kgprobe.tables import Table

INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class Kept:
    """A result as it lies on disk.

    Attributes:
        kind: what it is: run, measurement, comparison, study, judged graph, judge, report.
        name: as commands take it, the folder's where it has no other.
        told: what it says, in a sentence; empty where that is not written yet.
        changed: when its files were last written.
        page: None where none is written.
        writes_page: the command that writes one; empty where it takes more than a name.
    """

    kind: str
    name: str
    told: str
    changed: datetime
    folder: Path
    page: Path | None
    writes_page: str


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class KeptResults(Result):
    """All results of this machine, those that were written last first.

    Attributes:
        results: each of them.
    """

    results: Sequence[Kept]

    columns: ClassVar[Sequence[str]] = ("kind", "name", "told", "changed", "folder", "page")

    def rows(self) -> list[dict[str, Any]]:
        """One a result."""
        return [
            {
                "kind": one.kind,
                "name": one.name,
                "told": one.told,
                "changed": one.changed.isoformat(timespec="seconds"),
                "folder": str(one.folder),
                "page": None if one.page is None else str(one.page),
            }
            for one in self.results
        ]

    def tables(self) -> list[Table]:
        """Kind, name, when, and what it says."""
        rows = [
            {"kind": one.kind, "name": one.name, "changed": f"{one.changed:%Y-%m-%d %H:%M}", "says": one.told}
            for one in self.results
        ]
        return [Table("kept", f"Results in {home()}", rows)] if rows else []

    def summary(self) -> str:
        """How many there are."""
        return f"{len(self.results):,} results in {home()}" if self.results else f"There is no result in {home()} yet."

    def page(self) -> Path:
        """Write an index with links into kgprobe's own folder, and give its path.

        Raises:
            KgprobeError: it cannot be written.
        """
        from kgprobe.report.index_page import IndexRow, write_index_page

        rows = [
            IndexRow(
                one.kind,
                one.name,
                one.told,
                f"{one.changed:%Y-%m-%d %H:%M}",
                None if one.page is None else one.page.relative_to(home()).as_posix(),
                one.writes_page,
            )
            for one in self.results
        ]
        return write_index_page(home() / INDEX, rows)
