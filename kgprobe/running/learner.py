"""The interface between rounds and the learners of :data:`kgprobe.beliefs.register.LEARNERS`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kgprobe.beliefs.draw import Chosen
from kgprobe.probes.outcome import Outcome
from kgprobe.sampling.keys import Keys


@dataclass(frozen=True, slots=True)
class Applied:
    """What a round came to.

    Attributes:
        touched: how many facts' beliefs were written.
        hubs: labels of entities that were left out of propagation, by their ids.
        seconds: of its parts.
    """

    touched: int
    seconds: dict[str, float]
    hubs: dict[str, str] = field(default_factory=dict)


class Learner(Protocol):
    """The beliefs of a run, in memory; the graph stores them after each round.

    A learner is constructed with the graph, the plan, the run's properties, the labels of its relations by their ids,
    and the path of the file with its answers.
    """

    @property
    def keys(self) -> Keys:
        """The facts that can be asked, in the order of their positions."""
        ...

    def choose(self, number: int) -> Chosen:
        """The facts of a round; everything random in it follows from the seed and its number, from 1 on."""
        ...

    def has_askable(self) -> bool:
        """Whether there is a fact left to ask."""
        ...

    def width(self) -> float:
        """Return the mean width of the stored 90% interval of theta over all facts to ask; NaN where there are none."""
        ...

    def apply(self, number: int, outcomes: Sequence[Outcome], chances: Sequence[float | None]) -> Applied:
        """Learn from a round, and write it.

        Args:
            chances: see :func:`kgprobe.running.applying.apply_round`.

        Raises:
            RoundTakenError: see :func:`kgprobe.running.applying.apply_round`.
        """
        ...

    def finish(self, number: int) -> None:
        """Write what else has changed since it was last written: after round ``number`` there are no more for now."""
        ...
