"""How much of the whole graph a model knows, by the answers of a run: over all facts, asked or not, with intervals.

docs/methods/graph-estimate.md. A run's answers are learned again from the file that holds them, as they came;
what was expected of all facts before a round, and the probabilities with which its facts were drawn, give the estimate
of :mod:`kgprobe.beliefs.corrected_rates`. Which facts were asked, and what the learner believes of the others, makes it
more or less exact, and never wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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
from kgprobe.running.store import FILE, Draw
from kgprobe.sampling.columns.askable import AskableFacts
from kgprobe.sampling.columns.graph_columns import ALWAYS, open_columns
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.proportions import Share
from kgprobe.stats.value_counts import HEAD, TAIL, TORSO, thirds_of

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# Groups of fewer draws have no figure.
ENOUGH = 30
# All facts are looked at anew when answers have grown by this; in graphs of many facts, where a look takes seconds, by
# the other.
_GROWTH, _GROWTH_OF_MANY = 1.25, 2.0
_MANY = 500_000
# Facts whose expectations are worked out at a time.
_AT_ONCE = 200_000
_DAYS = 10_000


@dataclass(frozen=True, slots=True)
class RateGroup:
    """A group of the graph's facts.

    Attributes:
        facts: how many there are that can be asked.
        rate: how often the model answers them right, the mean over all of them.
    """

    id: str
    name: str
    facts: int
    rate: Estimate


@dataclass(frozen=True, slots=True)
class RateGrouping:
    """Groups of one kind.

    Attributes:
        by: what they are: relation, type, popularity, year.
        groups: those with most facts among those with ``ENOUGH`` draws; thirds and years in their order.
        left_out: how many groups there are beside them.
    """

    by: str
    groups: Sequence[RateGroup]
    left_out: int


@dataclass(frozen=True, slots=True)
class GraphRates:
    """How much of the graph a model knows, by one run.

    Attributes:
        run: the run's properties.
        predictors: other runs whose answers tell what to expect.
        facts: of the graph that the run can ask.
        answers: how many the run has got.
        drawn: how many of its questions were drawn with a known probability; the others say what to expect alone.
        overall: how often the model is right, the mean over all facts; None where fewer than 3 were drawn so.
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
        """The relations with a rate; none where groups were not estimated."""
        return next((grouping.groups for grouping in self.groupings if grouping.by == "relation"), ())


def share_of(estimate: Estimate) -> Share:
    """Return an estimate as a share with its interval."""
    return Share(estimate.value, estimate.low, estimate.high)


def estimate_run(
    graph: Graph,
    run: str,
    *,
    predictors: Sequence[str] = (),
    year_relation: str | None = None,
    groups: bool = True,
) -> GraphRates:
    """How much of the graph a model knows, by the answers of one of its runs.

    Args:
        run: its id.
        predictors: ids of runs on the same graph, of other models, say.
        year_relation: id of the relation whose date at the subject gives a fact's year; None takes the year in which
            the fact began.
        groups: whether relations, types, popularities and years are estimated, too.

    Raises:
        UnknownNameError: there is no such run.
        KgprobeError: the answers of a run are not where they were kept, or a predictor's are none.

    Cost: the answers, and a pass over all facts whenever there are a quarter more of them, in graphs of more than
    500,000 facts twice as many; a million facts take 2 s. Memory: some hundred bytes for each fact.
    """
    properties = get_run(graph, run)
    facts = AskableFacts(open_columns(graph), properties["relations"], properties["as_of"])
    expected = [_expected_by(graph, facts, predictor) for predictor in predictors]
    learning = HierarchicalBeliefs(facts, properties["max_degree"], expected)
    growth = _GROWTH if len(facts) <= _MANY else _GROWTH_OF_MANY
    # Runs of other models predict well from the first answer on.
    rates, answers = CorrectedRates(len(facts), 0 if predictors else CORRECTED_FROM), 0
    looked_at = -1.0
    for positions, draws in _rounds(facts, properties):
        known = np.array([draw.smallest is not None for draw in draws]) & (positions >= 0)
        if known.any():
            if answers >= looked_at:
                rates.predict(_right(learning))
                looked_at = growth * answers
            rates.add(_drawn(positions[known], [draw for draw, its in zip(draws, known, strict=True) if its]))
        learning.learn(positions, [draw.verdict for draw in draws])
        answers += sum(draw.verdict.counts for draw in draws)
    groupings = []
    if groups:
        groupings = [one for one in _groupings(graph, learning, year_relation, rates) if one.groups]
    return GraphRates(properties, predictors, len(facts), answers, rates.draws, rates.rate(), groupings)


def _rounds(facts: AskableFacts, properties: Row) -> Iterator[tuple[Positions, list[Draw]]]:
    """Yield the rounds that the graph has counted, without what a program that was killed has left behind."""
    if not properties["round"]:
        return
    counted = sum(properties[name] for name in COUNTS)
    yield from positioned_rounds(facts, run_folder(properties) / FILE, counted)


