"""Reasons why a query for people has no rows: nothing painted, no run, nothing asked, or nothing of that kind.

Names that nothing has never come so far: :mod:`~kgprobe.graph.named_parameters` refuses them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.graph.named_parameters import names_in
from kgprobe.graph.queries import Query
from kgprobe.graph.run_nodes import NO_RUN, list_runs

_PAINTED = re.compile(r":(?:KNOWN|UNSURE|UNKNOWN|LEARNED|FORGOT)\b")

# Their rows are facts, with or without a belief.
_OF_FACTS = ("explore/around", "explore/expected")


def why_empty(graph: Graph, query: Query, parameters: Mapping[str, Any]) -> str | None:
    """Return why a query for people has no rows, as a sentence; None for any other query.

    Args:
        parameters: of the query, with ids in place of names.

    Cost: a scan of what is painted for a query of that; else a reading of the runs.
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
    if "Run" in kinds and query.name not in _OF_FACTS:
        return _why_not_believed(graph, query, parameters)
    named = ", ".join(str(id_) for name in names_in(query) for id_ in _listed(parameters.get(name)))
    return f"The graph has nothing of that kind{f' at {named}' if named else ''}."


def _why_not_painted(graph: Graph) -> str:
    painted = graph.read("paint/counts")
    if not painted:
        return "Nothing is painted; `kgprobe beliefs paint` draws what a run believes."
    counts = ", ".join(f"{row['count']:,} {row['kind']}" for row in painted)
    return f"Nothing of that kind is painted; there are {counts}."


def _why_not_believed(graph: Graph, query: Query, parameters: Mapping[str, Any]) -> str:
    runs = list_runs(graph)
    if not runs:
        return NO_RUN
    named = [run for name, kind in names_in(query).items() if kind == "Run" for run in _listed(parameters.get(name))]
    if not named:
        # Where none is named, a query of one run reads the run begun last.
        named = [run["id"] for run in (runs if "runs" in parameters else runs[-1:])]
    asked = {run["id"]: run.get("asked") or 0 for run in runs}
    counts = ", ".join(f"{run} ({asked[run]:,} {'answer' if asked[run] == 1 else 'answers'})" for run in named)
    return f"Nothing of that kind is believed by {'run' if len(named) == 1 else 'the runs'} {counts}."


def _listed(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, (list, tuple)) else (value,)
