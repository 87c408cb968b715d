"""Neo4j looks entities up by their ids or numbers, also while its statistics are those of an empty graph.

It may take a walk through the whole index for as cheap then, once a row: a load of a minute does not end.

Queries for people scan nothing but what they return; ``test_real_world.py`` profiles them on real facts.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kgprobe.base.records import Entity
from kgprobe.graph import ingest
from kgprobe.graph.client import Graph, apply_schema
from kgprobe.graph.driver import make_driver
from kgprobe.graph.parameters import default_parameters
from kgprobe.graph.queries import explore_names, get_query, query_names
from kgprobe.graph.servers.opening import open_graph
from tests.conftest import require_engine
from tests.written_source import WrittenSource

BY_KEY = re.compile(r"MATCH \((\w*:(?:Entity|Belief)) \{(?:id|number): (?!\$)")


# Runs and judged graphs are few. The others read what they return, or a figure of all of it.
FEW = {"Run", "KgprobeJudgedGraph"}
RETURNED = {
    "explore/counts": {"nodes", "relationships"},
    "explore/facts": {"Entity", "FACT"},
    "explore/relations": {"Entity", "FACT"},
    "explore/judged": {"JUDGED"},
    "explore/size": {"Entity", "Literal", "Type", "FACT"},
}
NAMED = {
    "explore/around": {"entity": "E5"},
    "explore/asked_facts_of_entities": {"run": "first", "entities": ["E5"]},
    "explore/beliefs_of_facts": {"run": "first", "facts": ["F5"]},
    "explore/changed": {"entity": "E3"},
    "explore/compare_models": {"one": "first", "other": "second"},
    "explore/entities": {"ids": ["E5"]},
    "explore/expected": {"entity": "E5"},
    "explore/facts_of_entities": {"entities": ["E5"]},
    "explore/facts_of_relations": {"relations": ["R3"]},
    "explore/known_path": {"one": "E5", "other": "E1"},
    "explore/least_known_entity": {"run": "first"},
    "explore/neighbours": {"id": "E5"},
    "explore/obsolete": {"entity": "E4"},
    "explore/frontier": {"entity": "E5"},
    "explore/to_retrieve": {"entities": ["E5"]},
    "explore/two_hops": {"entity": "E5"},
}


def statements_by_key() -> list[str]:
    """Names of the statements that look entities or beliefs up, one for each row that they are sent."""
    texts = {name: get_query(name).text for name in query_names()}
    return [name for name, text in texts.items() if BY_KEY.search(text)]


@dataclass(frozen=True)
class Operator:
    """One operator of a plan; rows and accesses to the store are None with ``EXPLAIN``."""

    name: str
    details: str
    rows: int | None
    hits: int | None


def plan_in(graph: Graph, how: str, text: str, parameters: dict[str, Any]) -> list[Operator]:
    with make_driver(graph.endpoint) as driver:
        summary = driver.execute_query(f"{how} {text}", parameters, database_=graph.endpoint.database).summary
    root = summary.profile or summary.plan
    assert root is not None
    return operators_of(root)


def operators_of(node: dict[str, Any]) -> list[Operator]:
    args = node.get("args", {})
    name = node["operatorType"].partition("@")[0]
    operators = [Operator(name, args.get("Details", ""), node.get("rows"), node.get("dbHits"))]
    for child in node.get("children", ()):
        operators += operators_of(child)
    return operators


def scanned(plan: list[Operator]) -> set[str]:
    """Return the labels and types that a plan scans, as ``LEARNED|FORGOT``; not the scans that gave no rows."""
    found = set()
    for operator in plan:
        if "AllNodesScan" in operator.name:
            found.add("nodes")
        elif "AllRelationshipsScan" in operator.name:
            found.add("relationships")
        elif "Scan" in operator.name and operator.rows != 0:
            found |= set(re.findall(r"\w*:([\w|]+)", operator.details))
    return found


def scans(graph: Graph, name: str) -> list[tuple[str, str]]:
    text = get_query(name).text
    plan = plan_in(graph, "EXPLAIN", text, dict.fromkeys(re.findall(r"\$(\w+)", text)))
    by_key = set(BY_KEY.findall(text))
    return [
        (operator.name, operator.details)
        for operator in plan
        if "Scan" in operator.name and by_key & set(re.findall(r"\w*:\w+", operator.details))
    ]


@pytest.mark.slow
def test_statements_use_an_index_before_counts_exist(tmp_path: Path) -> None:
    require_engine("neo4j")
    names = statements_by_key()
    assert {"load/types", "load/new_facts", "beliefs/apply", "sample/about", "sample/numbered"} <= set(names)
    with open_graph(tmp_path / "graph", engine="neo4j", memory=1024) as graph:
        types = tuple(f"T{number}" for number in range(20_000))
        ingest.load(graph, WrittenSource([Entity("Q1", types=types)]))
        operators = {name: scans(graph, name) for name in names}
    assert {name: of for name, of in operators.items() if of} == {}


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", ["neo4j"], indirect=True)
def test_explain_of_explore_queries_scans_what_they_return(graph: Graph) -> None:
    apply_schema(graph)
    graph.write("bulk/await_indexes", seconds=60)
    # In an empty graph a scan of all nodes is for nothing.
    graph.query("UNWIND range(1, 1000) AS i CREATE (:Entity {id: 'E' + i})")
    operators = {}
    for name in explore_names():
        query = get_query(name)
        parameters = default_parameters(query) | NAMED.get(name, {})
        # The server may keep a plan that another test made for an empty graph.
        plan = plan_in(graph, "CYPHER replan=force EXPLAIN", query.text, parameters)
        operators[name] = scanned(plan) - FEW - RETURNED.get(name, set())
    assert {name: labels for name, labels in operators.items() if labels} == {}
