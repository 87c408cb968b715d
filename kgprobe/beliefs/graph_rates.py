"""Rates of groups over the whole graph, estimated from the answers of a run: relations, types, popularities, years.

docs/methods/graph-estimate.md. :mod:`kgprobe.beliefs.corrected_rates` has the estimator.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.dates import year_of
from kgprobe.base.intervals import Percent, Share
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.beliefs.corrected_rates import CorrectedRates
from kgprobe.beliefs.group_rates import DECADE, SHOWN_GROUPS, Grouping
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_names
from kgprobe.sampling.columns.graph_columns import AskableFacts
from kgprobe.sampling.columns.making import ALWAYS
from kgprobe.sampling.years import FACT_START, YearSource, candidate_sources, choose_source, has_enough
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.value_counts import HEAD, TAIL, TORSO, thirds_of

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Groups with fewer draws have no estimate.
ENOUGH = 30
_DAYS = 10_000


@dataclass(frozen=True, slots=True)
class GroupRate(ResultRow):
    """Estimated share of right answers to the facts of a group.

    Attributes:
        by: kind of the group: all, relation, type, popularity, year.
        drawn: number of questions with a known inclusion probability.
        right: estimated share of right answers, the mean over all of the group's facts.
        expected: uncorrected mean of all predictions; None if the estimate does not use them.
        standard_error: see :class:`~kgprobe.stats.design_based.Estimate`.
        answers_worth: number of uniformly drawn answers that give the same standard error without predictions.
    """

    by: str
    group: str | None
    name: str
    facts: Annotated[int, Heading("facts")]
    drawn: Annotated[int, Heading("questions")]
    right: Annotated[Share, Heading("right")]
    expected: Annotated[float | None, Heading("expected", Percent)]
    standard_error: float
    answers_worth: float | None

    @property
    def width(self) -> float:
        """Width of the interval."""
        return self.right.high - self.right.low


def group_rate(by: str, group: str | None, name: str, facts: int, rate: Estimate) -> GroupRate:
    """Return the estimate of a group as a row."""
    right = Share(rate.value, rate.low, rate.high)
    expected = rate.raw if rate.weight else None
    return GroupRate(by, group, name, facts, rate.labelled, right, expected, rate.standard_error, rate.labels_worth)


# Id and name of a group, with the places of its facts.
Candidate: TypeAlias = tuple[str, str, Bools]


def group_rates(
    graph: Graph, facts: AskableFacts, year_relation: str | None, rates: CorrectedRates, unaskable: Bools
) -> list[Grouping[GroupRate]]:
    """Return the largest groups of each kind with at least ``ENOUGH`` draws: relations, types, popularities, years.

    Args:
        year_relation: id of the relation whose date at the subject gives a fact's year; ``start`` takes the year in
            which the fact began; None chooses, see :mod:`kgprobe.sampling.years`.
        unaskable: True for facts that turned out not to be askable, shape (facts,).
    """
    years, source = _years(graph, facts, year_relation)
    kinds = {
        "relation": _by_relation(graph, facts),
        "type": _by_type(facts),
        "popularity": _by_popularity(facts),
        "year": _by_year(years),
    }
    groupings = []
    for by, (total, candidates) in kinds.items():
        groups: list[GroupRate] = []
        for id_, name, members in candidates:
            rate = rates.rate(members)
            if rate is not None and rate.labelled >= ENOUGH:
                groups.append(group_rate(by, id_, name, int((members & ~unaskable).sum()), rate))
            if len(groups) == SHOWN_GROUPS and by != "year":
                break
        if groups:
            groupings.append(Grouping(by, groups, total - len(groups), source if by == "year" else None))
    return groupings


def _largest(sizes: NDArray[np.int64]) -> tuple[int, list[int]]:
    """Return the number of groups with facts, and the largest ones, twice as many as are shown."""
    total = int((sizes > 0).sum())
    return total, np.argsort(-sizes, kind="stable")[:total][: 2 * SHOWN_GROUPS].tolist()


def _by_relation(graph: Graph, facts: AskableFacts) -> tuple[int, Iterator[Candidate]]:
    ids, codes = facts.columns.relation_ids, facts.relations
    sizes = np.bincount(codes, minlength=len(ids))
    names = relation_names(graph, list(compress(ids, sizes)))
    total, largest = _largest(sizes)
    return total, ((ids[code], names[ids[code]], codes == code) for code in largest)


def _by_type(facts: AskableFacts) -> tuple[int, Iterator[Candidate]]:
    """Group facts by their subjects' types."""
    columns, subjects = facts.columns, facts.subjects
    places, lengths = columns.types.places(subjects)
    types, owners = columns.types.values[places], np.repeat(np.arange(len(subjects)), lengths)
    total, largest = _largest(np.bincount(types, minlength=len(columns.type_ids)))
    labels = columns.type_labels()

    def candidates() -> Iterator[Candidate]:
        for code in largest:
            members = np.zeros(len(subjects), np.bool_)
            members[owners[types == code]] = True
            id_ = columns.type_ids[code]
            yield id_, labels.get(id_) or id_, members

    return total, candidates()


