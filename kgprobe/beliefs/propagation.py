"""What facts learn from the answers of those around them, from counters instead of walks.

docs/methods/rounds.md. A fact receives the answers of every fact that shares an entity with it, each once. With W_e the
answers so far on all facts at entity e, and W_so those on facts between s and o in either direction, that is
W_s + W_o - W_so, its own among them; W_s for a loop. So two counters an entity and two a pair say what a graph's
propagation comes to, whatever the degrees. Entities with too many facts do not propagate: what they would add is left
out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ends:
    """Between which entities facts stand, with what follows from it.

    Attributes:
        subjects, objects: numbers of entities from 0 on, shape (facts,).
        pairs: the number of the two, whatever the direction, shape (facts,).
        open_subjects, open_objects: whether answers are passed on through that end, shape (facts,); a loop has only
            its subject.
    """

    subjects: Positions
    objects: Positions
    pairs: Positions
    open_subjects: NDArray[np.bool_]
    open_objects: NDArray[np.bool_]

    @classmethod
    def of(cls, subjects: Positions, objects: Positions, max_degree: int | None = None) -> "Ends":
        """Ends of facts; entities with more than ``max_degree`` of them do not propagate."""
        loops = subjects == objects
        entities = int(max(subjects.max(initial=-1), objects.max(initial=-1))) + 1
        degrees = np.bincount(subjects, minlength=entities) + np.bincount(objects[~loops], minlength=entities)
        is_open = degrees <= (np.inf if max_degree is None else max_degree)
        low, high = np.minimum(subjects, objects), np.maximum(subjects, objects)
        _, pairs = np.unique(low * entities + high, return_inverse=True)
        return cls(subjects, objects, pairs, is_open[subjects], is_open[objects] & ~loops)


def received(ends: Ends, answers: Floats) -> Floats:
    """How many answers each fact has received, its own and those of the facts around it; shape (facts,).

    Args:
        answers: each fact's own, of one kind, shape (facts,).

    Cost: linear in the facts.
    """
    own = answers.astype(np.float64)
    entities = int(max(ends.subjects.max(initial=-1), ends.objects.max(initial=-1))) + 1
    both = ends.subjects != ends.objects
    at = _summed(ends.subjects, own, entities) + _summed(ends.objects[both], own[both], entities)
    between = _summed(ends.pairs, own, len(own))[ends.pairs]
    through = ends.open_subjects * at[ends.subjects] + ends.open_objects * at[ends.objects]
    twice = ends.open_subjects & ends.open_objects
    # Where neither end is open, a fact knows of itself alone.
    return np.where(ends.open_subjects | ends.open_objects, through - twice * between, own)


def _summed(numbers: Positions, values: Floats, count: int) -> Floats:
    """The sum of the values of each number below ``count``, shape (count,)."""
    return np.bincount(numbers, values, count).astype(np.float64, copy=False)
