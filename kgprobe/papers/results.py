"""The papers, their tables and figures, and published numbers next to stored results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kgprobe.base.tables import Heading, ResultRow
from kgprobe.papers.tables import Paper, PaperEntry
from kgprobe.results.result import Listing, Result


@dataclass(frozen=True, slots=True)
class PaperCounts(ResultRow):
    """A paper with the number of its tables and figures.

    Attributes:
        tables: tables and figures.
        results: those that an experiment makes.
        runs, partly, no: states of those that an experiment makes.
    """

    name: Annotated[str, Heading("paper")]
    title: str
    published: str
    tables: Annotated[int, Heading("tables")]
    results: Annotated[int, Heading("with results")]
    runs: Annotated[int, Heading("runs")]
    partly: Annotated[int, Heading("partly")]
    no: Annotated[int, Heading("no")]
    numbers: Annotated[int, Heading("numbers")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PaperList(Result):
    """The papers."""

    papers: Annotated[Sequence[PaperCounts], Listing("Papers")]

    def summary(self) -> str:
        """Return the titles, the number of tables and figures, and of those with a command."""
        titles = [f"{paper.name}: {paper.title} ({paper.published})." for paper in self.papers]
        tables = sum(paper.tables for paper in self.papers)
        results = sum(paper.results for paper in self.papers)
        run = sum(paper.runs + paper.partly for paper in self.papers)
        counts = (
            f"{tables} tables and figures, {results} of them with results; commands repeat {run}, whole or in part."
        )
        return "\n".join([*titles, counts])


@dataclass(frozen=True, slots=True)
class PaperTableRow(ResultRow):
    """A table or figure of a paper; see :class:`~kgprobe.papers.tables.PaperEntry`.

    Attributes:
        command: command at the demo's size, for the demo model; empty if there is none.
    """

    table: Annotated[str, Heading("table")]
    title: Annotated[str, Heading("content")]
    kind: Annotated[str, Heading("kind")]
    section: str
    state: Annotated[str, Heading("state")]
    missing: Annotated[str, Heading("missing")]
    command: Annotated[str, Heading("command")]
    full: str
    needs: Annotated[str, Heading("needs")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PaperContents(Result):
    """The tables and figures of a paper.

    Attributes:
        entries: its tables, then its figures.
    """

    paper: Paper
    entries: Annotated[Sequence[PaperTableRow], Listing("{paper.title}")]

    def summary(self) -> str:
        """Return the paper, and the number of tables and figures by state."""
        states = [entry.state for entry in self.entries if entry.state]
        counts = [f"{states.count(state)} {state}" for state in ("runs", "partly", "no") if state in states]
        title = f"{self.paper.title} ({self.paper.published})"
        return f"{title}: {len(self.entries)} tables and figures; commands: {', '.join(counts)}."


@dataclass(frozen=True, slots=True)
class OwnNumber(ResultRow):
    """A number of a stored result at its place in a published table.

    Attributes:
        row, column: place; one that the published table lacks is added to it.
        source: model, and name of the stored result.
    """

    row: str
    column: str
    value: float
    source: str


@dataclass(frozen=True, slots=True)
class OwnResult(ResultRow):
    """A stored result of the command that repeats a table.

    Attributes:
        name: name of the result or of its folder.
        headline: model, graph and result in a sentence.
    """

    kind: Annotated[str, Heading("kind")]
    name: Annotated[str, Heading("name")]
    headline: Annotated[str, Heading("result")]
    folder: str


@dataclass(frozen=True, slots=True)
class PaperNumber(ResultRow):
    """A published number; see :class:`~kgprobe.papers.tables.PublishedNumber`.

    Attributes:
        number: the value as a number; None for an interval, a name or a trend.
    """

    row: str
    column: str
    value: str
    number: float | None
    unit: str
    note: str


_PUBLISHED = "{entry.table}, {paper.published}: {entry.title}"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PaperTable(Result):
    """A table or figure of a paper: the published numbers, and stored results of its command.

    Attributes:
        command: command that repeats it at the demo's size, with its models; empty if there is none.
        own: numbers of stored results, at their places in the table.
        results: stored results of the command, the latest first.
    """

    paper: Paper
    entry: PaperEntry
    command: str
    numbers: Annotated[Sequence[PaperNumber], Listing()]
    own: Annotated[Sequence[OwnNumber], Listing()]
    results: Annotated[Sequence[OwnResult], Listing("Stored results of its command")]

    @property
    def published(self) -> Annotated[Sequence[Mapping[str, Any]], Listing(_PUBLISHED, "{remarks}")]:
        """The published table with own numbers in columns of their own."""
        cells: dict[str, dict[str, Any]] = {}
        columns: dict[str, None] = {}
        for number in self.numbers:
            if number.value:
                heading = f"{number.column} ({number.unit})" if number.unit else number.column
                columns.setdefault(heading)
                cells.setdefault(number.row, {})[heading] = number.value
        for mine in self.own:
            heading = f"{mine.column}: {mine.source}"
            columns.setdefault(heading)
            cells.setdefault(mine.row, {})[heading] = mine.value
        rows = []
        for row, values in cells.items():
            rows.append({"": row, **dict(zip(columns, map(values.get, columns), strict=True))})
        return rows

    @property
    def remarks(self) -> str:
        """The notes of numbers, each once with its rows."""
        rows: dict[str, list[str]] = {}
        for number in self.numbers:
            if number.note and number.value and number.row not in rows.setdefault(number.note, []):
                rows[number.note].append(number.row)
        every = len({number.row for number in self.numbers if number.value})
        return " ".join(f"{note}." if len(of) == every else f"{', '.join(of)}: {note}." for note, of in rows.items())

    def summary(self) -> str:
        """Return the statements of the text about a figure, and the state of the command."""
        lines = [f"{self.entry.table}: {self.entry.title}."] if not self.published else []
        lines += [f"{_sentence(number.row)}: {number.note}." for number in self.numbers if not number.value]
        if self.entry.state:
            state = {"runs": "The command repeats it.", "partly": "Partly", "no": "Not possible"}[self.entry.state]
            lines.append(f"{state}: {self.entry.missing}." if self.entry.missing else state)
        return "\n".join(lines)


def _sentence(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
