"""The query contract: what each query of cypher/ returns and changes in one small graph, on every engine.

The graph is that of ``tests/graph/query_world.py``. The cases are in ``tests/data/query_contract/``, one file for each
folder of ``cypher/``. A query has one or more cases:

- ``parameters``: of the query. In those of own/, ``element``, ``tail`` and ``head`` name a node or relationship.
- ``before``: statements that prepare the graph for this case; a name that ends in ``.cypher`` is a file next to the
  cases.
- ``columns``, ``rows``: the expected result. ``ordered`` says that the order of the rows is part of it.
- ``changes``: what a writing query changes: ``create``, ``delete`` or ``set`` with the values before and after.
- ``unordered``: columns and keys of maps whose lists have no defined order.
- ``whichever``: the number of rows or changes, any of those of the first case: for a limit without an order.
- ``at_least``: the result may have more rows than these.
- ``engines``: the engines that the case is for, where not all.
- ``defects``: the reason why an engine does not give the expected rows yet; the case fails once it does.
- ``index``: in place of all this, the index that a query of cypher/schema/ makes.

Add a case by hand with ``parameters`` and, where needed, ``before`` and ``unordered``. Then write its expected result
and read it: it has to be what the leading comment of the query says.

    python -m tests.graph.query_contract --write sample/facts explore/around
"""

import argparse
import json
import math
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neo4j import Session, Transaction
from neo4j.graph import Node, Relationship
from neo4j.graph import Path as GraphPath

from kgprobe.graph.client import Graph
from kgprobe.graph.driver import make_driver
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.queries import get_query, query_names
from kgprobe.graph.servers.opening import open_graph

FOLDER = Path(__file__).parent.parent / "data" / "query_contract"
EXPECTED = ("columns", "ordered", "rows", "changes")
WRITES = re.compile(r"\b(?:CREATE|MERGE|SET|DELETE|REMOVE)\b")
ORDERED = re.compile(r"\bORDER BY\b")
PRECISION = 1e-9

# Keys of parameters that hold the engine's own ids.
ELEMENTS = frozenset({"element", "tail", "head"})

# Engines list the labels of a node in their own order.
LABELS = frozenset({"labels", "from_labels", "to_labels"})

NODES = "MATCH (n) RETURN labels(n) AS labels, properties(n) AS properties"
RELATIONSHIPS = """
MATCH (s)-[r]->(o)
RETURN labels(s) AS from_labels, properties(s) AS from, type(r) AS type, labels(o) AS to_labels, properties(o) AS to,
       properties(r) AS properties
"""
# Engines number nodes and relationships each in their own way; a node of the contract has an id, or a code.
NODE_ELEMENTS = "MATCH (n) RETURN elementId(n) AS element, coalesce(n.id, n.code) AS name"
RELATIONSHIP_ELEMENTS = """
MATCH (s)-[r]->(o)
RETURN elementId(r) AS element, coalesce(s.id, s.code) + ' ' + type(r) + ' ' + coalesce(o.id, o.code) AS name
"""

Case = dict[str, Any]
State = dict[str, list[dict[str, Any]]]


def read_cases() -> dict[str, list[Case]]:
    """Return the cases of all queries, by the queries' names."""
    cases: dict[str, list[Case]] = {}
    for file in sorted(FOLDER.glob("*.json")):
        cases |= json.loads(file.read_text(encoding="utf-8"))
    return cases


def expected_of(cases: Sequence[Case], case: Case) -> Case:
    """Return a case with its expected result, which is a part of the first case's where any part will do."""
    if "whichever" not in case:
        return case
    missing = {key: cases[0][key] for key in ("rows", "changes") if key in cases[0] and key not in case}
    return {**case, **missing}


