"""Several models on the same facts: by relation, how alike they are, who knows what others know, and who is better.

docs/methods/comparison.md. Sections 4.2.1 and 4.2.2 of the paper on latent knowledge have the accuracies by model and
relation, the correlation of models over relations, and the subsumption rate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

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
        lost, gained: facts that the first alone has right, and the second alone.
        p: of McNemar's exact test, two-sided.
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
        """Whether neither is significantly better."""
        return self.adjusted_p > SIGNIFICANCE


@dataclass(frozen=True, slots=True)
class PairDifference:
    """Two models on all facts; attributes as of :class:`RelationDifference`.

    Attributes:
        first, second: their labels.
        discordant: share of the facts that one alone has right.
        detectable: the smallest difference that the test would find with 80% power in as many facts, given that share;
            None where it would find none.
        means: differences of what else their probes measure, second less first, with paired bootstrap intervals.
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
        """Whose accuracy is significantly higher; None for neither's."""
        if self.p > SIGNIFICANCE:
            return None
        return self.second if self.difference.value > 0 else self.first

    @property
    def ties(self) -> list[str]:
        """The relations in which neither is significantly better."""
        return [one.name for one in self.relations if one.is_tie]


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """Several models over the same facts.

    Attributes:
        beside: the models and the facts.
        relations: ids, by mean accuracy, the highest first.
        names: what these are called.
        sizes: how many facts each has.
        accuracy: shape (relations, models).
        correlation: Pearson's, of accuracies over relations, shape (models, models); NaN where one has no spread.
        subsumption: in row i and column j, the share of what model i knows that j knows; NaN where i knows nothing.
        pairs: each two models, in their order.
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
        """What the models are called."""
        return [side.label for side in self.beside.sides]

    @property
    def constant(self) -> list[str]:
        """The models whose accuracy is the same in all relations, so that nothing correlates with it."""
        return [label for label, its in zip(self.labels, self.accuracy.T, strict=True) if np.ptp(its) == 0]


def compare_models(beside: SideBySide, names: Mapping[str, str], seed: int = 0) -> ModelComparison:
    """Compare models in every way.

    Cost: for each two models, a test a relation; where their probes measure more than right and wrong, 1,000 draws of
    as many facts.

    Args:
        names: what relations are called, by id; one that is missing is called by its id.
        seed: of the bootstrap.

    Raises:
        KgprobeError: no fact was asked of all.
    """
    if not beside.facts:
        raise KgprobeError(beside.caveat)
    relations, of_fact, sizes = np.unique(beside.relations, return_inverse=True, return_counts=True)
    right = np.array([np.bincount(of_fact, weights=its, minlength=len(relations)) for its in beside.won]).T
    accuracy = right / sizes[:, None]
    order = np.lexsort((relations, -accuracy.mean(axis=1)))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    ids = relations[order].tolist()
    called = [names.get(relation, relation) for relation in ids]
    labels = [side.label for side in beside.sides]
    return ModelComparison(
        beside,
        ids,
        called,
        sizes[order].tolist(),
        accuracy[order],
        correlation_of(accuracy),
        subsumption_of(beside.won),
        [
            _pair(
                (labels[first], labels[second]),
                beside.won[[first, second]],
                place[of_fact],
                (ids, called),
                {name: its[second] - its[first] for name, its in beside.values.items()},
                seed,
            )
            for first, second in combinations(range(len(labels)), 2)
        ],
    )


def correlation_of(accuracy: Floats) -> Floats:
    """Pearson correlations of models over relations; NaN where a model has the same accuracy in all.

    Args:
        accuracy: shape (relations, models).
    """
    varied = np.ptp(accuracy, axis=0) > 0
    correlations = np.full((accuracy.shape[1],) * 2, np.nan)
    if varied.any():
        correlations[np.ix_(varied, varied)] = np.atleast_2d(np.corrcoef(accuracy[:, varied], rowvar=False))
    return correlations


def subsumption_of(known: Bools) -> Floats:
    """In row i and column j, the share of what i knows that j knows; NaN where i knows nothing.

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
        relation: of each fact, its place.
        relations: ids and names, by place.
        values: differences of each fact.
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
    """Return means with intervals over the facts that both models have a value of, drawn by the same seed."""
    means = {}
    for name, its in values.items():
        both = its[~np.isnan(its)]
        if len(both):
            means[name] = mean_at(mean_curve(both[:, None], seed, least=-1.0), 1)
    return means
