"""Classes of a guesser equal a simulation that guesses each answer."""

from collections import Counter

import numpy as np
import pytest

from kgprobe.labelling.answers import AnswersByFact
from kgprobe.labelling.classes import Counts, profile_class, slick_class
from kgprobe.labelling.statistics import statistics_of

DRAWS = 20_000


def answers_of(**counts: Counts) -> AnswersByFact:
    answers = AnswersByFact()
    for column, own in counts.items():
        answers.columns[column], answers.asked[column] = {"f": own}, 1
    return answers


def test_guessed_profile_equals_a_simulation() -> None:
    answers = answers_of(distractors=Counts(1, 5, 0.4), questions=Counts(1, 3, 0.2), thinking=Counts(1, 3, 0.5))
    generator = np.random.default_rng(0)
    draws = zip(*(generator.binomial(n, c, DRAWS).tolist() for n, c in ((5, 0.4), (3, 0.2), (3, 0.5))), strict=True)
    drawn = Counter(profile_class(Counts(a, 5, 0.4), Counts(b, 3, 0.2), Counts(c, 3, 0.5)) for a, b, c in draws)
    guessed = statistics_of(answers, None).guessed["profile"]
    assert {name: drawn[name] / DRAWS for name in guessed} == pytest.approx(guessed, abs=0.012)


def test_guessed_slick_equals_a_simulation() -> None:
    answers = answers_of(recall=Counts(1, 4, 0.3), recall_sampled=Counts(1, 6, 0.1))
    generator = np.random.default_rng(0)
    pairs = zip(generator.binomial(4, 0.3, DRAWS).tolist(), generator.binomial(6, 0.1, DRAWS).tolist(), strict=True)
    drawn = Counter(slick_class(Counts(a, 4, 0.3), Counts(b, 6, 0.1)) for a, b in pairs)
    guessed = statistics_of(answers, None).guessed["slick"]
    assert {name: drawn[name] / DRAWS for name in guessed} == pytest.approx(guessed, abs=0.012)


def test_statistics_of_undecided_answers_have_no_guesser() -> None:
    assert statistics_of(answers_of(questions=Counts(1, 3, 0.2)), None).guessed == {}
