"""The papers, their tables and figures, and published numbers next to those of stored results."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import read_json
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.papers.tables import (
    PAPERS,
    Paper,
    PaperEntry,
    PublishedNumber,
    all_numbers,
    filled,
    numbers_of,
    paper_named,
    table_named,
    tables_of,
)
from kgprobe.results.listing import ListedResult
from kgprobe.results.result import Listing, Result
from kgprobe.results.shelf import list_stored

_FILES = {
    "study": "study.json",
    "run": "results.json",
    "measurement": "results.json",
    "comparison": "comparison.json",
}
# Most stored results in one table.
_SHOWN = 3


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


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored result, with the content of its file for programs.

    Attributes:
        content: of ``results.json``, ``study.json`` or ``comparison.json``; empty for other kinds.
    """

    kept: ListedResult
    content: Mapping[str, Any]

    @property
    def model(self) -> str:
        """Name of the model; empty if the file does not have it."""
        return str(self.content.get("model", ""))

    @property
    def source(self) -> str:
        """Model and name of the result."""
        return f"{self.model}, {self.kept.name}" if self.model else self.kept.name


_Reader: TypeAlias = Callable[[Stored], Iterator[OwnNumber]]


def list_papers() -> PaperList:
    """Return the papers with the numbers of their tables and figures."""
    return PaperList(papers=list(map(_counts, PAPERS)))


def _counts(name: str) -> PaperCounts:
    described, entries = PAPERS[name], tables_of(name)
    states = Counter(entry.state for entry in entries if entry.has_results)
    numbers = sum(number.paper == name and number.value != "" for number in all_numbers())
    return PaperCounts(
        name,
        described.title,
        described.published,
        tables=len(entries),
        results=sum(states.values()),
        runs=states["runs"],
        partly=states["partly"],
        no=states["no"],
        numbers=numbers,
    )


def paper_contents(name: str, model: str, other_model: str) -> PaperContents:
    """Return the tables and figures of a paper, with commands for these models."""
    entries = []
    for entry in tables_of(name):
        values = {column: getattr(entry, column) for column in PaperTableRow.columns()}
        entries.append(PaperTableRow(**values | {"command": filled(entry.command, model, other_model)}))
    return PaperContents(paper=paper_named(name), entries=entries)


def paper_table(name: str, table: str, model: str, other_model: str) -> PaperTable:
    """Return a table with its published numbers, and those of stored results."""
    entry = table_named(name, table)
    stored = _stored_for(entry)
    read = _READERS.get((entry.paper, entry.table))
    numbers: list[OwnNumber] = []
    results = []
    for each in stored[:_SHOWN]:
        # Most figures have no numbers.
        numbers += read(each) if read is not None else ()
        headline = f"{each.model}: {each.kept.headline}" if each.model else each.kept.headline
        results.append(OwnResult(each.kept.kind, each.kept.name, headline, str(each.kept.folder)))
    return PaperTable(
        paper=paper_named(name),
        entry=entry,
        command=filled(entry.command, model, other_model),
        numbers=list(map(_number, numbers_of(entry))),
        own=numbers,
        results=results,
    )


def _number(published: PublishedNumber) -> PaperNumber:
    try:
        number = float(published.value)
    except ValueError:
        number = None
    return PaperNumber(published.row, published.column, published.value, number, published.unit, published.note)


def _stored_for(entry: PaperEntry) -> list[Stored]:
    """Return the stored results of an entry's commands, small or at full size, the latest first."""
    if not entry.command:
        return []
    steps = [step.split() for command in (entry.command, entry.full) for step in command.split(" && ")]
    fitting = []
    for kept in list_stored().results:
        stored = Stored(kept, _content(kept))
        if any(_fits(stored, words) for words in steps):
            fitting.append(stored)
    return fitting


def _content(kept: ListedResult) -> dict[str, Any]:
    file = _FILES.get(kept.kind)
    if file is None or not (kept.folder / file).exists():
        return {}
    try:
        return read_json(kept.folder / file, dict[str, Any], "Delete it; the next page writes it again.")
    except (KgprobeError, OSError, msgspec.DecodeError):
        # Listed without numbers; `kgprobe results` reports the file.
        return {}


def _fits(stored: Stored, words: Sequence[str]) -> bool:
    """Return True for a stored result that a command, in words, makes."""
    kind, origin = stored.kept.kind, (stored.kept.kind, stored.content.get("probe"))
    match words[1:4]:
        case ["study", name, *_]:
            return kind == "study" and stored.kept.name.startswith(f"{name}-")
        case ["rounds", "run", name]:
            return origin == ("run", name)
        case ["probe", name, *_]:
            return origin == ("measurement", name)
        case ["dataset", "probe", *_]:
            return origin == ("measurement", "generation" if "generation" in words else "examples")
        case ["compare", *_]:
            # Folders of forgetting and gaps are of the same kind, without this file.
            return kind == "comparison" and bool(stored.content)
        case ["judge", "predict", *_]:
            return kind == "judged graph"
    return False


