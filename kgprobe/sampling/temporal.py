"""Temporal distractors: what was right before, then what is like the right object.

Section 3.3 of the distractor paper; docs/methods/distractor-strategies.md. The former objects of a fact's subject and
relation, which held until a day before ``as_of`` and hold no more, come first, the nearest in time to the fact before
the others; semantic distractors follow. A former object is wrong only after a sentence that speaks of today
(:func:`kgprobe.verbalize.tense.speaks_of_today`); after others, semantic distractors stand alone. Time is compared by
the middle of the intervals, in days: of an interval whose end is open, ``as_of`` is taken for its end, and of one whose
start is open, its end for its start.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kgprobe.dates import day_number
from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.distractors import Distractor, admissible
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.semantic import SemanticDistractors


class TemporalDistractors:
    """Finds former objects, which are marked as such (:attr:`Distractor.former`), then semantic distractors."""

    name = "temporal-semantic"

    def __init__(
        self,
        graph: Graph,
        as_of: int,
        weighting: str = "tf-idf",
    ) -> None:
        """As :class:`~kgprobe.sampling.semantic.SemanticDistractors`, whose arguments and errors these are.

        Args:
            as_of: what ended before this date (``yyyymmdd``) is former.
        """
        self._graph = graph
        self._as_of = as_of
        self.semantic = SemanticDistractors(graph, weighting)

    def describe(self) -> dict[str, Any]:
        """The strategy and the weighting of features; see :class:`~kgprobe.sampling.distractors.Retriever`."""
        return {**self.semantic.describe(), "strategy": self.name}

    def retrieve(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Former objects, then what is like the object; see :class:`~kgprobe.sampling.distractors.Retriever`.

        Random is the order of those that share no feature with the object, and nothing else.

        Cost: a walk through the facts of each subject, and that of semantic distractors.
        """
        former = [its[:count] for its in self._former(keys)]
        lacking = [index for index, its in enumerate(former) if len(its) < count]
        semantic = self.semantic.retrieve([keys[index] for index in lacking], count, seed) if lacking else []
        retrieved = list(former)
        for index, like in zip(lacking, semantic, strict=True):
            taken = {distractor.number for distractor in former[index]}
            others = [distractor for distractor in like if distractor.number not in taken]
            retrieved[index] = [*former[index], *others][:count]
        return retrieved

    def _former(self, keys: Sequence[FactKey]) -> list[list[Distractor]]:
        nearest: dict[str, dict[int, Row]] = {key.fact: {} for key in keys}
        rows = self._graph.read("sample/former", rows=[key._asdict() for key in keys], as_of=self._as_of)
        # An object that held more than once counts by its nearest interval.
        for row in sorted(rows, key=self._order):
            nearest[row["fact"]].setdefault(row["number"], row)
        rows_of = [(key, list(nearest[key.fact])) for key in keys]
        return [
            [
                replace(distractor, reason=f"{distractor.reason}; held until {its[number]['end']}", former=True)
                for number, distractor in found.items()
            ]
            for found, its in zip(
                admissible(self._graph, rows_of, self._as_of), (nearest[key.fact] for key in keys), strict=True
            )
        ]

    def _order(self, row: Row) -> tuple[int, int, int]:
        """Nearest in time first; of equals, what ended last, then by number."""
        asked = self._middle(row["from"], row["until"])
        former = self._middle(row["former_from"], row["former_until"])
        return abs(asked - former), -row["former_until"], row["number"]

    def _middle(self, first: int | None, last: int | None) -> int:
        """The middle of an interval; twice its day number, which is whole."""
        end = self._as_of if last is None else last
        start = end if first is None else first
        return day_number(start) + day_number(end)
