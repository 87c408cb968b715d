"""The parts of a fact's difficulty, which it shares with other facts.

docs/methods/learner.md. theta = sigma(x), and x is the sum of a mean that all facts share, the popularity of
the ends times a coefficient, an effect of the relation, one of the subject and one of the object, and the fact's own
part. Unknown features of a graph (relations, popularities) are left out. Other features, such as the difficulty for
another model, are predictors: each has a coefficient, as popularity has.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
# Columns of a graph have different integer widths.
Numbers = NDArray[np.integer]

# Fixed prior variances of the mean and of the coefficients.
_FIXED = {"mean": 5.0**2, "popularity": 1.0, "predictor": 3.0**2}


@dataclass(frozen=True, slots=True)
class Effects:
    """The parts of each fact.

    Parts are numbered in this order: mean, popularity, predictors, relations, entities.

    Attributes:
        kinds: of parts, in the order of their numbers.
        starts: number of the first part of each kind, and the total number of parts at the end; shape (kinds + 1,).
        subjects, objects: numbers of entities from 0 on, shape (facts,).
        relations: from 0 on, shape (facts,), or None.
        popularity: standardised, shape (facts,), or None.
        predictors: each standardised, shape (facts,).
    """

    count: int
    kinds: tuple[str, ...]
    starts: tuple[int, ...]
    subjects: Numbers
    objects: Numbers
    relations: Numbers | None
    popularity: Floats | None
    predictors: Sequence[Floats] = ()

    @property
    def all_parts(self) -> int:
        """Number of parts."""
        return self.starts[-1]

    def fixed_variances(self) -> Floats:
        """Return the fixed variance of each kind, NaN for the learned ones; shape (kinds,)."""
        return np.array([_FIXED.get(kind, np.nan) for kind in self.kinds])

    def kinds_of_places(self) -> Positions:
        """Return the kind of each column of :meth:`of`, shape (parts of a fact,)."""
        times = {"entity": 2, "predictor": len(self.predictors)}
        return np.repeat(np.arange(len(self.kinds)), [times.get(kind, 1) for kind in self.kinds])

    def kinds_of(self, parts: Positions) -> Positions:
        """Return the kinds of parts, same shape."""
        return np.searchsorted(np.array(self.starts[1:]), parts, side="right").astype(np.int64)

    def of(self, facts: Positions) -> tuple[Positions, Floats]:
        """Return the parts of facts and their weights, both of shape (facts, parts of a fact).

        A loop has its entity once with weight 2, and once with weight 0.

        >>> import numpy as np
        >>> of_graph = effects_of(np.array([0, 1]), np.array([1, 1]))
        >>> parts, weights = of_graph.of(np.array([0, 1]))
        >>> of_graph.kinds, parts.tolist(), weights.tolist()
        (('mean', 'entity'), [[0, 1, 2], [0, 2, 2]], [[1.0, 1.0, 1.0], [1.0, 2.0, 0.0]])
        """
        first = dict(zip(self.kinds, self.starts, strict=False))
        parts: list[Numbers] = [np.zeros(len(facts), np.int64)]
        weights: list[Floats] = [np.ones(len(facts))]
        if self.popularity is not None:
            parts.append(np.full(len(facts), first["popularity"]))
            weights.append(self.popularity[facts])
        for number, predictor in enumerate(self.predictors):
            parts.append(np.full(len(facts), first["predictor"] + number))
            weights.append(predictor[facts])
        if self.relations is not None:
            parts.append(first["relation"] + self.relations[facts])
            weights.append(np.ones(len(facts)))
        subjects, objects = self.subjects[facts], self.objects[facts]
        loops = subjects == objects
        parts += [first["entity"] + subjects, first["entity"] + objects]
        weights += [1.0 + loops, 1.0 - loops]
        return np.stack(parts, axis=1).astype(np.int64, copy=False), np.stack(weights, axis=1)


def effects_of(
    subjects: Numbers,
    objects: Numbers,
    *,
    relations: Numbers | None = None,
    popularity: Floats | None = None,
    predictors: Sequence[Floats] = (),
) -> Effects:
    """Return the effects of a graph. An entity has the same effect as subject and as object.

    Args:
        subjects, objects, relations: numbers from 0 on, shape (facts,).
        popularity: standardised, shape (facts,).
        predictors: each standardised, shape (facts,).
    """
    sizes = {"mean": 1}
    if popularity is not None:
        sizes["popularity"] = 1
    if predictors:
        sizes["predictor"] = len(predictors)
    if relations is not None:
        sizes["relation"] = int(relations.max(initial=-1)) + 1
    sizes["entity"] = int(max(subjects.max(initial=-1), objects.max(initial=-1))) + 1
    starts = np.cumsum([0, *sizes.values()]).tolist()
    return Effects(len(subjects), tuple(sizes), tuple(starts), subjects, objects, relations, popularity, predictors)


@dataclass(frozen=True, slots=True)
class Popularity:
    """Popularity of the ends of facts.

    Attributes:
        of_facts: mean of log(1 + popularity) over the ends with known popularity, standardised; 0 if neither is known;
            shape (facts,).
        mean, spread: mean and standard deviation before standardisation, over the facts with a known popularity.
    """

    of_facts: Floats
    mean: float
    spread: float


def standardised_popularity(subjects: Floats, objects: Floats) -> Popularity | None:
    """Return the popularity of the ends of facts; None if it does not vary.

    Args:
        subjects, objects: popularities, at least 0, NaN where unknown, shape (facts,).
    """
    ends = np.log1p(np.stack([subjects, objects]))
    known = (~np.isnan(ends)).sum(axis=0)
    has_popularity = known > 0
    means = np.nansum(ends, axis=0)[has_popularity] / known[has_popularity]
    if not len(means) or not means.std() > 1e-9:
        return None
    of_facts = np.zeros(len(subjects))
    of_facts[has_popularity] = (means - means.mean()) / means.std()
    return Popularity(of_facts, float(means.mean()), float(means.std()))