# Our names of measures, in the paper's words.
_MEASURES = {
    "karr": "KaRR",
    "rouge-l": "ROUGE-L",
    "bertscore": "BERTScore",
    "precision": "precision@n",
    "probability": "probability",
    "grader": "LLM judge",
    "distractors:random": "distractors, random",
    "distractors:semantic": "distractors, semantic",
    "distractors:temporal-semantic": "distractors, temporal+semantic",
    "distractors:approximate-optimal": "distractors, approximate optimal",
}


def _rows(stored: Stored, name: str) -> Sequence[Mapping[str, Any]]:
    """Return rows of a study; empty if its file cannot be read."""
    rows: Sequence[Mapping[str, Any]] = stored.content.get(name, ())
    return rows


def _calibration(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "table"):
        name = _MEASURES.get(row["measure"], row["measure"])
        for column, ours in (("mean τ", "tau"), ("std τ", "deviation")):
            # A measure with too few facts is not ranked.
            if row[ours] is not None:
                yield OwnNumber(name, column, round(row[ours], 3), stored.source)


def _robustness(stored: Stored) -> Iterator[OwnNumber]:
    # Its commands also store a calibration.
    for row in _rows(stored, "table") if stored.content.get("name") == "robustness" else ():
        if row["tau"] is not None:
            name = _MEASURES.get(row["measure"], row["measure"])
            # Min@n, as in the paper; Avg@n is a row of its own.
            average = row["options"].startswith("Avg")
            yield OwnNumber(f"{name}, Avg@n" if average else name, "robustness", round(row["tau"], 2), stored.source)


def _strategies(stored: Stored) -> Iterator[OwnNumber]:
    rows = _rows(stored, "data")
    last = max((row["n"] for row in rows), default=0)
    for strategy in ("approximate-optimal", "random", "temporal-semantic", "semantic"):
        means = {row["n"]: row["mean"] for row in rows if row["strategy"] == strategy}
        if means:
            name = strategy.replace("approximate-optimal", "approximate optimal").replace("temporal-", "temporal+")
            lost = 100 * (1 - means[1])
            yield OwnNumber(name, "facts lost to the first distractor", round(lost, 1), stored.source)
            yield OwnNumber(name, f"Min@n at n = {last}", round(means[last], 3), stored.source)


def _rates(rate: str) -> _Reader:
    """Return a reader of a rate of runs, in percent: a row for the model, a column for the difficulty."""

    def read(stored: Stored) -> Iterator[OwnNumber]:
        value = stored.content.get(rate)
        if value is not None:
            yield OwnNumber(stored.model, _difficulty(stored), round(100 * value, 2), stored.source)

    return read


def _zero_sense_of(by: str, difficulty: str) -> _Reader:
    """Return a reader of the zero-sense rate by group, in percent, of runs of this difficulty."""

    def read(stored: Stored) -> Iterator[OwnNumber]:
        if _difficulty(stored) == difficulty:
            for group in _groups(stored, by):
                yield OwnNumber(group["name"], stored.model, round(100 * group["zero_sense_rate"], 2), stored.source)

    return read


# Our categories of sentences, in the paper's words.
_CATEGORIES = {"with a blunder": "contain blunders"}


def _errors(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "data"):
        yield OwnNumber(row["error"], "proportion", round(100 * row["share"], 1), _annotator(stored, row))


def _error_categories(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "categories"):
        name = _CATEGORIES.get(row["category"], row["category"])
        yield OwnNumber(name, "proportion", round(100 * row["share"], 1), _annotator(stored, row))


def _annotator(stored: Stored, row: Mapping[str, Any]) -> str:
    return f"{row['annotator']}, {stored.kept.name}"


