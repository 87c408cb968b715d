"""Figures of a whole judged graph, from a stream of its facts: by relation, type and popularity; correlations.

docs/methods/judged-graphs.md. One pass; what is kept grows with relations, types, reasons, and
distinct values of degree and popularity, and never with facts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.prediction_sums import PredictionSums, sum_predictions_by
from kgprobe.stats.value_counts import FEATURES, Thirds, ValueCounts

if TYPE_CHECKING:
    import pyarrow as pa

METRICS = ("correct", "truthful", "informative")
# What is read of a judged fact.
COLUMNS = (
    *("fact", "subject", "relation", "subject_types", "object_types", *FEATURES),
    *("reason", "judgement", "negatives", *METRICS),
)
# Why a fact that was judged has no metrics.
NO_NEGATIVE = "none of its negatives was judged"
NO_REASON = "no reason is given"
# The one group of all facts, and the kinds of groups.
ALL = "all"
OVERALL, RELATION, SUBJECT_TYPE, OBJECT_TYPE, THIRD = "all", "relation", "subject type", "object type", "third"


@dataclass(frozen=True, slots=True)
class GroupSums:
    """A group of facts.

    Attributes:
        by: what the group is of: ``all``, ``relation``, ``subject type``, ``object type`` or ``third``.
        name: its id; None for facts without a type, or whose popularity is not known.
        facts: how many there are, measured or not.
        sums: of each metric, over the facts that have one; all have the same number.
    """

    by: str
    name: str | None
    facts: int
    sums: Mapping[str, PredictionSums]


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rank correlation of a metric with a number that entities have; ties have the mean of their ranks.

    Attributes:
        metric: which.
        feature: whose values it is with, a column of the judged facts.
        facts: over how many: measured ones whose value is known.
        value: in [-1, 1]; None where one of the two does not vary.
    """

    metric: str
    feature: str
    facts: int
    value: float | None


@dataclass(frozen=True, slots=True)
class PickedFact:
    """A fact that was looked for.

    Attributes:
        groups: those that it is in, as (by, name), but for its third.
        popularity: its subject's; NaN where it is not known.
        metrics: by name; None where it was not measured.
    """

    groups: frozenset[tuple[str, str | None]]
    popularity: float
    metrics: Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class WholeGraph:
    """What judged facts come to.

    Attributes:
        facts: how many there are.
        reasons: why others than those measured are not, and how many, the most frequent reasons first.
        groups: all facts; then relations, types of subjects, of objects, and thirds, the largest of a kind first.
        judgements: how often statements were judged true, false, unknown, and not at all; of facts, and of negatives by
            what was replaced in them.
        correlations: of each metric with each number.
        thirds: where the thirds of popularity are.
        picked: the facts that were looked for, as far as they are there.
    """

    facts: int
    reasons: Mapping[str, int]
    groups: Sequence[GroupSums]
    judgements: Mapping[str, tuple[int, int, int, int]]
    correlations: Sequence[Correlation]
    thirds: Thirds
    picked: Mapping[FactKey, PickedFact]


def whole_graph(batches: "Iterable[pa.RecordBatch]", looked_for: Iterable[FactKey] = ()) -> WholeGraph:
    """Figures of judged facts, from batches with ``COLUMNS``.

    Cost: one pass. Memory: one batch, and what grows with groups and distinct values.

    Args:
        batches: as :func:`kgprobe.judge.judged_facts.stream_judged_facts` gives them.
        looked_for: facts whose own values are wanted.
    """
    reading = _Reading(frozenset(looked_for))
    for batch in batches:
        reading.take(batch)
    return reading.told()


