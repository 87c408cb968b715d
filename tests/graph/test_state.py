"""A graph's state changes with what is loaded into it, and no two graphs share it."""

import json

from kgprobe.base.records import Entity
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.state import graph_state
from tests.written_source import WrittenSource


def test_state_changes_with_new_loads_only(graph: Graph) -> None:
    states = [graph_state(graph)]
    for name in ("a", "b"):
        source = WrittenSource([Entity(name, name)], fingerprint=name)
        load(graph, source)
        states.append(graph_state(graph))
        load(graph, source)
        assert graph_state(graph) == states[-1]
    assert len(set(states)) == 3
    uids = [json.loads(state)["uid"] for state in states]
    assert uids[0] is None
    assert uids[1] == uids[2] != ""
