"""Relations and entities by what people call them, on both engines."""

import pytest

from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.names import entity_ids, relation_ids
from kgprobe.records import Entity, Fact, Relation
from tests.written_source import WrittenSource

ENTITIES = [
    Entity("Q142", "France", ("French Republic",)),
    Entity("Q230", "Georgia"),
    Entity("Q1428", "Georgia"),
    Entity("Q90", "Paris", ("q142",)),
]
RELATIONS = [
    Relation("P36", "capital", ("seat",)),
    Relation("P1376", "capital of"),
    Relation("P6", "head", ("P1376",)),
    Relation("P35", "head"),
]
FACTS = [Fact("1", "Q142", "P36", "Q90")]


@pytest.fixture
def named(graph: Graph) -> Graph:
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
    return graph


def test_names_are_ids_labels_and_aliases_whatever_their_capitals(named: Graph) -> None:
    assert relation_ids(named, ["P36", "Capital", "SEAT", "capital of", "p1376"]) == ("P36", "P1376")
    assert relation_ids(named, []) == ()
    assert entity_ids(named, ["Q90", "france", "french republic", "Q142"]) == ("Q90", "Q142", "Q142", "Q142")


def test_an_id_goes_before_what_others_are_called(named: Graph) -> None:
    assert relation_ids(named, ["P1376"]) == ("P1376",)
    assert entity_ids(named, ["Q142"]) == ("Q142",)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("captial", r"No relation of this graph is called 'captial'; close to it: capital \(P36\)"),
        ("zzz", "No relation of this graph is called 'zzz', see `kgprobe graph query explore/relations`"),
        ("head", "2 relations are called 'head': P35, P6. Name one by its id"),
        ("", "No relation of this graph is called ''"),
    ],
)
def test_a_wrong_relation_is_told_with_what_comes_close(named: Graph, name: str, said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        relation_ids(named, ["capital", name])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Frence", r"No entity is called 'Frence'; close to it: France \(Q142\)"),
        ("Georgia", "2 entities are called 'Georgia': Q1428, Q230. Name one by its id"),
    ],
)
def test_a_wrong_entity_is_told_with_what_comes_close(named: Graph, name: str, said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        entity_ids(named, ["Paris", name])
