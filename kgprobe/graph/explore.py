"""Queries for people, in ``cypher/explore/``: names in place of ids, and reasons for an empty result.

A query declares the parameters that accept names (labels or aliases of entities and relations, ids of runs) in its
header: ``Names: {entity: 'Entity', relations: 'Relation', run: 'Run'}``. Unknown names are refused before it runs.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.sanitize import counted
from kgprobe.graph.names import Reader, entity_ids, relation_ids
from kgprobe.graph.parameters import parse_map
from kgprobe.graph.queries import Query
from kgprobe.graph.runs import NO_RUN, NONE_IN_VIEW, list_runs, no_rounds, run_in_view, runs_with_rounds

# Engine and replacement of a query whose answer would be wrong on the embedded engine.
_ONLY_NEO4J = re.compile(r"^Only for Neo4j; (.*)$", re.MULTILINE)
_NAMES = re.compile(r"^Names: (\{.*\})$", re.MULTILINE)
_SHOWN = 5


def names_in(query: Query) -> dict[str, str]:
    """Return the parameters of a query that accept names, with 'Entity', 'Relation', 'Run' or 'JudgedGraph'."""
    match = _NAMES.search(query.about)
    return parse_map(match[1]) if match else {}


def resolve_parameters(graph: Reader, query: Query, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a query with ids instead of names.

    Cost: look-ups of the names, as in :func:`~kgprobe.graph.names.entity_ids`.
    """
    if graph.is_embedded and (only := _ONLY_NEO4J.search(query.about)):
        raise KgprobeError(f"{query.name} is only for Neo4j; {only[1].strip()}")
    resolved = dict(parameters)
    for parameter, kind in names_in(query).items():
        value = parameters.get(parameter)
        if value is None:
            continue
        several = isinstance(value, (list, tuple))
        # The command line parses ids of digits, such as a year, as numbers.
        names = [str(name) for name in (value if several else [value])]
        ids = list(_IDS[kind](graph, names))
        resolved[parameter] = ids if several else ids[0]
    return resolved


def _run_ids(graph: Reader, names: Sequence[str]) -> Sequence[str]:
    return _check_ids(names, [row["run"] for row in graph.read("explore/runs")], "run", "kgprobe rounds run")


def _judged_graph_ids(graph: Reader, names: Sequence[str]) -> Sequence[str]:
    judged = [row["judged_graph"] for row in graph.read("explore/judged", judged_graph=None)]
    return _check_ids(names, list(dict.fromkeys(judged)), "judged graph", "kgprobe judge predict")


def _check_ids(names: Sequence[str], ids: Sequence[str], kind: str, command: str) -> Sequence[str]:
    """Return names that are ids; runs and judged graphs have no other names."""
    for name in names:
        if name not in ids:
            similar = difflib.get_close_matches(name, ids, _SHOWN) or ids[:_SHOWN]
            remedy = f"similar ids: {', '.join(similar)}" if similar else f"it has none yet, `{command}` creates one"
            raise UnknownNameError(f"Unknown {kind} {name!r} in this graph; {remedy}.")
    return names


_IDS: Mapping[str, Callable[[Reader, Sequence[str]], Sequence[str]]] = {
    "Entity": entity_ids,
    "Relation": relation_ids,
    "Run": _run_ids,
    "JudgedGraph": _judged_graph_ids,
}


# Queries of the run in view: they read the properties of facts, so that rows need one.
_READS_VIEW = re.compile(r"WHERE begun\.inView\b")

# Queries whose rows are facts with or without a belief.
_FACT_QUERIES = ("explore/around", "explore/expected")


def why_empty(graph: Reader, query: Query, parameters: Mapping[str, Any]) -> str | None:
    """Return the reason why an explore query has no rows, as a sentence; None for other queries.

    Cost: one reading of the runs.
    """
    if not query.name.startswith("explore/"):
        return None
    kinds = set(names_in(query).values())
    if not graph.read("load/any_node")[0]["nodes"]:
        return "The graph is empty; `kgprobe load example` loads the example."
    if _READS_VIEW.search(query.text):
        runs = list_runs(graph)
        if not runs:
            return NO_RUN
        run = run_in_view(graph)
        if run is None:
            return NONE_IN_VIEW
        return f"Nothing of that kind{_at_entities(query, parameters)} is believed by {_with_answers(runs, [run])}."
    if query.name == "explore/runs":
        return NO_RUN
    if "JudgedGraph" in kinds:
        return "No judge has judged this graph yet; `kgprobe judge predict` does."
    if "Run" in kinds and query.name not in _FACT_QUERIES:
        return _why_not_believed(graph, query, parameters)
    ids = ", ".join(map(str, _values(parameters, names_in(query))))
    return f"The graph has nothing of that kind at {ids}." if ids else "The graph has nothing of that kind."


def _why_not_believed(graph: Reader, query: Query, parameters: Mapping[str, Any]) -> str:
    runs = list_runs(graph)
    if not runs:
        return NO_RUN
    chosen = _values(parameters, [name for name, kind in names_in(query).items() if kind == "Run"])
    finished = runs_with_rounds(runs)
    if not chosen:
        # Without a name, a query reads all runs or the latest.
        if not finished:
            return no_rounds(runs)
        chosen = [run["id"] for run in runs] if "runs" in parameters else [finished[-1]["id"]]
    if query.name == "explore/changed" and len(finished) == 1:
        return f"{finished[0]['id']} is the only run with a finished round; a change needs an earlier one."
    return f"Nothing of that kind{_at_entities(query, parameters)} is believed by {_with_answers(runs, chosen)}."


def _at_entities(query: Query, parameters: Mapping[str, Any]) -> str:
    ids = _values(parameters, [name for name, kind in names_in(query).items() if kind == "Entity"])
    return f" at {', '.join(map(str, ids))}" if ids else ""


def _with_answers(runs: Sequence[Mapping[str, Any]], chosen: Sequence[str]) -> str:
    answers = {run["id"]: run.get("asked") or 0 for run in runs}
    counts = ", ".join(f"{run} ({counted(answers[run], 'answer')})" for run in chosen)
    return f"{'run' if len(chosen) == 1 else 'the runs'} {counts}"


def _values(parameters: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    """Return the values of parameters, each a single value, a list or None."""
    values: list[Any] = []
    for name in names:
        value = parameters.get(name)
        values += value if isinstance(value, (list, tuple)) else [value]
    return [value for value in values if value is not None]
