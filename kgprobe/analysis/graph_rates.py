"""Estimates over the whole graph from the answers of a run: the share of all facts that a model knows, with intervals.

docs/methods/graph-estimate.md. The predictions for all facts before a round, and the inclusion probabilities of the
round's facts, give the estimate of :mod:`kgprobe.beliefs.corrected_rates`; :mod:`kgprobe.running.learning` collects
them. Sampling rule and learner affect the width of the interval, not its coverage.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kgprobe.analysis.rates import DECADE, SHOWN_GROUPS
from kgprobe.beliefs.corrected_rates import CorrectedRates
from kgprobe.dates import year_of
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import relation_names
from kgprobe.running.learning import Learning, open_learning, replay
from kgprobe.running.runs import get_run
from kgprobe.sampling.columns.askable import AskableFacts
from kgprobe.sampling.columns.graph_columns import ALWAYS, open_columns
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.proportions import Share
from kgprobe.stats.value_counts import HEAD, TAIL, TORSO, thirds_of

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Groups with fewer draws have no estimate.
ENOUGH = 30
_DAYS = 10_000


@dataclass(frozen=True, slots=True)
class RateGroup:
    """A group of the graph's facts.

    Attributes:
        facts: number of facts that can be asked.
        rate: estimated share of right answers, the mean over all of them.
    """

    id: str
    name: str
    facts: int
    rate: Estimate


@dataclass(frozen=True, slots=True)
class RateGrouping:
    """Groups of one kind.

    Attributes:
        by: kind of the groups: relation, type, popularity, year.
        groups: the largest groups with at least ``ENOUGH`` draws; thirds and years in their order.
        left_out: number of other groups.
    """

    by: str
    groups: Sequence[RateGroup]
    left_out: int


@dataclass(frozen=True, slots=True)
class GraphRates:
    """Estimates over the whole graph from one run.

    Attributes:
        run: the run's properties.
        predictors: other runs whose answers improve the predictions.
        facts: number of facts of the graph that the run can ask.
        answers: number of the run's answers.
        drawn: number of questions with a known inclusion probability; the others improve only the predictions.
        overall: estimated share of right answers, the mean over all facts; None where ``drawn`` is below 3.
    """

    run: Row
    predictors: Sequence[str]
    facts: int
    answers: int
    drawn: int
    overall: Estimate | None
    groupings: Sequence[RateGrouping]

    @property
    def relations(self) -> Sequence[RateGroup]:
        """The relations with an estimate; empty where groups were not estimated."""
        for grouping in self.groupings:
            if grouping.by == "relation":
                return grouping.groups
        return ()


def share_of(estimate: Estimate) -> Share:
    """Return an estimate as a share with its interval."""
    return Share(estimate.value, estimate.low, estimate.high)


def estimate_run(
    graph: Graph, run: str, *, predictors: Sequence[str] = (), year_relation: str | None = None, groups: bool = True
) -> GraphRates:
    """Estimate the share of the graph that a model knows from the answers of one of its runs.

    Args:
        run: id of the run.
        predictors: ids of runs on the same graph, for example of other models.
        year_relation: id of the relation whose date at the subject gives a fact's year; None takes the year in which
            the fact began.
        groups: also estimate relations, types, popularities and years.

    Raises:
        UnknownNameError: the run does not exist.
        KgprobeError: the file of a run's answers is missing, or a predictor has no answers.

    Cost: some passes over all facts, and the rounds that the run's learning lacks, see
    :mod:`kgprobe.running.learning`; with predictors, all rounds. Memory: some hundred bytes per fact.
    """
    properties = get_run(graph, run)
    facts = AskableFacts(open_columns(graph), properties["relations"], properties["as_of"])
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
    groupings = _groupings(graph, facts, year_relation, rates) if groups else []
    return GraphRates(properties, predictors, len(facts), learning.answers, rates.draws, rates.rate(), groupings)


def _expected_by(graph: Graph, facts: AskableFacts, run: str) -> Floats:
    """Return the standardised difficulty of facts by a run's answers, shape (facts,)."""
    learning = open_learning(graph, get_run(graph, run), facts)
    if not learning.beliefs.model.answers:
        raise KgprobeError(f"Run {run!r} has no answers about these facts and cannot be a predictor.")
    return learning.difficulty()


