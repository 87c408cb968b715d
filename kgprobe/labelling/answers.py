"""Answers to facts in all ways of asking: right answers, all answers and chance levels."""

from collections.abc import Sequence
from itertools import chain
from statistics import fmean

import pandas as pd

from kgprobe.answers.table import Answers
from kgprobe.labelling.classes import NO_ANSWERS, Counts
from kgprobe.labelling.ways import RECALL, SAMPLED, Way


class AnswersByFact:
    """The answers of all ways, in the order of asking, by fact.

    Attributes:
        columns: counts by column and fact, each with the mean of its known chance levels, 0 if none is known: many
            right answers by guessing are most probable if all questions have the mean (Hoeffding 1956). Facts without
            an answer are missing.
        asked: number of asked facts by column.
        guessed: mean chance level by column, over the facts with a known one; None if there are none.
    """

    def __init__(self) -> None:
        self.columns: dict[str, dict[str, Counts]] = {}
        self.asked: dict[str, int] = {}
        self.guessed: dict[str, float | None] = {}

    def add(self, way: Way, measurements: Sequence[Answers]) -> list[pd.DataFrame]:
        """Count the answers of a way's measurements by fact. Memory: the answered facts.

        Returns:
            The answered facts of each measurement, in the order of asking; see
            :meth:`~kgprobe.answers.table.Answers.by_fact`.
        """
        rounds = []
        ids: set[str] = set()
        for answers in measurements:
            own, order = answers.by_fact(), answers.table["fact"].to_pylist()
            ids.update(order)
            rounds.append(own.loc[[fact for fact in order if fact in own.index]])
        facts = pd.concat(rounds)
        facts["answers"] = facts["right"] + facts["wrong"]
        names = {way.name: ("right", "answers")}
        if way.name == RECALL and "greedy" in facts:
            names = {RECALL: ("greedy_right", "greedy"), SAMPLED: ("sampled_right", "sampled")}
        chances = {fact: list(chain.from_iterable(each)) for fact, each in facts["chances"].groupby(level=0)}
        for column in way.columns:
            counts = self.columns[column] = {}
            self.asked[column] = len(ids)
            if column in names:
                sums = facts[list(names[column])].groupby(level=0).sum()
                for fact, right, total in sums[sums[names[column][1]] > 0].itertuples():
                    counts[fact] = Counts(right, total, fmean(chances[fact]) if chances[fact] else 0.0)
                known = [fmean(chances[fact]) for fact in counts if chances[fact]]
                self.guessed[column] = fmean(known) if known else None
        return rounds

    def counts(self, fact: str) -> dict[str, tuple[int, int]]:
        """Return right answers and all answers to a fact, by column; columns without answers are left out."""
        return {column: facts[fact][:2] for column, facts in self.columns.items() if fact in facts}

    def of(self, fact: str, *columns: str) -> Counts:
        """Return the answers to a fact in the first column in which they decide; else those in the last."""
        counts = NO_ANSWERS
        for column in columns:
            counts = self.columns.get(column, {}).get(fact, NO_ANSWERS)
            if counts.decides:
                break
        return counts
