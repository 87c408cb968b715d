"""Parameters of the queries for people that name things: entities and relations by what people call them, runs by id.

A query declares them in its leading comment: ``Names: {entity: 'Entity', relations: 'Relation', run: 'Run'}``.
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
    """Return which parameters of a query name something: 'Entity', 'Relation', 'Run' or 'Sweep', by the parameter."""
    found = _NAMES.search(query.about)
    return parse_map(found[1]) if found else {}


def resolve_parameters(graph: Graph, query: Query, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a query with ids in place of names.

    Cost: look-ups of what is named, as in :func:`~kgprobe.graph.names.entity_ids`.

    Raises:
        UnknownNameError: nothing is called so, or several things are; the message says what comes close, or which.
    """
    resolved = dict(parameters)
    for parameter, kind in names_in(query).items():
        value = parameters.get(parameter)
        if value is None:
            continue
        several = isinstance(value, (list, tuple))
        # On the command line, what looks like a number is one, such as the id of a year.
        named = [str(name) for name in (value if several else [value])]
        ids = list(_IDS[kind](graph, named))
        resolved[parameter] = ids if several else ids[0]
    return resolved


def _run_ids(graph: Graph, named: Sequence[str]) -> Sequence[str]:
    return _known(named, [row["run"] for row in graph.read("explore/runs")], "run", "kgprobe rounds run")


def _sweep_ids(graph: Graph, named: Sequence[str]) -> Sequence[str]:
    sweeps = [row["sweep"] for row in graph.read("explore/judged", sweep=None)]
    return _known(named, list(dict.fromkeys(sweeps)), "sweep", "kgprobe judge predict")


def _known(named: Sequence[str], ids: Sequence[str], kind: str, command: str) -> Sequence[str]:
    """Return ids as they are named: runs and sweeps have no other names."""
    for name in named:
        if name not in ids:
            shown = difflib.get_close_matches(name, ids, _SHOWN) or ids[:_SHOWN]
            there = f"the nearest are: {', '.join(shown)}" if shown else f"there is none yet, `{command}` makes one"
            raise UnknownNameError(f"There is no {kind} {name!r} in this graph; {there}.")
    return named


_IDS: Mapping[str, Callable[[Graph, Sequence[str]], Sequence[str]]] = {
    "Entity": entity_ids,
    "Relation": relation_ids,
    "Run": _run_ids,
    "Sweep": _sweep_ids,
}
