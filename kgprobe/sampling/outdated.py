"""Outdated answers: names that were right at an earlier date, and the time since.

A model that learned from old texts prefers a former president. Where the graph has the end of such a fact, the age of
the answer is the time since that end.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, starmap
from typing import Annotated

import numpy as np
import pandas as pd

from kgprobe.base.tables import Heading, ResultRow
from kgprobe.graph.client import Graph

# Lower bounds of ages in years; each group ends where the next begins.
AGES = (0, 1, 2, 5, 10, 20, 50)
_FACTS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class AgeGroup(ResultRow):
    """Outdated answers of similar age; ``years`` is a range such as ``2 to 5``."""

    years: Annotated[str, Heading("years ago")]
    answers: Annotated[int, Heading("answers")]


@dataclass(frozen=True, slots=True)
class OutdatedAnswers:
    """The outdated answers of a result.

    Attributes:
        outdated: number of facts for which the model preferred a former object.
        dated: number of these whose end is in the graph.
        median: their median age in years; None where none is dated.
    """

    facts: int = 0
    outdated: int = 0
    dated: int = 0
    median: float | None = None
    ages: Sequence[AgeGroup] = ()


NO_OUTDATED = OutdatedAnswers()


def outdated_answers(graph: Graph, facts: pd.DataFrame, as_of: int) -> OutdatedAnswers:
    """Return the outdated answers and their ages. Cost: a walk through the facts of their subjects.

    ``facts`` are those of a finding, with their questions, asked at ``as_of`` (``yyyymmdd``).
    """
    old = facts[facts["former"].notna()]
    ended = _ends(graph, old, as_of)
    if not ended:
        return OutdatedAnswers(len(facts), len(old))
    # A fact that ends later in the year of as_of has age 0.
    ages = np.maximum([_years(as_of) - _years(until) for until in ended.values()], 0.0)
    counts = np.bincount(np.searchsorted(AGES, ages, side="right") - 1, minlength=len(AGES)).tolist()
    labels = [*(f"{low} to {high}" for low, high in pairwise(AGES)), f"{AGES[-1]} and more"]
    groups = list(starmap(AgeGroup, zip(labels, counts, strict=True)))
    return OutdatedAnswers(len(facts), len(old), len(ages), float(np.median(ages)), groups)


def _ends(graph: Graph, old: pd.DataFrame, as_of: int) -> dict[str, int]:
    """Return the last day on which each outdated answer was right, by fact."""
    ended: dict[str, int] = {}
    for first in range(0, len(old), _FACTS_AT_ONCE):
        part = old.iloc[first : first + _FACTS_AT_ONCE]
        answers = dict(zip(part["fact"], part["former"], strict=True))
        rows: list[dict[str, str]] = part[["subject", "fact"]].to_dict("records")
        for row in graph.read("sample/former", rows=rows, as_of=as_of):
            names = "|".join(map(re.escape, filter(None, (row["label"], *row["aliases"]))))
            if names and re.search(rf"(?<!\w)(?:{names})(?!\w)", answers[row["fact"]], re.IGNORECASE):
                until = row["former_until"]
                ended[row["fact"]] = max(until, ended.get(row["fact"], until))
    return ended


def _years(day: int) -> float:
    """Return a day ``yyyymmdd`` in years, to within days."""
    return day // 10_000 + (day // 100 % 100 - 1) / 12 + (day % 100 - 1) / 365