def _settled_probability(stored: Stored) -> Iterator[OwnNumber]:
    """Yield the mean probability of the objects in the last quarter of unchanged sequences, in percent."""
    rows = [row for row in _rows(stored, "data") if row["content"] == "right"]
    last = max((row["position"] for row in rows), default=0)
    settled = [row["probability"] for row in rows if row["position"] > last - last // 4]
    if settled:
        # The title of a study has its model.
        _, model, *_ = str(stored.content["title"]).split(" · ")
        column = "mean probability of right objects once stable"
        yield OwnNumber(model, column, round(100 * statistics.fmean(settled), 1), stored.source)


def _mean_of_relations(stored: Stored) -> Iterator[OwnNumber]:
    for model in stored.content.get("over_relations", {}).get("models", ()):
        yield OwnNumber(model["label"], "average accuracy", round(model["mean"], 4), stored.source)
        if model["deviation"] is not None:
            yield OwnNumber(model["label"], "standard deviation", round(model["deviation"], 4), stored.source)
    rates = [group["win_rate"] for group in _groups(stored, "relation")]
    if len(rates) > 1:
        yield OwnNumber(stored.model, "average accuracy", round(statistics.fmean(rates), 4), stored.source)
        yield OwnNumber(stored.model, "standard deviation", round(statistics.stdev(rates), 4), stored.source)


def _accuracy_of_relations(stored: Stored) -> Iterator[OwnNumber]:
    for group in _groups(stored, "relation"):
        yield OwnNumber(group["name"], "average accuracy", round(group["win_rate"], 4), stored.source)


def _pairs(matrix: str, row: str, column: str, within: str = "") -> _Reader:
    """Return a reader of a matrix of a comparison, without its diagonal.

    Args:
        within: part of the comparison that has the matrix; empty for the comparison itself.
    """

    def read(stored: Stored) -> Iterator[OwnNumber]:
        labels = stored.content.get("labels", ())
        matrices = stored.content.get(within, {}) if within else stored.content
        for first, values in zip(labels, matrices.get(matrix, ()), strict=False):
            for second, value in zip(labels, values, strict=True):
                if first != second and value is not None:
                    yield OwnNumber(row.format(first, second), column, round(value, 3), stored.source)

    return read


def _smallest_and_largest(stored: Stored) -> Iterator[OwnNumber]:
    yield from _pairs("subsumption", "{} in {}", "η", within="over_relations")(stored)
    for family in stored.content.get("over_relations", {}).get("sizes", ()):
        row = f"{family['smallest']} in {family['largest']}"
        for size in ("smallest", "largest"):
            yield OwnNumber(row, f"accuracy of the {size}", round(family[f"{size}_accuracy"], 3), stored.source)


def _prompts(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "methods"):
        yield OwnNumber(row["method"], "mean accuracy", round(row["mean"], 3), stored.source)
        if row["deviation"] is not None:
            yield OwnNumber(row["method"], "standard deviation", round(row["deviation"], 3), stored.source)


def _separators(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "table"):
        yield OwnNumber(row["way"], "accuracy", round(row["accuracy"], 3), stored.source)


def _prompts_by_relation(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "relations"):
        yield OwnNumber(row["relation"], row["method"], round(row["mean"], 3), stored.source)


def _families(stored: Stored) -> Iterator[OwnNumber]:
    over = stored.content.get("over_relations", {})
    families = over.get("families", ())
    for first, values in zip(families, over.get("family_correlation", ()), strict=True):
        for second, value in zip(families, values, strict=True):
            if value is not None:
                yield OwnNumber(f"{first} and {second}", "mean Pearson's r", round(value, 3), stored.source)


def _judged(stored: Stored) -> Iterator[OwnNumber]:
    from kgprobe.results.judged_graph import read_figures

    judged = read_figures(stored.kept.folder)
    for figure in judged.figures(judged.graph.groups[0]) if judged.graph.groups else ():
        if figure.raw is not None:
            model = judged.config.judge.answers_of
            yield OwnNumber(model, figure.metric, round(figure.raw, 3), stored.source)


_READERS: Mapping[tuple[str, str], _Reader] = {
    ("distractors", "table-3"): _calibration,
    ("distractors", "table-4"): _robustness,
    ("distractors", "table-5"): _errors,
    ("distractors", "table-6"): _error_categories,
    ("distractors", "figure-1"): _strategies,
    ("distractors", "figure-2"): _strategies,
    ("kglens", "table-2"): _rates("win_rate"),
    ("kglens", "table-3"): _rates("zero_sense_rate"),
    ("kglens", "figure-4"): _zero_sense_of("year", "HARD"),
    ("kglens", "figure-6"): _zero_sense_of("entity", "EASY"),
    ("kglens", "figure-7"): _zero_sense_of("entity", "HARD"),
    ("kglens", "figure-8"): _zero_sense_of("year", "EASY"),
    ("kglens", "figure-9"): _zero_sense_of("entity", "EASY"),
    ("kglens", "figure-10"): _zero_sense_of("entity", "HARD"),
    ("latent-knowledge", "table-1"): _smallest_and_largest,
    ("latent-knowledge", "table-7"): _mean_of_relations,
    ("latent-knowledge", "table-8"): _accuracy_of_relations,
    ("latent-knowledge", "table-10"): _pairs("subsumption", "{} in {}", "η", within="over_relations"),
    ("latent-knowledge", "figure-2"): _settled_probability,
    ("latent-knowledge", "figure-3"): _prompts,
    ("latent-knowledge", "figure-4"): _separators,
    ("latent-knowledge", "figure-6"): _families,
    ("latent-knowledge", "figure-12"): _prompts_by_relation,
    ("latent-knowledge", "figure-14"): _pairs("correlation", "{} and {}", "Pearson's r"),
    ("grapheval", "table-2"): _judged,
}


def _difficulty(stored: Stored) -> str:
    return str(stored.content.get("config", {}).get("difficulty", "")).upper()


def _groups(stored: Stored, by: str) -> list[Mapping[str, Any]]:
    return [group for group in stored.content.get("groups", ()) if group["by"] == by]
