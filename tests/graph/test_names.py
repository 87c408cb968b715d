"""Relations and entities by what people call them, on both engines."""

from collections.abc import Callable, Iterator

import pytest

from kgprobe.base.errors import UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.explore import names_in
from kgprobe.graph.ingest import load
from kgprobe.graph.names import entity_ids, relation_ids
from kgprobe.graph.queries import explore_names, get_query, parameters_in
from tests.graph.servers.shared import wipe
from tests.written_source import WrittenSource

ENTITIES = [
    Entity("Q142", "France", ("French Republic",)),
    Entity("Q230", "Georgia", description="country in the Caucasus"),
    Entity("Q1428", "Georgia", description="state of the USA"),
    Entity("Q90", "Paris", ("q142",)),
]
RELATIONS = [
    Relation("P36", "capital", ("seat",)),
    Relation("P1376", "capital of"),
    Relation("P6", "head", ("P1376",)),
    Relation("P35", "head"),
]
FACTS = [
    Fact("1", "Q142", "P36", "Q90"),
    Fact("2", "Q1428", "P1376", "Q142"),
    Fact("3", "Q1428", "P35", "Q90"),
    Fact("4", "Q230", "P35", "Q142"),
]
GEORGIAS = (
    r"2 entities are called '[Gg]eorgia'. Name one by its id:\n"
    r"  Q1428: Georgia, state of the USA, 2 facts\n  Q230: Georgia, country in the Caucasus, 1 fact$"
)


@pytest.fixture(scope="module")
def named(endpoint: Endpoint) -> Iterator[Graph]:
    """Loaded once: what is tested here reads alone."""
    with Graph(endpoint) as graph:
        wipe(graph)
        load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
        yield graph


def test_names_are_ids_labels_and_aliases_in_any_case(named: Graph) -> None:
    assert relation_ids(named, ["P36", "Capital", "SEAT", "capital of", "p1376"]) == ("P36", "P1376")
    assert relation_ids(named, []) == ()
    assert entity_ids(named, ["Q90", "france", "french republic", "Q142"]) == ("Q90", "Q142", "Q142", "Q142")


def test_id_goes_before_what_others_are_called(named: Graph) -> None:
    assert relation_ids(named, ["P1376"]) == ("P1376",)
    assert entity_ids(named, ["Q142"]) == ("Q142",)


@pytest.mark.parametrize(
    ("ids", "name", "said"),
    [
        (relation_ids, "captial", r"No relation of this graph is called 'captial'; close to it: capital \(P36\)"),
        (
            relation_ids,
            "zzz",
            "No relation of this graph is called 'zzz', see `kgprobe graph query explore/relations`",
        ),
        (relation_ids, "head", "2 relations are called 'head': P35, P6. Name one by its id"),
        (relation_ids, "", "No relation of this graph is called ''"),
        (entity_ids, "Frence", r"No entity is called 'Frence'; close to it: France \(Q142\)"),
        (entity_ids, "Georgia", GEORGIAS),
    ],
)
def test_wrong_name_is_told_with_what_comes_close(
    named: Graph, ids: Callable[[Graph, list[str]], tuple[str, ...]], name: str, said: str
) -> None:
    with pytest.raises(UnknownNameError, match=said):
        ids(named, ["capital" if ids is relation_ids else "Paris", name])


@pytest.mark.parametrize("endpoint", ["neo4j"], indirect=True)
def test_entity_ids_with_an_index_scan_no_entities(named: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(named, "read", lambda query, **of: [read.append(query), *Graph.read(named, query, **of)][1:])
    assert entity_ids(named, ["french republic"]) == ("Q142",)
    with pytest.raises(UnknownNameError, match="No entity is called 'Frence'; close to it: France"):
        entity_ids(named, ["Frence"])
    assert not {"sample/called", "sample/similar"} & set(read), read


@pytest.mark.parametrize("endpoint", ["neo4j"], indirect=True)
def test_entity_ids_without_an_index_scan_entities(named: Graph) -> None:
    named.query("DROP INDEX entity_names")
    try:
        assert entity_ids(named, ["french republic"]) == ("Q142",)
    finally:
        named.write("schema/entity_names")
        named.write("bulk/await_indexes", seconds=60)


@pytest.mark.parametrize(
    ("query", "parameters", "expected"),
    [
        ("explore/around", {"entity": "FRENCH republic"}, ["1", "2", "4"]),
        ("explore/neighbours", {"id": "france"}, ["1", "2", "4"]),
        ("explore/facts_of_relations", {"relations": ["Seat"]}, ["1"]),
        ("explore/facts_of_entities", {"entities": ["Paris", "FRANCE"], "relations": ["capital"]}, ["1"]),
    ],
)
@pytest.mark.representatives(2)
def test_query_with_names_takes_aliases_in_any_case(
    named: Graph, query: str, parameters: dict[str, object], expected: list[str]
) -> None:
    assert {row["fact"] for row in named.query(query, **parameters)} == set(expected)


@pytest.mark.parametrize(
    ("query", "parameters", "message"),
    [
        ("explore/around", {"entity": "Frence"}, "No entity is called 'Frence'; close to it: France"),
        ("explore/expected", {"entity": "georgia"}, GEORGIAS),
        ("explore/to_retrieve", {"entities": ["France", "Pariss"]}, "No entity is called 'Pariss'; close to it: Paris"),
        ("explore/facts_of_relations", {"relations": ["captial"]}, "No relation of this graph is called 'captial'"),
        ("explore/unknown", {"run": "base"}, "Unknown run 'base' in this graph; it has none yet"),
        ("explore/judged", {"judged_graph": "whole"}, "Unknown judged graph 'whole' in this graph; it has none yet"),
    ],
)
def test_query_with_a_wrong_name_says_what_comes_close(
    named: Graph, query: str, parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(UnknownNameError, match=message):
        named.query(query, **parameters)


def test_named_parameters_of_queries_are_declared() -> None:
    names = {"entity", "entities", "id", "ids", "relation", "relations", "one", "other"}
    names |= {"run", "runs", "against", "judged_graph"}
    numbers = {("explore/blind_spots", "entities"), ("explore/weakest_relations", "relations")}
    for name in explore_names():
        query = get_query(name)
        taken = {of for of in parameters_in(query.text) if of in names and (name, of) not in numbers}
        assert set(names_in(query)) == taken, name


# The last, since other graphs are loaded for them.
def test_entity_ids_on_each_engine_find_names(graph: Graph) -> None:
    others = [Entity(f"O{number}", f"France {number}", ("Republic of Paris",)) for number in range(20)]
    names = ["France", "French Republic", "C++", "İle", "東京都", 'Say "yes"', "?", "And", "A\\B"]
    load(graph, WrittenSource([*others, *(Entity(f"Q{number}", label) for number, label in enumerate(names))]))
    typed = ["FRANCE", "french Republic", "c++", "İle", "東京都", 'say "yes"', "?", "AND", "a\\b"]
    assert entity_ids(graph, typed) == tuple(f"Q{number}" for number in range(len(names)))


def test_ambiguous_name_lists_ten_entities(graph: Graph) -> None:
    load(graph, WrittenSource([Entity(f"Q{number}", "Springfield") for number in range(12)]))
    with pytest.raises(UnknownNameError) as caught:
        entity_ids(graph, ["springfield"])
    lines = str(caught.value).splitlines()
    assert (len(lines), lines[1], lines[-1]) == (12, "  Q0: Springfield, 0 facts", "  … and 2 more with fewer facts")
