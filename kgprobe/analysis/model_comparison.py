"""Comparison of several models on the same facts: accuracy, correlation, subsumption and significance.

docs/methods/comparison.md. Accuracies by model and relation, the correlation of models over relations, and the
subsumption rate are defined in sections 4.2.1 and 4.2.2 of the paper on latent knowledge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, compress

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.analysis.side_by_side import Bools, Floats, SideBySide
from kgprobe.errors import KgprobeError
from kgprobe.probes.distractors.curves import mean_at, mean_curve
from kgprobe.stats.paired_proportions import SIGNIFICANCE, detectable_difference, loss_interval, mcnemar
from kgprobe.stats.proportions import Mean


@dataclass(frozen=True, slots=True)
class RelationDifference:
    """Two models on the facts of one relation.

    Attributes:
        difference: accuracy of the second less that of the first, with Tango's 95% interval.
        lost, gained: numbers of facts that only the first, and only the second, model has right.
        p: p-value of McNemar's exact test, two-sided.
        adjusted_p: the same after Benjamini and Hochberg, over the relations of these two models.
    """

    relation: str
    name: str
    facts: int
    first: float
    second: float
    difference: Mean
    lost: int
    gained: int
    p: float
    adjusted_p: float

    @property
    def is_tie(self) -> bool:
        """True if neither model is significantly better."""
        return self.adjusted_p > SIGNIFICANCE


@dataclass(frozen=True, slots=True)
class PairDifference:
    """Two models on all facts; attributes as in :class:`RelationDifference`.

    Attributes:
        first, second: their labels.
        discordant: share of the facts that only one model has right.
        detectable: the smallest difference that the test detects with 80% power, with as many facts and this discordant
            share; None where there is none.
        means: differences of the probes' other measures, second less first, with paired bootstrap intervals.
        relations: the same by relation, in the order of the comparison.
    """

    first: str
    second: str
    facts: int
    difference: Mean
    lost: int
    gained: int
    p: float
    discordant: float
    detectable: float | None
    means: Mapping[str, Mean]
    relations: Sequence[RelationDifference]

    @property
    def better(self) -> str | None:
        """The model with significantly higher accuracy; None if there is none."""
        if self.p > SIGNIFICANCE:
            return None
        return self.second if self.difference.value > 0 else self.first

    @property
    def ties(self) -> list[str]:
        """The relations in which neither is significantly better."""
        return [relation.name for relation in self.relations if relation.is_tie]


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """Several models over the same facts.

    Attributes:
        relations: ids, by decreasing mean accuracy.
        names: names of the relations.
        sizes: numbers of their facts.
        accuracy: shape (relations, models).
        correlation: Pearson's, of accuracies over relations, shape (models, models); NaN where one has no spread.
        subsumption: in row i and column j, the share of the facts known by model i that j knows; NaN if there are none.
        pairs: every pair of models, in their order.
    """

    beside: SideBySide
    relations: Sequence[str]
    names: Sequence[str]
    sizes: Sequence[int]
    accuracy: Floats
    correlation: Floats
    subsumption: Floats
    pairs: Sequence[PairDifference]

    @property
    def labels(self) -> list[str]:
        """Names of the models."""
        return [side.label for side in self.beside.sides]

    @property
    def constant(self) -> list[str]:
        """The models with the same accuracy in all relations, whose correlations are undefined."""
        return list(compress(self.labels, np.ptp(self.accuracy, axis=0) == 0))


def compare_models(beside: SideBySide, names: Mapping[str, str], seed: int = 0) -> ModelComparison:
    """Compare models by accuracy, correlation, subsumption and significance.

    Cost: for each pair of models, one test per relation; where their probes have other measures, 1,000 bootstrap
    samples of the facts.

    Args:
        names: names of relations by id; a missing one is replaced by the id.
        seed: of the bootstrap.

    Raises:
        KgprobeError: the models share no facts.
    """
    if not beside.facts:
        raise KgprobeError(beside.caveat)
    relations, of_fact, sizes = np.unique(beside.relations, return_inverse=True, return_counts=True)
    right = np.array([np.bincount(of_fact, weights=won, minlength=len(relations)) for won in beside.won]).T
    accuracy = right / sizes[:, None]
    order = np.lexsort((relations, -accuracy.mean(axis=1)))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    ids = relations[order].tolist()
    id_names = [names.get(relation, relation) for relation in ids]
    pairs = []
    for first, second in combinations(range(len(beside.sides)), 2):
        labels = (beside.sides[first].label, beside.sides[second].label)
        differences = {name: values[second] - values[first] for name, values in beside.values.items()}
        pairs.append(_pair(labels, beside.won[[first, second]], place[of_fact], (ids, id_names), differences, seed))
    return ModelComparison(
        beside,
        ids,
        id_names,
        sizes[order].tolist(),
        accuracy[order],
        correlation_of(accuracy),
        subsumption_of(beside.won),
        pairs,
    )


def correlation_of(accuracy: Floats) -> Floats:
    """Return Pearson correlations of models over relations; NaN where a model has the same accuracy in all.

    Args:
        accuracy: shape (relations, models).
    """
    varied = np.ptp(accuracy, axis=0) > 0
    correlations = np.full((accuracy.shape[1],) * 2, np.nan)
    if varied.any():
        correlations[np.ix_(varied, varied)] = np.atleast_2d(np.corrcoef(accuracy[:, varied], rowvar=False))
    return correlations


def subsumption_of(known: Bools) -> Floats:
    """Return, in row i and column j, the share of the facts known by model i that j knows; NaN if there are none.

    Args:
        known: shape (models, facts).
    """
    both = known.astype(np.int64) @ known.T
    own = np.diag(both)[:, None]
    rates: Floats = np.divide(both, own, out=np.full(both.shape, np.nan), where=own > 0)
    return rates


def _pair(
    labels: tuple[str, str],
    won: Bools,
    relation: NDArray[np.int64],
    relations: tuple[Sequence[str], Sequence[str]],
    values: Mapping[str, Floats],
    seed: int,
) -> PairDifference:
    """Compare two models.

    Args:
        won: shape (2, facts).
        relation: the position of each fact's relation.
        relations: ids and names by position.
        values: the difference of each other measure, by fact.
    """
    count = len(relations[0])
    facts, first, second = (np.bincount(relation, weights=w, minlength=count) for w in (None, won[0], won[1]))
    lost = np.bincount(relation, weights=won[0] & ~won[1], minlength=count).astype(np.int64)
    gained = np.bincount(relation, weights=won[1] & ~won[0], minlength=count).astype(np.int64)
    p = mcnemar(lost, gained)
    adjusted = stats.false_discovery_control(p)
    low, high = loss_interval(gained, lost, facts)
    by_relation = [
        RelationDifference(
            relations[0][at],
            relations[1][at],
            int(facts[at]),
            float(first[at] / facts[at]),
            float(second[at] / facts[at]),
            Mean(float((gained[at] - lost[at]) / facts[at]), float(low[at]), float(high[at])),
            int(lost[at]),
            int(gained[at]),
            float(p[at]),
            float(adjusted[at]),
        )
        for at in range(count)
    ]
    total, all_lost, all_gained = won.shape[1], int(lost.sum()), int(gained.sum())
    ends = loss_interval(all_gained, all_lost, total)
    share = (all_lost + all_gained) / total
    return PairDifference(
        *labels,
        total,
        Mean((all_gained - all_lost) / total, float(ends[0]), float(ends[1])),
        all_lost,
        all_gained,
        float(mcnemar(all_lost, all_gained)),
        share,
        detectable_difference(share, total),
        _mean_differences(values, seed),
        by_relation,
    )


def _mean_differences(values: Mapping[str, Floats], seed: int) -> dict[str, Mean]:
    """Return mean differences with intervals, over the facts for which both models have a value."""
    means = {}
    for name, differences in values.items():
        both = differences[~np.isnan(differences)]
        if len(both):
            means[name] = mean_at(mean_curve(both[:, None], seed, least=-1.0), 1)
    return means
