"""A run's answers, counted by kind of question and by mistake."""

from typing import Any

from kgprobe.analysis.answers import SHOWN_EXAMPLES, Agreement, WrongAnswer, count_answers
from kgprobe.analysis.rates import share


def outcome(verdict: str, **evidence: Any) -> dict[str, Any]:
    return {"fact": "f", "verdict": verdict, "evidence": evidence}


YES_NO = {"kind": "yes/no", "question": "Is it?", "answer": "No.", "chance": 0.5}
WH = {
    "kind": "wh",
    "question": "What is it?",
    "answer": "that",
    "chance": 0.0,
    "right": [{"id": "t", "names": ["this", "this one"]}],
}
OUTCOMES = [
    outcome("right", **YES_NO, expected=False),
    outcome("wrong", **YES_NO, expected=True, error="factual"),
    outcome("refused", **YES_NO, expected=False, error="refused"),
    outcome("off-format", **YES_NO, expected=True, error="off-format"),
    outcome("right", **WH, named=["that"], judged=True),
    outcome("wrong", **WH, named=["that"], judged=False, error="factual"),
    outcome("wrong", **WH, named=[], judged=None, judge_unread=True, error="obsolete"),
    outcome("unanswered", **YES_NO),
    outcome("unaskable", relation="P1"),
    # A probe without kinds of questions.
    outcome("right", chance=0.1),
]


def test_answers_are_counted_by_kind() -> None:
    wh, yes_no = count_answers(OUTCOMES).kinds
    assert (wh.name, wh.asked, wh.right, wh.refused, wh.off_format, wh.chance) == ("wh", 3, share(1, 3), 0, 0, 0.0)
    assert (yes_no.name, yes_no.asked, yes_no.right, yes_no.chance) == ("yes/no", 4, share(1, 4), 0.5)
    assert (yes_no.refused, yes_no.off_format) == (1, 1)


def test_mistakes_are_counted_with_what_would_have_been_right() -> None:
    errors = count_answers(OUTCOMES).errors
    assert [(one.name, one.count, one.share) for one in errors] == [
        ("factual", 2, 0.4),
        ("refused", 1, 0.2),
        ("off-format", 1, 0.2),
        ("obsolete", 1, 0.2),
    ]
    assert errors[0].examples == [WrongAnswer("Is it?", "No.", "yes"), WrongAnswer("What is it?", "that", "this")]
    assert errors[1].examples == [WrongAnswer("Is it?", "No.", "no")]
    assert errors[3].examples == [WrongAnswer("What is it?", "that", "this")]
    many = count_answers([OUTCOMES[1]] * 50).errors[0]
    assert (many.count, len(many.examples)) == (50, SHOWN_EXAMPLES)


def test_judge_and_names_are_compared_where_both_speak() -> None:
    assert count_answers(OUTCOMES).agreement == Agreement(judged=2, agreed=1, unread=1)


def test_no_outcomes_are_no_answers() -> None:
    nothing = count_answers([])
    assert (nothing.kinds, nothing.errors, nothing.agreement) == ([], [], Agreement(0, 0))
