"""Metrics of a whole judged graph from a stream of its facts: by relation, type and popularity, and correlations.

docs/methods/judged-graphs.md. One pass; memory grows with relations, types, reasons, and distinct values of degree and
popularity, not with facts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError
from kgprobe.judge import ALL_TYPES, RELATIONS, FigureOptions
from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.prediction_powered import PredictionSums, sum_predictions, sum_predictions_by
from kgprobe.stats.value_counts import FEATURES, Comoments, Thirds, ValueCounts

METRICS = ("correct", "truthful", "informative")
# Columns that are read.
COLUMNS = (
    *("fact", "subject", "relation", "subject_types", "object_types", *FEATURES),
    *("reason", "judgement", "negatives", *METRICS),
)
# Reasons why a judged fact has no metrics.
NO_NEGATIVE = "none of its negatives was judged"
NO_REASON = "no reason is given"
# The one group of all facts, and the kinds of groups.
ALL = "all"
OVERALL, RELATION, SUBJECT_TYPE, OBJECT_TYPE, THIRD = "all", "relation", "subject type", "object type", "third"
_TYPE_COLUMNS = {SUBJECT_TYPE: "subject_types", OBJECT_TYPE: "object_types"}
# Groups of relations by the most frequent type of their subjects, of their objects, and by both.
HEAD_TYPE, TAIL_TYPE, TYPE_PAIR = "head type", "tail type", "head and tail type"
# Means of both ends of a fact, by name, with the columns of the ends.
AVERAGES = {
    "degree": ("subject_degree", "object_degree"),
    "popularity": ("subject_popularity", "object_popularity"),
}

# Name of a missing type, and separator of two types, in the name of a pair.
NO_TYPE, ARROW = "(no type)", "→"

# Kind and name of a group; the name is None for facts without a type, or with unknown popularity.
GroupKey: TypeAlias = tuple[str, str | None]
Places: TypeAlias = NDArray[np.intp]
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class GroupSums:
    """A group of facts.

    Attributes:
        by: kind of the group: ``all``, ``relation``, ``subject type``, ``object type``, ``head type``, ``tail type``,
            ``head and tail type`` or ``third``.
        name: its id; None for facts without a type, or with unknown popularity. For a pair of types, both with an arrow
            between them.
    """

    by: str
    name: str | None
    facts: int
    sums: Mapping[str, PredictionSums]

    @property
    def measured(self) -> int:
        """Number of measured facts; of relations with measured facts, if the group's means are over relations."""
        return self.sums[METRICS[0]].count

    @property
    def average(self) -> float | None:
        """Mean of the three metrics by the judge; None without measured facts."""
        return sum(self.sums[metric].mean for metric in METRICS) / len(METRICS) if self.measured else None

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric by the judge; None without measured facts."""
        return self.sums[metric].mean if self.measured else None


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rank correlation of a metric with a feature of entities; ties have the mean of their ranks.

    Attributes:
        feature: name of the feature, a column of the judged facts.
        facts: number of measured facts with a known value.
        value: in [-1, 1]; None where metric or feature is constant.
    """

    metric: str
    feature: str
    facts: int
    value: float | None


@dataclass(frozen=True, slots=True)
class PairCorrelation:
    """Pearson's correlation of two numbers of a fact: metrics, or means of a feature over both ends.

    Attributes:
        first, second: names of the metrics, or ``degree`` and ``popularity``, averaged over subject and object.
        facts: number of measured facts with both numbers.
        value: in [-1, 1]; None where a number is constant.
    """

    first: str
    second: str
    facts: int
    value: float | None


@dataclass(frozen=True, slots=True)
class RelationTypes:
    """The most frequent types of a relation's subjects and objects; of equally frequent ones, the most specific one.

    Attributes:
        relation: id.
        facts: number of facts.
        head, tail: ids of the types; None where no entity has a type.
    """

    relation: str
    facts: int
    head: str | None
    tail: str | None


