"""Communities of ignorance: groups of entities that are connected by facts that a model does not know."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgprobe.graph.client import Graph

if TYPE_CHECKING:
    import networkx as nx

# Most central entities, and most frequent relations, that a result names.
NAMED = 3


@dataclass(frozen=True, slots=True)
class Community:
    """Entities that are connected by unknown facts.

    Attributes:
        entities: ids of the entities, those with most unknown facts within the community first.
        unknown: number of unknown facts between them.
        relations: ids of the relations of these facts, the most frequent first, with their numbers of facts.
    """

    entities: tuple[str, ...]
    unknown: int
    relations: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Communities:
    """The communities of a run.

    Attributes:
        communities: those with most unknown facts first, at most the requested number.
        total: number of communities.
        facts: number of unknown facts of the run, also between communities.
        entities: number of their subjects and objects.
        labels: names of the first entities and relations of each community, by id.
    """

    communities: tuple[Community, ...]
    total: int
    facts: int
    entities: int
    labels: Mapping[str, str]


def _louvain(network: "nx.Graph[int]", seed: int) -> Iterable[Collection[int]]:
    import networkx as nx

    return nx.community.louvain_communities(network, weight="facts", seed=seed)


def _propagate_labels(network: "nx.Graph[int]", seed: int) -> Iterable[Collection[int]]:
    import networkx as nx

    return nx.community.asyn_lpa_communities(network, weight="facts", seed=seed)


def _components(network: "nx.Graph[int]", _seed: int) -> Iterable[Collection[int]]:
    import networkx as nx

    return nx.connected_components(network)


# By name: divide a network of numbered entities; an edge has the number of unknown facts between its ends.
METHODS: Mapping[str, Callable[["nx.Graph[int]", int], Iterable[Collection[int]]]] = {
    "louvain": _louvain,
    "labels": _propagate_labels,
    "components": _components,
}


def find_communities(graph: Graph, run: str, method: str, *, sure: bool, seed: int, limit: int) -> Communities:
    """Return the communities of the facts that the model of a run does not know.

    Args:
        method: name in :data:`METHODS`.
        seed: random seed; connected components have none.

    Cost: one reading of the run's beliefs. Memory and time of networkx for the unknown facts.
    """
    import networkx as nx

    unknown = graph.stream("network/unknown", run=run, sure=sure)
    rows = [(row["subject"], row["object"], row["relation"]) for row in unknown]
    ids = sorted({entity for subject, object_, _ in rows for entity in (subject, object_)})
    # Numbers make the result independent of the order in which Python hashes texts.
    numbers = {entity: number for number, entity in enumerate(ids)}
    network: nx.Graph[int] = nx.Graph()
    network.add_nodes_from(range(len(ids)))
    for (lower, higher), facts in sorted(Counter(_ends(numbers, row) for row in rows).items()):
        network.add_edge(lower, higher, facts=facts)
    groups = METHODS[method](network, seed) if rows else []
    group_of = {entity: number for number, group in enumerate(groups) for entity in group}
    communities = [community for community in _described(rows, numbers, group_of) if community.unknown]
    shown = sorted(communities, key=lambda community: (-community.unknown, community.entities))[:limit]
    entities: dict[str, None] = {}
    for community in shown:
        entities |= dict.fromkeys(community.entities[:NAMED])
    labels = {row["id"]: row["label"] or row["id"] for row in graph.read("sample/relations")}
    labels |= {row["id"]: row["label"] for row in graph.read("sample/labels", ids=list(entities))}
    return Communities(tuple(shown), len(communities), len(rows), len(ids), labels)


def _ends(numbers: Mapping[str, int], row: tuple[str, str, str]) -> tuple[int, int]:
    ends = numbers[row[0]], numbers[row[1]]
    return min(ends), max(ends)


def _described(
    rows: Sequence[tuple[str, str, str]], numbers: Mapping[str, int], group_of: Mapping[int, int]
) -> list[Community]:
    entities: dict[int, Counter[str]] = {group: Counter() for group in group_of.values()}
    relations: dict[int, Counter[str]] = {group: Counter() for group in group_of.values()}
    for entity, number in numbers.items():
        entities[group_of[number]][entity] = 0
    for subject, object_, relation in rows:
        group = group_of[numbers[subject]]
        if group == group_of[numbers[object_]]:
            entities[group].update({subject, object_})
            relations[group][relation] += 1
    return [
        Community(
            tuple(entity for entity, _ in _by_count(entities[group])),
            relations[group].total(),
            tuple(_by_count(relations[group])),
        )
        for group in entities
    ]


def _by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
