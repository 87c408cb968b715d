"""Parts of the graph in Python: the same on both engines, bounded, and as pandas and networkx know them."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.graph.subgraphs import Subgraph, facts_of, neighbourhood
from tests.graph.servers.shared import wipe
from tests.written_source import WrittenSource

PEOPLE = Entity("T", "person")
ENTITIES = [
    PEOPLE,
    Entity("A", "Ada", aliases=("Countess",), description="mathematician", types=("T",), popularity=2.0),
    Entity("B", "Ben", types=("T",)),
    Entity("C", types=("T",)),
    Entity("D", "Dora", types=("T",)),
    Entity("5", "5", value="5", datatype="integer"),
]
RELATIONS = [Relation("knows", "knows"), Relation("likes", "likes"), Relation("age", "")]
FACTS = [
    Fact("A knows B", "A", "knows", "B", rank="preferred"),
    Fact("A knows B 2", "A", "knows", "B", start="1990", end="1999-05"),
    Fact("B knows A", "B", "knows", "A"),
    Fact("B knows C", "B", "knows", "C", end="2000"),
    Fact("C likes D", "C", "likes", "D"),
    Fact("A likes A", "A", "likes", "A"),
    Fact("D age 5", "D", "age", "5"),
]


@pytest.fixture(scope="module")
def people(endpoint: Endpoint) -> Iterator[Graph]:
    """Loaded once: what is tested here reads alone."""
    with Graph(endpoint) as graph:
        wipe(graph)
        load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
        yield graph


def ids(subgraph: Subgraph) -> list[str]:
    return [fact.id for fact in subgraph.facts]


def sorted_ids(which: Callable[[Fact], bool]) -> list[str]:
    facts = sorted(filter(which, FACTS), key=lambda fact: (fact.subject, fact.relation, fact.object, fact.id))
    return [fact.id for fact in facts]


@pytest.mark.parametrize("as_of", [None, 19950101, 19990531, 19990601, 20260101])
def test_facts_are_those_that_fit(people: Graph, as_of: int | None) -> None:
    names: list[tuple[str, ...]] = [(), ("A",), ("A", "C", "A"), ("5",), ("T",)]
    for entities, relations in product(names, [(), ("knows",), ("likes", "age", "likes")]):
        assert_those_that_fit(people, entities, relations, as_of)


def assert_those_that_fit(
    people: Graph, entities: tuple[str, ...], relations: tuple[str, ...], as_of: int | None
) -> None:
    ended = {"A knows B 2": (19900101, 19990531), "B knows C": (0, 20001231)}

    def fits(fact: Fact) -> bool:
        start, end = ended.get(fact.id, (0, 99999999))
        return (
            (not entities or fact.subject in entities or fact.object in entities)
            and (not relations or fact.relation in relations)
            and (as_of is None or start <= as_of <= end)
        )

    found = facts_of(people, entities, relations, as_of=as_of)
    assert ids(found) == sorted_ids(fits)
    assert found.complete
    assert (found.note is None) == bool(found.facts)
    ends = {end for fact in found.facts for end in (fact.subject, fact.object)}
    assert found.entities.keys() == ends | set(entities)


def test_what_was_loaded_comes_back(people: Graph) -> None:
    found = facts_of(people)
    assert sorted(found.facts, key=lambda fact: fact.id) == sorted(FACTS, key=lambda fact: fact.id)
    assert found.entities == {entity.id: entity for entity in ENTITIES if entity != PEOPLE}
    assert found.relation_labels == {"knows": "knows", "likes": "likes", "age": ""}


@pytest.mark.parametrize("make", [lambda g, n: facts_of(g, limit=n), lambda g, n: facts_of(g, ["A", "B"], limit=n)])
def test_limit_holds_and_is_noted(people: Graph, make: Callable[[Graph, int], Subgraph]) -> None:
    everything = make(people, 100)
    for limit in range(1, len(everything) + 2):
        found = make(people, limit)
        assert len(found) == min(limit, len(everything))
        assert set(found.facts) <= set(everything.facts)
        assert found.complete == (limit >= len(everything))
        assert (found.note is None) == found.complete
    noted = make(people, 1)
    assert noted.note == "There are more than these 1 facts: `limit` was reached."
    assert str(noted).endswith(noted.note)
    assert noted.to_frame().attrs["note"] == noted.networkx().graph["note"] == noted.note


def test_limit_of_relations_holds(people: Graph) -> None:
    assert len(facts_of(people, relations=["knows"], limit=2)) == 2
    assert not facts_of(people, relations=["knows"], limit=3).complete
    assert facts_of(people, relations=["knows"], limit=4).complete


def test_neighbourhood_goes_step_by_step(people: Graph) -> None:
    own = sorted_ids(lambda fact: "A" in (fact.subject, fact.object))
    assert ids(neighbourhood(people, "A")) == own == ["A knows B", "A knows B 2", "A likes A", "B knows A"]
    assert ids(neighbourhood(people, "A", steps=2)) == [*own, "B knows C"]
    assert ids(neighbourhood(people, "A", steps=3)) == [*own, "B knows C", "C likes D"]
    assert ids(neighbourhood(people, "A", steps=9)) == sorted_ids(lambda fact: True)
    assert ids(neighbourhood(people, "A", steps=9, relations=["knows"])) == [
        "A knows B",
        "A knows B 2",
        *own[3:],
        "B knows C",
    ]
    assert ids(neighbourhood(people, "A", steps=9, as_of=20260101)) == ["A knows B", "A likes A", "B knows A"]
    limited = neighbourhood(people, "A", steps=9, limit=4)
    assert (ids(limited), limited.complete) == (own, False)
    alone = neighbourhood(people, "T", steps=2)
    assert (len(alone), alone.entities, alone.complete) == (0, {"T": PEOPLE}, True)


def test_frame_has_a_row_for_each_fact(people: Graph) -> None:
    frame = facts_of(people, ["B"], ["knows"]).to_frame()
    assert list(frame.columns) == [
        *("fact", "subject", "subject_label", "relation", "relation_label", "object", "object_label"),
        *("start", "end", "rank"),
    ]
    assert frame.to_numpy().tolist() == [
        ["A knows B", "A", "Ada", "knows", "knows", "B", "Ben", None, None, "preferred"],
        ["A knows B 2", "A", "Ada", "knows", "knows", "B", "Ben", "1990", "1999-05", "normal"],
        ["B knows A", "B", "Ben", "knows", "knows", "A", "Ada", None, None, "normal"],
        ["B knows C", "B", "Ben", "knows", "knows", "C", "", None, "2000", "normal"],
    ]
    assert list(facts_of(people, ["T"]).to_frame().columns) == list(frame.columns)


def test_network_has_entities_as_nodes_and_facts_as_edges(people: Graph) -> None:
    network = neighbourhood(people, "A").networkx()
    nodes: dict[str, dict[str, Any]] = dict(network.nodes(data=True))
    assert nodes["A"] == {
        "label": "Ada",
        "aliases": ("Countess",),
        "description": "mathematician",
        "types": ("T",),
        "popularity": 2.0,
    }
    assert sorted(network.edges(keys=True)) == [
        ("A", "A", "A likes A"),
        ("A", "B", "A knows B"),
        ("A", "B", "A knows B 2"),
        ("B", "A", "B knows A"),
    ]
    assert network.edges["A", "B", "A knows B 2"] == {
        "relation": "knows",
        "relation_label": "knows",
        "rank": "normal",
        "start": "1990",
        "end": "1999-05",
    }


def test_what_is_not_in_the_graph_is_named(people: Graph) -> None:
    with pytest.raises(UnknownNameError, match="No entity is called 'Q1'"):
        facts_of(people, ["A", "Q1", "Q2"])
    with pytest.raises(UnknownNameError, match="No entity is called 'Q1'"):
        neighbourhood(people, "Q1")
    with pytest.raises(UnknownNameError, match="No relation of this graph is called 'liks'; close to it: likes"):
        facts_of(people, relations=["likes", "liks"])


@pytest.mark.parametrize(
    ("argument", "ask"),
    [
        ("limit", lambda graph: facts_of(graph, limit=0)),
        ("entities", lambda graph: facts_of(graph, "A")),
        ("relations", lambda graph: facts_of(graph, relations="knows")),
        ("as_of", lambda graph: facts_of(graph, as_of="1990-13-01")),
        ("steps", lambda graph: neighbourhood(graph, "A", steps=0)),
    ],
)
def test_arguments_that_cannot_be(people: Graph, argument: str, ask: Callable[[Graph], Subgraph]) -> None:
    with pytest.raises(ArgumentError, match=f"^`{argument}` is ") as caught:
        ask(people)
    assert caught.value.argument == argument


# The last, since another graph is loaded for it.
def test_facts_that_came_by_another_way_are_found(few_facts: Graph) -> None:
    assert ids(facts_of(few_facts, ["Q142", "Q183"])) == ["f1", "f3", "f5", "f2", "f4"]
    assert facts_of(few_facts, ["Q142"]).relation_labels["P99"] == ""
