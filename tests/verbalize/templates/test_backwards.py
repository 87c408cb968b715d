"""Relations read backwards, against exchanging the placeholders by hand."""

from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.records import Relation
from kgprobe.verbalize.templates.kinds import backwards, check_template

CAPITAL = Relation(
    "P36",
    "capital",
    ("seat",),
    "of a country",
    clozes=("The capital of [X] is [Y]",),
    past_clozes=("The capital of [X] was [Y]",),
    statements=("[Y] is the capital of [X].", "[X] has the capital [Y]."),
    yes_no_questions=("Is [Y] the capital of [X]?",),
    wh_questions=("What is the capital of [X]?",),
    sentences=("[Y], the capital of [X] .", "[Y] is the capital of [X].", "[X]: [Y]."),
    answers=("Q90",),
)


def test_placeholders_are_swapped_and_clozes_end_in_subject() -> None:
    assert backwards(CAPITAL) == Relation(
        "P36",
        "capital",
        ("seat",),
        "of a country",
        clozes=("[X] is the capital of [Y]", "[X], the capital of [Y]"),
        statements=("[X] is the capital of [Y].", "[Y] has the capital [X]."),
        yes_no_questions=("Is [X] the capital of [Y]?",),
        sentences=("[X], the capital of [Y] .", "[X] is the capital of [Y].", "[Y]: [X]."),
        reverse_clozes=("The capital of [Y] is [X]",),
        reverse_past_clozes=("The capital of [Y] was [X]",),
        reverse_wh_questions=("What is the capital of [Y]?",),
    )


def test_what_a_relation_brings_backwards_comes_first() -> None:
    own = Relation(
        "r",
        statements=("[Y] belongs to [X].",),
        reverse_clozes=("The owner of [Y] is [X]", "[Y] belongs to [X]"),
        reverse_past_clozes=("[Y] belonged to [X]",),
        reverse_wh_questions=("Who owns [Y]?",),
    )
    turned = backwards(own)
    assert turned.clozes == ("The owner of [X] is [Y]", "[X] belongs to [Y]")
    assert turned.past_clozes == ("[X] belonged to [Y]",)
    assert turned.wh_questions == ("Who owns [X]?",)


WORDS = st.text("ab ,'", max_size=6)


@given(before=WORDS, between=WORDS, after=WORDS, first=st.sampled_from(["[X]", "[Y]"]))
def test_twice_backwards_is_forwards(before: str, between: str, after: str, first: str) -> None:
    second = {"[X]": "[Y]", "[Y]": "[X]"}[first]
    text = f"{before}{first}{between}{second}{after}"
    relation = Relation("r", statements=(f"{text}.",), yes_no_questions=(f"{text}?",), sentences=(text,))
    once = backwards(relation)
    twice = backwards(once)
    assert (twice.statements, twice.yes_no_questions, twice.sentences) == (
        relation.statements,
        relation.yes_no_questions,
        relation.sentences,
    )
    assert all(not check_template("cloze", cloze) for cloze in once.clozes)
