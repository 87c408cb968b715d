"""Classes follow their published definitions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.labelling.classes import NO_ANSWERS, Counts, profile_class, slick_class


@st.composite
def counts(draw: st.DrawFn, fewest: int = 0) -> Counts:
    answers = draw(st.integers(fewest, 20))
    return Counts(draw(st.integers(0, answers)), answers, 0.1)


@given(counts(fewest=1), counts(fewest=1))
def test_slick_equals_its_definition(greedy: Counts, sampled: Counts) -> None:
    at_zero, above_zero = greedy.right / greedy.answers, sampled.right / sampled.answers
    if at_zero == 1:
        expected = "highly known"
    elif at_zero > 0:
        expected = "maybe known"
    else:
        expected = "weakly known" if above_zero > 0 else "unknown"
    assert slick_class(greedy, sampled) == expected


def test_slick_without_deciding_answers_is_none() -> None:
    assert (slick_class(NO_ANSWERS, Counts(3, 4)), slick_class(Counts(0, 4), NO_ANSWERS)) == (None, None)


@pytest.mark.parametrize(
    ("recognised", "recalled", "thinking", "expected"),
    [
        (Counts(0, 4, 0.1), Counts(2, 3), Counts(0, 3), "recalled"),
        (Counts(0, 4, 0.1), Counts(1, 3), Counts(2, 3), "recalled by thinking only"),
        (Counts(4, 4, 0.1), Counts(1, 3), Counts(1, 3), "encoded, not recalled"),
        (Counts(2, 4, 0.1), Counts(0, 3), NO_ANSWERS, "not encoded"),
        (Counts(4, 4, 0.5), Counts(0, 3), NO_ANSWERS, "not encoded"),
        (Counts(2, 2, 0.1), Counts(0, 3), NO_ANSWERS, None),
        (Counts(4, 4, 0.1), Counts(2, 2), NO_ANSWERS, None),
    ],
)
def test_profile_of_cases(recognised: Counts, recalled: Counts, thinking: Counts, expected: str | None) -> None:
    assert profile_class(recognised, recalled, thinking) == expected


@given(counts(fewest=1))
def test_beyond_chance_equals_the_binomial_sum(answers: Counts) -> None:
    n, c = answers.answers, answers.chance
    luck = sum(math.comb(n, k) * c**k * (1 - c) ** (n - k) for k in range(answers.right, n + 1))
    assert answers.beyond_chance == (answers.right > n / 2 and luck < 0.05)
