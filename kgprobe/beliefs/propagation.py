"""Propagation of answers to neighbouring facts, by counters instead of graph walks.

docs/methods/rounds.md. A fact receives the answers of every fact that shares an entity with it, each once. With W_e the
answers so far on all facts at entity e, and W_so those on facts between s and o in either direction, that is
W_s + W_o - W_so, including its own answers; W_s for a loop. So two counters per entity and two per pair suffice,
whatever the degrees. Entities with too many facts do not propagate; their terms are left out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FactEnds:
    """The ends of facts.

    Attributes:
        subjects, objects: numbers of entities from 0 on, shape (facts,).
        pairs: number of the unordered pair of both, shape (facts,).
        open_subjects, open_objects: True if answers propagate through that end, shape (facts,); a loop has only its
            subject.
    """

    subjects: Positions
    objects: Positions
    pairs: Positions
    open_subjects: NDArray[np.bool_]
    open_objects: NDArray[np.bool_]

    @classmethod
    def of(cls, subjects: Positions, objects: Positions, max_degree: int | None = None) -> "FactEnds":
        """Return the ends of facts; entities with more than ``max_degree`` facts do not propagate."""
        loops = subjects == objects
        entities = int(max(subjects.max(initial=-1), objects.max(initial=-1))) + 1
        degrees = np.bincount(subjects, minlength=entities) + np.bincount(objects[~loops], minlength=entities)
        is_open = degrees <= (np.inf if max_degree is None else max_degree)
        low, high = np.minimum(subjects, objects), np.maximum(subjects, objects)
        _, pairs = np.unique(low * entities + high, return_inverse=True)
        return cls(subjects, objects, pairs, is_open[subjects], is_open[objects] & ~loops)


def received(ends: FactEnds, answers: Floats) -> Floats:
    """Return the number of answers that each fact has received, including its own; shape (facts,).

    Args:
        answers: number of own answers of one kind, shape (facts,).

    Cost: linear in the facts.
    """
    own = answers.astype(np.float64)
    entities = int(max(ends.subjects.max(initial=-1), ends.objects.max(initial=-1))) + 1
    both = ends.subjects != ends.objects
    at = np.bincount(ends.subjects, own, entities) + np.bincount(ends.objects[both], own[both], entities)
    between = np.bincount(ends.pairs, own, len(own))[ends.pairs]
    through = ends.open_subjects * at[ends.subjects] + ends.open_objects * at[ends.objects]
    twice = ends.open_subjects & ends.open_objects
    # Without an open end, a fact has only its own answers.
    return np.where(ends.open_subjects | ends.open_objects, through - twice * between, own)
