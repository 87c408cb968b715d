"""Templates that cannot be used are found."""

import pytest

from kgprobe.base.errors import UnknownNameError
from kgprobe.verbalize.templates.kinds import KINDS, REVERSE_KINDS, check_template

GOOD = {
    "cloze": "The capital of [X] is [Y]",
    "mined_cloze": "[X] ( capital : [Y]",
    "past_cloze": "The capital of [X] was [Y]",
    "statement": "[Y] is the capital of [X].",
    "yes_no_question": "Is [Y] the capital of [X]?",
    "wh_question": "What is the capital of [X]?",
    "reverse_cloze": "[Y] is the capital of [X]",
    "reverse_past_cloze": "[Y] was the capital of [X]",
    "reverse_wh_question": "Of which country is [Y] the capital?",
}
BAD = [
    ("cloze", "The capital of [X] is [Y].", "does not end in [Y]"),
    ("cloze", "[Y] is the capital of [X]", "does not end in [Y]"),
    ("cloze", "The capital is [Y]", "has [X] 0 times where 1 is expected"),
    ("mined_cloze", "[Y], capital of [X]", "does not end in [Y]"),
    ("past_cloze", "[Y] was the capital of [X]", "does not end in [Y]"),
    ("statement", "[Y] is the capital of [X]", "does not end in a full stop"),
    ("statement", "[Y] is  the capital of [X].", "has white space at an end, or more than one space in a row"),
    ("statement", "[Y] is the capital of [Z], [X].", "has a bracket that is neither [X] nor [Y]"),
    ("statement", "[X], [X] has [Y].", "has [X] 2 times where 1 is expected"),
    ("yes_no_question", "Is [Y] the capital of [X].", "does not end in a question mark"),
    ("yes_no_question", "Has [X] a capital?", "has [Y] 0 times where 1 is expected"),
    ("wh_question", "Of what is [Y] the capital, [X]?", "has [Y] 1 times where 0 is expected"),
    ("reverse_cloze", "The capital of [X] is [Y]", "does not end in [X]"),
    ("reverse_past_cloze", "The capital was [X]", "has [Y] 0 times where 1 is expected"),
    ("reverse_wh_question", "Is [Y] the capital of [X]?", "has [X] 1 times where 0 is expected"),
]


@pytest.mark.parametrize("kind", [*KINDS, *REVERSE_KINDS])
def test_good(kind: str) -> None:
    assert check_template(kind, GOOD[kind]) == []


@pytest.mark.parametrize(("kind", "text", "problem"), BAD)
def test_bad(kind: str, text: str, problem: str) -> None:
    assert check_template(kind, text) == [problem]


def test_several_problems_are_all_named() -> None:
    assert len(check_template("wh_question", "what is  it")) == 3


def test_unknown_kind() -> None:
    with pytest.raises(
        UnknownNameError, match="Unknown kind of template 'poem'; expected one of cloze, mined_cloze, past_cloze"
    ):
        check_template("poem", "[X] [Y]")