def _by_popularity(facts: AskableFacts) -> tuple[int, Iterable[Candidate]]:
    """Group facts by thirds of their subjects' popularity."""
    values = facts.columns.popularities[facts.subjects]
    thirds = thirds_of(values)
    members = {
        HEAD: values >= thirds.head,
        TORSO: (values >= thirds.torso) & (values < thirds.head),
        TAIL: values < thirds.torso,
    }
    candidates = [(name, name, third) for name, third in members.items() if third.any()]
    return len(candidates), candidates


def _years(graph: Graph, facts: AskableFacts, relation: str | None) -> tuple[Floats, YearSource]:
    """Return the year of each fact, NaN if unknown, and the source of the years.

    Cost: one scan of the facts with literals, if a source is a relation.
    """
    sources = candidate_sources(graph, relation)
    years: dict[str, Floats] = {}
    if FACT_START in sources:
        begins = facts.columns.begins[facts.places]
        years[FACT_START] = np.where(begins == ALWAYS, np.nan, (begins // _DAYS).astype(np.float64))
        if has_enough(_dated(years[FACT_START]), len(facts)):
            sources = [FACT_START]
    relations = [source for source in sources if source != FACT_START]
    if relations:
        years |= _dates_of_subjects(graph, facts, relations)
    source = choose_source(graph, {name: _dated(of_facts) for name, of_facts in years.items()}, len(facts))
    return years[source.relation], source


def _dated(years: Floats) -> int:
    return int((~np.isnan(years)).sum())


def _dates_of_subjects(graph: Graph, facts: AskableFacts, relations: Sequence[str]) -> dict[str, Floats]:
    """Return the year of each fact's subject by relation, NaN if unknown."""
    subjects: dict[str, list[str]] = {relation: [] for relation in relations}
    dates: dict[str, list[int | None]] = {relation: [] for relation in relations}
    for row in graph.stream("sample/dates", relations=list(relations)):
        subjects[row["relation"]].append(row["subject"])
        dates[row["relation"]].append(year_of(row["date"]))
    years = {}
    for relation in relations:
        of_entities = np.full(len(facts.columns.entity_ids), np.nan)
        places, values = facts.columns.places_of(subjects[relation]), np.array(dates[relation], np.float64)
        of_entities[places[places >= 0]] = values[places >= 0]
        years[relation] = of_entities[facts.subjects]
    return years


def _by_year(years: Floats) -> tuple[int, Iterator[Candidate]]:
    """Group facts by year, or by decade where there are too many years; facts without a year are left out."""
    known = np.unique(years[~np.isnan(years)])
    codes, suffix = years, ""
    if len(known) > SHOWN_GROUPS:
        codes, suffix = years // DECADE * DECADE, "s"
    distinct = np.unique(codes[~np.isnan(codes)]).astype(np.int64).tolist()
    return len(distinct), ((str(year), f"{year}{suffix}", codes == year) for year in distinct)
