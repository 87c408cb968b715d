"""How an engine goes about a statement, where it is asked by ``EXPLAIN`` or ``PROFILE``.

Neo4j tells a tree of operators; the embedded engine tells a text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from neo4j import ResultSummary

_ASKED = re.compile(r"(?:\s|//[^\n]*(?:\n|$)|/\*.*?\*/)*(?:EXPLAIN|PROFILE)\b", re.IGNORECASE | re.DOTALL)

# Where the engines write their plans as they would print them.
_TEXT = "string-representation"


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a plan.

    Attributes:
        depth: how many operators take what it gives, from 0 on.
        estimated: rows that the engine expects.
        rows, hits: rows that there were, and how often the store was asked; None where the statement was not run.
    """

    depth: int
    operator: str
    details: str
    estimated: float | None
    rows: int | None
    hits: int | None


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What an engine tells of how it goes about a statement.

    Attributes:
        steps: the operators, each before those whose rows it takes; none where the engine tells a text.
        text: the plan in the engine's own words.
    """

    steps: tuple[Step, ...]
    text: str


def asks_for_plan(statement: str) -> bool:
    """Whether a statement begins with EXPLAIN or PROFILE."""
    return _ASKED.match(statement) is not None


def plan_of(summary: ResultSummary) -> QueryPlan | None:
    """The plan of a statement that has been read to its end; None where the engine tells none."""
    told: Mapping[str, Any] | None = summary.profile or summary.plan
    if not told:
        return None
    text = str(told.get("args", {}).get(_TEXT, "")).strip()
    # What stands alone and names no work of its own is the embedded engine's wrapper around its text.
    is_text = str(told["operatorType"]).startswith("ArcadeDB.")
    return QueryPlan(() if is_text else tuple(_steps(told, 0)), text)


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
