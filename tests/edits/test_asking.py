"""Answers about edits: the first name in a text decides, and scores equal their definition."""

import math

import pytest

import kgprobe
from kgprobe.edits import AskingOptions
from kgprobe.edits.asking import EditAsking, EditEvidence, prompt_of, read_answer, right_by_scores
from kgprobe.edits.questions import OLD, EditQuestion, NamedAnswer
from kgprobe.errors import ArgumentError
from kgprobe.models.model import Model
from tests.edits.asked import OSLO, QUESTIONS, ROME, TOKYO, question
from tests.models.tiny import byte_level, naive_score, random_model

BOTH = question("e1/8", "locality", "same subject", "He visited", expected=(ROME, TOKYO), wrong=(), every=True)
YORKS = question(
    "e1/9",
    "efficacy",
    "efficacy",
    "It is",
    expected=(NamedAnswer(("York",)),),
    wrong=(NamedAnswer(("New York",), OLD),),
)


@pytest.mark.parametrize(
    ("asked", "text", "expected"),
    [
        (QUESTIONS[0], " Rome, the eternal city.", ("Rome", "expected", True)),
        (QUESTIONS[0], "\n the city of ROMA", ("Roma", "expected", True)),
        (QUESTIONS[0], "Paris, no longer Rome", ("Paris", "old", False)),
        (QUESTIONS[0], "Rome, no longer Paris", ("Rome", "expected", True)),
        (QUESTIONS[0], "Oslo", ("Oslo", "distractor", False)),
        (QUESTIONS[0], "a large city\nRome", (None, None, False)),
        (QUESTIONS[0], "", (None, None, False)),
        (QUESTIONS[0], "Romeo", (None, None, False)),
        (YORKS, "New York", ("New York", "old", False)),
        (YORKS, "York", ("York", "expected", True)),
        (BOTH, "Rome and Tokyo", ("Rome", "expected", True)),
        (BOTH, "Rome and Oslo", ("Rome", "expected", False)),
        (QUESTIONS[3], "No, it is Rome.", ("no", "expected", True)),
        (QUESTIONS[3], "Yes.", ("yes", None, False)),
        (QUESTIONS[3], "Paris", (None, None, False)),
    ],
)
def test_read_answer_first_name_decides(
    asked: EditQuestion, text: str, expected: tuple[str | None, str | None, bool]
) -> None:
    assert read_answer(asked, text) == expected


def test_right_by_scores_compares_sums_and_roles() -> None:
    capital = QUESTIONS[0]

    def right(*values: float | None, role: str | None = None) -> bool | None:
        return right_by_scores(capital, values, lambda other: role is None or other == role)

    assert right(-1.0, -2.0, -3.0) is True
    assert right(-1.0, -0.5, -3.0) is False
    # A tie is a loss.
    assert right(-1.0, -1.0, -3.0) is False
    assert right(-2.0, -3.0, -1.0, role=OLD) is True
    assert right(-2.0, None, -1.0, role=OLD) is None
    assert right(None, -2.0, -3.0) is None
    several = question("e", "locality", "kind", "It is", expected=(ROME, TOKYO), wrong=(OSLO,))
    half = math.log(0.5)
    assert right_by_scores(several, (half - 1, half - 1, -1.1), lambda role: True) is True


def test_ask_scores_equal_plain_passes() -> None:
    tokenizer = byte_level(bos=True)
    net = random_model("gpt2", len(tokenizer), n_positions=1024)
    model = kgprobe.wrap_model(net, tokenizer, name="tiny")
    probe = EditAsking(QUESTIONS, model, AskingOptions(way="scores"))
    outcomes = probe.ask(probe.keys, [0])
    for item, outcome in zip(QUESTIONS, outcomes, strict=True):
        assert isinstance(outcome.evidence, EditEvidence)
        assert outcome.evidence.text is None
        answers = [("No",), ("Yes",)] if item.form == "yes/no" else [answer.names for answer in item.answers]
        for names, value in zip(answers, outcome.evidence.plausibilities, strict=True):
            sums = [naive_score(net, tokenizer, [0], prompt_of(item), name, eos=item.form == "text") for name in names]
            assert value == pytest.approx(math.log(sum(map(math.exp, sums))), abs=1e-3)


def test_scores_of_a_model_without_them_are_refused() -> None:
    class Silent:
        name = "silent"

    model = Model("silent", generator=Silent())  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="gives no probabilities"):
        EditAsking(QUESTIONS, model, AskingOptions(way="scores"))
