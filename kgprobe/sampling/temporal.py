"""Temporal distractors: former objects, then semantic distractors.

Section 3.3 of the distractor paper; docs/methods/distractor-strategies.md. The former objects of a fact's subject and
relation, which held only before ``as_of``, come first, sorted by their distance in time from the fact. Semantic
distractors follow. A former object is wrong only after a sentence in the present tense
(:func:`kgprobe.verbalize.tense.speaks_of_today`); other sentences have semantic distractors only. The distance is that
of the middles of the intervals, in days: an open end counts as ``as_of``, an open start as the end.
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
    """Former objects (marked by :attr:`Distractor.former`), then semantic distractors."""

    name = "temporal-semantic"

    def __init__(
        self,
        graph: Graph,
        as_of: int,
        weighting: str = "tf-idf",
    ) -> None:
        """Open the index of features, see :class:`~kgprobe.sampling.semantic.SemanticDistractors`.

        Args:
            as_of: date (``yyyymmdd``); objects that ended before it are former.
        """
        self._graph = graph
        self._as_of = as_of
        self.semantic = SemanticDistractors(graph, weighting)

    def describe(self) -> dict[str, Any]:
        """Return the strategy and the weighting; see :class:`~kgprobe.sampling.distractors.Retriever`."""
        return {**self.semantic.describe(), "strategy": self.name}

    def retrieve(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Return former objects, then similar ones; see :class:`~kgprobe.sampling.distractors.Retriever`.

        Only the order of entities without a feature in common with the object is random.

        Cost: a walk through the facts of each subject, and that of semantic distractors.
        """
        retrieved = [distractors[:count] for distractors in self._former(keys)]
        lacking = [index for index, distractors in enumerate(retrieved) if len(distractors) < count]
        semantic = self.semantic.retrieve([keys[index] for index in lacking], count, seed) if lacking else []
        for index, similar in zip(lacking, semantic, strict=True):
            former = {distractor.number for distractor in retrieved[index]}
            others = [distractor for distractor in similar if distractor.number not in former]
            retrieved[index] = [*retrieved[index], *others][:count]
        return retrieved

    def _former(self, keys: Sequence[FactKey]) -> list[list[Distractor]]:
        nearest: dict[str, dict[int, Row]] = {key.fact: {} for key in keys}
        rows = self._graph.read("sample/former", rows=[key._asdict() for key in keys], as_of=self._as_of)
        # The nearest interval of an object counts.
        for row in sorted(rows, key=self._order):
            nearest[row["fact"]].setdefault(row["number"], row)
        candidates = [(key, list(nearest[key.fact])) for key in keys]
        former: list[list[Distractor]] = []
        for key, distractors in zip(keys, admissible(self._graph, candidates, self._as_of), strict=True):
            former.append([])
            for number, distractor in distractors.items():
                reason = f"{distractor.reason}; held until {nearest[key.fact][number]['end']}"
                former[-1].append(replace(distractor, reason=reason, former=True))
        return former

    def _order(self, row: Row) -> tuple[int, int, int]:
        """Return a sort key: the distance in time, then the latest end, then the number."""
        current = self._middle(row["from"], row["until"])
        former = self._middle(row["former_from"], row["former_until"])
        return abs(current - former), -row["former_until"], row["number"]

    def _middle(self, first: int | None, last: int | None) -> int:
        """Return twice the day number of the middle of an interval, an integer."""
        end = self._as_of if last is None else last
        start = end if first is None else first
        return day_number(start) + day_number(end)
