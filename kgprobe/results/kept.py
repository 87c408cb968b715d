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
    """A stored result.

    Attributes:
        kind: run, measurement, comparison, study, judged graph, judge, report.
        name: name for commands; the folder's if it has no other.
        headline: the result in a sentence; empty if that is not written yet.
        changed: time of the last change of its files.
        page: the page; None if it is not written.
        writes_page: command that writes one; empty if it takes more than a name.
    """

    kind: str
    name: str
    headline: str
    changed: datetime
    folder: Path
    page: Path | None
    writes_page: str


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class KeptResults(Result):
    """All results on this machine, the most recent first.

    Attributes:
        results: the results.
    """

    results: Sequence[Kept]

    columns: ClassVar[Sequence[str]] = ("kind", "name", "headline", "changed", "folder", "page")

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each result."""
        return [
            {
                "kind": result.kind,
                "name": result.name,
                "headline": result.headline,
                "changed": result.changed.isoformat(timespec="seconds"),
                "folder": str(result.folder),
                "page": None if result.page is None else str(result.page),
            }
            for result in self.results
        ]

    def tables(self) -> list[Table]:
        """Return kind, name, time and headline of each result."""
        rows = [
            {
                "kind": result.kind,
                "name": result.name,
                "changed": f"{result.changed:%Y-%m-%d %H:%M}",
                "headline": result.headline,
            }
            for result in self.results
        ]
        return [Table("kept", f"Results in {home()}", rows)] if rows else []

    def summary(self) -> str:
        """Return the number of results."""
        return f"{len(self.results):,} results in {home()}" if self.results else f"{home()} has no results yet."

    def page(self) -> Path:
        """Write an index page with links to the results, and return its path.

        Raises:
            KgprobeError: it cannot be written.
        """
        from kgprobe.report.index_page import IndexRow, write_index_page

        rows = [
            IndexRow(
                result.kind,
                result.name,
                result.headline,
                f"{result.changed:%Y-%m-%d %H:%M}",
                None if result.page is None else result.page.relative_to(home()).as_posix(),
                result.writes_page,
            )
            for result in self.results
        ]
        return write_index_page(home() / INDEX, rows)