class World:
    """The graph of the contract on one engine: it runs cases, and rolls back what each of them did."""

    def __init__(self, graph: Graph, session: Session) -> None:
        self.graph = graph
        self.engine = "arcadedb" if "ArcadeDB" in graph.server else "neo4j"
        self._session = session
        with session.begin_transaction() as transaction:
            self.state = state_of(transaction)

    def now(self) -> State:
        """Return all that the graph holds."""
        with self._session.begin_transaction() as transaction:
            return state_of(transaction)

    def run(self, name: str, case: Case) -> Case:
        """Run a query within a transaction that is rolled back; return its columns, its rows and its changes."""
        text = get_query(name).text
        with self._session.begin_transaction() as transaction:
            for statement in case.get("before", []):
                _prepare(transaction, statement)
            writes = WRITES.search(_code_of(text)) is not None
            if not writes:
                before: State = {}
            else:
                before = state_of(transaction) if case.get("before") else self.state
            elements = _elements(transaction) if name.startswith("own/") else {}
            result = transaction.run(text, _with_elements(case.get("parameters", {}), elements))
            columns = list(result.keys())
            records = [record.values() for record in result]
            unordered = frozenset(case.get("unordered", ()))
            rows = [_plain_row(columns, record, unordered, elements) for record in records]
            outcome: Case = {"columns": columns, "rows": rows}
            if writes:
                outcome["changes"] = changes_between(before, state_of(transaction))
            transaction.rollback()
        return outcome


@contextmanager
def open_world(endpoint: Endpoint) -> Iterator[World]:
    """Connect to a server whose graph is the world of the contract."""
    with (
        Graph(endpoint) as graph,
        make_driver(endpoint) as driver,
        driver.session(database=endpoint.database) as session,
    ):
        yield World(graph, session)


def _prepare(transaction: Transaction, statement: str) -> None:
    text = (FOLDER / statement).read_text(encoding="utf-8") if statement.endswith(".cypher") else statement
    transaction.run(text).consume()


def _code_of(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


def is_ordered(name: str) -> bool:
    """Return whether a query orders the rows that it returns."""
    code = _code_of(get_query(name).text)
    returned = code.rpartition("RETURN ")[2]
    return ORDERED.search(returned) is not None


# States and their changes.


def state_of(transaction: Transaction) -> State:
    """Return the properties of all nodes and relationships, by names that are the same on all engines."""
    state: State = defaultdict(list)
    for row in transaction.run(NODES):
        labels = sorted(row["labels"])
        state[_node_name(labels, row["properties"])].append({"labels": labels} | row["properties"])
    for row in transaction.run(RELATIONSHIPS):
        properties = row["properties"]
        ends = [_node_name(row[f"{end}_labels"], row[end]) for end in ("from", "to")]
        # A fact keeps its id where its object changes: it is another relationship then.
        name = f"{ends[0]} -{row['type']} {properties.get('id', properties.get('fact', ''))}-> {ends[1]}"
        state[name].append(dict(properties))
    return dict(state)


def _node_name(labels: Iterable[str], properties: dict[str, Any]) -> str:
    kinds = sorted(labels)
    kind = "Entity" if "Entity" in kinds else ":".join(kinds)
    return f"{kind} {properties.get('id', properties.get('code'))}"


def changes_between(before: State, after: State) -> list[list[Any]]:
    """Return the counters of created, deleted and set elements, sorted."""
    changes: list[list[Any]] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, []), after.get(name, [])
        if len(old) == len(new) == 1:
            keys = sorted({*old[0], *new[0]})
            different = {key: [old[0].get(key), new[0].get(key)] for key in keys if old[0].get(key) != new[0].get(key)}
            if different:
                changes.append(["set", name, different])
            continue
        gone, come = Counter(map(_text, old)), Counter(map(_text, new))
        changes += [["delete", name, json.loads(text)] for text in (gone - come).elements()]
        changes += [["create", name, json.loads(text)] for text in (come - gone).elements()]
    return changes


# Values as JSON has them.


def _elements(transaction: Transaction) -> dict[str, str]:
    rows = [*transaction.run(NODE_ELEMENTS), *transaction.run(RELATIONSHIP_ELEMENTS)]
    return {row["element"]: row["name"] for row in rows}


