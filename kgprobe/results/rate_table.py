"""Win rates and zero-sense rates of stored results: of models by graph, or of results by group of facts.

Tables 2 and 3 of the parameterized-graph paper, and its figures 4 and 6 to 10; docs/methods/comparison.md and
docs/methods/findings.md. A model wins a fact with more right answers than wrong ones; it has zero sense of a fact that
it never answered right. Rates by graph are read from the results' folders; no graph is opened. The groups are in
:mod:`kgprobe.results.group_table`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import pandas as pd

from kgprobe.answers.settings import CONFIG, graph_of_measurement, read_measurement
from kgprobe.answers.table import read_answers
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import read_json
from kgprobe.base.intervals import Percent, Share
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.beliefs.group_rates import group_of
from kgprobe.beliefs.register import caveat_of
from kgprobe.graph.reversal import asked_by
from kgprobe.graph.state import graph_name
from kgprobe.models.spec_forms import model_names
from kgprobe.probes.questions import OWN
from kgprobe.probes.register import PROBES
from kgprobe.results.answers import RESULTS
from kgprobe.results.rendering.dotted_map import Dot, DottedMap
from kgprobe.results.result import Listing, StoredResult
from kgprobe.results.shared_facts import answered_facts

# Rows of the rates by graph.
MODEL = "model"
# Missing cells in a note; the JSON has all.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class RateCell(ResultRow):
    """Rates of one result on the facts of a group, or of one model on a graph.

    Attributes:
        group: id of the entity, relation or type, year or range of popularity; name of the model.
        name: label of the group; the model again.
        column: label of the result; graph and setting.
        result: name of the run or measurement; None if a model has none for the column.
        facts: number of facts that count; rates are None without any.
        win_rate: share of the facts with more right answers than wrong ones, with Wilson's 95% interval.
        zero_sense_rate: share of the facts that were never answered right, with the same interval.
        guessed: expected win rate of a guesser on the same questions.
    """

    group: str
    name: Annotated[str, Heading("group")]
    column: Annotated[str, Heading("result")]
    result: str | None
    facts: Annotated[int, Heading("facts")] = 0
    questions: Annotated[int, Heading("questions")] = 0
    win_rate: Annotated[Share | None, Heading("win rate")] = None
    zero_sense_rate: Annotated[Share | None, Heading("zero-sense rate")] = None
    guessed: Annotated[float | None, Heading("by guessing", Percent)] = None


def rate_cell(group: str, name: str, column: str, result: str | None, facts: pd.DataFrame | None) -> RateCell:
    """Return the rates of a result on facts."""
    if facts is None or facts.empty:
        return RateCell(group, name, column, result)
    rates = group_of(name, facts)
    return RateCell(
        group,
        name,
        column,
        result,
        facts=rates.facts,
        questions=int((facts["right"] + facts["wrong"]).sum()),
        win_rate=rates.win_rate,
        zero_sense_rate=rates.zero_sense_rate,
        guessed=rates.guessed,
    )


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RateTable(StoredResult):
    """Rates of groups or models; one row for each of them and column.

    Attributes:
        by: definition of the groups; *model* for rates by graph.
        cells: rates by group and column: the largest group first, years and chosen entities in their order; the best
            model first.
        sizes: number of facts of each group, over all results; empty for models.
        shared: True if rates are over the facts that all results of a column have answered.
        remarks: notes on what the tables leave out.
        centers: columns if these are entities: their names, with the number of facts of each in one result.
    """

    by: str
    cells: Annotated[Sequence[RateCell], Listing()]
    sizes: Mapping[str, int] = field(default_factory=dict)
    shared: bool
    remarks: Sequence[str] = ()
    centers: Mapping[str, int] = field(default_factory=dict)

    file: ClassVar[str] = "rates"

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"Rates by {self.by}"

    @property
    def rates_of(self) -> str:
        """The facts that the rates are of, and what the tables leave out."""
        facts = "the facts that all results have answered" if self.shared else "each result's own facts"
        return " ".join([f"Shares of {facts}, with 95% intervals; —: no facts.", *self.remarks])

    @property
    def win_rates(
        self,
    ) -> Annotated[Sequence[Mapping[str, Any]], Listing("Win rate by {by}", "{rates_of}", shaded=True)]:
        """The win rates; of models, each with the mean over a complete row."""
        return self._rows("win_rate")

    @property
    def zero_sense_rates(
        self,
    ) -> Annotated[Sequence[Mapping[str, Any]], Listing("Zero-sense rate by {by}", "{rates_of}", shaded=True)]:
        """The zero-sense rates; of models, each with the mean over a complete row."""
        return self._rows("zero_sense_rate")

    def _rows(self, rate: str) -> list[dict[str, Any]]:
        """Return one row for each group."""
        rows: dict[str, dict[str, Any]] = {}
        for cell in self.cells:
            first = {} if self.by == MODEL else {"facts": self.sizes[cell.group]}
            row = rows.setdefault(cell.group, {self.by: cell.name, **first})
            row[cell.column] = getattr(cell, rate)
        if self.by == MODEL:
            for row in rows.values():
                row["average"] = _average([value for name, value in row.items() if name != self.by])
        return list(rows.values())

    @property
    def plots(self) -> Sequence[DottedMap]:
        """The dotted map of relations at chosen entities, uncut; none for other columns."""
        if not self.centers:
            return []
        rows, columns = {cell.group: cell.name for cell in self.cells}, list(self.centers)
        places, dots = list(rows), []
        for cell in self.cells:
            if cell.zero_sense_rate is not None:
                place = places.index(cell.group), columns.index(cell.column)
                share = cell.facts / self.centers[cell.column]
                dots.append(Dot(*place, cell.facts, share, cell.zero_sense_rate.value))
        facts = sum(self.sizes.values())
        return [DottedMap(list(rows.values()), columns, dots, facts, facts)]

    def summary(self) -> str:
        """Return the number of groups, or the model with the highest average win rate, in a sentence."""
        columns = len({cell.column for cell in self.cells})
        if self.by != MODEL:
            if not self.sizes:
                return f"No asked fact belongs to a group by {self.by}."
            of = f"at {counted(columns, 'center')}" if self.centers else f"of {counted(columns, 'result')}"
            return f"{counted(len(self.sizes), 'group')} by {self.by}, {of}."
        rows = [row for row in self.win_rates if row["average"] is not None]
        if not rows:
            return "No model has a result in every column."
        best = max(rows, key=lambda row: row["average"].value)
        return f"{best[self.by]} has the highest average win rate, {best['average']} over {counted(columns, 'column')}."


def _average(shares: Sequence[Share | None]) -> Percent | None:
    """Return the mean of shares; None if one is missing."""
    values = [share.value for share in shares if share is not None]
    return Percent(sum(values) / len(values)) if values and len(values) == len(shares) else None


class _RunResults(msgspec.Struct):
    """The part of a run's ``results.json`` that a table of rates needs."""

    run: str
    model: str
    probe: str
    reversed: bool
    config: dict[str, Any]
    sampling: str | None
    questions: int
    unaskable: dict[str, int]
    unanswered: dict[str, int]
    graph: str = ""


