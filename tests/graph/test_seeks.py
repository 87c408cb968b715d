"""Neo4j looks entities up by their ids or numbers, also while its statistics are those of an empty graph.

It may take a walk through the whole index for as cheap then, once a row: a load of a minute does not end.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from kgprobe.graph import ingest
from kgprobe.graph.client import Graph
from kgprobe.graph.plans import plan_of
from kgprobe.graph.queries import get_query, query_names
from kgprobe.records import Entity
from kgprobe.servers.opening import open_graph
from tests.conftest import require_engine
from tests.written_source import WrittenSource

BY_KEY = re.compile(r"MATCH \((\w*:(?:Entity|Belief)) \{(?:id|number): (?!\$)")


def statements_by_key() -> list[str]:
    """Names of the statements that look entities or beliefs up, one for each row that they are sent."""
    texts = {name: get_query(name).text for name in query_names()}
    return [name for name, text in texts.items() if BY_KEY.search(text)]


def scans(graph: Graph, name: str) -> list[tuple[str, str]]:
    text = get_query(name).text
    parameters = dict.fromkeys(re.findall(r"\$(\w+)", text))
    summaries: list[Any] = []
    _, rows = graph.run_text("EXPLAIN " + text, parameters, summaries.append)
    assert not list(rows)
    plan = plan_of(summaries[0])
    assert plan is not None
    by_key = set(BY_KEY.findall(text))
    return [
        (step.operator, step.details)
        for step in plan.steps
        if "Scan" in step.operator and by_key & set(re.findall(r"\w*:\w+", step.details))
    ]


@pytest.mark.slow
def test_statements_look_entities_up_while_nothing_is_counted_yet(tmp_path: Path) -> None:
    require_engine("neo4j")
    names = statements_by_key()
    assert {"load/types", "load/new_facts", "beliefs/apply", "sample/about", "sample/numbered"} <= set(names)
    with open_graph(tmp_path / "graph", engine="neo4j", memory=1024) as graph:
        types = tuple(f"T{number}" for number in range(20_000))
        ingest.load(graph, WrittenSource([Entity("Q1", types=types)]))
        found = {name: scans(graph, name) for name in names}
    assert {name: of for name, of in found.items() if of} == {}
