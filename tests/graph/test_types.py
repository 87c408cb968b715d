"""Labels of entities by type, and twins of facts by relation, on Neo4j."""

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import StepProgress
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.beliefs.summary import summarize, view_rows
from kgprobe.graph import types
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.state import digest_of
from kgprobe.running.learner import write_on_facts
from kgprobe.running.view import hide_view, take_view
from tests.api.test_painting import begin
from tests.cases import slow_except
from tests.cli.inprocess import printed, succeed
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
    result = kgprobe.add_types(graph, count=3, on_progress=lambda now: seen.append((now.done, now.total)))
    assert [(row.name, row.id, row.size) for row in result] == [
        ("City", "T1", 6),
        ("City_T2", "T2", 4),
        ("Type_T3", "T3", 4),
    ]
    assert seen[-1] == (14, 14)
    expected = {f"a{n}": {"City"} for n in range(5)} | {f"b{n}": {"City_T2"} for n in range(4)}
    expected |= {f"c{n}": {"Type_T3"} for n in range(3)} | {"lu": {"City", "Type_T3"}}
    assert labels_in(graph) == expected
    # Fewer types, and none.
    kgprobe.add_types(graph, count=1)
    assert labels_in(graph) == {f"a{n}": {"City"} for n in range(5)} | {"lu": {"City"}}
    assert kgprobe.remove_types(graph) == 1
    assert (labels_in(graph), kgprobe.remove_types(graph)) == ({}, 0)


@ON_NEO4J
def test_entities_that_are_no_longer_instances_lose_the_label(graph: Graph) -> None:
    load_types(graph, ENTITIES, "first")
    kgprobe.add_types(graph, count=2)
    load_types(graph, [Entity("a0", "a0", types=("T4",)), *ENTITIES[1:]], "second")
    kgprobe.add_types(graph, count=2)
    assert "a0" not in labels_in(graph)
    kgprobe.remove_types(graph)
    assert labels_in(graph) == {}


@ON_NEO4J
def test_interrupted_call_is_completed_by_the_next(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "_AT_ONCE", 2)
    load_types(graph, ENTITIES, "first")

    def stop(now: StepProgress) -> Any:
        if now.done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kgprobe.add_types(graph, count=3, on_progress=stop)
    assert len(labels_in(graph)) == 4
    kgprobe.add_types(graph, count=1)
    assert labels_in(graph) == {f"a{n}": {"City"} for n in range(5)} | {"lu": {"City"}}


@pytest.mark.parametrize("endpoint", ["arcadedb"], indirect=True)
def test_embedded_engine_is_refused(graph: Graph) -> None:
    for of in ("entities", "relations"):
        with pytest.raises(KgprobeError, match="need a graph on Neo4j; `kgprobe graph copy --output FOLDER`"):
            kgprobe.add_types(graph, of)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("capital", "Capital", "CAPITAL R1"), ["CAPITAL", "CAPITAL_R1", "CAPITAL_R1_R2"]),
        (("instance of", "known", "fact"), ["INSTANCE_OF_R0", "KNOWN_R1", "FACT_R2"]),
        (("größte Stadt", "राजधानी", "首都"), ["GRÖSSTE_STADT", "राजधानी", "首都"]),
        (("3D model", "→", "a`]-() DELETE"), ["R3D_MODEL", "R1", "A_DELETE"]),
        (("cafe\u0301", "caf\u00e9", "km²"), ["CAFÉ", "CAFÉ_R1", "KM2"]),
        (("x" * 70, "x" * 80, ""), ["X" * 60, f"{'X' * 60}_R1", "R2"]),
    ],
)
def test_type_names_are_valid_and_distinct(labels: Sequence[str], expected: list[str]) -> None:
    rows = [{"id": f"R{number}", "label": label, "size": 1} for number, label in enumerate(labels)]
    assert [name.name for name in types._type_names(rows, "R", types.relationship_type_of)] == expected


LABELS = {"R0": "capital", "R1": "fact", "R2": "größte Stadt"}
# Properties that twins have from their facts, and their ends.
TWINS = (
    "MATCH (s)-[t]->(o) WHERE type(t) IN $types RETURN s.id AS s, type(t) AS type, o.id AS o, properties(t) AS values"
)
FACTS = "MATCH (s)-[f:FACT]->(o) RETURN s.id AS s, f.relation AS relation, o.id AS o, properties(f) AS values"
NOT_COPIED = {"id", "relation_label", "source", "load", "line"}


def text_of(*content: Any) -> str:
    return json.dumps(content, sort_keys=True, default=str)


def content(graph: Graph) -> Counter[str]:
    """Return all nodes and relationships; without the counts of changes of the view."""
    rows = [*graph.query("MATCH (n) WHERE NOT n:KgprobeCounter RETURN labels(n) AS kind, properties(n) AS values")]
    rows += graph.query("MATCH (s)-[r]->(o) RETURN type(r) AS kind, s.id AS s, o.id AS o, properties(r) AS values")
    return Counter(map(text_of, rows))


