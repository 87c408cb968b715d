"""Every query of cypher/ on each engine: the same rows, and the same changes of the graph.

``tests/graph/query_contract.py`` says how the cases are written, and how to write their expected results again.
"""

import base64
import itertools
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.queries import query_names
from kgprobe.graph.servers.folder import folder_of
from tests.graph.query_contract import (
    World,
    changes_between,
    differences,
    expected_of,
    is_ordered,
    open_world,
    read_cases,
)
from tests.graph.query_world import build_world

CASES = read_cases()

# Queries that return no rows and change nothing.
SILENT = {"bulk/await_indexes"}

ADD_CASE = (
    "cypher/{name}.cypher has no case in the query contract. Add its parameters to"
    " tests/data/query_contract/{folder}.json, run `python -m tests.graph.query_contract --write {name}`, and read the"
    " rows that it writes."
)


@pytest.fixture(scope="module")
def world(endpoint: Endpoint) -> Iterator[World]:
    """Build the graph once: each case is rolled back."""
    with Graph(endpoint) as graph:
        build_world(graph)
    with open_world(endpoint) as world:
        yield world


@pytest.mark.parametrize("name", query_names())
def test_query_on_each_engine_gives_the_contract_rows(world: World, name: str) -> None:
    assert name in CASES, ADD_CASE.format(name=name, folder=name.partition("/")[0])
    for number, case in enumerate(CASES[name], start=1):
        if world.engine not in case.get("engines", [world.engine]):
            continue
        if "index" in case:
            assert_makes_index(world, name, case["index"])
        else:
            messages = differences(expected_of(CASES[name], case), world.run(name, case))
            place = f"{name}, case {number}, {case.get('parameters', {})}"
            defect = case.get("defects", {}).get(world.engine)
            assert defect is None or messages, f"{place}: take the defect out of the case, it is gone: {defect}"
            assert defect or not messages, "\n".join([place, *messages])


# After all cases: a module's tests run in the order of the file, once for each engine.
def test_world_after_all_cases_is_unchanged(world: World) -> None:
    assert changes_between(world.state, world.now()) == []


def test_contract_names_no_other_queries() -> None:
    assert set(CASES) <= set(query_names())


def test_contract_of_a_query_expects_something() -> None:
    expected = {
        name for name in CASES for case in CASES[name] if {"rows", "changes", "index"} & {*filter(case.get, case)}
    }
    assert set(CASES) - expected == SILENT


def test_contract_of_a_sorting_query_expects_an_order() -> None:
    wrong = {
        name for name in CASES for case in CASES[name] if case.get("ordered", is_ordered(name)) != is_ordered(name)
    }
    assert wrong == set()


def assert_makes_index(world: World, name: str, expected: dict[str, Any]) -> None:
    """Run a query of the schema twice: the second time, it changes nothing."""
    world.graph.write(name)
    before = indexes_of(world)
    world.graph.write(name)
    assert indexes_of(world) == before
    assert expected in before, before


def indexes_of(world: World) -> list[dict[str, Any]]:
    """Return the indexes that an engine lists."""
    if world.engine == "neo4j":
        text = """
        SHOW INDEXES YIELD type, labelsOrTypes, properties, owningConstraint
        WHERE type IN ['RANGE', 'TEXT', 'FULLTEXT']
        RETURN labelsOrTypes[0] AS label, properties, owningConstraint IS NOT NULL AS unique
        """
        return sorted(world.graph.run_text(text, {})[1], key=str)
    rows = ask_arcadedb(world.graph.endpoint, "select from schema:indexes")
    # Each index is listed with those of its buckets.
    indexes = {(row["typeName"], tuple(itertools.chain(*row["properties"])), row["unique"]) for row in rows}
    return [
        {"label": label, "properties": list(properties), "unique": unique}
        for label, properties, unique in sorted(indexes)
    ]


def ask_arcadedb(endpoint: Endpoint, statement: str) -> list[dict[str, Any]]:
    """Return the rows of a statement in ArcadeDB's SQL, which Bolt does not take."""
    assert endpoint.folder is not None
    folder = folder_of(endpoint.folder)
    running = folder.read_server()
    assert running is not None
    credentials = base64.b64encode(f"{endpoint.user}:{folder.password}".encode()).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{running.http_port}/api/v1/query/{endpoint.database}",
        json.dumps({"language": "sql", "command": statement}).encode(),
        {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        rows: list[dict[str, Any]] = json.load(answer)["result"]
        return rows
