"""The best known path between two entities: its least known fact is as well known as possible (a bottleneck path).

A threshold search: with the facts whose theta is at most t, a breadth-first search from both ends decides whether there
is a path of at most so many facts. The least such t is the theta of a fact that was read, so that a bisection over
these values is exact. Each entity's facts are read once.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kgprobe.base.errors import KgprobeError
from kgprobe.graph.client import Graph

# Thresholds before the bisection, from the best known facts on: facts at a high theta are read only if necessary.
_FIRST_THRESHOLDS = [step / 20 for step in range(1, 21)]
# Entities per statement, and facts that are read before the search stops with an error.
_AT_ONCE = 1_000
_MOST_READ = 5_000_000


@dataclass(frozen=True, slots=True)
class PathFact:
    """A fact of a path, with the belief of the run in view.

    Attributes:
        theta: E[θ], the probability that the model fails on it.
        belief: a word of the finding, or ``not asked``; then theta is the expectation.
    """

    fact: str
    subject: str
    subject_label: str
    relation: str
    relation_label: str
    object: str
    object_label: str
    theta: float
    belief: str


@dataclass(frozen=True, slots=True, order=True)
class _Edge:
    theta: float
    neighbour: str
    subject: str
    fact: str


@dataclass(slots=True)
class _Neighbours:
    """The facts of entities, each entity's read once."""

    graph: Graph
    edges: dict[str, list[_Edge]] = field(default_factory=dict)
    read: int = 0

    def fetch(self, entities: Iterable[str]) -> None:
        missing = [entity for entity in entities if entity not in self.edges]
        for start in range(0, len(missing), _AT_ONCE):
            part = missing[start : start + _AT_ONCE]
            fetched: dict[str, list[_Edge]] = defaultdict(list)
            for row in self.graph.stream("network/believed", entities=part):
                fetched[row["entity"]].append(_Edge(row["theta"], row["neighbour"], row["subject"], row["fact"]))
                self.read += 1
                if self.read > _MOST_READ:
                    raise KgprobeError(
                        f"The search has read {_MOST_READ:,} facts; lower `facts`, the greatest length of a path."
                    )
            self.edges |= {entity: sorted(fetched[entity]) for entity in part}

    def thetas_between(self, low: float, high: float) -> list[float]:
        """Return the distinct values of theta between two, without these, of all facts that were read."""
        thetas = {edge.theta for edges in self.edges.values() for edge in edges}
        return sorted(theta for theta in thetas if low < theta < high)


# For each reached entity the entity before it, and the fact between them; None at the start.
_Reached = dict[str, tuple[str, _Edge] | None]


def find_known_path(graph: Graph, one: str, other: str, facts: int) -> Sequence[PathFact]:
    """Return the facts of the best known path between two entities, from one to the other; none if there is no path.

    The greatest theta of the path's facts is the least of all paths with at most ``facts`` facts, in any direction. Of
    such paths, it is a shortest one. Facts without a belief of the run in view are not walked.

    Cost: reads all facts of each entity that the search reaches, once. An entity is reached by facts that are as well
    known as the result's least known fact, rounded up to a step of 0.05; without a path, by all within half of
    ``facts`` steps from both ends. Memory of the facts that were read.
    """
    neighbours = _Neighbours(graph)
    low, path = 0.0, None
    for threshold in _FIRST_THRESHOLDS:
        path = _search(neighbours, one, other, threshold, facts)
        if path is not None:
            break
        low = threshold
    if path is None:
        return ()
    while candidates := neighbours.thetas_between(low, max(edge.theta for edge in path)):
        middle = candidates[len(candidates) // 2]
        better = _search(neighbours, one, other, middle, facts)
        if better is None:
            low = middle
        else:
            path = better
    rows = graph.read("network/facts", rows=[{"subject": edge.subject, "fact": edge.fact} for edge in path])
    by_key = {(row["subject"], row["fact"]): row for row in rows}
    described = []
    for edge in path:
        row = by_key[edge.subject, edge.fact]
        labels = {name: row[name] or "" for name in ("subject_label", "object_label")}
        described.append(PathFact(**{**row, **labels}))
    return tuple(described)


def _search(neighbours: _Neighbours, one: str, other: str, threshold: float, facts: int) -> list[_Edge] | None:
    """Return a shortest path of facts with at most this theta; None if there is none of at most so many facts.

    Levels grow from both ends, the smaller one first. Without a path, every entity is expanded that a better path
    could leave by a fact of a greater theta.
    """
    sides: tuple[_Reached, _Reached] = ({one: None}, {other: None})
    frontiers = [[one], [other]]
    for _ in range(facts):
        side = 0 if len(frontiers[0]) <= len(frontiers[1]) else 1
        reached, opposite = sides[side], sides[1 - side]
        neighbours.fetch(frontiers[side])
        level = []
        for entity in frontiers[side]:
            for edge in neighbours.edges[entity]:
                if edge.theta > threshold:
                    break
                if edge.neighbour not in reached:
                    reached[edge.neighbour] = (entity, edge)
                    level.append(edge.neighbour)
        met = [entity for entity in level if entity in opposite]
        if met:
            return _joined(sides, met[0])
        if not level:
            return None
        frontiers[side] = level
    return None


def _joined(sides: tuple[_Reached, _Reached], met: str) -> list[_Edge]:
    halves = []
    for reached in sides:
        half, entity = [], met
        while (step := reached[entity]) is not None:
            entity, edge = step
            half.append(edge)
        halves.append(half)
    return [*reversed(halves[0]), *halves[1]]
