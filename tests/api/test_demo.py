"""The demo in a graph that somebody names; its way in its own folder is in tests/cli/test_rounds.py."""

from typing import Any

import pytest

import kgprobe
from kgprobe.api import demo
from kgprobe.base.errors import ArgumentError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from tests.graph.servers.shared import environment_of
from tests.written_source import WrittenSource


@pytest.fixture
def address(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in environment_of(endpoint).items():
        monkeypatch.setenv(name, value)
    # Where a person works has no say.
    monkeypatch.setenv("KGPROBE_GRAPH", "bolt://127.0.0.1:1")
    return endpoint.address


def test_graph_that_holds_something_else_is_refused(graph: Graph, address: str) -> None:
    people = [Entity(f"e{n}", f"person {n}") for n in range(2)]
    load(graph, WrittenSource(people, [Fact("f", "e0", "r", "e1")], [Relation("r", "likes")]))
    before = graph.query("MATCH (n) RETURN count(n) AS n").to_frame()
    with pytest.raises(ArgumentError, match=r"`graph` has .*; expected an empty graph, or one with only the example"):
        kgprobe.run_demo(address)
    graph.query("MATCH (load:KgprobeLoad) DELETE load")
    with pytest.raises(ArgumentError, match="data that this version of kgprobe has not loaded"):
        kgprobe.run_demo(address)
    after = graph.query("MATCH (n) RETURN count(n) AS n").to_frame()
    assert int(after["n"][0]) == int(before["n"][0]) - 1


def test_empty_graph_and_one_with_the_example_are_taken(
    graph: Graph, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    class AskedError(Exception):
        pass

    def ask(where: Graph, _: Any, **how: Any) -> None:
        asked.append((where.endpoint.address, how["name"]))
        raise AskedError

    # What rounds do is tested elsewhere; here, whether it comes to that.
    monkeypatch.setattr(demo, "run_rounds", ask)
    monkeypatch.setattr(demo, "_loaded", lambda on_part: None)
    for _ in range(2):
        with pytest.raises(AskedError):
            kgprobe.run_demo(address)
    assert asked == [(address, "demo")] * 2
    assert [row["source"] for row in graph.read("load/loads")] == ["example"]