@dataclass(frozen=True, slots=True)
class PickedFact:
    """A requested fact.

    Attributes:
        groups: its groups, except its third.
        popularity: popularity of its subject; NaN if unknown.
        metrics: by name; None if it was not measured.
    """

    groups: frozenset[GroupKey]
    popularity: float
    metrics: Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class WholeGraph:
    """The metrics of a judged graph.

    Attributes:
        reasons: numbers of facts without metrics by reason, the most frequent first.
        groups: all facts; then relations, types of subjects, types of objects, and thirds, each by decreasing size.
        judgements: numbers of statements judged true, false, unknown, and not judged; for facts, and for negatives by
            the replaced entity.
        correlations: rank correlations of each metric with each feature.
        pearson: correlations of the metrics and the averaged features, each pair once.
        relation_types: types of the relations, by decreasing number of facts.
        thirds: bounds of the thirds of popularity.
        picked: the requested facts that exist.
    """

    facts: int
    reasons: Mapping[str, int]
    groups: Sequence[GroupSums]
    judgements: Mapping[str, tuple[int, ...]]
    correlations: Sequence[Correlation]
    pearson: Sequence[PairCorrelation]
    relation_types: Sequence[RelationTypes]
    thirds: Thirds
    picked: Mapping[FactKey, PickedFact]


def whole_graph(
    batches: Iterable[pa.RecordBatch], looked_for: Iterable[FactKey] = (), options: FigureOptions = ALL_TYPES
) -> WholeGraph:
    """Compute the metrics of judged facts from batches with ``COLUMNS``.

    Cost: one pass. Memory: one batch, all groups and all distinct values.

    Raises:
        ArgumentError: no entity has a type of the vocabulary.
    """
    sums = _WholeGraphSums(frozenset(looked_for), options)
    for batch in batches:
        sums.add(batch)
    return sums.result()


