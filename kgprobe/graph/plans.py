"""Query plans of ``EXPLAIN`` and ``PROFILE``: a tree of operators from Neo4j, a text from the embedded engine."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from neo4j import ResultSummary

_PLAN_PREFIX = re.compile(r"(?:\s|//[^\n]*(?:\n|$)|/\*.*?\*/)*(?:EXPLAIN|PROFILE)\b", re.IGNORECASE | re.DOTALL)

# Argument with the printed plan.
_TEXT = "string-representation"


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a plan.

    Attributes:
        depth: depth in the tree, from 0; the root is the last operator.
        estimated: number of rows that the engine expects.
        rows, hits: number of rows, and of accesses to the store; None with ``EXPLAIN``.
    """

    depth: int
    operator: str
    details: str
    estimated: float | None
    rows: int | None
    hits: int | None


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Plan of a statement.

    Attributes:
        steps: operators, each before those that give it rows; none for the embedded engine.
        text: plan as the engine prints it.
    """

    steps: tuple[Step, ...]
    text: str


def asks_for_plan(statement: str) -> bool:
    """Return True if a statement begins with EXPLAIN or PROFILE."""
    return _PLAN_PREFIX.match(statement) is not None


def plan_of(summary: ResultSummary) -> QueryPlan | None:
    """Return the plan of a completed statement; None without one."""
    root: Mapping[str, Any] | None = summary.profile or summary.plan
    if not root:
        return None
    text = str(root.get("args", {}).get(_TEXT, "")).strip()
    # The embedded engine wraps its text in a single operator.
    is_text = str(root["operatorType"]).startswith("ArcadeDB.")
    return QueryPlan(() if is_text else tuple(_steps(root, 0)), text)


def _steps(operator: Mapping[str, Any], depth: int) -> Iterator[Step]:
    args = operator.get("args", {})
    yield Step(
        depth,
        str(operator["operatorType"]).partition("@")[0],
        str(args.get("Details", "")),
        args.get("EstimatedRows"),
        operator.get("rows"),
        operator.get("dbHits"),
    )
    for child in operator.get("children", ()):
        yield from _steps(child, depth + 1)
