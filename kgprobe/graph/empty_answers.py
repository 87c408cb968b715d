"""Reasons for an empty result of an explore query: nothing painted, no run, no answers, or nothing of that kind.

:mod:`~kgprobe.graph.named_parameters` has refused unknown names before.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.graph.named_parameters import names_in
from kgprobe.graph.queries import Query
from kgprobe.graph.run_nodes import NO_RUN, list_runs
from kgprobe.sanitize import counted

_PAINTED = re.compile(r":(?:KNOWN|UNSURE|UNKNOWN|LEARNED|FORGOT)\b")

# Queries whose rows are facts with or without a belief.
_FACT_QUERIES = ("explore/around", "explore/expected")


def why_empty(graph: Graph, query: Query, parameters: Mapping[str, Any]) -> str | None:
    """Return the reason why an explore query has no rows, as a sentence; None for other queries.

    Cost: a scan of the painted relationships for a query about these, else one reading of the runs.

    Args:
        parameters: parameters of the query, with ids instead of names.
    """
    if not query.name.startswith("explore/"):
        return None
    kinds = set(names_in(query).values())
    if not graph.read("load/any_node")[0]["nodes"]:
        return "The graph is empty; `kgprobe load example` loads the example."
    if _PAINTED.search(query.text):
        return _why_not_painted(graph)
    if query.name == "explore/runs":
        return NO_RUN
    if "Sweep" in kinds:
        return "No judge has judged this graph yet; `kgprobe judge predict` does."
    if "Run" in kinds and query.name not in _FACT_QUERIES:
        return _why_not_believed(graph, query, parameters)
    ids = ", ".join(map(str, _values(parameters, names_in(query))))
    return f"The graph has nothing of that kind at {ids}." if ids else "The graph has nothing of that kind."


def _why_not_painted(graph: Graph) -> str:
    painted = graph.read("paint/counts")
    if not painted:
        return "Nothing is painted; `kgprobe beliefs paint` draws the beliefs of a run."
    counts = ", ".join(f"{row['count']:,} {row['kind']}" for row in painted)
    return f"Nothing of that kind is painted; there are {counts}."


def _why_not_believed(graph: Graph, query: Query, parameters: Mapping[str, Any]) -> str:
    runs = list_runs(graph)
    if not runs:
        return NO_RUN
    chosen = _values(parameters, [name for name, kind in names_in(query).items() if kind == "Run"])
    if not chosen:
        # Without a name, a query reads all runs or the latest.
        chosen = [run["id"] for run in (runs if "runs" in parameters else runs[-1:])]
    answers = {run["id"]: run.get("asked") or 0 for run in runs}
    counts = ", ".join(f"{run} ({counted(answers[run], 'answer')})" for run in chosen)
    return f"Nothing of that kind is believed by {'run' if len(chosen) == 1 else 'the runs'} {counts}."


def _values(parameters: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    """Return the values of parameters, each a single value, a list or None."""
    return list(chain.from_iterable(_as_sequence(parameters.get(name)) for name in names))


def _as_sequence(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, (list, tuple)) else (value,)
