"""Sentences of data sets, filled as they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.verbalize.sentences import FilledSentence, fill_verbatim

LABELS = some.text(min_size=1, max_size=8) | some.sampled_from(["[Y]", "[X]", "ﬁsh", "the Netherlands", "😀"])
TEMPLATES = some.lists(some.sampled_from(["[X]", "[Y]", "the ", " is ", "a/an ", ".", "'s", "s"]), max_size=6).map(
    lambda parts: "".join([*parts, "[Y]"])
)


@given(TEMPLATES, LABELS, LABELS)
def test_span_is_the_first_mention_of_the_answer(template: str, subject: str, answer: str) -> None:
    filled = fill_verbatim(template, subject, answer)
    said = filled.text[filled.start : filled.end]
    assert said == answer if filled.start else said == answer[:1].upper() + answer[1:]


@given(TEMPLATES, LABELS, LABELS)
def test_sentence_is_that_of_lm_pub_quiz(template: str, subject: str, answer: str) -> None:
    templating = pytest.importorskip("lm_pub_quiz.evaluators.templating_util", reason="lm-pub-quiz is not installed")
    text, spans = templating.Templater().replace_placeholders(template=template, subject=subject, answer=answer)
    filled = fill_verbatim(template, subject, answer)
    assert filled.text == text
    # Of a ligature that becomes two letters, theirs is one off.
    before = template[: template.index("[Y]")].replace("[X]", subject)
    if len(filled.text[: filled.start]) == len(before):
        assert (filled.start, filled.end) == spans["answer"][0] or not before


def test_neither_articles_nor_agreement_are_put() -> None:
    assert fill_verbatim("[X]'s food is a/an [Y].", "the Netherlands", "apple") == FilledSentence(
        "The Netherlands's food is a/an apple.", 31, 36
    )
    assert fill_verbatim("[Y] and [Y] of [X]", "[Y]", "ab") == FilledSentence("Ab and ab of [Y]", 0, 2)
