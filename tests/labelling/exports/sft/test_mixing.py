"""The mix has the requested share, and weights follow the probability of knowing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.errors import ArgumentError
from kgprobe.labelling.exports.sft import QUESTION
from kgprobe.labelling.exports.sft.groups import KNOWN, REFUSED, ClassedFact, FactGroup
from kgprobe.labelling.exports.sft.making import TrainingExample, take_known, weights_of
from kgprobe.labelling.exports.sft.wordings import WordedExample, WordedGroup
from kgprobe.labelling.roles import TAUGHT
from kgprobe.sampling.keys import FactKey


def worded(number: int, known: float, wordings: int = 1) -> WordedGroup:
    fact = ClassedFact(FactKey(f"Q{number}", f"f{number}"), "Q0", "highly known", known)
    examples = [WordedExample(QUESTION, f"{number}, {wording}?", "", (fact,)) for wording in range(wordings)]
    return WordedGroup(FactGroup(f"Q{number}", "P1", KNOWN, (fact,)), frozenset({"Q0"}), tuple(examples))


def training(purpose: str, known: float) -> TrainingExample:
    group = worded(1, known)
    return TrainingExample(purpose, group, group.examples[0])


@given(st.integers(1, 200), st.floats(0, 0.9), st.integers(1, 4))
def test_share_is_exact_to_one_example(others: int, share: float, wordings: int) -> None:
    known = take_known((worded(number, 0.9, wordings) for number in range(2_000)), others, share)
    assert abs(len(known) - share * (len(known) + others)) <= 0.5


def test_unmet_share_names_needed_available_and_possible() -> None:
    with pytest.raises(ArgumentError, match=r"is 0.5, for which 10 examples .* 10 others; .* has 3 .* enough for 0.23"):
        take_known([worded(number, 0.9) for number in range(3)], 10, 0.5)


@given(st.lists(st.tuples(st.sampled_from((TAUGHT, REFUSED)), st.floats(0.01, 0.99)), min_size=1))
def test_weights_have_mean_one_and_the_order_of_their_rule(drawn: list[tuple[str, float]]) -> None:
    examples = [training(purpose, known) for purpose, known in drawn]
    for rule in ("known", "unknown"):
        weights = weights_of(examples, rule)
        assert sum(weights) / len(weights) == pytest.approx(1, abs=1e-5)
        expected = [known if (rule == "known") == (purpose == TAUGHT) else 1 - known for purpose, known in drawn]
        mean = sum(expected) / len(expected)
        assert weights == pytest.approx([each / mean for each in expected], abs=1e-5)


def test_weights_of_zero_are_refused() -> None:
    with pytest.raises(ArgumentError, match="every probability is 0"):
        weights_of([training(TAUGHT, 0.0)], "known")
