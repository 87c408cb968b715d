"""The interface between rounds and the learners of :data:`kgprobe.beliefs.register.LEARNERS`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kgprobe.beliefs.draw import RoundChoice
from kgprobe.probes.outcome import Outcome
from kgprobe.sampling.keys import Keys


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of applying a round.

    Attributes:
        touched: number of facts with updated beliefs.
        seconds: of its parts.
        hubs: labels of entities that were excluded from propagation, by their ids.
    """

    touched: int
    seconds: dict[str, float]
    hubs: dict[str, str] = field(default_factory=dict)


class Learner(Protocol):
    """The beliefs of a run, in memory; the graph stores them after each round.

    A learner is constructed with the graph, the plan, the run's properties, and the labels of its relations by their
    ids.
    """

    @property
    def keys(self) -> Keys:
        """Facts that can be asked, in the order of their positions."""
        ...

    def choose(self, number: int) -> RoundChoice:
        """Draw the facts of a round from the seed and its number, from 1 on."""
        ...

    def has_askable(self) -> bool:
        """Return True if a fact is left to ask."""
        ...

    def width(self) -> float:
        """Return the mean width of the stored 90% interval of theta over all facts to ask; NaN where there are none."""
        ...

    def apply(self, number: int, outcomes: Sequence[Outcome], chances: Sequence[float | None]) -> Applied:
        """Update beliefs by a round, and write them.

        Args:
            chances: see :func:`kgprobe.running.applying.apply_round`.

        Raises:
            RoundTakenError: see :func:`kgprobe.running.applying.apply_round`.
        """
        ...

    def finish(self, number: int) -> None:
        """Write all other changed beliefs after round ``number``, the last one for now."""
        ...
