"""Synthetic graphs of any size at equal degree, as a source that is never held in memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kgprobe.base.records import Entity, Fact, Placed, Relation

_DRAWN = 10_000


@dataclass
class SyntheticSource:
    """Source of facts between random entities, with about ``degree`` facts and one of ten types each.

    Attributes:
        size: number of facts.
        degree: facts at an entity, on average.
        seed: seed of all random choices.
    """

    size: int
    degree: int = 50
    seed: int = 0
    name: str = "synthetic"
    partial: bool = False
    done: int = 0

    @property
    def fingerprint(self) -> str:
        """Identifier of the graph, from the attributes."""
        return f"synthetic {self.size} {self.degree} {self.seed}"

    @property
    def total(self) -> int:
        """Number of records in all three streams."""
        return self.size + self._entities() + 5

    def relations(self) -> Iterator[Placed]:
        """Five relations."""
        for number in range(5):
            yield Placed(number + 1, Relation(f"P{number}", f"relation {number}", clozes=("[X] is related to [Y]",)))

    def entities(self) -> Iterator[Placed]:
        """Yield entities with a label, an alias and a type."""
        for number in range(self._entities()):
            label = f"entity number {number}"
            yield Placed(number + 1, Entity(f"Q{number}", label, (f"alias {number}",), types=(f"T{number % 10}",)))

    def facts(self) -> Iterator[Placed]:
        """Yield facts between random entities."""
        generator = np.random.default_rng(self.seed)
        count = self._entities()
        for first in range(0, self.size, _DRAWN):
            # Vectorized, so that benchmarks measure little of this.
            ends = generator.integers(count, size=(min(_DRAWN, self.size - first), 2)).tolist()
            for number, (subject, object_) in enumerate(ends, start=first):
                yield Placed(number + 1, Fact(f"F{number}", f"Q{subject}", f"P{number % 5}", f"Q{object_}"))

    def _entities(self) -> int:
        return max(2, 2 * self.size // self.degree)