class _WholeGraphSums:
    """Sums over the batches so far."""

    def __init__(self, looked_for: frozenset[FactKey], options: FigureOptions) -> None:
        self._looked_for, self._options = looked_for, options
        self._ids = pa.array(sorted(set(map(attrgetter("fact"), looked_for))), pa.string())
        self._facts = 0
        self._reasons: Counter[str] = Counter()
        self._sizes: Counter[GroupKey] = Counter()
        self._sums: dict[GroupKey, dict[str, PredictionSums]] = {}
        self._judgements: dict[str, NDArray[np.intp]] = {}
        self._values = {feature: ValueCounts(feature, METRICS) for feature in FEATURES}
        self._pairs: dict[tuple[str, str], Comoments] = {}
        self._types: dict[str, Counter[tuple[str, str | None]]] = {by: Counter() for by in _TYPE_COLUMNS}
        self._picked: dict[FactKey, PickedFact] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch."""
        metrics = batch.select(list(METRICS)).to_pandas()
        measured = metrics.notna().all(axis=1).to_numpy()
        self._facts += batch.num_rows
        judged = pc.greater_equal(batch.column("judgement"), 0)
        reasons = pc.coalesce(batch.column("reason"), pc.if_else(judged, NO_NEGATIVE, NO_REASON))
        self._reasons.update(reasons.filter(~measured).to_pylist())
        self._count("facts", _numpy(batch, "judgement"))
        negatives = batch.column("negatives").flatten()
        judgements, replaced = (
            negatives.field("judgement").to_numpy(zero_copy_only=False),
            negatives.field("replaced").to_pandas(),
        )
        for end in sorted(replaced.unique()):
            self._count(f"negatives with another {end}", judgements[(replaced == end).to_numpy()])
        everything = np.arange(batch.num_rows)
        self._group(OVERALL, everything, pd.Series([ALL] * batch.num_rows), metrics, measured)
        self._group(RELATION, everything, batch.column("relation").to_pandas(), metrics, measured)
        for by, column in _TYPE_COLUMNS.items():
            # An empty list gives one row without a type; a repeated type counts once.
            listed = batch.column(column).to_pandas()
            if self._options.types_of is not None:
                listed = listed.map(self._own_types)
            types = listed.explode().rename("type").rename_axis("place").reset_index()
            types = types.drop_duplicates()
            self._group(by, types["place"].to_numpy(), types["type"], metrics, measured)
            relations = batch.column("relation").to_pandas().iloc[types["place"].to_numpy()].to_numpy()
            counts = pd.DataFrame({"relation": relations, "type": types["type"].to_numpy()})
            for (relation, type_), number in counts.groupby(["relation", "type"], dropna=False).size().items():
                self._types[by][str(relation), None if pd.isna(type_) else str(type_)] += int(number)
        for feature, values in self._values.items():
            values.add(_numpy(batch, feature).astype(np.float64)[measured], metrics[measured])
        numbers = {metric: metrics[metric].to_numpy(np.float64)[measured] for metric in METRICS}
        for name, ends in AVERAGES.items():
            subject, object_ = (_numpy(batch, column).astype(np.float64)[measured] for column in ends)
            numbers[name] = (subject + object_) / 2
        for pair in combinations(numbers, 2):
            sums = self._pairs.get(pair, Comoments())
            self._pairs[pair] = sums.with_pairs(*(numbers[name] for name in pair))
        self._pick(batch, metrics, measured)

    def result(self) -> WholeGraph:
        """Return the metrics of all groups."""
        popularity = self._values["subject_popularity"]
        thirds = popularity.thirds()
        groups = [GroupSums(*key, size, self._sums[key]) for key, size in self._sizes.items()]
        order = [OVERALL, RELATION, SUBJECT_TYPE, OBJECT_TYPE]
        groups.sort(key=lambda group: (order.index(group.by), -group.facts, group.name is None, str(group.name)))
        relation_types = self._relation_types()
        over_relations = self._options.mean_over == RELATIONS
        groups += _groups_of_types(relation_types, groups, over_relations=over_relations)
        groups += [GroupSums(THIRD, *part) for part in popularity.by_third(thirds)]
        correlations = []
        for feature, metric in product(FEATURES, METRICS):
            correlations.append(Correlation(metric, feature, *self._values[feature].rank_correlation(metric)))
        return WholeGraph(
            facts=self._facts,
            reasons=dict(self._reasons.most_common()),
            groups=groups,
            judgements={name: tuple(counts.tolist()) for name, counts in self._judgements.items()},
            correlations=correlations,
            pearson=[PairCorrelation(*names, sums.count, sums.pearson) for names, sums in self._pairs.items()],
            relation_types=relation_types,
            thirds=thirds,
            # Labels are of facts, so they cannot correct a mean over relations.
            picked=self._picked if over_relations else _with_groups_of_types(self._picked, relation_types),
        )

    def _relation_types(self) -> list[RelationTypes]:
        """Return the types of each relation; of equally frequent ones that with the fewest facts, then the first id."""
        best: dict[str, dict[str, str]] = {by: {} for by in _TYPE_COLUMNS}
        for by, counts in self._types.items():
            typed = [(relation, type_, count) for (relation, type_), count in counts.items() if type_ is not None]
            totals: Counter[str] = Counter()
            for _, type_, count in typed:
                totals[type_] += count
            for relation, type_, _ in sorted(typed, key=lambda each: (-each[2], totals[each[1]], each[1])):
                best[by].setdefault(relation, type_)
        if self._options.types_of is not None and not any(best.values()):
            raise ArgumentError(
                "types_of",
                f"is {self._options.types_of!r}; no id of a type begins with it and a colon. `kgprobe show` lists the"
                " types.",
            )
        types = []
        for (by, name), facts in self._sizes.items():
            if by == RELATION and name is not None:
                ends = (best[end].get(name) for end in (SUBJECT_TYPE, OBJECT_TYPE))
                types.append(RelationTypes(name, facts, *ends))
        return sorted(types, key=lambda relation: (-relation.facts, relation.relation))

    def _own_types(self, types: Iterable[str] | None) -> list[str]:
        """Return the types of the chosen vocabulary."""
        vocabulary = self._options.types_of
        own = () if types is None else types
        return list(own) if vocabulary is None else [type_ for type_ in own if type_.startswith(f"{vocabulary}:")]

    def _count(self, name: str, judgements: NDArray[Any]) -> None:
        # The code of statements that were not judged, -1, becomes the last of four.
        counts = np.bincount(judgements.astype(np.int64) % (len(JUDGEMENTS) + 1), minlength=len(JUDGEMENTS) + 1)
        self._judgements[name] = self._judgements.get(name, 0) + counts

    def _group(self, by: str, places: Places, names: "pd.Series[Any]", metrics: pd.DataFrame, measured: Bools) -> None:
        """Add the facts at these positions to the groups of these names; positions can repeat."""
        codes, distinct = pd.factorize(names, use_na_sentinel=False)
        keys: list[GroupKey] = [(by, None if pd.isna(name) else str(name)) for name in distinct]
        for key, size in zip(keys, np.bincount(codes, minlength=len(keys)).tolist(), strict=True):
            self._sizes[key] += size
        counted = measured[places]
        for metric in METRICS:
            values = metrics[metric].to_numpy()[places[counted]]
            parts = sum_predictions_by(values, codes[counted].astype(np.int64), len(keys))
            for key, part in zip(keys, parts, strict=True):
                sums = self._sums.setdefault(key, dict.fromkeys(METRICS, PredictionSums()))
                sums[metric] = sums[metric] + part

    def _pick(self, batch: pa.RecordBatch, metrics: pd.DataFrame, measured: Bools) -> None:
        names = ["fact", "subject", "relation", "subject_types", "object_types", "subject_popularity"]
        is_candidate = pc.is_in(batch.column("fact"), self._ids).to_numpy(zero_copy_only=False)
        places = np.flatnonzero(is_candidate)
        for place, row in zip(places.tolist(), batch.select(names).take(pa.array(places)).to_pylist(), strict=True):
            key = FactKey(row["subject"], row["fact"])
            if key not in self._looked_for:
                continue
            groups: list[GroupKey] = [(OVERALL, ALL), (RELATION, row["relation"])]
            for by, column in _TYPE_COLUMNS.items():
                names_of_types: list[str | None] = [*self._own_types(row[column])]
                groups += product([by], names_of_types or [None])
            values = metrics.iloc[place].astype(float).to_dict() if measured[place] else None
            popularity = row["subject_popularity"]
            self._picked[key] = PickedFact(frozenset(groups), np.nan if popularity is None else popularity, values)


def _names_of_types(relation: RelationTypes) -> dict[str, str | None]:
    """Return the names of a relation's groups by type of the subject, of the object, and of both."""
    pair = f"{relation.head or NO_TYPE} {ARROW} {relation.tail or NO_TYPE}"
    return {HEAD_TYPE: relation.head, TAIL_TYPE: relation.tail, TYPE_PAIR: pair}


