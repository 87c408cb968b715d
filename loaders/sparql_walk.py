"""Random walks from centres: they select the entities of a topical graph.

Section 8.1 of the parameterized-graph paper (KGLens). Each centre starts a number of walks. A step follows a statement
with the entity as subject or object: each direction with probability 1/2, and within a direction each statement with
equal probability; a direction without statements is replaced by the other. A walk does not revisit entities, and ends
early if no neighbour is left.

Walks draw among admitted neighbours only. Instead of checking all neighbours, each walk shuffles them and takes the
first admitted one, which is the same distribution.

Walks move together, so that their requests are combined. The draws of a walk depend only on the seed, its centre and
its number; other walks and centres do not affect it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Protocol

from kgprobe.base.records import Fact

if TYPE_CHECKING:
    from numpy.random import Generator

# Maximum number of neighbours checked together, over all walks.
LOOK_AHEAD = 50


class Surroundings(Protocol):
    """Access to the statements around entities, requested for all walks together."""

    def outgoing(self, ids: Iterable[str]) -> Mapping[str, Sequence[Fact]]:
        """Return the facts of subjects, in a fixed order."""
        ...

    def incoming(self, ids: Iterable[str]) -> Mapping[str, Sequence[Fact]]:
        """Return facts that lead to objects, in a fixed order."""
        ...


@dataclass(frozen=True, slots=True)
class WalkPlan:
    """Size of the walks.

    Attributes:
        steps: maximum steps per walk.
        walks: number of walks per centre.
        limit: maximum number of entities, with the centres.
        seed: random seed.
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
    """Return the entities that walks reach: the centres first, then in the order of reaching."""
    # Imported here, so that the help of commands does not load NumPy.
    from numpy.random import default_rng

    reached = dict.fromkeys(centers)
    walks = []
    for center, number in product(reached, range(plan.walks)):
        walks.append(_Walk([center], default_rng((plan.seed, int(center[1:]), number))))
    for step in range(1, plan.steps + 1):
        going = [single for single in walks if not single.ended]
        _shuffle_neighbours(going, around, inactive)
        _choose(going, admitted)
        for single in going:
            if single.chosen is None or (single.chosen not in reached and len(reached) >= plan.limit):
                single.ended = True
            else:
                single.path.append(single.chosen)
                reached[single.chosen] = None
        report(step, len(reached))
    return list(reached)


def _shuffle_neighbours(going: Sequence[_Walk], around: Surroundings, inactive: Collection[str]) -> None:
    """Shuffle the neighbours of each walk: all of one direction before those of the other."""
    here = dict.fromkeys(single.path[-1] for single in going)
    outgoing, incoming = around.outgoing(here), around.incoming(here)
    for single in going:
        at = single.path[-1]
        objects = [fact.object for fact in outgoing[at] if fact.relation not in inactive]
        subjects = [fact.subject for fact in incoming[at] if fact.relation not in inactive]
        directions = (objects, subjects)
        first = single.random.integers(2)
        single.open = []
        for direction in (directions[first], directions[1 - first]):
            for index in single.random.permutation(len(direction)):
                if direction[index] not in single.path:
                    single.open.append(direction[index])


def _choose(going: Sequence[_Walk], admitted: Callable[[Sequence[str]], Collection[str]]) -> None:
    """Set the first admitted neighbour of each walk, if any."""
    for single in going:
        single.chosen = None
    seeking = list(going)
    while seeking:
        ahead = max(1, LOOK_AHEAD // len(seeking))
        candidates: dict[str, None] = {}
        for single in seeking:
            candidates |= dict.fromkeys(single.open[:ahead])
        good = admitted(list(candidates))
        for single in seeking:
            single.chosen = next(filter(good.__contains__, single.open[:ahead]), None)
            del single.open[:ahead]
        seeking = [single for single in seeking if single.chosen is None and single.open]
