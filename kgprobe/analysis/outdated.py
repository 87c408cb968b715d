"""Answers that were right before: how long ago they ceased to be.

A model that learned from old texts prefers who was president then. Where the graph knows until when something was
true, the age of such an answer is the time since.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kgprobe.graph.client import Graph

# Lower bounds of ages in years; each group ends where the next begins.
AGES = (0, 1, 2, 5, 10, 20, 50)
_FACTS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class AgeGroup:
    """Outdated answers of some age.

    Attributes:
        years: as people read them, such as ``2 to 5``.
    """

    years: str
    answers: int


@dataclass(frozen=True, slots=True)
class OutdatedAnswers:
    """The outdated ones among a result's answers.

    Attributes:
        facts: how many facts were asked.
        outdated: of how many the model preferred what was right before.
        dated: of how many of these the graph says until when.
        median: their median age in years; None where none is dated.
        ages: how many are how old.
    """

    facts: int
    outdated: int
    dated: int
    median: float | None
    ages: Sequence[AgeGroup]


def outdated_answers(graph: Graph | None, facts: pd.DataFrame, as_of: int) -> OutdatedAnswers:
    """How old the outdated answers are. Cost: a walk through the facts of the subjects of these.

    Args:
        graph: that was asked; without one, no answer is dated.
        facts: as :func:`~kgprobe.analysis.asked_facts.asked_facts` gives them.
        as_of: the day at which facts were asked, ``yyyymmdd``.
    """
    old = facts[facts["former"].notna()]
    ended = {} if graph is None else _ends(graph, old, as_of)
    ages = [_years(as_of) - _years(until) for until in ended.values()]
    # Ages of what ended in the course of this year are below one.
    whole = np.maximum(np.array(ages), 0.0)
    places = np.searchsorted(AGES, whole, side="right") - 1
    groups = [AgeGroup(_told(place), int((places == place).sum())) for place in range(len(AGES))]
    return OutdatedAnswers(
        len(facts), len(old), len(whole), float(np.median(whole)) if len(whole) else None, groups if len(whole) else []
    )


def _ends(graph: Graph, old: pd.DataFrame, as_of: int) -> dict[str, int]:
    """Until when each outdated answer was right, by fact; of what was right several times, the last."""
    ended: dict[str, int] = {}
    for first in range(0, len(old), _FACTS_AT_ONCE):
        part = old.iloc[first : first + _FACTS_AT_ONCE]
        said = dict(zip(part["fact"], part["former"], strict=True))
        rows: list[dict[str, str]] = part[["subject", "fact"]].to_dict("records")
        for row in graph.read("sample/former_names", rows=rows, as_of=as_of):
            names = [name for name in (row["label"], *row["aliases"]) if name]
            if any(_is_named(name, said[row["fact"]]) for name in names):
                ended[row["fact"]] = max(row["until"], ended.get(row["fact"], row["until"]))
    return ended


def _is_named(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _years(day: int) -> float:
    """A day ``yyyymmdd`` in years, to within days."""
    return day // 10_000 + (day // 100 % 100 - 1) / 12 + (day % 100 - 1) / 365


def _told(place: int) -> str:
    if place + 1 == len(AGES):
        return f"{AGES[place]} and more"
    return f"{AGES[place]} to {AGES[place + 1]}"