def _with_groups_of_types(
    picked: Mapping[FactKey, PickedFact], types: Sequence[RelationTypes]
) -> dict[FactKey, PickedFact]:
    """Return picked facts with the groups of their relations' types."""
    groups: dict[GroupKey, frozenset[GroupKey]] = {}
    for relation in types:
        groups[RELATION, relation.relation] = frozenset(_names_of_types(relation).items())
    completed = {}
    for key, fact in picked.items():
        own = frozenset[GroupKey]().union(*(groups.get(group, ()) for group in fact.groups))
        completed[key] = replace(fact, groups=fact.groups | own)
    return completed


def _groups_of_types(
    types: Sequence[RelationTypes], groups: Sequence[GroupSums], *, over_relations: bool
) -> list[GroupSums]:
    """Return the relations with the same types: of subjects, of objects, and of both; those with most facts first."""
    own = {group.name: group for group in groups if group.by == RELATION}
    merged: list[GroupSums] = []
    for by in (HEAD_TYPE, TAIL_TYPE, TYPE_PAIR):
        members: dict[str | None, list[GroupSums]] = {}
        for relation in types:
            members.setdefault(_names_of_types(relation)[by], []).append(own[relation.relation])
        parts = [_merged(by, name, relations, over_relations) for name, relations in members.items()]
        merged += sorted(parts, key=lambda group: (-group.facts, group.name is None, str(group.name)))
    return merged


def _merged(by: str, name: str | None, groups: Sequence[GroupSums], over_relations: bool) -> GroupSums:
    sums = {}
    for metric in METRICS:
        own = [group.sums[metric] for group in groups]
        means = [sum_predictions([part.mean]) for part in own if part.count]
        sums[metric] = sum(means if over_relations else own, PredictionSums())
    return GroupSums(by, name, sum(group.facts for group in groups), sums)


def _numpy(batch: pa.RecordBatch, column: str) -> NDArray[Any]:
    return batch.column(column).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
