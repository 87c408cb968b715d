"""Stored results of the commands that repeat a paper's tables, and their numbers at the places of published ones."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from kgprobe.api.stored import list_results
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import read_json
from kgprobe.papers.results import OwnNumber, OwnResult
from kgprobe.papers.tables import PaperEntry
from kgprobe.results.listing import ListedResult

_FILES = {
    "study": "study.json",
    "run": "results.json",
    "measurement": "results.json",
    "comparison": "comparison.json",
}
# Most stored results in one table.
_SHOWN = 3


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


def stored_for(entry: PaperEntry) -> list[Stored]:
    """Return the stored results of an entry's commands, small or at full size, the latest first."""
    if not entry.command:
        return []
    steps = [step.split() for command in (entry.command, entry.full) for step in command.split(" && ")]
    fitting = []
    for kept in list_results().results:
        stored = Stored(kept, _content(kept))
        if any(_fits(stored, words) for words in steps):
            fitting.append(stored)
    return fitting


def own_results(stored: Sequence[Stored]) -> list[OwnResult]:
    """Return stored results as rows."""
    rows = []
    for each in stored[:_SHOWN]:
        headline = f"{each.model}: {each.kept.headline}" if each.model else each.kept.headline
        rows.append(OwnResult(each.kept.kind, each.kept.name, headline, str(each.kept.folder)))
    return rows


def own_numbers(entry: PaperEntry, stored: Sequence[Stored]) -> list[OwnNumber]:
    """Return the numbers of stored results that have a place in the entry's table; none for most figures."""
    read = _READERS.get((entry.paper, entry.table))
    numbers: list[OwnNumber] = []
    if read is not None:
        for each in stored[:_SHOWN]:
            numbers += read(each)
    return numbers


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
    ("latent-knowledge", "table-1"): _pairs("subsumption", "{} in {}", "η", within="over_relations"),
    ("latent-knowledge", "table-7"): _mean_of_relations,
    ("latent-knowledge", "table-8"): _accuracy_of_relations,
    ("latent-knowledge", "table-10"): _pairs("subsumption", "{} in {}", "η", within="over_relations"),
    ("latent-knowledge", "figure-6"): _families,
    ("latent-knowledge", "figure-14"): _pairs("correlation", "{} and {}", "Pearson's r"),
    ("grapheval", "table-2"): _judged,
}


def _difficulty(stored: Stored) -> str:
    return str(stored.content.get("config", {}).get("difficulty", "")).upper()


def _groups(stored: Stored, by: str) -> list[Mapping[str, Any]]:
    return [group for group in stored.content.get("groups", ()) if group["by"] == by]