def _with_elements(value: Any, elements: dict[str, str], key: str = "") -> Any:
    """Return parameters with the engine's own ids in place of names of nodes and relationships."""
    if isinstance(value, dict):
        return {inner: _with_elements(value[inner], elements, inner) for inner in value}
    if isinstance(value, list):
        return [_with_elements(item, elements, key) for item in value]
    if key in ELEMENTS and elements:
        return next(element for element, name in elements.items() if name == value)
    return value


def _plain_row(
    columns: Sequence[str], values: Iterable[Any], unordered: frozenset[str], elements: dict[str, str]
) -> list[Any]:
    return [_plain(value, key, unordered, elements) for key, value in zip(columns, values, strict=True)]


def _plain(value: Any, key: str, unordered: frozenset[str], elements: dict[str, str]) -> Any:
    """Return a value as JSON has it.

    Args:
        key: the column or the key of a map that the value is at.
        unordered: keys whose lists have no defined order.
        elements: names in place of the engine's own ids.
    """
    if isinstance(value, GraphPath):
        return _path_text(value)
    if isinstance(value, dict):
        return {inner: _plain(value[inner], inner, unordered, elements) for inner in sorted(value)}
    if isinstance(value, (list, tuple)):
        plain = [_plain(item, "", unordered, elements) for item in value]
        return sorted(plain, key=_text) if key in unordered or key in LABELS else plain
    if key == "element":
        return elements[value]
    assert value is None or isinstance(value, (str, bool, int, float)), f"{key}: {value!r}"
    return value


def _path_text(path: GraphPath) -> str:
    parts = [_node_text(path.start_node)]
    node = path.start_node
    for relationship in path.relationships:
        forwards = relationship.start_node == node
        node = relationship.end_node if forwards else relationship.start_node
        kind = _relationship_text(relationship)
        parts += [f"-{kind}->" if forwards else f"<-{kind}-", _node_text(node)]
    return " ".join(parts)


def _node_text(node: Node | None) -> str:
    assert node is not None
    return str(node["id"])


def _relationship_text(relationship: Relationship) -> str:
    return f"{relationship.type} {relationship.get('id', relationship.get('fact'))}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


# Comparison.


def differences(case: Case, outcome: Case) -> list[str]:
    """Return how an outcome differs from what a case expects, a line each."""
    # The embedded engine names columns with its first row.
    if outcome["rows"] and case["columns"] != outcome["columns"]:
        return [f"columns: expected {case['columns']}, found {outcome['columns']}"]
    expected, actual = case["rows"], outcome["rows"]
    if not case.get("ordered"):
        expected, actual = _sorted(expected), _sorted(actual)
    changes, changed = case.get("changes", []), outcome.get("changes", [])
    number = case.get("whichever")
    if case.get("at_least"):
        return _missing("row", expected, actual)
    if number is None:
        return _list_differences("row", expected, actual) + _list_differences("change", changes, changed)
    # A query that writes returns how many it has changed.
    what, whole, part = ("change", changes, changed) if changes else ("row", expected, actual)
    messages = _list_differences("row", expected, actual) if changes else []
    if len(part) != number:
        messages.append(f"expected {number} {what}s, found {len(part)}")
    return messages + _missing(what, part, whole)


def _missing(what: str, part: Iterable[Any], whole: Iterable[Any]) -> list[str]:
    extra = Counter(map(_text, part)) - Counter(map(_text, whole))
    return [f"{what} of one side alone: {text}" for text in extra.elements()]


def _list_differences(what: str, expected: Sequence[Any], actual: Sequence[Any]) -> list[str]:
    messages = []
    if len(expected) != len(actual):
        messages.append(f"expected {len(expected)} {what}s, found {len(actual)}")
    for number in range(max(len(expected), len(actual))):
        sides = [f"{rows[number]!r}" if number < len(rows) else "nothing" for rows in (expected, actual)]
        if "nothing" in sides or not _same(expected[number], actual[number]):
            messages.append(f"{what} {number + 1}: expected {sides[0]}, found {sides[1]}")
    return messages


