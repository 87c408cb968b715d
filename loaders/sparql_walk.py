"""Random walks from chosen entities: which entities a topical graph has.

Section 8.1 of the parameterized-graph paper (KGLens). Each centre sends out a number of walks. A step goes along a
statement of which the entity is the subject or the object, each direction with half the chance, and within a direction
along each of its statements with the same chance; where one direction leads nowhere, it is the other. A walk does not
come back to where it has been, and ends early where nothing is left.

What is not admitted is as if it were not there: a walk draws among what is. Rather than look at all neighbours, each
walk brings its own into a random order and takes the first one that is admitted, which is the same draw.

Walks move in step with each other, so that what they need is asked for together. The draws of a walk depend on the
seed, its centre and its number alone: more walks, or other centres beside it, change nothing about it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kgprobe.records import Fact

if TYPE_CHECKING:
    from numpy.random import Generator

# So many neighbours are looked at together, all walks taken together.
LOOK_AHEAD = 50


class Surroundings(Protocol):
    """What walks need to know of a graph; given all at once what is about to be needed."""

    def outgoing(self, ids: Iterable[str]) -> Mapping[str, Sequence[Fact]]:
        """The facts of subjects, in an order that is always the same."""
        ...

    def incoming(self, ids: Iterable[str]) -> Mapping[str, Sequence[Fact]]:
        """Facts that lead to objects, in an order that is always the same."""
        ...


@dataclass(frozen=True, slots=True)
class WalkPlan:
    """How far walks go.

    Attributes:
        steps: of a walk.
        walks: from each centre.
        limit: of entities, the centres included; walks end where one more would be too many.
        seed: what all draws follow from.
    """

    steps: int = 3
    walks: int = 100
    limit: int = 5000
    seed: int = 0


@dataclass(slots=True)
class _Walk:
    path: list[str]
    random: "Generator"
    ended: bool = False
    open: list[str] = field(default_factory=list)
    chosen: str | None = None


def walk(
    centers: Sequence[str],
    plan: WalkPlan,
    around: Surroundings,
    inactive: Collection[str],
    admitted: Callable[[Sequence[str]], Collection[str]],
    report: Callable[[int, int], None] = lambda step, entities: None,
) -> list[str]:
    """The entities that walks reach, the centres first, in the order in which they are reached.

    Args:
        centers: ids of items.
        inactive: relations that are not followed.
        admitted: which of some entities walks may enter; the centres are not asked for.
        report: told after each step how many entities there are.
    """
    # Here, so that the help of a command need not load it.
    from numpy.random import default_rng

    reached = dict.fromkeys(centers)
    walks = [
        _Walk([center], default_rng((plan.seed, int(center[1:]), number)))
        for center in reached
        for number in range(plan.walks)
    ]
    for step in range(1, plan.steps + 1):
        going = [one for one in walks if not one.ended]
        _look_around(going, around, inactive)
        _choose(going, admitted)
        for one in going:
            if one.chosen is None or (one.chosen not in reached and len(reached) >= plan.limit):
                one.ended = True
            else:
                one.path.append(one.chosen)
                reached[one.chosen] = None
        report(step, len(reached))
    return list(reached)


def _look_around(going: Sequence[_Walk], around: Surroundings, inactive: Collection[str]) -> None:
    """Give each walk its neighbours in a random order: all of one direction before those of the other."""
    here = dict.fromkeys(one.path[-1] for one in going)
    outgoing, incoming = around.outgoing(here), around.incoming(here)
    for one in going:
        at = one.path[-1]
        directions = [
            [fact.object for fact in outgoing[at] if fact.relation not in inactive],
            [fact.subject for fact in incoming[at] if fact.relation not in inactive],
        ]
        if one.random.integers(2):
            directions.reverse()
        one.open = [
            direction[index]
            for direction in directions
            for index in one.random.permutation(len(direction))
            if direction[index] not in one.path
        ]


def _choose(going: Sequence[_Walk], admitted: Callable[[Sequence[str]], Collection[str]]) -> None:
    """Let each walk choose the first of its neighbours that is admitted, if there is one."""
    for one in going:
        one.chosen = None
    seeking = list(going)
    while seeking:
        ahead = max(1, LOOK_AHEAD // len(seeking))
        good = admitted(list(dict.fromkeys(name for one in seeking for name in one.open[:ahead])))
        for one in seeking:
            one.chosen = next((name for name in one.open[:ahead] if name in good), None)
            del one.open[:ahead]
        seeking = [one for one in seeking if one.chosen is None and one.open]