def _expected_by(graph: Graph, facts: AskableFacts, run: str) -> Floats:
    """How hard a run's answers make each of some facts, standardised, shape (facts,)."""
    properties = get_run(graph, run)
    learning = HierarchicalBeliefs(facts, properties["max_degree"])
    for positions, draws in _rounds(facts, properties):
        learning.learn(positions, [draw.verdict for draw in draws])
    if not learning.model.answers:
        raise KgprobeError(f"Run {run!r} has no answer about a fact that is asked here: it predicts nothing.")
    means = np.concatenate([learning.model.messages.marginals(part)[0] for part in _parts(len(facts))])
    spread = means.std()
    return (means - means.mean()) / spread if spread > 0 else np.zeros(len(facts))


def _right(learning: HierarchicalBeliefs) -> Floats:
    """How probably each fact is answered right, by all that was learned, shape (facts,)."""
    return np.concatenate([1 - learning.model.posterior(part).theta for part in _parts(len(learning.facts))])


def _parts(count: int) -> Iterator[Positions]:
    for start in range(0, count, _AT_ONCE):
        yield np.arange(start, min(start + _AT_ONCE, count))


def _drawn(positions: Positions, draws: Sequence[Draw]) -> RoundDraws:
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
    """None where fewer than ``ENOUGH`` facts of it were drawn."""
    rate = rates.rate(members)
    return RateGroup(id_, name, int(members.sum()), rate) if rate is not None and rate.labelled >= ENOUGH else None


def _largest(by: str, sizes: NDArray[np.int64], group: Callable[[int], RateGroup | None]) -> RateGrouping:
    """The largest groups that have enough draws, among twice as many as are shown."""
    order = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())].tolist()
    made = (group(code) for code in order[: 2 * SHOWN_GROUPS])
    found = [one for one in made if one is not None][:SHOWN_GROUPS]
    return RateGrouping(by, found, len(order) - len(found))


def _groupings(
    graph: Graph, learning: HierarchicalBeliefs, year_relation: str | None, rates: CorrectedRates
) -> Iterator[RateGrouping]:
    facts = learning.facts
    yield _by_relation(graph, facts, rates)
    yield _by_type(facts, rates)
    yield _by_popularity(facts, rates)
    yield _by_year(_years(graph, facts, year_relation), rates)


def _by_relation(graph: Graph, facts: AskableFacts, rates: CorrectedRates) -> RateGrouping:
    ids, codes = facts.columns.relation_ids, facts.relations
    sizes = np.bincount(codes, minlength=len(ids))
    names = relation_names(graph, [ids[code] for code in np.flatnonzero(sizes).tolist()])
    return _largest("relation", sizes, lambda code: _group(rates, ids[code], names[ids[code]], codes == code))


def _by_type(facts: AskableFacts, rates: CorrectedRates) -> RateGrouping:
    """By the subjects' types."""
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
    """By thirds of the subjects' popularity."""
    values = facts.columns.popularities[facts.subjects]
    thirds = thirds_of(values)
    members = {
        HEAD: values >= thirds.head,
        TORSO: (values >= thirds.torso) & (values < thirds.head),
        TAIL: values < thirds.torso,
    }
    made = [_group(rates, name, name, its) for name, its in members.items() if its.any()]
    found = [one for one in made if one is not None]
    return RateGrouping("popularity", found, len(made) - len(found))


def _years(graph: Graph, facts: AskableFacts, relation: str | None) -> Floats:
    """The year of each fact: of its begin, or of the earliest date that a relation gives its subject; NaN without."""
    columns = facts.columns
    if relation is None:
        begins = columns.begins[facts.places]
        return np.where(begins == ALWAYS, np.nan, (begins // _DAYS).astype(np.float64))
    dated = [(row["subject"], year_of(row["date"])) for row in graph.stream("sample/dates", relation=relation)]
    of_entities = np.full(len(columns.entity_ids), np.nan)
    places = columns.places_of([subject for subject, _ in dated])
    told = np.array([np.nan if year is None else year for _, year in dated], np.float64)
    of_entities[places[places >= 0]] = told[places >= 0]
    return of_entities[facts.subjects]


def _by_year(years: Floats, rates: CorrectedRates) -> RateGrouping:
    """By year, or by decade where there are too many years; a fact without one is in no group."""
    known = np.unique(years[~np.isnan(years)])
    wide = len(known) > SHOWN_GROUPS
    codes = years // DECADE * DECADE if wide else years
    made = [
        _group(rates, str(year), f"{year}s" if wide else str(year), codes == year)
        for year in np.unique(codes[~np.isnan(codes)]).astype(np.int64).tolist()
    ]
    found = [one for one in made if one is not None]
    return RateGrouping("year", found, len(made) - len(found))
