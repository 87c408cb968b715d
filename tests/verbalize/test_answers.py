"""What answers say: yes or no, a refusal, names."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.verbalize.answers import YesNo, is_refusal, named_in, normalized, read_yes_no, sentences


@pytest.mark.parametrize(
    ("text", "yes", "explanation"),
    [
        ("Yes", True, ""),
        ("no.", False, ""),
        ("**Yes**, because it is.", True, "because it is."),
        ("Sure! No, Paris is not.", False, "Paris is not."),
        ("Certainly! The correct answer is: no", False, ""),
        ("Sure, I can help with that. No, Paris is not.", False, "Paris is not."),
        ("Certainly! Let me see.\n\nYes. It is.", True, "It is."),
        ("Certainly, it is the capital. No other city is.", True, "it is the capital. No other city is."),
        ("The answer is no.", False, ""),
        ("Right answer: no", False, ""),
        ("Answer: Yes", True, ""),
        ("A: No", False, ""),
        ("I think the answer is yes", True, ""),
        ("I would say no", False, ""),
        ("Well, yes - since 1990", True, "since 1990"),
        ("That's correct. It is.", True, "It is."),
        ("That is not correct", False, "correct"),
        ("The final answer: **No**", False, ""),
        ("Absolutely not!", False, ""),
        ("Absolutely.", True, ""),
        ("Definitely, it is", True, "it is"),
        ("  \n > Yes", True, ""),
        ("Yes. No other city is", True, "No other city is"),
        ("Not really", False, "really"),
        ("Unfortunately, no.", False, ""),
        ("To my knowledge, no", False, ""),
        ("As far as I know, yes", True, ""),
        ("Correct me if I'm wrong, but no", False, ""),
        # Neither: what begins otherwise says yes or no somewhere else, if at all.
        ("", None, ""),
        ("Yes and no", None, "Yes and no"),
        ("yes/no", None, "yes/no"),
        ("True/False: False", None, "True/False: False"),
        ("Paris", None, "Paris"),
        ("The capital is Paris, yes", None, "The capital is Paris, yes"),
        ("Nobody knows", None, "Nobody knows"),
        ("yesterday", None, "yesterday"),
        ("Not sure.", None, "Not sure."),
        ("No idea.", None, "No idea."),
        ("No information is available.", None, "No information is available."),
        ("I cannot say yes", None, "I cannot say yes"),
    ],
)
def test_the_first_word_counts(text: str, yes: bool | None, explanation: str) -> None:
    assert read_yes_no(text) == YesNo(yes, explanation)
    assert read_yes_no(text.upper()).yes is yes


@given(
    some.sampled_from(["", "Sure, ", "Answer: ", "The answer is ", "Okay. ", "**", "> ", "\n"]),
    some.sampled_from([("yes", True), ("No", False), ("YES", True), ("nO", False)]),
    some.text(max_size=30),
)
def test_what_follows_has_no_say(before: str, word: tuple[str, bool], after: str) -> None:
    # A letter, a digit or a mark that joins letters would make another word of it, "/" and "or" an answer that is both.
    follows = f". It is{after}"
    read = read_yes_no(f"{before}{word[0]}{follows}")
    assert read.yes is word[1]


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I don’t know.",
        "As an AI language model, I have no access to this.",
        "It is not possible to say.",
        "Not sure.",
        "No idea, sorry.",
        "No information is available.",
        "Unfortunately, I do not have information about it.",
        "I am unable to answer.",
    ],
)
def test_refusals(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize("text", ["Paris", "No.", "I know that one: Paris.", "He is sorry about it.", "Can Tho", ""])
def test_answers_are_no_refusals(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize(
    ("text", "names", "found"),
    [
        ("It is the Łódź Voivodeship.", ["Łódź Voivodeship", "Warsaw"], ["Łódź Voivodeship"]),
        ("são paulo!", ["Sao Paulo"], ["Sao Paulo"]),
        ("Washington, D.C., of course", ["Washington D.C.", "Washington"], ["Washington D.C.", "Washington"]),
        ("The Hague", ["Hague", "The Hague"], ["Hague", "The Hague"]),
        ("Parisian cafés", ["Paris"], []),
        ("Let us see", ["US"], []),
        ("The US, I think", ["US"], ["US"]),
        ("In 1990", ["199", "1990"], ["1990"]),
        ("日本です", ["日本"], []),
        ("日本", ["日本"], ["日本"]),
        ("anything", ["", " ", "—"], []),
    ],
)
def test_names_are_found_as_whole_words(text: str, names: list[str], found: list[str]) -> None:
    assert named_in(text, names) == found


@given(some.text(max_size=20), some.text(max_size=20))
def test_comparing_is_blind_to_case_and_space(first: str, second: str) -> None:
    assert normalized(f"{first}  {second}") == normalized(f" {first} {second} ")
    assert normalized(normalized(first)) == normalized(first) or normalized(first).split()[0] in ("the", "a", "an")


def test_every_letter_is_compared_as_it_compares_to_itself() -> None:
    letters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    assert [one for one in letters if normalized(normalized(one)) != normalized(one)] == []


def test_sentences_and_lines() -> None:
    assert sentences("No. It is Paris!\n\nReally?  Yes") == ["No.", "It is Paris!", "Really?", "Yes"]
