"""Copies of graphs, from each engine to each, whole and interrupted."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Relation
from kgprobe.graph import copying
from kgprobe.graph.client import Graph, Transaction
from kgprobe.graph.copying import copy_graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.graph.state import digest_of
from tests.api.test_painting import begin, believe
from tests.conftest import require_engine
from tests.graph.servers.shared import wipe
from tests.graph.test_ingest import ENTITIES, FACTS, small
from tests.written_source import WrittenSource

HOSTILE = {
    "text": "<b>\u202e" + "long " * 20_000,
    "numbers": [1, -(2**62), 2**53 + 1],
    "floats": [1.0, 0.1, -1e300, 5e-324],
    "none": [],
    "truths": [True, False],
    "whole": 3.0,
}


# From each engine to each, but for two graphs on Neo4j: its community edition has a single database.
FROM_EACH_TO_EACH = pytest.mark.parametrize(
    ("endpoint", "empty"),
    [("arcadedb", "arcadedb"), ("arcadedb", "neo4j"), ("neo4j", "arcadedb")],
    indirect=True,
)


@pytest.fixture
def empty(
    request: pytest.FixtureRequest, start_server: Callable[[str], Endpoint], second_endpoint: Endpoint
) -> Iterator[Graph]:
    """Another empty graph; on the embedded engine unless the test names Neo4j."""
    engine = getattr(request, "param", "arcadedb")
    require_engine(engine)
    with Graph(second_endpoint if engine == "arcadedb" else start_server(engine)) as graph:
        wipe(graph)
        yield graph


@pytest.fixture
def full(graph: Graph) -> Graph:
    """A graph of all kinds of things, as loads, rounds, judges and painting leave them."""
    load(graph, small())
    begin(graph, "old", "2026-01-01T00:00:00+00:00")
    begin(graph, "new", "2026-01-02T00:00:00+00:00")
    believe(graph, "old", {"f1": 0.1, "f2": 0.9, "f3": 0.9})
    believe(graph, "new", {"f1": 0.9, "f2": 0.1, "f3": 0.9, "f4": 0.1, "f5": 0.5})
    kgprobe.paint_beliefs(graph, "new", against="old")
    graph.write(
        "beliefs/effects",
        run="new",
        rows=[{"id": "new/mean/", "kind": "mean", "of": "", "precision": 1.5, "shift": -2.0}],
    )
    graph.write(
        "judge/keep", id="whole", properties={"judge": "j"}, rows=[{"relation": "P36", "properties": {"facts": 3}}]
    )
    list(graph.run_text("MATCH (e:Entity {id: 'Q90'}) SET e += $its", {"its": HOSTILE})[1])
    return graph


@FROM_EACH_TO_EACH
def test_copy_holds_what_the_graph_holds(full: Graph, empty: Graph) -> None:
    told: list[tuple[str, int, int]] = []
    before = digest_of(full)
    copied = copy_graph(full, empty, lambda now: told.append((now.stage, now.done, now.total)))
    assert (copied.resumed, copied.was_there) == (False, False)
    assert copied.digest == before == digest_of(full) == digest_of(empty)
    kinds = {kind: its.count for kind, its in copied.digest.kinds.items()}
    stored = {
        ":Run": 2, ":Belief": 8, ":KgprobeEffect": 1, ":KgprobeJudgedGraph": 1, ":KgprobeCounter": 1, ":KgprobeLoad": 1,
    }  # fmt: skip
    assert {kind: kinds[kind] for kind in stored} == stored
    # Paint is not copied.
    assert {kind for kind in kinds if ">" in kind} == {"-FACT->", "-INSTANCE_OF->", "-OBJECT_OF->", "-JUDGED->"}
    assert kinds["-FACT->"] == len(FACTS)
    # As it reads there.
    (row,) = empty.run_text("MATCH (e:Entity {id: 'Q90'}) RETURN properties(e) AS its", {})[1]
    assert {name: row["its"].get(name) for name in HOSTILE} == HOSTILE
    assert type(row["its"]["whole"]) is float
    # It is a graph: more is loaded into it, and its numbers go on.
    load(empty, WrittenSource([*ENTITIES], [], [Relation("P36", "seat")], fingerprint="more"))
    assert empty.read("reverse/numbers") == full.read("reverse/numbers")
    assert told
    assert told[-1][1] <= told[-1][2]


def test_copy_existing_is_compared_other_graph_refused(full: Graph, empty: Graph) -> None:
    copy_graph(full, empty)
    assert copy_graph(full, empty).was_there
    list(empty.run_text("MATCH (b:Belief {id: 'new/f1'}) SET b.alpha = 2.5", {})[1])
    with pytest.raises(ArgumentError, match=r"contains another graph.*:Belief: 8 in both, with other properties"):
        copy_graph(full, empty)
    list(empty.run_text("MATCH ()-[f:FACT {id: 'f1'}]->() DELETE f", {})[1])
    with pytest.raises(ArgumentError, match=f"-FACT->: {len(FACTS)} here, {len(FACTS) - 1} there"):
        copy_graph(full, empty)


@pytest.mark.parametrize("statement", ["copy/entity", "copy/advance", "copy/fact", "copy/judged"])
@pytest.mark.representatives(2)
def test_copy_that_was_interrupted_goes_on(
    full: Graph,
    empty: Graph,
    monkeypatch: pytest.MonkeyPatch,
    statement: str,
) -> None:
    monkeypatch.setattr(copying, "_AT_ONCE", 3)
    run, seen = Transaction.run, 0

    def fail(self: Transaction, query: str, **parameters: Any) -> Any:
        nonlocal seen
        rows = run(self, query, **parameters)
        seen += query == statement
        if seen == 2 or (statement == "copy/judged" and seen):
            raise KgprobeError("killed")
        return rows

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "run", fail)
        with pytest.raises(KgprobeError, match="killed"):
            copy_graph(full, empty)
    copied = copy_graph(full, empty)
    assert copied.resumed
    assert digest_of(empty) == digest_of(full) == copied.digest
    assert empty.read("copy/begun") == []


@FROM_EACH_TO_EACH
@pytest.mark.representatives(1)
def test_copy_graph_unknown_kinds_are_left_out_and_counted(full: Graph, empty: Graph) -> None:
    before = digest_of(full)
    for text in (
        "MATCH (s:Entity {id: 'Q90'}), (o:Entity {id: 'Q142'}) CREATE (s)-[:BELIEF {run: 'old', fact: 'f1'}]->(o)",
        "MATCH (s:Entity {id: 'Q90'}), (o:Entity {id: 'Q142'}) CREATE (o)-[:BELIEF {run: 'new', fact: 'f2'}]->(s)",
        "MATCH (s:Entity {id: 'Q90'}) CREATE (:Person {id: 'p'})-[:FACT {id: 'by a person'}]->(s)",
    ):
        list(full.run_text(text, {})[1])
    copied = copy_graph(full, empty)
    assert copied.digest == before == digest_of(empty)
    assert copied.digest.left_out == {":Person": 1, "-BELIEF->": 2, "-FACT->": 1}
    assert copy_graph(full, empty).was_there
    list(full.run_text("MATCH (p:Person) DETACH DELETE p", {})[1])


def test_forget_run_beliefs_of_older_form_are_deleted(full: Graph) -> None:
    for run in ("old", "new"):
        text = "MATCH (s:Entity {id: 'Q90'}), (o:Entity {id: 'Q142'}) CREATE (s)-[:BELIEF {run: $run}]->(o)"
        list(full.run_text(text, {"run": run})[1])
    kgprobe.delete("old", full)
    (row,) = full.run_text("MATCH ()-[b:BELIEF]->() RETURN collect(b.run) AS runs", {})[1]
    assert row["runs"] == ["new"]
