"""Beliefs in words: *surely* where the interval supports it, and known where own answers say so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.beliefs.summary import BeliefWord, belief_words

SURELY_KNOWN, LEANS_KNOWN, LEANS_UNKNOWN, SURELY_UNKNOWN = BeliefWord


@pytest.mark.parametrize(
    ("right", "wrong", "theta", "low", "high", "luck", "expected"),
    [
        (5, 0, 0.1, 0.01, 0.3, 0.001, SURELY_KNOWN),
        (0, 5, 0.9, 0.7, 0.99, 0.1, SURELY_UNKNOWN),
        # One half is in the interval, be it at its end.
        (2, 1, 0.33, 0.03, 0.78, 0.001, LEANS_KNOWN),
        (4, 0, 0.2, 0.1, 0.5, 0.001, LEANS_KNOWN),
        (0, 1, 0.67, 0.22, 0.97, 0.1, LEANS_UNKNOWN),
        (1, 5, 0.8, 0.5, 0.9, 0.1, LEANS_UNKNOWN),
        (1, 1, 0.5, 0.14, 0.86, 0.1, LEANS_UNKNOWN),
        # A guesser would have as many right answers once in twenty-five times, and more often.
        (2, 0, 0.2, 0.1, 0.3, 0.04, SURELY_KNOWN),
        (2, 0, 0.2, 0.1, 0.3, 0.09, LEANS_KNOWN),
        # One own answer is too few, whatever is known of other facts.
        (1, 0, 0.1, 0.01, 0.3, 0.001, LEANS_KNOWN),
        (0, 1, 0.9, 0.7, 0.99, 0.1, LEANS_UNKNOWN),
        # Answers about other facts speak against its own; these decide.
        (0, 1, 0.1, 0.01, 0.3, 0.001, LEANS_UNKNOWN),
        (1, 1, 0.1, 0.01, 0.3, 0.001, LEANS_UNKNOWN),
        (1, 0, 0.9, 0.7, 0.99, 0.1, LEANS_KNOWN),
        # No answers of its own.
        (0, 0, 0.1, 0.01, 0.3, 0.001, LEANS_KNOWN),
        (0, 0, 0.9, 0.7, 0.99, 0.1, LEANS_UNKNOWN),
    ],
)
def test_words_are_earned(
    right: int, wrong: int, theta: float, low: float, high: float, luck: float, expected: BeliefWord
) -> None:
    assert belief_words([right], [wrong], [theta], [low], [high], [luck]) == [expected]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 9),
            st.integers(0, 9),
            st.tuples(*[st.floats(0, 1)] * 3).map(sorted),
            st.floats(0, 1),
        )
    )
)
def test_of_many_facts_each_has_its_own_word(facts: list[tuple[int, int, list[float], float]]) -> None:
    columns = [(right, wrong, theta, low, high, luck) for right, wrong, (low, theta, high), luck in facts]
    together = belief_words(*(list(values) for values in zip(*columns, strict=True))) if columns else []
    assert together == [belief_words(*([value] for value in one))[0] for one in columns]
    for word, (right, wrong, theta, low, high, _) in zip(together, columns, strict=True):
        assert word.is_known == (right > wrong if right + wrong else theta < 0.5)
        assert not (word.is_sure and (right == wrong or right + wrong < 2 or low <= 0.5 <= high))
