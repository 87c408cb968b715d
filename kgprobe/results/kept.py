"""List of all results on this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from kgprobe.files import home
from kgprobe.results.result import Result
from kgprobe.sanitize import counted
from kgprobe.tables import Heading, ResultRow, Table, row_table

INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class Kept(ResultRow):
    """A stored result.

    Attributes:
        kind: run, measurement, comparison, study, judged graph, judge, report.
        name: name for commands; the folder's if it has no other.
        changed: time of the last change of its files.
        headline: the result in a sentence; empty if that is not written yet.
        page: the page; None if it is not written.
        writes_page: command that writes one; empty if it takes more than a name.
    """

    kind: Annotated[str, Heading("kind")]
    name: Annotated[str, Heading("name")]
    changed: Annotated[datetime, Heading("changed", lambda changed: f"{changed:%Y-%m-%d %H:%M}")]
    headline: Annotated[str, Heading("headline")]
    folder: Path
    page: Path | None
    writes_page: str

    def to_dict(self) -> dict[str, Any]:
        """Return the values by column; JSON-compatible."""
        page = None if self.page is None else str(self.page)
        changed = self.changed.isoformat(timespec="seconds")
        return {**ResultRow.to_dict(self), "changed": changed, "folder": str(self.folder), "page": page}


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class KeptResults(Result):
    """All results on this machine, the most recent first.

    Attributes:
        results: the results.
    """

    results: Sequence[Kept]

    row = Kept

    def records(self) -> Sequence[Kept]:
        """Return the results."""
        return self.results

    def tables(self) -> list[Table]:
        """Return kind, name, time and headline of each result."""
        return [row_table("kept", f"Results in {home()}", self.results)] if self.results else []

    def summary(self) -> str:
        """Return the number of results."""
        return f"{len(self.results):,} results in {home()}" if self.results else f"{home()} has no results yet."

    def page(self) -> Path:
        """Write an index page with links to the results, and return its path.

        Raises:
            KgprobeError: it cannot be written.
        """
        from kgprobe.report.page import Section, write_page

        rows = []
        for result in self.results:
            link = None if result.page is None else result.page.relative_to(home()).as_posix()
            rows.append({**result.cells(), "link": link, "writes_page": result.writes_page})
        kinds = list(dict.fromkeys(result.kind for result in self.results))
        lead = f"{counted(len(rows), 'result')} on this machine, the latest first."
        index = Section("index", values={"rows": rows, "kinds": kinds})
        return write_page(home() / INDEX, "Results of kgprobe", [lead], [index], script="index.js")
