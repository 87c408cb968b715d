"""Probability against one forward pass a name."""

import math

import numpy as np
import pytest
from tokenizers import normalizers

from kgprobe.papers.baselines.items import BaselineItem
from kgprobe.papers.baselines.probability import log_probability, probability
from tests.models.tiny import naive_score
from tests.papers.baselines.examples import ASKED, NAMELESS, TOO_LONG, tiny

# As English puts them: an article where the sentence has none.
IN_THE_BLANK = [
    ["Tokyo", "Tōkyō", "東京", "Tokyo City"],
    ["Poland", "Republic of Poland"],
    ["the Netherlands", "The Netherlands"],
    # Of similar length, so that each has a part in the sum.
    ["Tokyo", "York", "City"],
]


@pytest.mark.parametrize("eos", [True, False])
def test_it_is_the_sum_over_names(eos: bool) -> None:
    scorer = tiny(eos=eos)
    asked = [*ASKED, BaselineItem(ASKED[0].cloze, ("Tokyo", "York", "City"))]
    found = probability(scorer, asked)
    assert not found.reasons
    for one, names, value in zip(asked, IN_THE_BLANK, found.values, strict=True):
        naive = [naive_score(scorer.model, scorer.tokenizer, [0], one.cloze.prompt, name) for name in names]
        assert value == pytest.approx(sum(map(math.exp, naive)), rel=1e-3, abs=0)
    np.testing.assert_allclose(np.exp(log_probability(scorer, asked).values), found.values)


def test_what_cannot_be_asked_has_a_reason_and_no_value() -> None:
    found = probability(tiny(), [NAMELESS, ASKED[0], TOO_LONG])
    assert np.isnan(found.values).tolist() == [True, False, True]
    assert found.values[1] == pytest.approx(probability(tiny(), ASKED).values[0], rel=1e-4)
    assert found.reasons[0] == "all names of its object are white space"
    assert "more than the 256" in found.reasons[2]
    assert len(found.reasons) == 2
    assert len(probability(tiny(), []).values) == 0


def test_name_that_tokenizes_to_nothing_is_a_reason() -> None:
    scorer = tiny()
    scorer.tokenizer.backend_tokenizer.normalizer = normalizers.Replace(" 東京", "")
    found = probability(scorer, [ASKED[0]])
    assert np.isnan(found.values).all()
    assert "tokenizes to nothing" in found.reasons[0]


def test_small_probability_has_a_logarithm() -> None:
    scorer = tiny()
    long = BaselineItem(ASKED[0].cloze, ("x" * 200,))
    assert probability(scorer, [long]).values[0] == 0
    assert np.isfinite(log_probability(scorer, [long]).values[0])
