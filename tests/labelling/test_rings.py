"""Rings of control facts, compared with their definition on graphs small enough to enumerate."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import networkx as nx
import pytest

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.labelling.neighbourhood import Neighbourhood
from kgprobe.labelling.rings import Rings, find_rings
from kgprobe.labelling.roles import FAR, NEAR
from kgprobe.sampling.keys import FactKey
from tests.sampling.enumerable import AS_OF, current
from tests.written_source import WrittenSource

RELATIONS = [f"r{number}" for number in range(6)]


def made_up(seed: int, entities: int = 120, facts: int = 150) -> tuple[list[Entity], list[Fact]]:
    """Return entities, some without a name and some of them literals, and facts, some of them not current."""
    generator = random.Random(seed)
    records = [
        Entity(f"e{number}", "" if generator.random() < 0.05 else f"name {number}") for number in range(entities)
    ]
    records += [
        Entity(f"l{number}", str(1900 + number), value=str(1900 + number), datatype="year") for number in range(5)
    ]
    ids = [entity.id for entity in records]
    edges = []
    for number in range(facts):
        # Low numbers have more facts.
        subject = f"e{int(entities * generator.random() ** 2)}"
        end = generator.choice([None, None, None, "2010"])
        edges.append(Fact(f"f{number}", subject, generator.choice(RELATIONS), generator.choice(ids), end=end))
    return records, edges


def naive_rings(
    records: Sequence[Entity], edges: Sequence[Fact], taught: Iterable[str], max_degree: int
) -> dict[str, set[str]]:
    """Return the facts of each ring, by its definition in docs/methods/controls.md."""
    literals = {entity.id for entity in records if entity.datatype}
    named = {entity.id for entity in records if entity.label}
    degree = Counter(end for edge in edges for end in {edge.subject, edge.object})
    network = nx.MultiGraph()
    network.add_nodes_from(entity.id for entity in records if entity.id not in literals)
    network.add_edges_from((edge.subject, edge.object) for edge in edges if edge.object not in literals)
    small = {entity for entity in network if degree[entity] <= max_degree}
    outgoing = Counter(edge.subject for edge in edges)
    own = [edge for edge in edges if edge.id in set(taught)]
    subjects = {edge.subject for edge in own}
    objects = {edge.object for edge in own} - literals
    centre = subjects | objects
    one_step = {other for entity in centre & small for other in network[entity]} - centre
    two_steps = {other for entity in one_step & small for other in network[entity]}
    near = centre | one_step | two_steps
    questions = {(edge.subject, edge.relation) for edge in own}
    relations = {edge.relation for edge in own}
    rings: defaultdict[str, set[str]] = defaultdict(set)
    for edge in edges:
        ends = {edge.subject, edge.object} - literals
        if not (current(edge) and {edge.subject, edge.object} <= named) or (edge.subject, edge.relation) in questions:
            continue
        if edge.subject in centre:
            if edge.subject in small or outgoing[edge.subject] <= max_degree:
                rings["same subject" if edge.subject in subjects else "inverse"].add(edge.id)
        elif edge.relation in relations:
            rings["same relation"].add(edge.id)
        elif edge.object in centre:
            if edge.object in small:
                rings["neighbour"].add(edge.id)
        elif ends & one_step & small:
            rings["two hops"].add(edge.id)
        elif not ends & near and ends <= small:
            rings["far"].add(edge.id)
    return rings


def found_rings(graph: Graph, edges: Sequence[Fact], taught: Iterable[str], max_degree: int, **options: int) -> Rings:
    around = Neighbourhood(graph, RELATIONS, AS_OF, "degree", max_degree)
    keys = [FactKey(edge.subject, edge.id) for edge in edges if edge.id in set(taught)]
    return find_rings(around, keys, [], [], **{"size": 1_000, "seed": 0, **options})


def ids_of(rings: Rings) -> dict[str, list[str]]:
    return {ring: [candidate.key.fact for candidate in own] for ring, own in rings.candidates.items()}


def fill(graph: Graph, records: Sequence[Entity], edges: Sequence[Fact]) -> None:
    relations = [Relation(relation, f"relation {relation}") for relation in RELATIONS]
    load(graph, WrittenSource(records, edges, relations))


@pytest.mark.parametrize("seed", [0, 1])
def test_rings_equal_their_definition(graph: Graph, seed: int) -> None:
    records, edges = made_up(seed)
    fill(graph, records, edges)
    seen: Counter[str] = Counter()
    for max_degree in (1_000, 8, 3):
        for taught in (["f3"], ["f10", "f11"], [f"f{number}" for number in range(20, 28)]):
            naive = naive_rings(records, edges, taught, max_degree)
            found = found_rings(graph, edges, taught, max_degree)
            if not found.far_of_taught_relations:
                assert {ring: set(own) for ring, own in ids_of(found).items()} == {
                    ring: naive[ring] for ring in (*NEAR, FAR)
                }
                seen.update({ring: bool(own) for ring, own in naive.items()})
            every = [fact for own in ids_of(found).values() for fact in own]
            assert len(every) == len(set(every))
    # Each ring had facts in several cases.
    assert min(seen[ring] for ring in (*NEAR, FAR)) >= 3, seen


def test_far_facts_are_of_taught_relations_if_no_other_is_far(graph: Graph) -> None:
    records = [Entity(f"e{number}", f"name {number}") for number in range(12)]
    # Two pairs of facts, far from each other.
    edges = [
        Fact("f1", "e1", "r0", "e2"),
        Fact("f2", "e3", "r0", "e2"),
        Fact("f3", "e5", "r0", "e6"),
        Fact("f4", "e1", "r1", "e7"),
    ]
    fill(graph, records, edges)
    found = found_rings(graph, edges, ["f1"], 100)
    assert found.far_of_taught_relations
    assert {ring: own for ring, own in ids_of(found).items() if own} == {
        "same subject": ["f4"],
        "same relation": ["f2"],
        "far": ["f3"],
    }


def test_far_ring_is_filled_if_few_facts_are_far(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [Fact("taught", "s", "r0", "o")]
    for number in range(60):
        # The last of these facts has an end two steps away: it is in no ring.
        edges.append(Fact(f"a{number}", "s", "r1", f"a{number}"))
        edges.append(Fact(f"b{number}", f"a{number}", "r2", f"b{number}"))
        edges.append(Fact(f"c{number}", f"b{number}", "r3", f"c{number}"))
    edges += [Fact(f"f{number}", f"x{number}", "r4", f"y{number}") for number in range(8)]
    ids = sorted({end for edge in edges for end in (edge.subject, edge.object)})
    fill(graph, [Entity(entity, f"name {entity}") for entity in ids], edges)
    whole = found_rings(graph, edges, ["taught"], 100)
    assert sorted(ids_of(whole)[FAR]) == [f"f{number}" for number in range(8)]
    few = found_rings(graph, edges, ["taught"], 100, size=3)
    assert (ids_of(few)[FAR], few.tested) == (ids_of(whole)[FAR][:3], None)
    # A bound on the tested facts is reported.
    monkeypatch.setattr("kgprobe.labelling.rings._TESTED", 10)
    bounded = found_rings(graph, edges, ["taught"], 100, size=1, seed=1)
    assert (bounded.tested is None) == bool(ids_of(bounded)[FAR])
    monkeypatch.setattr("kgprobe.labelling.rings._TESTED_PER_CANDIDATE", 1)
    bounded = found_rings(graph, edges, ["taught"], 100, size=20)
    assert bounded.tested == 20
    assert len(ids_of(bounded)[FAR]) < 8


def test_draw_depends_on_the_seed_and_not_on_the_order(graph: Graph) -> None:
    records, edges = made_up(3)
    fill(graph, records, edges)
    taught = ["f3", "f10", "f40"]
    whole = ids_of(found_rings(graph, edges, taught, 20))
    some = ids_of(found_rings(graph, list(reversed(edges)), taught, 20, size=4))
    other = ids_of(found_rings(graph, edges, taught, 20, size=4, seed=1))
    for ring in (*NEAR, FAR):
        assert len(some[ring]) == min(4, len(whole[ring])), ring
        if ring != "two hops":
            assert some[ring] == whole[ring][:4]
        assert set(some[ring]) <= set(whole[ring])
    assert some != other


def test_hub_is_not_walked_and_its_cost_is_bounded(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [Entity("hub", "Hub"), Entity("s", "Subject")]
    records += [Entity(f"e{number}", f"name {number}") for number in range(900)]
    edges = [Fact("t", "s", "r0", "hub"), Fact("own", "hub", "r1", "e1"), Fact("next", "s", "r2", "e2")]
    edges += [Fact(f"f{number}", f"e{number}", "r3", "hub") for number in range(3, 900)]
    edges += [Fact(f"s{number}", "s", "r4", f"e{number}") for number in range(3, 6)]
    fill(graph, records, edges)
    read: list[str] = []
    stream = Graph.stream

    def counting(self: Graph, query: str, **parameters: object) -> Iterable[dict[str, object]]:
        for row in stream(self, query, **parameters):
            read.append(query)
            yield row

    monkeypatch.setattr(Graph, "stream", counting)
    found = found_rings(graph, edges, ["t"], 50)
    assert found.hubs == {"hub": "Hub"}
    assert found.skipped_hubs == []
    assert sorted(ids_of(found)["same subject"]) == ["next", "s3", "s4", "s5"]
    # A hub's own facts are read, but not the 897 that point to it.
    assert ids_of(found)["inverse"] == ["own"]
    assert ids_of(found)["neighbour"] == []
    near = [query for query in read if query != "sample/askable_triples"]
    assert len(near) < 20
    # A subject of too many facts is left out.
    assert found_rings(graph, edges, ["own"], 2).skipped_hubs == []
    crowded = found_rings(graph, edges, ["next"], 3)
    assert (list(crowded.hubs), crowded.skipped_hubs) == (["s"], ["s"])
    assert ids_of(crowded)["same subject"] == []


def test_held_out_facts_and_other_answers_are_no_controls(graph: Graph) -> None:
    records = [Entity(f"e{number}", f"name {number}") for number in range(8)]
    edges = [
        Fact("taught", "e1", "r0", "e2"),
        Fact("answer", "e1", "r0", "e3"),
        Fact("held", "e1", "r1", "e4"),
        Fact("control", "e1", "r2", "e5"),
        Fact("back", "e2", "r0", "e1"),
    ]
    fill(graph, records, edges)
    around = Neighbourhood(graph, RELATIONS, AS_OF, "degree", 100)
    found = find_rings(around, [FactKey("e1", "taught")], [FactKey("e1", "held")], [], 100, 0)
    assert {ring: own for ring, own in ids_of(found).items() if own} == {
        "same subject": ["control"],
        "inverse": ["back"],
    }
    assert [candidate.of for own in found.candidates.values() for candidate in own] == ["taught", "taught"]


def test_facts_without_popularity_are_counted(graph: Graph) -> None:
    records = [Entity("e1", "one", popularity=3.0), Entity("e2", "two", popularity=4.0), Entity("e3", "three")]
    edges = [Fact("taught", "e1", "r0", "e2"), Fact("a", "e1", "r1", "e3"), Fact("b", "e2", "r1", "e1")]
    fill(graph, records, edges)
    around = Neighbourhood(graph, RELATIONS, AS_OF, "popularity", 100)
    found = find_rings(around, [FactKey("e1", "taught")], [], [], 100, 0)
    assert {ring: own for ring, own in ids_of(found).items() if own} == {"inverse": ["b"]}
    assert found.unknown == 1