def _group(rates: CorrectedRates, id_: str, name: str, members: Bools) -> RateGroup | None:
    """Return a group's estimate, or None where fewer than ``ENOUGH`` of its facts were drawn."""
    rate = rates.rate(members)
    return RateGroup(id_, name, int(members.sum()), rate) if rate is not None and rate.labelled >= ENOUGH else None


def _largest(by: str, sizes: NDArray[np.int64], group: Callable[[int], RateGroup | None]) -> RateGrouping:
    """Return the largest groups with enough draws, among twice as many as are shown."""
    order = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())].tolist()
    estimates = filter(None, map(group, order[: 2 * SHOWN_GROUPS]))
    return _grouping(by, islice(estimates, SHOWN_GROUPS), len(order))


def _grouping(by: str, estimates: Iterable[RateGroup | None], total: int) -> RateGrouping:
    groups = [group for group in estimates if group is not None]
    return RateGrouping(by, groups, total - len(groups))


def _groupings(
    graph: Graph, facts: AskableFacts, year_relation: str | None, rates: CorrectedRates
) -> list[RateGrouping]:
    groupings = (
        _by_relation(graph, facts, rates),
        _by_type(facts, rates),
        _by_popularity(facts, rates),
        _by_year(_years(graph, facts, year_relation), rates),
    )
    return [grouping for grouping in groupings if grouping.groups]


def _by_relation(graph: Graph, facts: AskableFacts, rates: CorrectedRates) -> RateGrouping:
    ids, codes = facts.columns.relation_ids, facts.relations
    sizes = np.bincount(codes, minlength=len(ids))
    names = relation_names(graph, [ids[code] for code in np.flatnonzero(sizes).tolist()])
    return _largest("relation", sizes, lambda code: _group(rates, ids[code], names[ids[code]], codes == code))


def _by_type(facts: AskableFacts, rates: CorrectedRates) -> RateGrouping:
    """Group facts by their subjects' types."""
    columns, subjects = facts.columns, facts.subjects
    places, lengths = columns.types.places(subjects)
    types, owners = columns.types.values[places], np.repeat(np.arange(len(subjects)), lengths)
    sizes = np.bincount(types, minlength=len(columns.type_ids))
    labels = columns.type_labels()

    def group(code: int) -> RateGroup | None:
        members = np.zeros(len(subjects), np.bool_)
        members[owners[types == code]] = True
        id_ = columns.type_ids[code]
        return _group(rates, id_, labels.get(id_) or id_, members)

    return _largest("type", sizes, group)


def _by_popularity(facts: AskableFacts, rates: CorrectedRates) -> RateGrouping:
    """Group facts by thirds of their subjects' popularity."""
    values = facts.columns.popularities[facts.subjects]
    thirds = thirds_of(values)
    members = {
        HEAD: values >= thirds.head,
        TORSO: (values >= thirds.torso) & (values < thirds.head),
        TAIL: values < thirds.torso,
    }
    estimates = [_group(rates, name, name, third) for name, third in members.items() if third.any()]
    return _grouping("popularity", estimates, len(estimates))


def _years(graph: Graph, facts: AskableFacts, relation: str | None) -> Floats:
    """Return the year of each fact: of its begin, or of its subject's earliest date in a relation; NaN if unknown."""
    columns = facts.columns
    if relation is None:
        begins = columns.begins[facts.places]
        return np.where(begins == ALWAYS, np.nan, (begins // _DAYS).astype(np.float64))
    dated = [(row["subject"], year_of(row["date"])) for row in graph.stream("sample/dates", relation=relation)]
    of_entities = np.full(len(columns.entity_ids), np.nan)
    places = columns.places_of([subject for subject, _ in dated])
    years = np.array([year for _, year in dated], np.float64)
    of_entities[places[places >= 0]] = years[places >= 0]
    return of_entities[facts.subjects]


def _by_year(years: Floats, rates: CorrectedRates) -> RateGrouping:
    """Group facts by year, or by decade where there are too many years; facts without a year are left out."""
    known = np.unique(years[~np.isnan(years)])
    wide = len(known) > SHOWN_GROUPS
    codes = years // DECADE * DECADE if wide else years
    estimates = [
        _group(rates, str(year), f"{year}s" if wide else str(year), codes == year)
        for year in np.unique(codes[~np.isnan(codes)]).astype(np.int64).tolist()
    ]
    return _grouping("year", estimates, len(estimates))
