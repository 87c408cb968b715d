"""Stored answers are counted by way, with the chance levels of verdicts and of single answers."""

import numpy as np
import pytest

from kgprobe.labelling.answers import AnswersByFact
from kgprobe.labelling.prediction import AnsweredRounds
from kgprobe.labelling.ways import WAYS
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.evidence import RightAnswer
from kgprobe.probes.recall.evidence import RecallEvidence
from kgprobe.sampling.keys import FactKey
from tests.results.answered import answers_of_outcomes

FACT = FactKey("s", "f")


class OneFact:
    """Positions of a graph with one fact."""

    def positions(self, facts: list[str]) -> np.ndarray:
        return np.zeros(len(facts), np.int64)

    def keys(self, positions: np.ndarray) -> list[FactKey]:
        return [FACT] * len(positions)


def test_luck_of_recall_is_that_of_its_verdict() -> None:
    evidence = RecallEvidence("q", (RightAnswer("o", ("object",)),), 4, 10, 10, 160, 160, chance=0.05)
    outcome = Outcome(FACT, Verdict.RIGHT, "r", evidence=evidence)
    answers = AnswersByFact()
    rounds = answers.add(WAYS["recall"], [answers_of_outcomes("recall", [outcome], {})])
    # Ten greedy answers are one verdict: not the chance that any of ten guesses is right, which is 0.4.
    answered = AnsweredRounds.of(OneFact(), rounds)  # type: ignore[arg-type]
    assert (answered.right.tolist(), answered.by_luck.tolist()) == ([1], [pytest.approx(0.05)])
    # SliCK's classes count the single answers.
    assert answers.columns["recall"]["f"] == (10, 10, pytest.approx(0.05))
