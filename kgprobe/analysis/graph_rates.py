"""Estimates over the whole graph from the answers of a run: the share of all facts that a model knows, with intervals.

docs/methods/graph-estimate.md. The learner replays a run's answers in their order from the file that stores them. Its
predictions for all facts before a round, and the inclusion probabilities of the round's facts, give the estimate of
:mod:`kgprobe.beliefs.corrected_rates`. Sampling rule and learner affect the width of the interval, not its coverage.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice

import numpy as np
from numpy.typing import NDArray

from kgprobe.analysis.rates import DECADE, SHOWN_GROUPS
from kgprobe.beliefs.corrected_rates import CORRECTED_FROM, CorrectedRates, RoundDraws
from kgprobe.dates import year_of
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import relation_names
from kgprobe.probes.outcome import Verdict
from kgprobe.running.applying import COUNTS
from kgprobe.running.hierarchical_learner import HierarchicalBeliefs, positioned_rounds
from kgprobe.running.runs import get_run, run_folder
from kgprobe.running.store import FILE, StoredDraw
from kgprobe.sampling.columns.askable import AskableFacts
from kgprobe.sampling.columns.graph_columns import ALWAYS, open_columns
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.proportions import Share
from kgprobe.stats.value_counts import HEAD, TAIL, TORSO, thirds_of

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# Groups with fewer draws have no estimate.
ENOUGH = 30
# All facts are predicted again when the number of answers has grown by this factor. A prediction takes seconds in
# graphs of many facts; these have the second factor.
_GROWTH, _GROWTH_OF_MANY = 1.25, 2.0
_MANY = 500_000
# Facts that are predicted at a time.
_AT_ONCE = 200_000
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

    Cost: the answers, and a pass over all facts whenever answers have grown by a quarter, or have doubled in graphs of
    more than 500,000 facts; a pass over a million facts takes 2 s. Memory: some hundred bytes per fact.
    """
    properties = get_run(graph, run)
    facts = AskableFacts(open_columns(graph), properties["relations"], properties["as_of"])
    expected = [_expected_by(graph, facts, predictor) for predictor in predictors]
    learning = HierarchicalBeliefs(facts, properties["max_degree"], expected)
    # Runs of other models predict well from the first answer on.
    rates = CorrectedRates(len(facts), 0 if predictors else CORRECTED_FROM)
    answers = _correct(rates, learning, properties)
    groupings = _groupings(graph, learning, year_relation, rates) if groups else []
    return GraphRates(properties, predictors, len(facts), answers, rates.draws, rates.rate(), groupings)


def _correct(rates: CorrectedRates, learning: HierarchicalBeliefs, properties: Row) -> int:
    """Add a run's rounds to rates and learner; return the number of answers."""
    facts = learning.facts
    growth = _GROWTH if len(facts) <= _MANY else _GROWTH_OF_MANY
    answers, predict_at = 0, 0.0
    for positions, draws in _rounds(facts, properties):
        drawn = np.array([draw.smallest is not None for draw in draws]) & (positions >= 0)
        if drawn.any():
            if answers >= predict_at:
                rates.predict(_right(learning))
                predict_at = growth * answers
            rates.add(_drawn(positions[drawn], list(compress(draws, drawn))))
        learning.learn(positions, [draw.verdict for draw in draws])
        answers += sum(draw.verdict.counts for draw in draws)
    return answers


def _rounds(facts: AskableFacts, properties: Row) -> Iterator[tuple[Positions, list[StoredDraw]]]:
    """Yield the rounds that the graph has counted, without answers that a killed program left in the file."""
    if not properties["round"]:
        return
    counted = sum(properties[name] for name in COUNTS)
    yield from positioned_rounds(facts, run_folder(properties) / FILE, counted)


def _expected_by(graph: Graph, facts: AskableFacts, run: str) -> Floats:
    """Return the standardised difficulty of facts by a run's answers, shape (facts,)."""
    properties = get_run(graph, run)
    learning = HierarchicalBeliefs(facts, properties["max_degree"])
    for positions, draws in _rounds(facts, properties):
        learning.learn(positions, [draw.verdict for draw in draws])
    if not learning.model.answers:
        raise KgprobeError(f"Run {run!r} has no answers about these facts and cannot be a predictor.")
    means = np.concatenate([learning.model.messages.marginals(part)[0] for part in _parts(len(facts))])
    spread = means.std()
    return (means - means.mean()) / spread if spread > 0 else np.zeros(len(facts))


def _right(learning: HierarchicalBeliefs) -> Floats:
    """Return the predicted probability of a right answer to each fact, shape (facts,)."""
    return np.concatenate([1 - learning.model.posterior(part).theta for part in _parts(len(learning.facts))])


def _parts(count: int) -> Iterator[Positions]:
    for start in range(0, count, _AT_ONCE):
        yield np.arange(start, min(start + _AT_ONCE, count))


def _drawn(positions: Positions, draws: Sequence[StoredDraw]) -> RoundDraws:
    verdicts = [draw.verdict for draw in draws]
    return RoundDraws(
        positions,
        np.array([draw.inclusion for draw in draws], np.float64),
        min(draw.smallest for draw in draws if draw.smallest is not None),
        right=np.array([verdict is Verdict.RIGHT for verdict in verdicts]),
        answered=np.array([verdict.counts for verdict in verdicts]),
        askable=np.array([verdict is not Verdict.UNASKABLE for verdict in verdicts]),
    )


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
    graph: Graph, learning: HierarchicalBeliefs, year_relation: str | None, rates: CorrectedRates
) -> list[RateGrouping]:
    facts = learning.facts
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
