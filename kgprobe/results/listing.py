"""List of all results on this machine."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from kgprobe.base.files import home
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.results.result import Listing, Result

INDEX = "index.html"


# Units of an age with their seconds, and of a size.
_AGES = (("day", 86_400), ("h", 3_600), ("min", 60))
_SIZES = ("kB", "MB", "GB", "TB")


def age_text(changed: datetime) -> str:
    """Return the time since then, in its largest unit.

    >>> from datetime import timedelta
    >>> [age_text(datetime.now().astimezone() - timedelta(hours=hours)) for hours in (0, 3, 30)]
    ['now', '3 h', '1 day']
    """
    seconds = (datetime.now().astimezone() - changed).total_seconds()
    for unit, length in _AGES:
        number = int(seconds // length)
        if number >= 1:
            return counted(number, unit) if unit == "day" else f"{number} {unit}"
    return "now"


def size_text(size: int) -> str:
    """Return a number of bytes in its largest unit.

    >>> size_text(12), size_text(1_234_567), size_text(87_000_000_000)
    ('0.0 kB', '1.2 MB', '87 GB')
    """
    place = min(max(len(str(size)) - 1, 3) // 3, len(_SIZES))
    number = size / 1_000**place
    return f"{number:.1f} {_SIZES[place - 1]}" if number < 10 else f"{number:,.0f} {_SIZES[place - 1]}"


@dataclass(frozen=True, slots=True)
class ListedResult(ResultRow):
    """A stored result.

    Attributes:
        kind: measurement, run, label table, judge, judged graph, data set, comparison, study, report.
        name: name for commands and :func:`kgprobe.open`.
        changed: time of the last change of its files; of a run without files, its start.
        bytes: size of its files, with those of its parts.
        model: short names of its models; empty if they are unknown.
        graph: sources of its graph; empty for a data set, or if they are unknown.
        headline: the result in a sentence; empty if it has none yet.
        folder: its folder, which a run of another machine does not have here.
        page: the page; None if it is not written.
        shows: command that shows it.
        rounds, asked: finished rounds and asked questions of a run; None if unknown, and for other kinds.
        parts: names of the measurements that belong to a label table or a study.
    """

    kind: Annotated[str, Heading("kind")]
    name: Annotated[str, Heading("name")]
    changed: Annotated[datetime, Heading("age", age_text)]
    bytes: Annotated[int, Heading("size", size_text)]
    model: Annotated[str, Heading("model")]
    graph: Annotated[str, Heading("graph")]
    headline: Annotated[str, Heading("headline")]
    folder: Path
    page: Path | None
    shows: str
    rounds: int | None = None
    asked: int | None = None
    parts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ResultList(Result):
    """All results on this machine, the most recent first."""

    results: Annotated[Sequence[ListedResult], Listing(lambda _: f"Results in {home()}")]

    def summary(self) -> str:
        """Return the number of results."""
        results = len(self.results)
        return f"{counted(results, 'result')} in {home()}" if results else f"{home()} has no results yet."

    def page(self) -> Path:
        """Write an index page with links to the results, and return its path.

        Raises:
            KgprobeError: it cannot be written.
        """
        from kgprobe.results.rendering.page import Section, write_page

        rows = []
        for result in self.results:
            link = None if result.page is None else Path(os.path.relpath(result.page, home())).as_posix()
            changed = f"{result.changed:%Y-%m-%d %H:%M}"
            rows.append({**result.cells(), "changed": changed, "link": link, "shows": result.shows})
        kinds = list(dict.fromkeys(result.kind for result in self.results))
        lead = f"{counted(len(rows), 'result')} on this machine, the latest first."
        index = Section("index", values={"rows": rows, "kinds": kinds})
        return write_page(home() / INDEX, "Results of kgprobe", [lead], [index], script="index.js")
