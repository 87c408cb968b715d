"""Literals of similar size: dates, years and quantities that are close to the object of a fact.

Wrong answers of another size are easy to reject: 12 is not the population of a country. So random distractors and hard
negatives of a literal are drawn from the literals of similar size first; docs/methods/distractor-strategies.md:

- The candidates are the other literals of the same datatype (thus of the same unit and precision) among the objects of
  the fact's relation.
- The *size* is the number, or of a date the number of its first day. Texts have none.
- The literals of similar size are the half of the candidates (rounded up) whose sizes are nearest to that of the
  object, at most :data:`MOST_SIMILAR`.

Of each relation, at most :data:`MOST_LITERALS` literals are listed by size, so that memory and work per fact are
bounded; an object beyond them has other literals in random order.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.dates import day_number, first_day
from kgprobe.graph.client import Graph
from kgprobe.sampling.facts import AskedFact

MOST_LITERALS = 100_000
MOST_SIMILAR = 1_000

# A relation and a datatype.
_Kind = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The literals of a datatype among the objects of a relation, by ascending size, then number; places by number."""

    numbers: NDArray[np.int64]
    sizes: NDArray[np.float64]
    places: Mapping[int, int]

    def similar(self, number: int) -> NDArray[np.int64]:
        """Return the numbers of the nearest half of the others; empty if the literal is not listed."""
        place = self.places.get(number)
        if place is None:
            return np.empty(0, dtype=np.int64)
        half = min(len(self.numbers) // 2, MOST_SIMILAR)
        # The nearest ones on both sides; of equally distant literals, those that are nearer in the list.
        window = np.arange(max(place - half, 0), min(place + half + 1, len(self.numbers)))
        window = window[window != place]
        order = np.lexsort((np.abs(window - place), np.abs(self.sizes[window] - self.sizes[place])))
        nearest: NDArray[np.int64] = self.numbers[window[order[:half]]]
        return nearest


class SimilarLiterals:
    """Literals of similar size in one graph; the literals of each relation are cached."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._sizes: dict[_Kind, _Sizes] = {}
        self._read: set[str] = set()

    def of_objects(self, facts: Sequence[AskedFact]) -> dict[int, NDArray[np.int64]]:
        """Return the numbers of the literals of similar size, by the places of the facts with a literal.

        Cost: up to :data:`MOST_LITERALS` literals of each relation are read once; for each fact a window of them.
        """
        self._read_sizes({fact.relation for fact in facts if fact.object_datatype})
        similar = {}
        for place, fact in enumerate(facts):
            sizes = self._sizes.get((fact.relation, fact.object_datatype))
            if sizes is not None and fact.object_number is not None:
                similar[place] = sizes.similar(fact.object_number)
        return similar

    def _read_sizes(self, relations: set[str]) -> None:
        for relation in sorted(relations - self._read):
            self._read.add(relation)
            by_kind: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
            for row in self._graph.read("sample/literal_values", relation=relation, most=MOST_LITERALS):
                size = size_of(row["value"], row["datatype"])
                if size is not None:
                    by_kind[row["datatype"]].append((size, row["number"]))
            for datatype, literals in by_kind.items():
                sizes, numbers = zip(*sorted(literals), strict=True)
                places = {number: place for place, number in enumerate(numbers)}
                listed = _Sizes(np.array(numbers, np.int64), np.array(sizes, np.float64), places)
                self._sizes[relation, datatype] = listed


def size_of(value: str | None, datatype: str) -> float | None:
    """Return the size of a literal: a number, or the number of the first day of a date; None if it has none.

    >>> size_of("5.5", "kilometre"), size_of("1879", "year"), size_of("in luce", "string")
    (5.5, 686232.0, None)
    """
    text = value or ""
    if datatype in ("year", "month", "date"):
        try:
            return float(day_number(first_day(text)))
        except ValueError:
            return None
    try:
        size = float(text) if datatype != "string" else np.nan
    except ValueError:
        return None
    return size if np.isfinite(size) else None
