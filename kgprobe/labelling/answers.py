"""Answers to facts in one way of asking: right answers, all answers and chance levels, from stored outcomes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from kgprobe.labelling.classes import NO_ANSWERS, Counts
from kgprobe.labelling.ways import RECALL, SAMPLED, Way
from kgprobe.probes.outcome import Outcome, Verdict, guessing_chance
from kgprobe.probes.recall.evidence import RecallEvidence


@dataclass(slots=True)
class FactCounts:
    """Answers to one fact.

    Attributes:
        right, answers: number of right answers, and of all.
        chances: probability that a guess is right, for each question with a known one.
    """

    right: int = 0
    answers: int = 0
    chances: list[float] = field(default_factory=list)

    def add(self, right: int, answers: int, chance: float | None) -> None:
        """Add answers with the same chance level."""
        self.right += right
        self.answers += answers
        if chance is not None:
            self.chances += [chance] * answers

    def counts(self) -> Counts:
        """Return the counts with the mean chance level, 0 if it is unknown.

        Many right answers by guessing are most probable if all questions have the mean (Hoeffding 1956).
        """
        return Counts(self.right, self.answers, fmean(self.chances) if self.chances else 0.0)


@dataclass(frozen=True, slots=True)
class MeasuredAnswers:
    """Answers of one measurement: distinct facts, True for a right verdict, and its chance level, None if unknown."""

    facts: Sequence[str]
    right: Sequence[bool]
    chances: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class WayAnswers:
    """All answers in one way of asking.

    Attributes:
        facts: counts by column and fact; facts without an answer are missing.
        rounds: verdicts, one entry for each measurement.
        fact_count: number of asked facts.
    """

    way: Way
    facts: Mapping[str, Mapping[str, FactCounts]]
    rounds: Sequence[MeasuredAnswers]
    fact_count: int

    def of(self, fact: str, column: str | None = None) -> Counts:
        """Return the counts of a fact in a column, the way's own by default."""
        counts = self.facts[column or self.way.name].get(fact)
        return NO_ANSWERS if counts is None else counts.counts()


def count_answers(way: Way, measurements: Sequence[Iterable[Outcome]]) -> WayAnswers:
    """Count the answers of a way's measurements by fact.

    Cost: one pass over each. Memory: the answered facts.
    """
    facts: dict[str, dict[str, FactCounts]] = {column: {} for column in way.columns}
    rounds = []
    ids_asked: set[str] = set()
    for outcomes in measurements:
        ids: list[str] = []
        right: list[bool] = []
        chances: list[float | None] = []
        for outcome in outcomes:
            ids_asked.add(outcome.fact.fact)
            if outcome.verdict.counts:
                ids.append(outcome.fact.fact)
                right.append(outcome.verdict is Verdict.RIGHT)
                chances.append(guessing_chance(outcome))
                for column, counted in _counted(way, outcome).items():
                    facts[column].setdefault(outcome.fact.fact, FactCounts()).add(*counted)
        rounds.append(MeasuredAnswers(ids, right, chances))
    return WayAnswers(way, facts, rounds, len(ids_asked))


def _counted(way: Way, outcome: Outcome) -> dict[str, tuple[int, int, float | None]]:
    """Return right answers, answers and chance level of an outcome, by column."""
    chance = guessing_chance(outcome)
    counts = outcome.evidence
    if not isinstance(counts, RecallEvidence):
        return {way.name: (int(outcome.verdict is Verdict.RIGHT), 1, chance)}
    return {
        RECALL: (counts.greedy_right, counts.greedy, chance),
        SAMPLED: (counts.sampled_right, counts.sampled, chance),
    }
