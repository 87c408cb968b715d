"""Questions that a model words: what it is shown, what is read from its answers, and what is held against them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.base.records import Relation
from kgprobe.verbalize.question_writing import QuestionTask, objections, writing_prompt, written_question

CAPITAL = Relation(
    "P36",
    "capital",
    aliases=("capital city", "seat of government"),
    description="city in which the government of the country sits",
    clozes=("The capital of [X] is [Y]",),
    statements=("[Y] is the capital of [X].",),
    yes_no_questions=("Is [Y] the capital of [X]?",),
    wh_questions=("What is the capital of [X]?",),
)
AUTHOR = Relation(
    "P50",
    "author",
    description="writer of the book",
    statements=("[X] was written by [Y].", "[Y] wrote [X]."),
    yes_no_questions=("Did [Y] write [X]?", "Was [X] written by [Y]?"),
    wh_questions=("Who wrote [X]?",),
)
CONTINENT = Relation(
    "P30",
    "continent",
    yes_no_questions=("Is [X] on the continent of [Y]?",),
    wh_questions=("On which continent is [X]?",),
)
BIRTHPLACE = Relation(
    "P19",
    "place of birth",
    aliases=("born in",),
    description="city in which the person was born",
    yes_no_questions=("Was [X] born in [Y]?",),
    wh_questions=("In which city was [X] born?",),
)

YES_NO = QuestionTask("Japan (also called Nippon)", ("Japan", "Nippon"), ("Kyoto", "Kyōto"), ("Tokyo", "Edo"), CAPITAL)
WH = QuestionTask("Japan (also called Nippon)", ("Japan", "Nippon"), (), ("Tokyo", "Edo"), CAPITAL)
BOOK = QuestionTask("Emma", ("Emma",), ("Jane Austen",), (), AUTHOR)
WHOSE_BOOK = QuestionTask("Emma", ("Emma",), (), ("Jane Austen", "Austen"), AUTHOR)
NETHERLANDS = QuestionTask("the Netherlands", ("Netherlands", "NL"), ("The Hague",), (), CAPITAL)


def test_prompt_has_the_object_only_within_the_question() -> None:
    asked = writing_prompt(YES_NO, with_alias=False).split("\n\n")[-1]
    assert asked == (
        "Subject: Japan (also called Nippon)\n"
        "Relation: capital (city in which the government of the country sits)\n"
        "Object: Kyoto\n"
        "Question:"
    )
    prompt = writing_prompt(WH, with_alias=False)
    assert "Object:" not in prompt
    assert "Tokyo" not in prompt
    assert prompt.endswith("(city in which the government of the country sits)\nQuestion:")
    assert "Relation: P9\nQ" in writing_prompt(
        QuestionTask("a\nb", ("a",), (), (), Relation("P9")), with_alias=False
    ).replace("Subject: a b\n", "")


@pytest.mark.parametrize("wanted", [YES_NO, WH], ids=["yes/no", "wh"])
def test_examples_are_questions_of_the_kind_that_is_wanted(wanted: QuestionTask) -> None:
    for with_alias in (False, True):
        prompt = writing_prompt(wanted, with_alias=with_alias)
        questions = re.findall(r"Question: (.+)", prompt)
        assert len(questions) >= 3
        assert all(question.endswith("?") and "[" not in question for question in questions)
        assert all(("(also called" in question) == with_alias for question in questions)
        begins = "Is|Was|Does|Did" if wanted.shown else "What|Who|Which"
        assert all(re.match(begins, question) for question in questions)


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("Is it so?", "Is it so?"),
        (' "Is it so?" ', "Is it so?"),
        ("Question: “Is it so?”\nAnswer: yes", "Is it so?"),
        ("1. **Is it so?**", "Is it so?"),
        ("Sure! Here is one:\n\n- Is it so?\n- Is it not?", "Is it so?"),
        ("It is so.\nYes.", "It is so."),
        ("\n \n", ""),
        ("", ""),
    ],
)
def test_question_is_read_from_an_answer(answer: str, question: str) -> None:
    assert written_question(answer) == question


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Is Kyoto the capital of Japan?", YES_NO),
        ("Is Kyōto the capital of Nippon?", YES_NO),
        ("Is the capital of Japan Kyoto?", YES_NO),
        ("Is Kyoto the capital city of Japan?", YES_NO),
        ("Is it true that the capital of Japan is Kyoto?", YES_NO),
        ("Is Kyoto the city that is the capital of the country Japan?", YES_NO),
        ("What is the capital of Japan?", WH),
        ("Which city is the capital of Nippon?", WH),
        ("What is the capital of Japan called?", WH),
        ("What is the seat of government of Japan?", WH),
        ("Is The Hague the capital of the Netherlands?", NETHERLANDS),
        ("Is The Hague the Netherlands' capital?", NETHERLANDS),
        ("What is Japan's capital?", WH),
        ("Was Emma written by Jane Austen?", BOOK),
        ("Did Jane Austen write Emma?", BOOK),
        ("Was Jane Austen the author of Emma?", BOOK),
        ("Who was Emma written by?", WHOSE_BOOK),
        ("By whom was Emma written?", WHOSE_BOOK),
        ("Who was the author of the book Emma?", WHOSE_BOOK),
        ("Where was Dvořák born?", QuestionTask("Dvořák", ("Dvořák",), (), ("Nelahozeves",), BIRTHPLACE)),
        ("In what city was Dvořák born?", QuestionTask("Dvořák", ("Dvořák",), (), ("Nelahozeves",), BIRTHPLACE)),
        ("Is Japan on the continent of Asia?", QuestionTask("Japan", ("Japan",), ("Asia",), ("Asia",), CONTINENT)),
        ("Did Who? write Emma?", QuestionTask("Emma", ("Emma",), ("Who?",), (), AUTHOR)),
    ],
)
def test_nothing_is_held_against_a_good_question(text: str, wanted: QuestionTask) -> None:
    assert objections(text, wanted) == []


@pytest.mark.parametrize(
    ("text", "wanted", "reason"),
    [
        (" ", YES_NO, "is empty"),
        ("Is Kyoto the\ncapital of Japan?", YES_NO, "has more than one line"),
        ("Is Kyoto  the capital of Japan?", YES_NO, "reads badly"),
        ("Is Kyoto the capital of [X] Japan?", YES_NO, "contains a placeholder"),
        ("Is Kyoto the capital of Japan ...?", YES_NO, "contains a placeholder"),
        ("What is X the capital of Japan?", WH, "contains a placeholder"),
        ("Is Kyoto the capital of Japan.", YES_NO, "does not end in a question mark"),
        ("Is Kyoto the capital of Japan? Yes", YES_NO, "does not end in a question mark"),
        ("What is the capital? Is it the capital of Japan?", WH, "is more than one question"),
        ("Japan has a capital. What is the capital of it?", WH, "is more than one question"),
        (f"Is Kyoto the {'capital ' * 20}of Japan?", YES_NO, "has more than 120 characters without names"),
        ("Kyoto is the capital of Japan?", YES_NO, "does not begin with its verb (Is, Does, Was, …)"),
        ("What is the capital of Japan, Kyoto?", YES_NO, "does not begin with its verb (Is, Does, Was, …)"),
        ("Is the capital of Japan a city?", WH, "does not begin with a question word (Who, In which city, …)"),
        ("Japan has what capital?", WH, "does not begin with a question word (Who, In which city, …)"),
        ("Is Kyoto the the capital of Japan?", YES_NO, "reads badly"),
        ("Is Kyoto the current capital of Japan?", YES_NO, "reads badly"),
        ("Is Kyoto the capital of the Japan?", YES_NO, "reads badly"),
        (
            "Is the Japan on the continent of Asia?",
            QuestionTask("Japan", ("Japan",), ("Asia",), ("Asia",), CONTINENT),
            "reads badly",
        ),
        ("Is Kyoto the capital?", YES_NO, "does not name its subject exactly once"),
        ("Is Kyoto the capital of Japanese?", YES_NO, "does not name its subject exactly once"),
        ("Is Japan's Kyoto the capital of Japan?", YES_NO, "does not name its subject exactly once"),
        ("What is the capital of the country?", WH, "does not name its subject exactly once"),
        ("Is that city the capital of Japan?", YES_NO, "does not name its object exactly once"),
        ("Is Kyotos the capital of Japan?", YES_NO, "does not name its object exactly once"),
        ("What is Tokyo, the capital of Japan?", WH, "contains a right answer"),
        ("What is the capital of Japan, once edo?", WH, "contains a right answer"),
        ("Is Kyoto or Tokyo the capital of Japan?", YES_NO, "contains a right answer"),
        ("Who wrote Emma, !!!?", QuestionTask("Emma", ("Emma",), (), ("!!!",), AUTHOR), "contains a right answer"),
        ("Is Kyoto a city in Japan?", YES_NO, "does not use the words of a name or template of its relation"),
        ("Is Emma the mother of Jane Austen?", BOOK, "does not use the words of a name or template of its relation"),
        ("Is Japan the capital of Kyoto?", YES_NO, "may confuse the subject with the object"),
        ("What is Japan the capital of?", WH, "may confuse the subject with the object"),
        ("Is Japan Kyoto's capital?", YES_NO, "may confuse the subject with the object"),
        ("Did Emma write Jane Austen?", BOOK, "may confuse the subject with the object"),
        (
            "Is Japan the continent of Asia?",
            QuestionTask("Japan", ("Japan",), ("Asia",), (), CONTINENT),
            "may confuse the subject with the object",
        ),
        ("Is Kyoto the former capital of Japan?", YES_NO, "adds words that do not describe the relation"),
        ("Is Kyoto the capital of Japan in 1868?", YES_NO, "adds words that do not describe the relation"),
        ("Who is the mayor of the capital of Japan?", WH, "adds words that do not describe the relation"),
        ("Is Kyoto not the capital of Japan?", YES_NO, "contains a negation"),
        ("Isn't Kyoto the capital of Japan?", YES_NO, "contains a negation"),
        ("Is Kyoto the capital or the city of Japan?", YES_NO, "contains alternatives"),
        ("Was Kyoto the capital of Japan?", YES_NO, "differs in tense from the templates of its relation"),
        ("Who is the capital of Japan?", WH, "asks for something else"),
        ("What is the author of Emma?", WHOSE_BOOK, "asks for something else"),
        (
            "When was Dvořák born?",
            QuestionTask("Dvořák", ("Dvořák",), (), ("Nelahozeves",), BIRTHPLACE),
            "asks for something else",
        ),
        (
            "In which year was Dvořák born?",
            QuestionTask("Dvořák", ("Dvořák",), (), ("Nelahozeves",), BIRTHPLACE),
            "asks for something else",
        ),
    ],
)
def test_what_is_held_against_a_question(text: str, wanted: QuestionTask, reason: str) -> None:
    assert reason in {found.partition(":")[0] for found in objections(text, wanted)}


def test_all_reasons_are_told() -> None:
    found = {reason.partition(":")[0] for reason in objections("Tokyo was not the former capital", WH)}
    assert found >= {
        "does not end in a question mark",
        "does not begin with a question word (Who, In which city, …)",
        "does not name its subject exactly once",
        "contains a right answer",
        "adds words that do not describe the relation",
        "contains a negation",
        "differs in tense from the templates of its relation",
    }


def test_aliases_of_the_subject_are_asked_for_if_needed() -> None:
    both = "Japan (also called Nippon)"
    wanted = QuestionTask(both, (both,), (), ("Tokyo",), CAPITAL)
    assert objections(f"What is the capital of {both}?", wanted) == []
    assert "does not name its subject exactly once: 0 times" in objections("What is the capital of Japan?", wanted)


NAMES = some.sampled_from(
    [
        "Tokyo",
        "New York",
        "York",
        "Łódź",
        "Jean-Luc",
        "C++",
        "A+",
        "U.S.",
        "the Hague",
        "N'Djamena",
        "1984",
        "東京",
        "!!",
    ]
)
PIECES = some.sampled_from(
    [
        "What is",
        "Which city is",
        "Is",
        "the",
        "capital",
        "capital city",
        "of",
        "is",
        "called",
        "that",
        ",",
        "'s",
        "?",
        " ",
    ]
)


@given(some.data())
def test_wh_question_has_its_subject_and_no_answer(data: some.DataObject) -> None:
    subject, right = data.draw(NAMES), data.draw(some.lists(NAMES, min_size=1, max_size=2))
    middle = data.draw(some.lists(PIECES | NAMES | some.just(subject), max_size=4))
    text = " ".join(["What is the capital of", *middle]).replace(" ?", "?") + "?"
    if not objections(text, QuestionTask(subject, (subject,), (), right, CAPITAL)):
        assert len(re.findall(rf"(?<!\w){re.escape(subject)}(?!\w)", text)) == 1
        assert not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in right)
        assert text.count("?") == 1


@given(some.data())
def test_yes_no_question_has_both_ends_and_no_other_answer(data: some.DataObject) -> None:
    subject, shown, other = data.draw(some.permutations(["Japan", "Kyoto", "Tokyo", "Łódź", "New York"]))[:3]
    words = some.sampled_from(["the", "capital", "of", "is", "city", subject, shown, other])
    text = " ".join(["Is", *data.draw(some.lists(words, min_size=3, max_size=7))]) + "?"
    if not objections(text, QuestionTask(subject, (subject,), (shown,), (other,), CAPITAL)):
        assert text.count(subject) == text.count(shown) == 1
        assert other not in text
        # Whatever is the capital stands before it, or behind the one it is the capital of.
        assert re.search(f"{shown}.* capital.* {subject}|capital.* {subject}.* {shown}", text)
