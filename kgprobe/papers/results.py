"""The papers, their tables and figures, and published numbers next to those of stored results."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.files import read_json
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.papers.differences import differences
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
    "judged graph": "config.json",
}
# Ends of intervals, and those of the complement.
_OPPOSITE = {"": "", "_low": "_high", "_high": "_low"}
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
        facts: number of facts, or of what ``unit`` says.
        low, high: 95% interval; None if there is none.
        as_published: False if a setting differs from the paper's; :attr:`PaperTable.differences` has them.
    """

    row: str
    column: str
    value: float
    source: str
    facts: int | None = None
    low: float | None = None
    high: float | None = None
    unit: str = "fact"
    as_published: bool = False

    @property
    def heading(self) -> str:
        """Heading of its column next to the published ones."""
        return f"{self.column}: {self.source}" + ("" if self.as_published else " (not the paper's settings)")

    def __str__(self) -> str:
        text = f"{self.value:.4g}"
        if self.low is not None and self.high is not None:
            text += f" [{self.low:.4g}, {self.high:.4g}]"
        return text if self.facts is None else f"{text}; {counted(self.facts, self.unit)}"


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
class OwnSetting(ResultRow):
    """A setting of a stored result that differs from the paper's.

    Attributes:
        name: name of the result.
        setting: option of the command; ``graph``: a paper's graph is never the same.
        here, paper: value of the result, and of the paper; None for the paper's own graph.
    """

    name: Annotated[str, Heading("result")]
    setting: Annotated[str, Heading("setting")]
    here: Annotated[str, Heading("here")]
    paper: Annotated[str | None, Heading("paper")]


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
        differences: their settings that differ from those of the paper's preset and of the full command.
    """

    paper: Paper
    entry: PaperEntry
    command: str
    numbers: Annotated[Sequence[PaperNumber], Listing()]
    own: Annotated[Sequence[OwnNumber], Listing()]
    results: Annotated[Sequence[OwnResult], Listing("Stored results of its command")]
    differences: Annotated[Sequence[OwnSetting], Listing("Their settings that differ from the paper's")]

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
            columns.setdefault(mine.heading)
            cells.setdefault(mine.row, {})[mine.heading] = str(mine)
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


def missing_load(entries: Iterable[PaperEntry], graph: str | Path | None = None) -> list[str]:
    """Return a sentence with the `load` that small commands of these entries need, if there is no graph; else nothing.

    Args:
        graph: folder or address of the graph; None for the usual one.
    """
    from kgprobe.graph.servers.opening import check_exists

    loads = dict.fromkeys(filter(None, (entry.load for entry in entries)))
    try:
        check_exists(graph)
    except UnknownNameError:
        return [f"There is no graph for the small commands yet. First: `{load}`." for load in loads]
    return []


def paper_contents(name: str, model: str, other_model: str, graph: str | Path | None = None) -> PaperContents:
    """Return the tables and figures of a paper, with commands for these models."""
    entries = []
    for entry in tables_of(name):
        values = {column: getattr(entry, column) for column in PaperTableRow.columns()}
        entries.append(PaperTableRow(**values | {"command": filled(entry.command, model, other_model)}))
    return PaperContents(paper=paper_named(name), entries=entries, notes=missing_load(tables_of(name), graph))


def paper_table(name: str, table: str, model: str, other_model: str, graph: str | Path | None = None) -> PaperTable:
    """Return a table with its published numbers, and those of stored results."""
    entry = table_named(name, table)
    stored = _stored_for(entry)
    read = _READERS.get((entry.paper, entry.table))
    numbers: list[OwnNumber] = []
    results, settings = [], []
    for each in stored[:_SHOWN]:
        kept = each.kept
        differing: dict[str, tuple[str, str | None]] = {"graph": (kept.graph, None)} if kept.graph else {}
        differing |= differences(entry, kept.kind, kept.folder, each.content)
        settings += [OwnSetting(kept.name, setting, *values) for setting, values in differing.items()]
        # Most figures have no numbers.
        own = read(each) if read is not None else ()
        numbers += [replace(number, as_published=not differing) for number in own]
        headline = f"{each.model}: {kept.headline}" if each.model else kept.headline
        results.append(OwnResult(kept.kind, kept.name, headline, str(kept.folder)))
    return PaperTable(
        paper=paper_named(name),
        entry=entry,
        command=filled(entry.command, model, other_model),
        numbers=list(map(_number, numbers_of(entry))),
        own=numbers,
        results=results,
        differences=settings,
        notes=missing_load([entry], graph),
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


def _with_interval(
    stored: Stored, name: str, column: str, row: Mapping[str, Any], key: str, digits: int, *, percent: bool = False
) -> Iterator[OwnNumber]:
    """Yield a number of a row, if known, with its interval and its number of facts, if the row has them."""
    scaled = (row.get(each) for each in (key, f"{key}_low", f"{key}_high"))
    value, low, high = (None if each is None else round(100 * each if percent else each, digits) for each in scaled)
    # A measure of pairs also has the number of its sentences.
    unit = next((each for each in ("pair", "sentence") if f"{each}s" in row), "fact")
    if value is not None:
        yield OwnNumber(name, column, value, stored.source, row.get(f"{unit}s"), low, high, unit)


def _calibration(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "table"):
        name = _MEASURES.get(row["measure"], row["measure"])
        # The paper's τ is that of each measure's own facts. A measure with too few shared facts is not ranked.
        for column, own, shared in (("mean τ", "own_tau", "tau"), ("std τ", "own_deviation", "deviation")):
            own_facts = (f"own facts, {stored.source}", row.get("own_facts"))
            yield OwnNumber(name, column, round(row[own], 3), *own_facts)
            if row[shared] is not None:
                shared_facts = (f"shared facts, {stored.source}", row.get("facts"))
                yield OwnNumber(name, column, round(row[shared], 3), *shared_facts)


def _robustness(stored: Stored) -> Iterator[OwnNumber]:
    # Its commands also store a calibration.
    for row in _rows(stored, "table") if stored.content.get("name") == "robustness" else ():
        if row["tau"] is not None:
            name = _MEASURES.get(row["measure"], row["measure"])
            # Min@n, as in the paper; Avg@n is a row of its own.
            average = "aggregation = avg" in row["options"]
            own_name = f"{name}, Avg@n" if average else name
            yield from _with_interval(stored, own_name, "robustness", row, "tau", 2)


def _strategies(stored: Stored) -> Iterator[OwnNumber]:
    rows = _rows(stored, "data")
    last = max((row["n"] for row in rows), default=0)
    for strategy in ("approximate-optimal", "random", "temporal-semantic", "semantic"):
        means = {row["n"]: row for row in rows if row["strategy"] == strategy}
        if means:
            name = strategy.replace("approximate-optimal", "approximate optimal").replace("temporal-", "temporal+")
            facts = {"facts": stored.content.get("facts")}
            known = {f"mean{end}": means[1].get(f"mean{other}") for end, other in _OPPOSITE.items()}
            lost = {key: None if value is None else 1 - value for key, value in known.items()}
            column = "facts lost to the first distractor"
            yield from _with_interval(stored, name, column, {**lost, **facts}, "mean", 1, percent=True)
            yield from _with_interval(stored, name, f"Min@n at n = {last}", {**means[last], **facts}, "mean", 3)


def _rates(rate: str) -> _Reader:
    """Return a reader of a rate of runs, in percent: a row for the model, a column for the difficulty."""

    def read(stored: Stored) -> Iterator[OwnNumber]:
        if stored.content.get(rate) is not None:
            row = {**stored.content, "facts": stored.content.get("facts_asked")}
            yield from _with_interval(stored, stored.model, _difficulty(stored), row, rate, 2, percent=True)

    return read


def _zero_sense_of(by: str, difficulty: str) -> _Reader:
    """Return a reader of the zero-sense rate by group, in percent, of runs of this difficulty."""

    def read(stored: Stored) -> Iterator[OwnNumber]:
        if _difficulty(stored) == difficulty:
            for group in _groups(stored, by):
                yield from _with_interval(
                    stored, group["name"], stored.model, group, "zero_sense_rate", 2, percent=True
                )

    return read


# Our categories of sentences, in the paper's words.
_CATEGORIES = {"with a blunder": "contain blunders"}


def _errors(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "data"):
        yield from _proportion(stored, row, row["error"])


def _error_categories(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "categories"):
        yield from _proportion(stored, row, _CATEGORIES.get(row["category"], row["category"]))


def _proportion(stored: Stored, row: Mapping[str, Any], name: str) -> Iterator[OwnNumber]:
    for number in _with_interval(stored, name, "proportion", row, "share", 1, percent=True):
        yield replace(number, source=f"{row['annotator']}, {stored.kept.name}")


def _settled_probability(stored: Stored) -> Iterator[OwnNumber]:
    """Yield the mean probability of the objects in the last quarter of unchanged sequences, in percent."""
    rows = [row for row in _rows(stored, "data") if row["content"] == "right"]
    last = max((row["position"] for row in rows), default=0)
    settled = [row["probability"] for row in rows if row["position"] > last - last // 4]
    if settled:
        # The title of a study has its model.
        _, model, *_ = str(stored.content["title"]).split(" · ")
        column = "mean probability of right objects once stable"
        value = round(100 * statistics.fmean(settled), 1)
        yield OwnNumber(model, column, value, stored.source, len(settled), unit="example")


def _mean_of_relations(stored: Stored) -> Iterator[OwnNumber]:
    facts = stored.content.get("facts")
    for model in stored.content.get("over_relations", {}).get("models", ()):
        yield OwnNumber(model["label"], "average accuracy", round(model["mean"], 4), stored.source, facts)
        if model["deviation"] is not None:
            yield OwnNumber(model["label"], "standard deviation", round(model["deviation"], 4), stored.source, facts)
    rates = [group["win_rate"] for group in _groups(stored, "relation")]
    if len(rates) > 1:
        yield OwnNumber(stored.model, "average accuracy", round(statistics.fmean(rates), 4), stored.source, facts)
        yield OwnNumber(stored.model, "standard deviation", round(statistics.stdev(rates), 4), stored.source, facts)


def _accuracy_of_relations(stored: Stored) -> Iterator[OwnNumber]:
    for group in _groups(stored, "relation"):
        yield from _with_interval(stored, group["name"], "average accuracy", group, "win_rate", 4)


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
                    place = row.format(first, second), column
                    yield OwnNumber(*place, round(value, 3), stored.source, stored.content.get("facts"))

    return read


def _smallest_and_largest(stored: Stored) -> Iterator[OwnNumber]:
    yield from _pairs("subsumption", "{} in {}", "η", within="over_relations")(stored)
    for family in stored.content.get("over_relations", {}).get("sizes", ()):
        row = f"{family['smallest']} in {family['largest']}"
        for size in ("smallest", "largest"):
            numbers = {**family, "facts": stored.content.get("facts")}
            yield from _with_interval(stored, row, f"accuracy of the {size}", numbers, f"{size}_accuracy", 3)


def _prompts(stored: Stored) -> Iterator[OwnNumber]:
    # A relation's facts are those of all sentences together.
    facts: Counter[str] = Counter()
    for row in _rows(stored, "relations"):
        facts[row["method"]] += row["facts"] // row["sentences"]
    for row in _rows(stored, "methods"):
        for column, key in (("mean accuracy", "mean"), ("standard deviation", "deviation")):
            if row[key] is not None:
                own_facts = facts[row["method"]] or None
                yield OwnNumber(row["method"], column, round(row[key], 3), stored.source, own_facts)


def _separators(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "table"):
        yield from _with_interval(stored, row["way"], "accuracy", row, "accuracy", 3)


def _prompts_by_relation(stored: Stored) -> Iterator[OwnNumber]:
    for row in _rows(stored, "relations"):
        facts = row["facts"] // row["sentences"]
        yield OwnNumber(row["relation"], row["method"], round(row["mean"], 3), stored.source, facts)


def _families(stored: Stored) -> Iterator[OwnNumber]:
    over = stored.content.get("over_relations", {})
    families = over.get("families", ())
    for first, values in zip(families, over.get("family_correlation", ()), strict=True):
        for second, value in zip(families, values, strict=True):
            if value is not None:
                place = f"{first} and {second}", "mean Pearson's r"
                yield OwnNumber(*place, round(value, 3), stored.source, stored.content.get("facts"))


def _answers_and_rates(stored: Stored) -> Iterator[OwnNumber]:
    """Yield the numbers of right, wrong and unknown answers of labels, or the metrics of a judged graph."""
    from kgprobe.judge.labels import read_labels
    from kgprobe.results.judged_graph import read_figures

    if stored.kept.kind == "measurement":
        with suppress(KgprobeError):
            # Labels without any answer have none of the numbers.
            counts = Counter(read_labels(stored.kept.folder).statements("unknown").correctness.tolist())
            for number, column in enumerate(("right answers", "wrong answers", "don't know")):
                of = (sum(counts.values()), None, None, "statement")
                yield OwnNumber(stored.model, column, counts[number], stored.source, *of)
        return
    judged = read_figures(stored.kept.folder)
    for figure in judged.figures(judged.graph.groups[0]) if judged.graph.groups else ():
        if figure.raw is not None:
            model = judged.config.judge.answers_of
            yield OwnNumber(model, figure.metric, round(figure.raw, 3), stored.source, figure.measured)


def _speeds(stored: Stored) -> Iterator[OwnNumber]:
    from kgprobe.judge.speed import read_speeds

    for speed in read_speeds(stored.kept.folder):
        row, column, value = f"{speed.by} ({speed.device})", f"{speed.model}, speed", round(speed.per_second, 2)
        yield OwnNumber(row, column, value, stored.source, speed.statements, unit="statement")


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
    ("grapheval", "table-2"): _answers_and_rates,
    ("grapheval", "table-4"): _speeds,
}


def _difficulty(stored: Stored) -> str:
    return str(stored.content.get("config", {}).get("difficulty", "")).upper()


def _groups(stored: Stored, by: str) -> list[Mapping[str, Any]]:
    return [group for group in stored.content.get("groups", ()) if group["by"] == by]
