"""Loads that are killed in each of their statements: what they leave is what an undisturbed load leaves."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph import driver, ingest, record_batches
from kgprobe.graph.client import Graph, Transaction
from kgprobe.graph.queries import query_names
from kgprobe.graph.servers.opening import open_graph
from tests.conftest import require_engine
from tests.graph.servers.shared import wipe
from tests.graph.test_ingest import CITY, everything, rows, small
from tests.kills import Moment, ending_at, kill_child, kill_server
from tests.written_source import WrittenSource

# What the first load leaves is changed by the second in every way there is.
FIRST = small()
SECOND = WrittenSource(
    [
        Entity("Q90", "Paris", ("Lutetia",), types=(CITY,)),
        Entity("Q30", "USA"),
        Entity("Q142", "France", types=("Q7",)),
    ],
    [
        Fact("f1", "Q142", "P36", "Q64"),
        Fact("f5", "Q183", "P530", "Q142"),
        Fact("f6", "Q142", "P47", "Q90"),
        Fact("f7", "Q30", "P47", "Q404"),
    ],
    [Relation("P36", "seat of government")],
    fingerprint="written-2",
)
BELIEFS = """
MERGE (run:Run {id: 'r'})
WITH run
MATCH ()-[f:FACT]->()
CREATE (:Belief {id: 'r/' + f.id, run: run.id, fact: f.id, alpha: 2, beta: 1})
"""
COUNTERS = "MATCH (l:KgprobeLoad) RETURN l.id, l.stage, l.position, l.finished ORDER BY l.id"

# Kills are of the client's process, and each engine's own are below; Neo4j is with the slow tests.
ONE_ENGINE = pytest.mark.parametrize(
    "endpoint", ["arcadedb", pytest.param("neo4j", marks=pytest.mark.slow)], indirect=True
)

# Statements that no load runs, and those that only read, outside of its transactions.
LOOKS = {"load/any_node", "load/loads", "load/state", "load/relation_labels", "load/mislabelled_facts"}


def load_in_batches(graph: Graph, source: WrittenSource) -> None:
    record_batches.BATCH_RECORDS = 4
    ingest.load(graph, source)


def believe(graph: Graph) -> None:
    list(graph.run_text(BELIEFS, {})[1])


def left_by(graph: Graph) -> tuple[Any, ...]:
    return everything(graph), rows(graph, COUNTERS)


@pytest.fixture(autouse=True)
def batches(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever a load of this process sets is taken back.
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", 4)


def statements_of_loads(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return both loads, undisturbed: the statements that each is the first to run, in their order."""
    run = Transaction.run
    first: dict[str, int] = {}
    number = 0

    def noted(self: Transaction, query: str, **parameters: Any) -> Any:
        if query.startswith("load/"):
            first.setdefault(query, number)
        return run(self, query, **parameters)

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "run", noted)
        load_in_batches(graph, FIRST)
        believe(graph)
        number = 1
        load_in_batches(graph, SECOND)
    return [[query for query, where in first.items() if where == each] for each in (0, 1)]


@pytest.mark.slow
@ONE_ENGINE
def test_load_killed_in_any_statement_ends_as_undisturbed(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = statements_of_loads(graph, monkeypatch)
    # A statement that is new is killed as well, if one of the two loads needs it.
    assert {*statements[0], *statements[1]} == {name for name in query_names() if name.startswith("load/")} - LOOKS
    undisturbed = left_by(graph)
    wipe(graph)
    for source, queries in zip((FIRST, SECOND), statements, strict=True):
        load = partial(load_in_batches, source=source)
        for query in queries:
            kill_child(graph.endpoint, tmp_path, load, Moment("after", query))
        kill_child(graph.endpoint, tmp_path, load, Moment("committed", "load/advance"))
        load_in_batches(graph, source)
        if source is FIRST:
            believe(graph)
    assert left_by(graph) == undisturbed


@ONE_ENGINE
@pytest.mark.parametrize("query", ["load/begin", "load/entities", "load/relations", "load/standing_facts"])
@pytest.mark.representatives(2)
def test_load_killed_between_batches_resumes_after_first(graph: Graph, tmp_path: Path, query: str) -> None:
    load_in_batches(graph, FIRST)
    undisturbed = left_by(graph)
    wipe(graph)
    kill_child(graph.endpoint, tmp_path, partial(load_in_batches, source=FIRST), Moment("committed", query))
    report = ingest.load(graph, FIRST)
    assert report.resumed == (query != "load/begin")
    total = {"relations": 1, "entities": 7, "facts": 6}
    done = {"load/begin": {}, "load/entities": {"entities": 4}, "load/relations": {"entities": 7, "relations": 1}}
    behind = done.get(query, {"relations": 1, "entities": 7, "facts": 4})
    assert {stage: report.records[stage] for stage in total} == {
        stage: count - behind.get(stage, 0) for stage, count in total.items()
    }
    assert left_by(graph) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["arcadedb", "neo4j"])
def test_load_with_killed_server_ends_as_undisturbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    require_engine(engine)
    monkeypatch.setattr(driver, "RETRY_SECONDS", 1.0)
    folder = tmp_path / "graph"
    with open_graph(folder, engine=engine, memory=512) as graph:
        load_in_batches(graph, FIRST)
        undisturbed = left_by(graph)
        wipe(graph)
        killed = ending_at(Moment("after", "load/objects"), partial(kill_server, folder))
        with killed, pytest.raises(KgprobeError, match="does not answer"):
            load_in_batches(graph, FIRST)
    with open_graph(folder) as graph:
        load_in_batches(graph, FIRST)
        assert left_by(graph) == undisturbed
