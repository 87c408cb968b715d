"""Parameters of explore queries that accept names: labels or aliases of entities and relations, ids of runs.

A query declares them in its header: ``Names: {entity: 'Entity', relations: 'Relation', run: 'Run'}``.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import entity_ids, relation_ids
from kgprobe.graph.parameters import parse_map
from kgprobe.graph.queries import Query

_NAMES = re.compile(r"^Names: (\{.*\})$", re.MULTILINE)
_SHOWN = 5


def names_in(query: Query) -> dict[str, str]:
    """Return the parameters of a query that accept names, with 'Entity', 'Relation', 'Run' or 'Sweep'."""
    match = _NAMES.search(query.about)
    return parse_map(match[1]) if match else {}


def resolve_parameters(graph: Graph, query: Query, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a query with ids instead of names.

    Cost: look-ups of the names, as in :func:`~kgprobe.graph.names.entity_ids`.

    Raises:
        UnknownNameError: a name is unknown or ambiguous; the message lists similar names or the ids.
    """
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


def _run_ids(graph: Graph, names: Sequence[str]) -> Sequence[str]:
    return _check_ids(names, [row["run"] for row in graph.read("explore/runs")], "run", "kgprobe rounds run")


def _sweep_ids(graph: Graph, names: Sequence[str]) -> Sequence[str]:
    sweeps = [row["sweep"] for row in graph.read("explore/judged", sweep=None)]
    return _check_ids(names, list(dict.fromkeys(sweeps)), "sweep", "kgprobe judge predict")


def _check_ids(names: Sequence[str], ids: Sequence[str], kind: str, command: str) -> Sequence[str]:
    """Return names that are ids; runs and sweeps have no other names."""
    for name in names:
        if name not in ids:
            similar = difflib.get_close_matches(name, ids, _SHOWN) or ids[:_SHOWN]
            remedy = f"similar ids: {', '.join(similar)}" if similar else f"it has none yet, `{command}` creates one"
            raise UnknownNameError(f"Unknown {kind} {name!r} in this graph; {remedy}.")
    return names


_IDS: Mapping[str, Callable[[Graph, Sequence[str]], Sequence[str]]] = {
    "Entity": entity_ids,
    "Relation": relation_ids,
    "Run": _run_ids,
    "Sweep": _sweep_ids,
}
