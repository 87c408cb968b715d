"""Answers to facts in one way of asking: right answers, all answers and chance levels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean

import pandas as pd

from kgprobe.answers.table import Answers
from kgprobe.labelling.classes import Counts
from kgprobe.labelling.ways import RECALL, SAMPLED, Way


@dataclass(frozen=True, slots=True)
class WayAnswers:
    """All answers in one way of asking.

    Attributes:
        facts: counts by column and fact, each with the mean of its known chance levels, 0 if none is known: many right
            answers by guessing are most probable if all questions have the mean (Hoeffding 1956). Facts without an
            answer are missing.
        guessed: mean chance level by column, over the facts with a known one; None if there are none.
        rounds: the answered facts of each measurement, in the order of asking; see
            :meth:`~kgprobe.answers.table.Answers.by_fact`.
    """

    way: Way
    facts: Mapping[str, Mapping[str, Counts]]
    guessed: Mapping[str, float | None]
    rounds: Sequence[pd.DataFrame]
    fact_count: int


def count_answers(way: Way, measurements: Sequence[Answers]) -> WayAnswers:
    """Count the answers of a way's measurements by fact. Memory: the answered facts."""
    rounds = []
    ids: set[str] = set()
    for answers in measurements:
        own, order = answers.by_fact(), answers.table["fact"].to_pylist()
        ids.update(order)
        rounds.append(own.loc[[fact for fact in order if fact in own.index]])
    facts = pd.concat(rounds)
    facts["answers"] = facts["right"] + facts["wrong"]
    columns = {way.name: ("right", "answers")}
    if way.name == RECALL and "greedy" in facts:
        columns = {RECALL: ("greedy_right", "greedy"), SAMPLED: ("sampled_right", "sampled")}
    chances = {fact: list(chain.from_iterable(each)) for fact, each in facts["chances"].groupby(level=0)}
    counts: dict[str, dict[str, Counts]] = {column: {} for column in way.columns}
    guessed: dict[str, float | None] = {}
    for column, names in columns.items():
        sums = facts[list(names)].groupby(level=0).sum()
        sums = sums[sums[names[1]] > 0]
        for fact, right, answers in sums.itertuples():
            counts[column][fact] = Counts(right, answers, fmean(chances[fact]) if chances[fact] else 0.0)
        known = [fmean(chances[fact]) for fact in counts[column] if chances[fact]]
        guessed[column] = fmean(known) if known else None
    return WayAnswers(way, counts, guessed, rounds, len(ids))
