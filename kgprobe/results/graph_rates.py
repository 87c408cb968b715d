"""Estimates over the whole graph from the answers of a run: the share of all facts that a model knows, with intervals.

docs/methods/graph-estimate.md. The predictions for all facts before a round, and the inclusion probabilities of the
round's facts, give the estimate of :mod:`kgprobe.beliefs.corrected_rates`; :mod:`kgprobe.running.learning` collects
them. Sampling rule and learner affect the width of the interval, not its coverage.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kgprobe.answers.callbacks import Stop
from kgprobe.answers.store import FILE, read_rounds
from kgprobe.base.errors import KgprobeError
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import INTERNAL, Table, json_value
from kgprobe.beliefs.graph_rates import ENOUGH, GroupRate, group_rate, group_rates
from kgprobe.beliefs.group_rates import Grouping
from kgprobe.beliefs.register import ESTIMATE_SAMPLING, SAMPLING_RULES
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import relation_names
from kgprobe.graph.rows import column_by
from kgprobe.graph.runs import run_folder
from kgprobe.graph.state import graph_state
from kgprobe.models.spec_forms import model_name
from kgprobe.results.result import Listing, Result
from kgprobe.running.frame import Frame, open_frame
from kgprobe.running.learner import counted_answers
from kgprobe.running.learning import Learning, open_learning, replay
from kgprobe.running.rounds import RunReport
from kgprobe.running.runs import get_run
from kgprobe.sampling.columns.graph_columns import AskableFacts
from kgprobe.sampling.years import YearSource
from kgprobe.stats.proportions import answers_for_width

# Lost facts that a note names.
_NAMED = 3
# Growth of the number of rounds between two checks of the precision: each check could stop by chance.
_GROWTH = 1.5
_LEAST_GROWTH = 1.1
# Questions per round from which the interval where a run stops contains the share in at least 93.5% of runs
# (benchmarks.coverage_of_stops).
_LARGE_ROUND = 48
_TITLES = {"type": "type of the subject", "popularity": "popularity of the subject"}


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class GraphRates(Result):
    """Estimated share of the whole graph that a model knows, from one run; one row for all facts and for each group.

    Attributes:
        run: the run's properties.
        predictors: other runs whose answers improve the predictions.
        facts: number of facts that the run can draw, see :mod:`kgprobe.running.frame`, and that can be asked.
        answers: number of the run's answers about them.
        drawn: number of questions with a known inclusion probability; the others improve only the predictions.
        overall: estimate for all facts.
        groupings: the largest groups with at least ``ENOUGH`` draws by relation and type, thirds by popularity, years;
            empty if they were not estimated.
        stopped: reason for the end of asking; None if nothing was asked.
        reason: details of that, in a sentence.
    """

    run: Annotated[Row, INTERNAL]
    predictors: Sequence[str]
    facts: int
    answers: int
    drawn: int
    overall: Annotated[GroupRate, INTERNAL]
    groupings: Annotated[Sequence[Grouping[GroupRate]], INTERNAL]
    stopped: Stop | None = None
    reason: str | None = None

    properties: ClassVar[Sequence[str]] = ("rates",)

    @property
    def model(self) -> str:
        """Name of the model, as people read it."""
        return model_name(self.run["model"])

    @property
    def rates(self) -> Annotated[Sequence[GroupRate], Listing()]:
        """All facts first, then the groups of each kind."""
        return [self.overall, *chain.from_iterable(map(attrgetter("groups"), self.groupings))]

    def tables(self) -> list[Table]:
        """Return tables of all facts and relations, types, thirds of popularity, and years."""
        tables = [_table(grouping, self.overall) for grouping in self.groupings]
        if all(grouping.by != "relation" for grouping in self.groupings):
            tables.insert(0, Table("overall", "All facts", _rows("of", [self.overall])))
        return [replace(tables[0], notes=[*tables[0].notes, *self.notes]), *tables[1:]]

    def summary(self) -> str:
        """Return the share with its interval, and the equivalent number of uniformly drawn answers."""
        share, expected = self.overall.right, self.overall.expected
        text = f"{self.model} is right on {share} of {self.scope}, estimated from {counted(self.answers, 'answer')}"
        if expected is None:
            return f"{text}, without predictions."
        text += f"; {expected:.0%} was predicted."
        if 0 < self.overall.width < 1:
            text += f" Equivalent to {self.uniform_answers:,} uniformly drawn answers without predictions."
        return text

    @property
    def scope(self) -> str:
        """The facts that the estimate is of, in words."""
        facts = counted(self.facts, "fact")
        return f"the {facts} of the run's start" if self.notes else f"the graph's {facts} that can be asked"

    @property
    def year_source(self) -> YearSource | None:
        """The source of the years; None if no year has an estimate."""
        return next((grouping.source for grouping in self.groupings if grouping.by == "year"), None)

    @property
    def uniform_answers(self) -> int:
        """Number of uniformly drawn answers whose interval, without predictions, has the same width."""
        return answers_for_width(self.overall.right.value, self.overall.width)

    def questions_for(self, precision: float) -> tuple[int, int]:
        """Return how many more questions this run probably needs for a precision, and a new uniform run in all.

        The width of an interval falls with the square root of the answers.

        Args:
            precision: half the width of the interval, in (0, 0.5).
        """
        more = self.answers * ((self.overall.width / (2 * precision)) ** 2 - 1)
        return max(0, math.ceil(more)), answers_for_width(self.overall.right.value, 2 * precision)

    def forecast(self, precision: float) -> str:
        """Return how many questions a precision probably takes, in this run and in a new one; empty if none.

        Args:
            precision: half the width of the interval, in (0, 0.5).
        """
        more, fresh = self.questions_for(precision)
        if not more:
            return ""
        text = f"±{precision:g} probably takes about {more:,} more questions of this run."
        sampling = self.run["sampling"]
        if fresh < more and sampling != ESTIMATE_SAMPLING:
            rule = SAMPLING_RULES[ESTIMATE_SAMPLING].help
            text += f"\nA new run with --aim estimate takes about {fresh:,} in all: it asks {rule}, and this one"
            text += f" (sampling {sampling}) draws some of them seldom."
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with stable keys."""
        about = {name: self.run[name] for name in ("model", "probe", "sampling")}
        return {"run": self.run["id"], **about, "year": json_value(self.year_source), **Result.to_dict(self)}


