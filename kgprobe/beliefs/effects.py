"""What the difficulty of a fact is put together from: parts that it shares with other facts.

docs/methods/learner.md. theta = sigma(x), and x is the sum of a mean that all facts share, the popularity of
the ends times a coefficient, an effect of the relation, one of the subject and one of the object, and a part of the
fact's own. What is not known of a graph (its relations, its popularities) is left out. Whatever else may tell hard
facts from easy ones, such as how hard they were for another model, is a predictor: it counts as popularity does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
# Columns of a graph come in whatever width they are kept in.
Numbers = NDArray[np.integer]

# The variances that are not learned: of what is one number each, the mean and the weights of what is known of facts.
_FIXED = {"mean": 5.0**2, "popularity": 1.0, "predictor": 3.0**2}


@dataclass(frozen=True, slots=True)
class Effects:
    """Which parts the facts have.

    Parts are numbered: the mean, popularity, predictors, relations, entities, as far as there are any.

    Attributes:
        count: of facts.
        kinds: of parts, in the order of their numbers.
        starts: the number of the first part of each kind, and behind them that of all parts; shape (kinds + 1,).
        subjects, objects: of the facts, numbers of entities from 0 on, shape (facts,).
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
        """How many parts there are."""
        return self.starts[-1]

    def fixed_variances(self) -> Floats:
        """The variance of each kind that is not learned, NaN for those that are; shape (kinds,)."""
        return np.array([_FIXED.get(kind, np.nan) for kind in self.kinds])

    def kinds_of_places(self) -> Positions:
        """The kind of each of the parts that :meth:`of` gives of a fact, shape (parts of a fact,)."""
        times = {"entity": 2, "predictor": len(self.predictors)}
        return np.array([place for place, kind in enumerate(self.kinds) for _ in range(times.get(kind, 1))])

    def kinds_of(self, parts: Positions) -> Positions:
        """To which of the kinds parts belong, same shape."""
        return np.searchsorted(np.array(self.starts[1:]), parts, side="right").astype(np.int64)

    def of(self, facts: Positions) -> tuple[Positions, Floats]:
        """The parts of facts, and with which weight each counts; both of shape (facts, parts of a fact).

        A fact that is a loop has its entity once, with weight 2, and once with weight 0.

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
    """The effects of a graph. An entity has one effect, whether it is the subject of a fact or its object.

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
    """How popular the ends of facts are.

    Attributes:
        of_facts: the mean of log(1 + popularity) of the ends of which it is known, standardised; 0 where neither is
            known; shape (facts,).
        mean, spread: of these means before they were standardised, over the facts that have one.
    """

    of_facts: Floats
    mean: float
    spread: float


def standardised_popularity(subjects: Floats, objects: Floats) -> Popularity | None:
    """How popular the ends of facts are; None where that tells no facts apart.

    Args:
        subjects, objects: popularities, at least 0, NaN where they are not known, shape (facts,).
    """
    ends = np.log1p(np.stack([subjects, objects]))
    known = (~np.isnan(ends)).sum(axis=0)
    some = known > 0
    means = np.nansum(ends, axis=0)[some] / known[some]
    if not len(means) or not means.std() > 1e-9:
        return None
    of_facts = np.zeros(len(subjects))
    of_facts[some] = (means - means.mean()) / means.std()
    return Popularity(of_facts, float(means.mean()), float(means.std()))