@dataclass(frozen=True, slots=True)
class StoredRates:
    """Answers of one result for a table of rates.

    Attributes:
        graph: name of its graph in the table.
        setting: difficulty of questions, with the credit unless it is the fact's own object; else the probe.
        sampling: sampling rule of a run; None for a measurement.
        facts: see :meth:`kgprobe.answers.table.Answers.by_fact`.
    """

    folder: Path
    graph: str
    setting: str
    name: str
    model: str
    sampling: str | None
    facts: pd.DataFrame


def read_rates(folder: Path, graph: str | None) -> StoredRates:
    """Read the answers of a measurement or a run from its folder.

    Args:
        graph: name of its graph; None for the graph's id.

    Raises:
        KgprobeError: the folder has no answers, or a file is damaged.
    """
    if (folder / RESULTS).exists() and not (folder / CONFIG).exists():
        return _read_run(folder, graph)
    if not (folder / CONFIG).exists():
        raise KgprobeError(f"{folder} has no {RESULTS}; `kgprobe show` writes it.")
    config = read_measurement(folder)
    kind, described = PROBES.get(config["probe"]), config["described"]
    answers = read_answers(folder, kind, described)
    setting = _setting(described, kind.name, is_reversed=config["reversed"])
    origin = folder.name, str(described["model"]), None
    facts = answered_facts(folder.name, answers)
    return StoredRates(folder, graph or f"graph {graph_of_measurement(folder)}", setting, *origin, facts)


def _read_run(folder: Path, graph: str | None) -> StoredRates:
    advice = "Write it again with `kgprobe show`."
    results = read_json(folder / RESULTS, _RunResults, advice)
    kind = PROBES.get(results.probe)
    # Later outcomes are of a round that the graph has not counted.
    count = results.questions + sum(results.unaskable.values()) + sum(results.unanswered.values())
    answers = read_answers(folder, kind, results.config, count)
    setting = _setting(results.config, kind.name, is_reversed=results.reversed)
    origin = results.run, results.model, results.sampling
    facts = answered_facts(results.run, answers)
    return StoredRates(folder, graph or f"graph {graph_name(results.graph)[0]}", setting, *origin, facts)


