"""Labels of entities by type, on Neo4j."""

from typing import Any

import pytest

import kgprobe
from kgprobe.errors import KgprobeError
from kgprobe.graph import type_labels
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.records import Entity, Fact, Relation
from tests.written_source import WrittenSource

ON_NEO4J = pytest.mark.parametrize("endpoint", ["neo4j"], indirect=True)
RELATION = Relation("r", "r")
# Two types with one name, one with a label of kgprobe's own, and a smaller one; Luxembourg has two types.
TYPES = [Entity("T1", "city"), Entity("T2", "City"), Entity("T3", "type"), Entity("T4", "3D film")]
ENTITIES = [
    *(Entity(f"a{n}", f"a{n}", types=("T1",)) for n in range(5)),
    *(Entity(f"b{n}", f"b{n}", types=("T2",)) for n in range(4)),
    *(Entity(f"c{n}", f"c{n}", types=("T3",)) for n in range(3)),
    Entity("d0", "d0", types=("T4",)),
    Entity("lu", "Luxembourg", types=("T1", "T3")),
]


def load_types(graph: Graph, entities: list[Entity], fingerprint: str) -> None:
    facts = [Fact("f", "a0", "r", "a1")]
    load(graph, WrittenSource([*TYPES, *entities], facts, [RELATION], fingerprint=fingerprint))


def labels_in(graph: Graph) -> dict[str, set[str]]:
    """Return the labels of entities that loaders do not write."""
    rows = graph.query("MATCH (e:Entity) RETURN e.id AS id, labels(e) AS labels")
    own = {row["id"]: set(row["labels"]) - {"Entity", "Type"} for row in rows}
    return {entity: labels for entity, labels in own.items() if labels}


@ON_NEO4J
def test_largest_types_get_removable_labels(graph: Graph) -> None:
    load_types(graph, ENTITIES, "first")
    seen: list[tuple[int, int]] = []
    result = kgprobe.label_by_type(graph, 3, lambda done, total: seen.append((done, total)))
    assert [(row.label, row.type, row.instances) for row in result] == [
        ("City", "T1", 6),
        ("City_T2", "T2", 4),
        ("TypeOfEntity", "T3", 4),
    ]
    assert seen[-1] == (14, 14)
    expected = {f"a{n}": {"City"} for n in range(5)} | {f"b{n}": {"City_T2"} for n in range(4)}
    expected |= {f"c{n}": {"TypeOfEntity"} for n in range(3)} | {"lu": {"City", "TypeOfEntity"}}
    assert labels_in(graph) == expected
    # Fewer types, and none.
    kgprobe.label_by_type(graph, 1)
    assert labels_in(graph) == {f"a{n}": {"City"} for n in range(5)} | {"lu": {"City"}}
    assert kgprobe.remove_type_labels(graph) == 1
    assert (labels_in(graph), kgprobe.remove_type_labels(graph)) == ({}, 0)


@ON_NEO4J
def test_entities_that_are_no_longer_instances_lose_the_label(graph: Graph) -> None:
    load_types(graph, ENTITIES, "first")
    kgprobe.label_by_type(graph, 2)
    load_types(graph, [Entity("a0", "a0", types=("T4",)), *ENTITIES[1:]], "second")
    kgprobe.label_by_type(graph, 2)
    assert "a0" not in labels_in(graph)
    kgprobe.remove_type_labels(graph)
    assert labels_in(graph) == {}


@ON_NEO4J
def test_interrupted_call_is_completed_by_the_next(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type_labels, "_AT_ONCE", 2)
    load_types(graph, ENTITIES, "first")

    def stop(done: int, _total: int) -> Any:
        if done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kgprobe.label_by_type(graph, 3, stop)
    assert len(labels_in(graph)) == 4
    kgprobe.label_by_type(graph, 1)
    assert labels_in(graph) == {f"a{n}": {"City"} for n in range(5)} | {"lu": {"City"}}


@pytest.mark.parametrize("endpoint", ["arcadedb"], indirect=True)
def test_embedded_engine_is_refused(graph: Graph) -> None:
    with pytest.raises(KgprobeError, match="need a graph on Neo4j; `kgprobe graph copy --output FOLDER`"):
        kgprobe.label_by_type(graph)
