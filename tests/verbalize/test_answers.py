"""What answers say: yes or no, a refusal, names."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.verbalize.answers import (
    YesNo,
    all_mentions,
    is_refusal,
    mentions_in,
    named_in,
    names_anything,
    normalized,
    read_yes_no,
    sentences,
)

NAME_SPELLINGS = Path(__file__).parent.parent / "data" / "name_spellings.tsv"
REFUSALS = NAME_SPELLINGS.with_name("refusals.tsv")


@pytest.mark.parametrize(
    ("text", "yes", "explanation"),
    [
        ("Yes", True, ""),
        ("**Yes**, because it is.", True, "because it is."),
        ("Sure! No, Paris is not.", False, "Paris is not."),
        ("Certainly! The correct answer is: no", False, ""),
        ("Sure, I can help with that. No, Paris is not.", False, "Paris is not."),
        ("Certainly! Let me see.\n\nYes. It is.", True, "It is."),
        ("Certainly, it is the capital. No other city is.", True, "it is the capital. No other city is."),
        ("The answer is no.", False, ""),
        ("Right answer: no", False, ""),
        ("I think the answer is yes", True, ""),
        ("I would say no", False, ""),
        ("Well, yes - since 1990", True, "since 1990"),
        ("That's correct. It is.", True, "It is."),
        ("That is not correct", False, "correct"),
        ("The final answer: **No**", False, ""),
        ("Absolutely not!", False, ""),
        ("Absolutely.", True, ""),
        ("Definitely, it is", True, "it is"),
        ("Yes. No other city is", True, "No other city is"),
        ("Not really", False, "really"),
        ("Unfortunately, no.", False, ""),
        ("To my knowledge, no", False, ""),
        ("As far as I know, yes", True, ""),
        ("Correct me if I'm wrong, but no", False, ""),
        # Neither: what begins otherwise says yes or no somewhere else, if at all.
        ("", None, ""),
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
def test_first_word_counts(text: str, yes: bool | None, explanation: str) -> None:
    assert read_yes_no(text) == YesNo(yes, explanation)
    assert read_yes_no(text.upper()).yes is yes


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("No doubt about it: yes, it is.", True),
        ("No doubt.", True),
        ("No doubt about that!", True),
        ("Without any doubt: no", False),
        ("Absolutely, no doubt", True),
        ("Certainly, without question.", True),
        ("There is no doubt: yes.", True),
        ("Not surprisingly, yes.", True),
        ("Not surprisingly, no.", False),
        ("Sure, no problem. No, it is not.", False),
        ("No, it is not.", False),
        ("No it is not", False),
        ("No, no, it is not.", False),
        ("__No__, it is not", False),
        ("Nope", False),
        ("No way.", False),
        ("No longer.", False),
        ("No — since 1990.", False),
        ("No…", False),
        ("Yes — it is.", True),
        ("Yes, no doubt.", True),
        ("Yes, no other city is.", True),
        ("Yes; without a doubt.", True),
        ("Not at all.", False),
        ("Not Paris, Lyon.", False),
        ("Not to my knowledge.", False),
        ("Not any more", False),
        # What is said of something else, or is taken back.
        ("No doubt Paris is the capital.", None),
        ("There is no doubt that Paris is the capital.", None),
        ("No question has one answer.", None),
        ("No one knows.", None),
        ("No-one knows", None),
        ("No-brainer: Paris", None),
        ("No other city is the capital.", None),
        ("No city but Paris", None),
        ("Not only is it the capital, it is the largest city.", None),
        ("Not just the capital", None),
        ("Not all of it.", None),
        ("Not always.", None),
        ("Not necessarily", None),
        ("Not to be confused with Lyon", None),
        ("Not wrong.", None),
        ("Not applicable", None),
        ("Not an easy question", None),
        ("No, sorry: yes.", None),
        ("Right now, Paris is", None),
    ],
)
def test_yes_no_reading_ignores_words_of_other_meaning(text: str, yes: bool | None) -> None:
    assert read_yes_no(text).yes is yes
    assert read_yes_no(text.upper()).yes is yes


def test_name_right_behind_no_begins_what_is_said() -> None:
    assert read_yes_no("No Paris is not the capital").yes is False
    assert read_yes_no("No capital is called so").yes is None


CERTAIN = [
    "No doubt",
    "No question",
    "Without a doubt",
    "Beyond doubt",
    "No doubt about it",
    "No problem",
    "No worries",
]


@given(
    some.sampled_from(CERTAIN),
    some.sampled_from([", ", ": ", ". ", " — ", "! ", "; ", "…\n"]),
    some.sampled_from([("yes", True), ("No", False), ("**Yes**", True), ("nope", False), ("True", True)]),
    some.sampled_from(["", ".", ", it is so.", ". It is known.", "!"]),
)
def test_words_of_certainty_leave_the_say_to_yes_and_no(
    before: str, between: str, word: tuple[str, bool], after: str
) -> None:
    assert read_yes_no(f"{before}{between}{word[0]}{after}").yes is word[1]


@given(
    some.sampled_from(["No", "no", "**No**", "Answer: no", "Well, no"]), some.from_regex(r"[a-z]{4,12}", fullmatch=True)
)
def test_noun_behind_no_makes_no_answer_of_it(no: str, noun: str) -> None:
    read = read_yes_no(f"{no} {noun}s of that kind are known.")
    assert read.yes is None


@given(
    some.sampled_from([("yes", "no"), ("No", "yes"), ("YES", "NO")]),
    some.sampled_from([", ", " / ", " or ", " and ", ", and ", " but ", " – ", "... ", ", wait, "]),
    some.sampled_from(["", ".", "!", ", who knows"]),
)
def test_both_are_neither(words: tuple[str, str], between: str, after: str) -> None:
    assert read_yes_no(f"{words[0]}{between}{words[1]}{after}").yes is None


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


def test_is_refusal_equals_the_listed_kinds() -> None:
    listed = [line.split("\t") for line in REFUSALS.read_text(encoding="utf-8").splitlines()]
    kinds = [kind for kind, _ in listed]
    assert kinds.count("refusal") >= 60
    assert kinds.count("answer") >= 40
    assert [text for kind, text in listed if is_refusal(text) != (kind == "refusal")] == []
    assert not is_refusal("")


def test_named_in_finds_names_in_the_spellings_listed() -> None:
    differing = []
    for line in NAME_SPELLINGS.read_text(encoding="utf-8").splitlines():
        name, expected, text = line.split("\t")
        if bool(named_in(text, [name])) != (expected == "found"):
            differing.append(line)
    assert not differing


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
        ("日本です", ["日本"], ["日本"]),
        ("日本", ["日本"], ["日本"]),
        ("anything", ["", " ", "—"], []),
    ],
)
def test_names_are_found_as_whole_words(text: str, names: list[str], found: list[str]) -> None:
    assert named_in(text, names) == found


@pytest.mark.parametrize(
    ("text", "names", "others", "found"),
    [
        ("South Sudan", ["Sudan"], ["South Sudan"], []),
        ("It borders south sudan.", ["Sudan"], ["South Sudan"], []),
        ("South Sudan and Sudan", ["Sudan"], ["South Sudan"], ["Sudan"]),
        ("Sudan, South Sudan", ["Sudan"], ["South Sudan"], ["Sudan"]),
        ("South Sudan", ["Sudan", "South Sudan"], ["Sudan", "South Sudan"], ["South Sudan"]),
        ("Republic of the Congo", ["Congo"], ["Democratic Republic of the Congo", "the Republic of the Congo"], []),
        ("the Republic of Sudan", ["Sudan", "Republic of Sudan"], ["Republic of Sudan"], ["Republic of Sudan"]),
        ("Washington, D.C.", ["Washington"], ["Washington D.C."], []),
        ("in New York City", ["New York"], ["York"], ["New York"]),
        ("The Gambia", ["Gambia"], ["The Gambia"], ["Gambia"]),
    ],
)
def test_longest_name_wins(text: str, names: list[str], others: list[str], found: list[str]) -> None:
    assert named_in(text, names, {normalized(other) for other in others}.__contains__) == found


words = some.lists(some.sampled_from(["new", "south", "york", "sudan", "city"]), min_size=1, max_size=6)


@given(words, words, some.lists(words, max_size=4))
def test_name_is_there_where_no_longer_one_holds_it(text: list[str], name: list[str], others: list[list[str]]) -> None:
    def places(wanted: list[str]) -> list[set[int]]:
        firsts = range(len(text) - len(wanted) + 1)
        return [set(range(one, one + len(wanted))) for one in firsts if text[one : one + len(wanted)] == wanted]

    longer = [place for other in others for place in places(other)]
    there = any(not any(place < other for other in longer) for place in places(name))
    found = named_in(" ".join(text), [" ".join(name)], {" ".join(other) for other in others}.__contains__)
    assert bool(found) == there


@pytest.mark.parametrize(
    ("text", "known", "there"),
    [
        ("Atlantis", ["Paris"], False),
        ("Paris", ["Paris"], True),
        ("paris", ["Paris"], True),
        ("It may be Mexico City, I think.", ["Mexico City"], True),
        ("carbon dioxide", ["Carbon dioxide"], True),
        ("It is carbon dioxide.", ["carbon dioxide"], True),
        ("Trinidad and Tobago", ["Trinidad and Tobago"], True),
        ("The Hague", ["The Hague"], True),
        # Words that happen to be names say nothing.
        ("Atlantis, a city in the music of old", ["city", "music", "old", "in"], False),
        ("It is Atlantis", ["It", "is"], False),
        # What the question says is no answer to it.
        ("Atlantis is the capital of Germany", ["Germany", "capital"], False),
        ("Germany Valley", ["Germany", "Germany Valley"], True),
        # A name all the same, where nothing else is said.
        ("Germany.", ["Germany"], True),
        ("", [""], False),
        ("…", [""], False),
    ],
)
def test_whether_any_name_stands_in_a_text(text: str, known: list[str], there: bool) -> None:
    asked = "What is the capital of Germany?"
    assert names_anything(text, {normalized(name) for name in known}.__contains__, [asked]) is there


@given(some.text(max_size=20), some.text(max_size=20))
def test_comparing_is_blind_to_case_and_space(first: str, second: str) -> None:
    assert normalized(f"{first}  {second}") == normalized(f" {first} {second} ")
    assert normalized(normalized(first)) == normalized(first) or normalized(first).split()[0] in ("the", "a", "an")


@pytest.mark.slow
def test_every_letter_is_compared_as_it_compares_to_itself() -> None:
    letters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    assert [one for one in letters if normalized(normalized(one)) != normalized(one)] == []


def test_sentences_and_lines() -> None:
    assert sentences("No. It is Paris!\n\nReally?  Yes") == ["No.", "It is Paris!", "Really?", "Yes"]


@given(
    some.text("aéÉ東ﬁİß the.-_ '1\u0301\u0316", max_size=16), some.lists(some.text("aé东the ß", max_size=4), max_size=4)
)
def test_mentions_stand_where_they_say(text: str, names: list[str]) -> None:
    found = mentions_in(text, names)
    assert [one.name for one in found] == named_in(text, names)
    for one in found:
        assert normalized(f"x {text[one.start : one.end]}") == normalized(f"x {one.name}").replace("x the ", "x ", 1)
        assert len(normalized(text).split()) > one.words


def test_all_mentions_are_the_longest_ones_in_turn() -> None:
    names = {"new york", "york", "us", "it", "new york city", "o"}
    text = "It is new york city, not York: us or US"
    found = list(all_mentions(text, names.__contains__))
    assert [(one.name, one.words) for one in found] == [("new york city", 2), ("York", 6), ("US", 9)]
    assert [text[one.start : one.end] for one in found] == [one.name for one in found]