class _Reading:
    """What is known after some batches."""

    def __init__(self, looked_for: frozenset[FactKey]) -> None:
        self._looked_for = looked_for
        self._facts = 0
        self._reasons: Counter[str] = Counter()
        self._sizes: Counter[tuple[str, str | None]] = Counter()
        self._sums: dict[tuple[str, str | None], dict[str, PredictionSums]] = {}
        self._judgements: dict[str, np.ndarray[Any, np.dtype[np.int64]]] = {}
        self._values = {feature: ValueCounts(feature, METRICS) for feature in FEATURES}
        self._picked: dict[FactKey, PickedFact] = {}

    def take(self, batch: "pa.RecordBatch") -> None:
        """Add a batch."""
        import pyarrow.compute as pc

        metrics = pd.DataFrame({name: batch.column(name).to_numpy(zero_copy_only=False) for name in METRICS})
        measured = metrics.notna().all(axis=1).to_numpy()
        self._facts += batch.num_rows
        reasons = batch.column("reason").filter(np.logical_not(measured))
        judged = pc.greater_equal(batch.column("judgement"), 0).filter(np.logical_not(measured))
        told = pc.coalesce(reasons, pc.if_else(judged, NO_NEGATIVE, NO_REASON))
        self._reasons.update(told.to_pylist())
        self._count("facts", batch.column("judgement").to_numpy(zero_copy_only=False))
        self._negatives(batch.column("negatives").flatten())
        everything = np.arange(batch.num_rows)
        self._group(OVERALL, everything, pd.Series([ALL] * batch.num_rows), metrics, measured)
        self._group(RELATION, everything, batch.column("relation").to_pandas(), metrics, measured)
        for by, column in ((SUBJECT_TYPE, "subject_types"), (OBJECT_TYPE, "object_types")):
            # An empty list is one row without a type; a type that is told twice counts once.
            types = batch.column(column).to_pandas().explode().rename("type").rename_axis("place").reset_index()
            types = types.drop_duplicates()
            self._group(by, types["place"].to_numpy(), types["type"], metrics, measured)
        for feature, values in self._values.items():
            column = batch.column(feature).to_numpy(zero_copy_only=False).astype(np.float64)
            values.add(column[measured], metrics[measured])
        self._pick(batch, metrics, measured)

    def told(self) -> WholeGraph:
        """All figures."""
        popularity = self._values["subject_popularity"]
        thirds = popularity.thirds()
        groups = [GroupSums(*key, size, self._sums[key]) for key, size in self._sizes.items()]
        order = [OVERALL, RELATION, SUBJECT_TYPE, OBJECT_TYPE]
        groups.sort(key=lambda group: (order.index(group.by), -group.facts, group.name is None, str(group.name)))
        groups += [GroupSums(THIRD, *part) for part in popularity.by_third(thirds)]
        correlations = [
            Correlation(metric, feature, *values.rank_correlation(metric))
            for feature, values in self._values.items()
            for metric in METRICS
        ]
        judgements = {name: tuple(map(int, counts)) for name, counts in self._judgements.items()}
        return WholeGraph(
            facts=self._facts,
            reasons=dict(self._reasons.most_common()),
            groups=groups,
            judgements=judgements,  # type: ignore[arg-type]
            correlations=correlations,
            thirds=thirds,
            picked=self._picked,
        )

    def _count(self, name: str, judgements: "np.ndarray[Any, Any]") -> None:
        # Not judged, -1, is the last of four.
        counts = np.bincount(judgements.astype(np.int64) % (len(JUDGEMENTS) + 1), minlength=len(JUDGEMENTS) + 1)
        self._judgements[name] = self._judgements.get(name, 0) + counts

    def _negatives(self, negatives: "pa.StructArray") -> None:
        judgements = negatives.field("judgement").to_numpy(zero_copy_only=False)
        replaced = negatives.field("replaced").to_pandas()
        for end in sorted(replaced.unique()):
            self._count(f"negatives with another {end}", judgements[(replaced == end).to_numpy()])

    def _group(
        self,
        by: str,
        places: "np.ndarray[Any, Any]",
        names: "pd.Series[Any]",
        metrics: pd.DataFrame,
        measured: "np.ndarray[Any, np.dtype[np.bool_]]",
    ) -> None:
        """Add facts at these places to the groups of these names; a place can come several times."""
        codes, distinct = pd.factorize(names, use_na_sentinel=False)
        keys = [(by, None if pd.isna(name) else str(name)) for name in distinct]
        for key, size in zip(keys, np.bincount(codes, minlength=len(keys)), strict=True):
            self._sizes[key] += int(size)
        counted = measured[places]
        for metric in METRICS:
            values = metrics[metric].to_numpy()[places[counted]]
            parts = sum_predictions_by(values, codes[counted].astype(np.int64), len(keys))
            for key, part in zip(keys, parts, strict=True):
                sums = self._sums.setdefault(key, dict.fromkeys(METRICS, PredictionSums()))
                sums[metric] = sums[metric] + part

    def _pick(
        self, batch: "pa.RecordBatch", metrics: pd.DataFrame, measured: "np.ndarray[Any, np.dtype[np.bool_]]"
    ) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        ids = pa.array(sorted({key.fact for key in self._looked_for}), pa.string())
        for place in np.flatnonzero(pc.is_in(batch.column("fact"), ids).to_numpy(zero_copy_only=False)).tolist():
            row = {name: batch.column(name)[place].as_py() for name in COLUMNS if name != "negatives"}
            key = FactKey(row["subject"], row["fact"])
            if key not in self._looked_for:
                continue
            groups: set[tuple[str, str | None]] = {(OVERALL, ALL), (RELATION, row["relation"])}
            groups |= {(SUBJECT_TYPE, name) for name in row["subject_types"] or [None]}
            groups |= {(OBJECT_TYPE, name) for name in row["object_types"] or [None]}
            popularity = row["subject_popularity"]
            self._picked[key] = PickedFact(
                frozenset(groups),
                np.nan if popularity is None else popularity,
                {name: float(metrics[name].iloc[place]) for name in METRICS} if measured[place] else None,
            )