def _setting(described: Mapping[str, Any], probe: str, *, is_reversed: bool) -> str:
    if probe != "questions":
        return asked_by(probe, is_reversed)
    credit = described.get("credit", OWN)
    return asked_by(str(described["difficulty"]).upper(), is_reversed) + ("" if credit == OWN else f" ({credit})")


_CHOSEN = (
    "Some results are of rounds that chose facts by earlier answers: their rates are of the asked facts, not of the"
    " graph. `kgprobe estimate` gives the share of the graph."
)


def tabulate_rates(results: Sequence[StoredRates], *, shared: bool) -> RateTable:
    """Return the rates of results by model, graph and setting.

    Args:
        shared: compare the models of a column on the facts that all of them have answered.

    Raises:
        ArgumentError: two results belong to one cell, or the models of a column share no fact.
    """
    placed = _placed(results)
    columns = _columns(placed)
    cells: dict[str, list[RateCell]] = {model: [] for model in dict.fromkeys(key[0] for key in placed)}
    for column in columns:
        facts = _shared_facts(placed, column) if shared else None
        for model, row in cells.items():
            result = placed.get((model, *column))
            row.append(_cell(model, " ".join(column).strip(), result, facts))
    notes = [_CHOSEN] if any(caveat_of(result.sampling) for result in results) else []
    config = {
        "results": [str(result.folder.resolve()) for result in results],
        "shared": shared,
        "graphs": [result.graph for result in results],
    }
    ordered = [cell for row in sorted(cells.values(), key=_rank) for cell in row]
    remarks = ["Average: mean over the columns.", *_missing(ordered)]
    return RateTable(by=MODEL, cells=ordered, shared=shared, remarks=remarks, config=config, notes=notes)


def _missing(cells: Sequence[RateCell]) -> list[str]:
    """Return a note on the models without a result for a column; none if all have one."""
    missing = [f"{cell.name} on {cell.column}" for cell in cells if cell.result is None]
    if not missing:
        return []
    more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
    return [f"Not given, shown as —: {'; '.join(missing[:_NAMED])}{more}. Such rows have no average."]


def _placed(results: Sequence[StoredRates]) -> dict[tuple[str, str, str], StoredRates]:
    """Return the results by model, graph and setting.

    Raises:
        ArgumentError: two results belong to one cell.
    """
    placed: dict[tuple[str, str, str], StoredRates] = {}
    models = model_names([result.model for result in results])
    for model, result in zip(models, results, strict=True):
        key = model, result.graph, result.setting
        if key in placed:
            folders = f"{placed[key].folder.name} and {result.folder.name}"
            raise ArgumentError(
                "results",
                f"has two results of {key[0]} on {key[1]}, {key[2]}: {folders}. Name their graphs, or leave one out.",
            )
        placed[key] = result
    return placed


def _columns(placed: Mapping[tuple[str, str, str], StoredRates]) -> list[tuple[str, str]]:
    """Return the pairs of graph and setting: graphs in the order of the results, settings by name."""
    graphs = [key[1] for key in placed]
    columns = dict.fromkeys(key[1:] for key in placed)
    return sorted(columns, key=lambda column: (graphs.index(column[0]), column[1]))


def _rank(cells: Sequence[RateCell]) -> tuple[int, float]:
    """Return a key that puts complete rows first, and higher average win rates."""
    rates = [cell.win_rate.value for cell in cells if cell.win_rate is not None]
    return len(cells) - len(rates), -sum(rates) / max(len(rates), 1)


def _shared_facts(placed: Mapping[tuple[str, str, str], StoredRates], column: tuple[str, str]) -> list[str]:
    indices = [set(result.facts.index) for key, result in placed.items() if key[1:] == column]
    facts = sorted(set.intersection(*indices))
    if not facts:
        raise ArgumentError("results", f"share no fact on {' '.join(column)}; measure all models on the same facts.")
    return facts


def _cell(model: str, column: str, result: StoredRates | None, shared: list[str] | None) -> RateCell:
    if result is None:
        return RateCell(model, model, column, None)
    facts = result.facts if shared is None else result.facts.loc[shared]
    return rate_cell(model, model, column, result.name, facts)