def _same(expected: Any, actual: Any) -> bool:
    if isinstance(expected, float) and isinstance(actual, float):
        return math.isclose(expected, actual, rel_tol=PRECISION)
    if type(expected) is not type(actual):
        return False
    if isinstance(expected, list):
        return len(expected) == len(actual) and all(map(_same, expected, actual))
    if isinstance(expected, dict):
        return expected.keys() == actual.keys() and all(_same(expected[key], actual[key]) for key in expected)
    return bool(expected == actual)


def _sorted(rows: Iterable[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: _text(_rounded(row)))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value


# Writing the expected results again.


def write_expected(names: Sequence[str], engine: str) -> None:
    """Write the expected results of these queries again, as one engine gives them, into the files of their folders."""
    from tests.graph.query_world import build_world

    cases = read_cases()
    with tempfile.TemporaryDirectory() as folder, open_graph(Path(folder) / "graph", engine=engine) as graph:
        build_world(graph)
        with open_world(graph.endpoint) as world:
            for name in names:
                for case in cases[name]:
                    if engine in case.get("engines", [engine]) and "index" not in case:
                        _write_case(world, name, case)
                        if engine in case.get("defects", {}):
                            raise SystemExit(f"{name}: {engine} has a defect here; write the rows from another engine.")
    folders: dict[str, dict[str, list[Case]]] = defaultdict(dict)
    for name in sorted(cases):
        folders[name.partition("/")[0]][name] = cases[name]
    for folder in {name.partition("/")[0] for name in names}:
        (FOLDER / f"{folder}.json").write_text(_pretty(folders[folder]), encoding="utf-8")


def _write_case(world: World, name: str, case: Case) -> None:
    outcome = world.run(name, case)
    rows = outcome["rows"] if is_ordered(name) else _sorted(outcome["rows"])
    if case.get("at_least") and "rows" in case:
        # Keep only the rows that the case already had; its author adds others by hand.
        rows = [row for row in rows if row in case["rows"]]
    for key in EXPECTED:
        case.pop(key, None)
    case["columns"] = outcome["columns"]
    case["ordered"] = is_ordered(name)
    if "whichever" not in case:
        case["rows"] = rows
        case |= {"changes": outcome["changes"]} if "changes" in outcome else {}
    elif outcome.get("changes"):
        case["rows"] = rows


def _pretty(own: dict[str, list[Case]]) -> str:
    """Return cases as JSON with one row, one change and one statement a line."""
    queries = []
    for name, cases in own.items():
        texts = ["{\n" + ",\n".join(_pretty_item(key, case[key]) for key in case) + "\n  }" for case in cases]
        queries.append(f" {_text(name)}: [\n  " + ",\n  ".join(texts) + "\n ]")
    return "{\n" + ",\n".join(queries) + "\n}\n"


def _pretty_item(key: str, value: Any) -> str:
    if key in ("rows", "changes", "before") and value:
        lines = ",\n    ".join(_text(item) for item in value)
        return f"   {_text(key)}: [\n    {lines}]"
    return f"   {_text(key)}: {_text(value)}"


def main(arguments: Sequence[str]) -> None:
    """Write the expected results of the queries that the command line names."""
    parser = argparse.ArgumentParser(description="Write expected results of the query contract again.")
    parser.add_argument("--write", nargs="+", metavar="NAME", required=True, help="names of queries, or 'all'")
    parser.add_argument("--engine", choices=("arcadedb", "neo4j"), default="neo4j", help="engine to take them from")
    typed = parser.parse_args(arguments)
    names = [name for name in query_names() if name in read_cases()] if typed.write == ["all"] else typed.write
    write_expected(names, typed.engine)


if __name__ == "__main__":
    main(sys.argv[1:])
