"""What kind of mistake a wrong answer is."""

from dataclasses import replace

import pytest

from kgprobe.models.generating.generator import Answer
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.questions.evidence import RightAnswer
from kgprobe.probes.questions.grading import ErrorClass, GradedAnswer, class_after, follow_ups, read_error, verify
from kgprobe.probes.questions.items import FactQuestion
from kgprobe.sampling.question_negatives import Negative
from tests.probes.questions.test_grading import OPPOSED, POSITIVE, WH

TEMPLATES = ["[Y] is the capital of [X].", "Does [X] have [Y] as its capital?"]
MUNICH = Negative("Q1726", "Munich", (), former=False)
PRESENT = replace(OPPOSED, negative=MUNICH, text="Is Munich the capital of Germany?")
FORMERLY = replace(WH, former=[RightAnswer("Q586", ("Bonn", "Federal City of Bonn"))])


@pytest.mark.parametrize(
    ("question", "text", "error"),
    [
        (POSITIVE, "As an AI, I can't answer.", ErrorClass.REFUSED),
        (POSITIVE, "Berlin", ErrorClass.OFF_FORMAT),
        # Bonn was the capital.
        (OPPOSED, "Yes, Bonn is the capital of Germany.", ErrorClass.OBSOLETE),
        (PRESENT, "Yes, Munich is the capital of Germany.", None),
        (FORMERLY, "Bonn", ErrorClass.OBSOLETE),
        (FORMERLY, "the Federal City of Bonn.", ErrorClass.OBSOLETE),
        (FORMERLY, "Munich", None),
        (WH, "Bonn", None),
        # The explanation says what the first word denies.
        (POSITIVE, "No, Berlin is the capital of Germany.", ErrorClass.SELF_CONTRADICTION),
        (POSITIVE, "No. It has Berlin as its capital.", ErrorClass.SELF_CONTRADICTION),
        (PRESENT, "Yes, Berlin is the capital of Germany.", ErrorClass.SELF_CONTRADICTION),
        # It does not.
        (POSITIVE, "No, Berlin is not the capital of Germany.", None),
        (POSITIVE, "No, Berlin isn't the capital of Germany.", None),
        (POSITIVE, "No, Berlin is the largest city of Germany.", None),
        (POSITIVE, "No, Bonn is the capital of Germany.", None),
        (POSITIVE, "No, Berlin is the capital of Prussia.", None),
        (POSITIVE, "No.", None),
        (PRESENT, "Yes, Munich, like Berlin, is the capital of Germany.", None),
    ],
)
def test_what_the_answer_alone_shows(question: FactQuestion, text: str, error: ErrorClass | None) -> None:
    (verified,) = verify([question], [Answer(text)], None)
    assert verified.verdict.is_failure
    assert read_error(question, Answer(text), verified, TEMPLATES) is error


def test_follow_ups_use_other_words_and_the_fact_itself() -> None:
    about = replace(POSITIVE, text="Is it Berlin?")
    others = ["first?", "second?"]
    assert [one.text for one in follow_ups(POSITIVE, others, about, 5)] == others
    assert [one.text for one in follow_ups(PRESENT, others, about, 2)] == ["Is it Berlin?", "first?"]
    assert [one.text for one in follow_ups(WH, others, about, 2)] == ["Is it Berlin?", "first?"]
    assert follow_ups(WH, others, about, 0) == []
    asked = follow_ups(PRESENT, others, about, 3)
    assert [one.expected for one in asked] == [True, False, False]


def test_yes_to_one_of_several_right_answers_shows_nothing() -> None:
    several = replace(PRESENT, right=[*PRESENT.right, RightAnswer("Q1", ("Bonn",))])
    assert [one.text for one in follow_ups(several, ["other?"], POSITIVE, 2)] == ["other?"]
    # Who was asked for all and left it out has said that it is none.
    asked_for_all = replace(WH, right=several.right)
    assert [one.text for one in follow_ups(asked_for_all, ["other?"], POSITIVE, 2)] == [POSITIVE.text, "other?"]


def test_who_names_others_that_are_right_leaves_one_out() -> None:
    several = replace(WH, right=[*WH.right, RightAnswer("Q1", ("Potsdam",))])
    for text, error in [("Potsdam", ErrorClass.INCOMPLETE), ("Munich", None), ("Bonn, Potsdam", ErrorClass.OBSOLETE)]:
        question = replace(several, former=FORMERLY.former)
        (verified,) = verify([question], [Answer(text)], None)
        assert read_error(question, Answer(text), verified, TEMPLATES) is error
    # A grader that knows all right objects says that none is named.
    denied = GradedAnswer(Verdict.WRONG, named_beside=["Potsdam"], graded=False, credited_own=False, credited_any=False)
    assert read_error(several, Answer("not Potsdam"), denied, TEMPLATES) is None


@pytest.mark.parametrize(
    ("question", "text", "error"),
    [
        (WH, "Atlantis", ErrorClass.OUTSIDE),
        (WH, "Atlantis is the capital of Germany.", ErrorClass.OUTSIDE),
        (WH, "Munich", ErrorClass.FACTUAL),
        (WH, "It is München, or Munich.", ErrorClass.FACTUAL),
        (POSITIVE, "No, it is Atlantis.", ErrorClass.FACTUAL),
    ],
)
def test_name_outside_the_graph_is_no_factual_error(question: FactQuestion, text: str, error: ErrorClass) -> None:
    names = {"munich", "germany", "berlin"}
    assert class_after(question, Answer(text), [GradedAnswer(Verdict.WRONG)], names.__contains__) is error


@pytest.mark.parametrize(
    ("verdicts", "error"),
    [
        ([], ErrorClass.FACTUAL),
        ([Verdict.WRONG, Verdict.WRONG], ErrorClass.FACTUAL),
        ([Verdict.WRONG, Verdict.RIGHT], ErrorClass.INCONSISTENT),
        ([Verdict.UNANSWERED, Verdict.RIGHT], ErrorClass.INCONSISTENT),
        ([Verdict.REFUSED, Verdict.OFF_FORMAT], ErrorClass.FACTUAL),
        ([Verdict.WRONG, Verdict.UNANSWERED], ErrorClass.NOT_FOLLOWED_UP),
    ],
)
def test_what_the_follow_ups_make_of_a_mistake(verdicts: list[Verdict], error: ErrorClass) -> None:
    followed = [GradedAnswer(verdict) for verdict in verdicts]
    assert class_after(POSITIVE, Answer("No."), followed, lambda _: False) is error
