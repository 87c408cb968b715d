"""ROUGE-L against the longest common subsequence, found by trying all."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from rouge_score.rouge_scorer import RougeScorer

from kgprobe.papers.baselines.items import BaselineItem, Continued
from kgprobe.papers.baselines.rouge import rouge_l
from kgprobe.verbalize.sentences import Cloze

CLOZE = Cloze("[X] is in [Y]", "It")


def naive_f(name: list[str], line: list[str]) -> float:
    common = max(
        (size for size in range(len(name) + 1) for its in combinations(name, size) if is_within(its, line)), default=0
    )
    if common == 0:
        return 0.0
    precision, recall = common / len(line), common / len(name)
    return 2 * precision * recall / (precision + recall)


def is_within(words: tuple[str, ...], line: list[str]) -> bool:
    rest = iter(line)
    return all(word in rest for word in words)


texts = some.lists(some.sampled_from(["a", "b", "c", "łódź", "東京"]), max_size=5)


@given(names=some.lists(texts, min_size=1, max_size=3), lines=some.lists(texts, min_size=1, max_size=3))
def test_it_is_the_best_of_all_pairs(names: list[list[str]], lines: list[list[str]]) -> None:
    asked = [BaselineItem(CLOZE, tuple(", ".join(name).upper() for name in names))]
    (value,) = rouge_l(asked, Continued([[f"({' '.join(line)})" for line in lines]])).values
    if any(names):
        assert value == pytest.approx(max(naive_f(name, line) for name in names if name for line in lines))
    else:
        assert np.isnan(value)


@given(name=some.text("ab ß", min_size=1, max_size=6), line=some.text("ab ß", max_size=6))
def test_of_uncut_continuations_it_is_that_of_characters(name: str, line: str) -> None:
    found = rouge_l([BaselineItem(CLOZE, (name,))], Continued([[line]], uncut=True))
    if name.strip():
        assert found.values[0] == pytest.approx(naive_f(list(name.strip()), list(line)))
    else:
        assert found.reasons == {0: "all names of its object are white space"}


def test_on_plain_english_it_is_the_packages_own() -> None:
    name, line = "Old New York", "the city that never sleeps: New York!"
    theirs = RougeScorer(["rougeL"], use_stemmer=False).score(name, line)["rougeL"].fmeasure
    assert rouge_l([BaselineItem(CLOZE, (name,))], Continued([[line]])).values[0] == pytest.approx(theirs)
    assert 0 < theirs < 1


def test_article_that_the_sentence_asks_for_costs_nothing() -> None:
    asked = [BaselineItem(CLOZE, ("Netherlands",))] * 2
    assert rouge_l(asked, Continued([["the Netherlands"], ["Netherlands"]])).values.tolist() == [1, 1]


def test_reasons() -> None:
    asked = [
        BaselineItem(CLOZE, ("!!!",)),
        BaselineItem(CLOZE, (" ",)),
        BaselineItem(CLOZE, ("York",)),
        BaselineItem(CLOZE, ("York",)),
    ]
    found = rouge_l(asked, Continued([["!!!"], ["York"], [""], []], {3: "too long"}))
    assert np.isnan(found.values).tolist() == [True, True, False, True]
    assert found.values[2] == 0
    assert found.reasons == {
        0: "no name of its object has a letter or digit",
        1: "all names of its object are white space",
        3: "too long",
    }