def _rows(name: str, groups: Sequence[GroupRate]) -> list[dict[str, Any]]:
    """Return the cells of groups, named in a first column; without a column of predictions where none are used."""
    rows = [{name: group.name, **group.cells()} for group in groups]
    if all(group.expected is None for group in groups):
        for row in rows:
            del row["expected"]
    return rows


def _table(grouping: Grouping[GroupRate], overall: GroupRate) -> Table:
    """Return a table of groups; the first row of the relations is all facts."""
    groups = [overall, *grouping.groups] if grouping.by == "relation" else grouping.groups
    rows = _rows(grouping.by, groups)
    notes = [] if grouping.source is None else [grouping.source.note]
    if grouping.left_out:
        notes.append(f"{grouping.left_out:,} more have fewer than {ENOUGH} questions.")
    title = f"By {_TITLES.get(grouping.by, grouping.by)}, estimated over the graph"
    return Table(f"graph_by_{grouping.by}", title, rows, notes)


def estimate_run(
    graph: Graph, run: str, *, predictors: Sequence[str] = (), year_relation: str | None = None, groups: bool = True
) -> GraphRates | None:
    """Estimate the share of the graph that a model knows from the answers of one of its runs.

    Args:
        run: id of the run.
        predictors: ids of runs on the same graph, for example of other models.
        year_relation: id of the relation whose date at the subject gives a fact's year; ``start`` takes the year in
            which the fact began; None chooses, see :mod:`kgprobe.sampling.years`.
        groups: also estimate relations, types, popularities and years.

    Returns:
        None with fewer than three questions whose inclusion probability is known.

    Raises:
        UnknownNameError: the run does not exist.
        KgprobeError: the file of a run's answers is missing, or a predictor has no answers.

    Cost: some passes over all facts, and the rounds that the run's learning lacks, see
    :mod:`kgprobe.running.learning`; with predictors, all rounds. Memory: some hundred bytes per fact.
    """
    properties = get_run(graph, run)
    frame = open_frame(graph, properties, run_folder(properties))
    facts = frame.facts
    if predictors:
        expected = [_expected_by(graph, facts, predictor) for predictor in predictors]
        learning = Learning(facts, properties["max_degree"], expected)
        replay(learning, properties)
    else:
        learning = open_learning(graph, properties, facts)
        # A folder that cannot be written gives the same estimate.
        with suppress(KgprobeError):
            learning.keep()
    rates = learning.rates
    overall = rates.rate()
    if overall is None:
        return None
    unaskable = learning.beliefs.unaskable
    askable = len(facts) - int(unaskable.sum())
    return GraphRates(
        run=properties,
        predictors=predictors,
        facts=askable,
        answers=learning.answers,
        drawn=rates.draws,
        overall=group_rate("all", None, "all facts", askable, overall),
        groupings=group_rates(graph, facts, year_relation, rates, unaskable) if groups else [],
        notes=frame_notes(graph, properties, frame),
    )