def assert_twins_equal_facts(graph: Graph, names: Mapping[str, str]) -> None:
    expected: Counter[str] = Counter()
    for row in graph.query(FACTS):
        if row["relation"] in names:
            values = {name: value for name, value in row["values"].items() if name not in NOT_COPIED}
            values["fact"] = row["values"]["id"]
            expected[text_of(row["s"], names[row["relation"]], row["o"], values)] += 1
    twins = graph.query(TWINS, types=[*names.values()])
    assert Counter(text_of(row["s"], row["type"], row["o"], row["values"]) for row in twins) == expected


def random_facts(choice: random.Random) -> list[Fact]:
    """Return facts that are new, or have another object, relation or end than those of an earlier call."""
    return [
        Fact(
            f"f{n}",
            f"e{n % 4}",
            f"R{choice.randrange(3)}",
            f"e{choice.randrange(6)}",
            end=choice.choice([None, "1999"]),
        )
        for n in sorted(choice.sample(range(14), 8))
    ]


def in_view(graph: Graph, choice: random.Random) -> None:
    """Bring a run into view that has beliefs about some facts."""
    take_view(graph, "old")
    facts = [{"subject": row["s"], "fact": row["values"]["id"]} for row in graph.query(FACTS)]
    counts = {"right": choice.randrange(3), "wrong": 1, "chances": [], "round": 1}
    beliefs = [fact | counts | {"alpha": 1.0 + choice.random(), "beta": 2.0} for fact in facts[::2]]
    parts = list(view_rows(beliefs, summarize(beliefs)))
    graph.transaction(lambda transaction: write_on_facts(transaction, parts))


@ON_NEO4J
@pytest.mark.parametrize("seed", slow_except(range(2), [0]))
def test_twins_follow_facts_and_leave_no_trace(graph: Graph, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "_AT_ONCE", 3)
    choice = random.Random(seed)
    people = [Entity(f"e{n}", f"person {n}") for n in range(6)]
    relations = [Relation(id_, label) for id_, label in LABELS.items()]

    def load_more(step: int) -> None:
        load(graph, WrittenSource(people, random_facts(choice), relations, fingerprint=f"{seed}.{step}"))

    def show(_step: int) -> None:
        in_view(graph, choice)

    def hide(_step: int) -> None:
        hide_view(graph)

    load_more(0)
    begin(graph, "old", "2026-01-01T00:00:00+00:00")
    names = {row.id: row.name for row in kgprobe.add_types(graph, "relations", 2)}
    assert set(names.values()) <= {"CAPITAL", "FACT_R1", "GRÖSSTE_STADT"}
    for step, change in enumerate([show, load_more, hide, load_more, show, load_more, show], start=1):
        change(step)
        assert_twins_equal_facts(graph, names)
    size, digest = kgprobe.describe_graph(graph), digest_of(graph)
    path = kgprobe.known_path(graph, "e0", "e1")
    assert kgprobe.remove_types(graph, "relations") == len(names)
    assert list(graph.query(TWINS, types=[*names.values()])) == []
    without = content(graph)
    assert (kgprobe.describe_graph(graph), digest_of(graph), kgprobe.known_path(graph, "e0", "e1")) == (
        size,
        digest,
        path,
    )
    kgprobe.add_types(graph, "relations")
    assert digest_of(graph) == digest
    kgprobe.remove_types(graph, "relations")
    assert content(graph) == without


@ON_NEO4J
def test_interrupted_twins_are_completed_others_are_kept(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "_AT_ONCE", 2)
    facts = [Fact(f"f{n}", "a0", "r", f"a{n}") for n in range(5)]
    load(graph, WrittenSource(ENTITIES, facts, [Relation("r", "capital")]))
    graph.query("MATCH (s:Entity {id: 'a0'}) MATCH (o:Entity {id: 'a1'}) CREATE (s)-[:CAPITAL {of: 'the user'}]->(o)")

    def stop(_: StepProgress) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kgprobe.add_types(graph, "relations", on_progress=stop)
    assert digest_of(graph).kinds["-CAPITAL->"].count == 1
    command = ("graph", "types", "relations", "--graph", str(graph.endpoint.folder))
    assert printed(*command, "--json") == [{"name": "CAPITAL", "id": "r", "label": "capital", "size": 5}]
    assert len(list(graph.query("MATCH (:Entity)-[c:CAPITAL]->() RETURN c"))) == 6
    assert succeed(*command, "--remove").stdout == "Removed the twins of 1 relation.\n"
    assert len(list(graph.query("MATCH (:Entity)-[c:CAPITAL]->() RETURN c"))) == 1
