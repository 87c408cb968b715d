"""What is believed of facts, in words: *surely* where the interval says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.analysis.belief_words import BeliefWord, belief_words

SURELY_KNOWN, LEANS_KNOWN, LEANS_UNKNOWN, SURELY_UNKNOWN = BeliefWord


@pytest.mark.parametrize(
    ("own", "theta", "low", "high", "luck", "expected"),
    [
        (-5, 0.1, 0.01, 0.3, 0.001, SURELY_KNOWN),
        (5, 0.9, 0.7, 0.99, 0.1, SURELY_UNKNOWN),
        # An interval that has one half in it, be it at its end.
        (-1, 0.33, 0.03, 0.78, 0.001, LEANS_KNOWN),
        (-4, 0.2, 0.1, 0.5, 0.001, LEANS_KNOWN),
        (1, 0.67, 0.22, 0.97, 0.1, LEANS_UNKNOWN),
        (4, 0.8, 0.5, 0.9, 0.1, LEANS_UNKNOWN),
        (0, 0.5, 0.14, 0.86, 0.1, LEANS_UNKNOWN),
        # A guesser would have as many right answers once in twenty-five times, and more often.
        (-1, 0.2, 0.1, 0.3, 0.04, SURELY_KNOWN),
        (-1, 0.2, 0.1, 0.3, 0.09, LEANS_KNOWN),
        # Its own answers say otherwise, or nothing.
        (1, 0.1, 0.01, 0.3, 0.001, LEANS_KNOWN),
        (0, 0.1, 0.01, 0.3, 0.001, LEANS_KNOWN),
        (-1, 0.9, 0.7, 0.99, 0.1, LEANS_UNKNOWN),
        (0, 0.9, 0.7, 0.99, 0.1, LEANS_UNKNOWN),
    ],
)
def test_words_are_earned(own: int, theta: float, low: float, high: float, luck: float, expected: BeliefWord) -> None:
    assert belief_words([own], [theta], [low], [high], [luck]) == [expected]


@given(
    st.lists(
        st.tuples(
            st.integers(-9, 9),
            st.tuples(*[st.floats(0, 1)] * 3).map(sorted),
            st.floats(0, 1),
        )
    )
)
def test_of_many_facts_each_has_its_own_word(facts: list[tuple[int, list[float], float]]) -> None:
    columns = [(own, theta, low, high, luck) for own, (low, theta, high), luck in facts]
    together = belief_words(*(list(values) for values in zip(*columns, strict=True))) if columns else []
    assert together == [belief_words(*([value] for value in one))[0] for one in columns]
    for word, (own, theta, low, high, _) in zip(together, columns, strict=True):
        assert word.value.endswith(" known") == (theta < 0.5 if word.value.startswith("leans") else high < 0.5)
        assert not (word.value.startswith("surely") and (own == 0 or low <= 0.5 <= high))