def frame_notes(graph: Graph, run: Row, frame: Frame | None = None) -> list[str]:
    """Return sentences on the facts that came after the start of a run, and on its lost facts; none if all are there.

    Cost: a look-up if the graph has not changed; else see :func:`.open_frame`, and a pass over the answers.

    Args:
        frame: of the run, if it is open.
    """
    if run["graph"] == graph_state(graph):
        return []
    frame = frame or open_frame(graph, run, run_folder(run))
    notes = [frame.note] if frame.note else []
    if frame.lost:
        draws = chain.from_iterable(read_rounds(run_folder(run) / FILE, counted_answers(run)))
        ends = {draw.fact: (draw.subject, draw.relation) for draw in draws}
        lost = [ends[fact] for fact, at in zip(ends, frame.facts.positions(list(ends)), strict=True) if at < 0]
        if lost:
            notes.append(f"Answers about lost facts do not count: {_fact_names(graph, lost)}.")
    return notes


def _fact_names(graph: Graph, facts: Sequence[tuple[str, str]]) -> str:
    """Return the subjects and relations of the first facts, and the number of the others."""
    shown = facts[:_NAMED]
    labels = column_by("id", "label", graph.read("sample/labels", ids=sorted({subject for subject, _ in shown})))
    names = relation_names(graph, {relation for _, relation in shown})
    texts = [f"{labels.get(subject, subject)}, {names[relation]}" for subject, relation in shown]
    if len(facts) > _NAMED:
        texts.append(f"and {counted(len(facts) - _NAMED, 'other')}")
    return "; ".join(texts)


def _expected_by(graph: Graph, facts: AskableFacts, run: str) -> NDArray[np.float64]:
    """Return the standardised difficulty of facts by a run's answers, shape (facts,)."""
    properties = get_run(graph, run)
    frame = open_frame(graph, properties, run_folder(properties))
    learning = open_learning(graph, properties, facts, frame.facts)
    if not learning.beliefs.model.answers:
        raise KgprobeError(f"Run {run!r} has no answers about these facts and cannot be a predictor.")
    return learning.difficulty()


def estimate_whole(
    graph: Graph, run: str, *, predictors: Sequence[str], year_relation: str | None, groups: bool = True
) -> GraphRates:
    """Estimate the whole graph from a run, see :func:`estimate_run`; raise KgprobeError if it gives no estimate."""
    rates = estimate_run(graph, run, predictors=predictors, year_relation=year_relation, groups=groups)
    if rates is None:
        sampling = get_run(graph, run)["sampling"]
        why = (
            "it has too few answers yet"
            if SAMPLING_RULES[sampling].inclusion_known
            else f"inclusion probabilities are unknown for sampling={sampling}"
        )
        raise KgprobeError(
            f"Run {run!r} gives no estimate for the whole graph: {why}. Start one that does with"
            " `kgprobe rounds run PROBE --aim estimate`."
        )
    return rates


def estimate_to_precision(
    estimate: Callable[..., GraphRates], resume: Callable[[int], RunReport], precision: float, most: float
) -> GraphRates:
    """Resume a run until the interval of all facts is narrow enough, or it stops; return the estimate.

    Args:
        estimate: returns the estimate from the answers so far; :func:`estimate_whole` of the run.
        resume: resumes the run up to a total number of rounds.
        precision: half the width of the interval.
        most: maximum number of rounds.
    """
    now = estimate(groups=False)
    stopped, reason, begun = Stop.SURE_ENOUGH, None, now.run["round"]
    while now.overall.width > 2 * precision:
        done = now.run["round"]
        if done >= most:
            stopped = Stop.DONE
            reason = f"The interval is ±{now.overall.width / 2:.3f} after all {done:,} rounds; --rounds allows more."
            break
        report = resume(int(min(most, next_look(done, now.overall.width / (2 * precision)))))
        now = estimate(groups=False)
        if report.stopped is not Stop.DONE:
            stopped, reason = report.stopped, report.reason
            break
    whole = estimate()
    if stopped is Stop.SURE_ENOUGH and whole.run["round"] > begun:
        coverage = "93.5%" if whole.run["facts_per_round"] >= _LARGE_ROUND else "92%"
        reason = f"A 95% interval that stops its own run contains the share in {coverage} of runs."
    return replace(whole, stopped=stopped, reason=reason)


def next_look(done: int, times_too_wide: float) -> int:
    """Return the number of rounds after which to check the precision again.

    Args:
        times_too_wide: width of the interval now, relative to that of the precision.
    """
    growth = min(_GROWTH, max(_LEAST_GROWTH, times_too_wide**2))
    return max(done + 1, math.ceil(done * growth))
