"""Templates in the past: right where they are given, none where the rule is not sure."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.verbalize.tense import has_ended, in_the_past, speaks_of_today, templates_of, tense_of

PASTS: dict[str, str] = {
    "The capital of [X] is [Y]": "The capital of [X] was [Y]",
    "[X] and [Y] are siblings.": "[X] and [Y] were siblings.",
    "[X] has [Y] as a spouse.": "[X] had [Y] as a spouse.",
    "[X] has joined other countries in [Y]": "[X] had joined other countries in [Y]",
    # a clause of its own verb
    "The city that serves as the capital of [X] is [Y]": "The city that served as the capital of [X] was [Y]",
    "The person who represents [X] as its head is [Y]": "The person who represented [X] as its head was [Y]",
    "The continent on which [X] is located is [Y]": "The continent on which [X] was located was [Y]",
    "One of the countries that border [X] is [Y]": "One of the countries that bordered [X] was [Y]",
    "The city where [X] came into the world is [Y]": "The city where [X] came into the world was [Y]",
    # other verbs, irregular ones, adverbs before them
    "On a map, [X] lies within the borders of [Y]": "On a map, [X] lay within the borders of [Y]",
    "The [X] eventually leads to [Y]": "The [X] eventually led to [Y]",
    "[X] carries the name of [Y]": "[X] carried the name of [Y]",
    "[X] plays for [Y]": "[X] played for [Y]",
    "[X] occurs in [Y]": "[X] occurred in [Y]",
    "[X] lives and works in [Y]": "[X] lived and worked in [Y]",
    "[X] borders the sea and belongs to [Y]": "[X] bordered the sea and belonged to [Y]",
    "Visitors to [X] can walk along [Y]": "Visitors to [X] could walk along [Y]",
    # the same letters, no verb
    "[X]'s works are kept in [Y]": "[X]'s works were kept in [Y]",
    "Prices in [X] are given in a currency called the [Y]": "Prices in [X] were given in a currency called the [Y]",
    "[X] is a part of the [Y] series.": "[X] was a part of the [Y] series.",
    "[X] is a [Y]-based company of the area": "[X] was a [Y]-based company of the area",
    "[X] is to the north of [Y]": "[X] was to the north of [Y]",
    # questions
    "Is [Y] the capital of [X]?": "Was [Y] the capital of [X]?",
    "Is [Y] the team that [X] plays for?": "Was [Y] the team that [X] played for?",
    "What is the capital of [X]?": "What was the capital of [X]?",
    "Into which water does [X] flow?": "Into which water did [X] flow?",
    "Who leads [X]?": "Who led [X]?",
    "Do [X] and [Y] share a border?": "Did [X] and [Y] share a border?",
    # in the past already
    "[X] was born in [Y]": "[X] was born in [Y]",
    "[X] rose to high office in [Y]": "[X] rose to high office in [Y]",
    "In [X], documents used to be written in [Y]": "In [X], documents used to be written in [Y]",
}
UNSURE = [
    "",
    "[X] is a company of that city of [Y]",
    "[X] codifies the laws of [Y]",
    "[X] codifies laws that are in [Y]",
    "[X] works include [Y]",
    "[X] artists such as [Y]",
    "the [Y] debut of [X]",
    "[X], located in [Y]",
    "[X], which is located in [Y]",
    "[X] is known for songs and plays by [Y]",
    "[X] is currently led by [Y]",
    "The current president of [X] is [Y]",
    "In [X], documents may be written in [Y]",
    "It's [X] that lies in [Y]",
    "[X] will be in [Y]",
    "[X] is to debut on [Y]",
]


def test_in_the_past_or_rather_none_than_wrong() -> None:
    assert {template: in_the_past(template) for template in PASTS} == PASTS
    assert {template: in_the_past(template) for template in UNSURE} == dict.fromkeys(UNSURE)


@pytest.mark.parametrize(
    ("template", "today"),
    [
        ("The capital of [X] is [Y]", True),
        ("[X] belongs to [Y]", True),
        ("Is [Y] the capital of [X]?", True),
        ("[X] has [Y] as a spouse.", True),
        ("The capital of [X] was [Y]", False),
        ("Did [X] receive the [Y]?", False),
        ("[X] has won the [Y]", False),
        ("[X] has been awarded the [Y]", False),
        ("[X] has also received the [Y]", False),
        ("Has [X] ever been to [Y]?", False),
        ("[X] will be led by [Y]", False),
        ("[X] xyzzies [Y]", False),
    ],
)
def test_what_a_former_object_makes_false(template: str, today: bool) -> None:
    assert speaks_of_today(template) is today


def test_tenses() -> None:
    assert tense_of("[X] is in [Y]") == "present"
    assert tense_of("[X] is currently in [Y]") == "present"
    assert tense_of("[X] may be in [Y]") == "present"
    assert tense_of("[X] was in [Y]") == "past"
    assert tense_of("[X] shall be in [Y]") == "future"
    assert tense_of("[X] is to debut on [Y]") == "future"
    assert tense_of("[X] is to the north of [Y]") == "present"
    assert tense_of("[X], [Y]") is None


SUBJECTS = st.sampled_from(
    [
        "[X]",
        "The head of [X]",
        "[X]'s owner",
        "The city that surrounds [X]",
        "The river on which [X] lies",
        "In [X], it",
    ]
)
VERBS = """
is; has; cannot; isn't; belongs; lies; plays; borders; sets; broadcasts; led; leads; works; was; used to be; has been
will be; may be; flows and ends; codifies; always stays; is what stays
"""
ENDS = "[Y]; of [Y]; and leads [Y]; the work of [Y]; that borders [Y]; called [Y]; for it"


def parts(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(re.split(r"[;\n] *", text.strip()))


NONSENSE = st.from_regex(r"(?:\[X\] |[a-z]* |is |was |that |and |to |do )*\??", fullmatch=True)


@given(st.builds("{} {} {}".format, SUBJECTS, parts(VERBS), parts(ENDS)) | NONSENSE)
def test_past_of_the_past_is_the_past(template: str) -> None:
    past = in_the_past(template)
    if past is not None:
        assert in_the_past(past) == past
        assert tense_of(past) == "past"
        assert not re.search(r"\b(?:is|are|has|does)\b", past)
        assert re.findall(r"\[.\]", past) == re.findall(r"\[.\]", template)


def test_templates_of_a_fact() -> None:
    clozes = ["[X] is led by [Y]", "[X] was made by [Y]", "[X] may be led by [Y]"]
    assert templates_of(clozes, ["[X] was led by [Y]"], ended=False) == clozes
    assert templates_of(clozes, [], ended=True) == ["[X] was led by [Y]", "[X] was made by [Y]"]
    assert templates_of(clozes, ["The leader of [X] was [Y]"], ended=True) == [
        "The leader of [X] was [Y]",
        "[X] was made by [Y]",
    ]
    assert templates_of(["[X] may be led by [Y]"], [], ended=True) == []


def test_fact_has_ended_when_its_last_day_is_over() -> None:
    assert has_ended("2011", 2012_01_01)
    assert not has_ended("2011", 2011_12_31)
    assert not has_ended("2011-05-07", 2011_05_07)
    assert has_ended("2011-05-07", 2011_05_08)
    assert not has_ended(None, 2011_05_08)


def test_public_templates(shared_data: Path) -> None:
    """Most of 500 templates by others are understood, and none is put in the past by half."""
    relations = [json.loads(line) for line in (shared_data / "wikidata" / "relations.jsonl").open(encoding="utf-8")]
    templates = {
        template
        for relation in relations
        for kind in ("bear_templates", "pararel_patterns")
        for template in relation.get(kind) or []
    }
    sentences = {
        each for each in templates if not re.match(r"\[[XY]\],? (?:who|whose|which|that|[a-z]+ed|an?|from)\b", each)
    }
    pasts = {each: past for each in sentences if (past := in_the_past(each)) is not None}
    assert len(templates) > 400
    assert len(pasts) > 0.9 * len(sentences)
    for template, past in pasts.items():
        assert in_the_past(past) == past, template
        assert not re.search(r"\b(?:is|are|has|does|can)\b", past), template


def test_questions_for_the_subject_have_a_tense() -> None:
    pasts = {
        "Which country borders [Y]?": "Which country bordered [Y]?",
        "What follows [Y]?": "What followed [Y]?",
        "Which person or thing uses [Y]?": "Which person or thing used [Y]?",
        "Which work is performed by [Y]?": "Which work was performed by [Y]?",
        "For which award was [X] nominated?": "For which award was [X] nominated?",
        "Which river flows through [Y]?": "Which river flowed through [Y]?",
    }
    assert {question: in_the_past(question) for question in pasts} == pasts
    # A relative pronoun is not a question word.
    assert in_the_past("Is [X] a group which influences [Y]?") == "Was [X] a group which influenced [Y]?"
    assert tense_of("Which xyzs [Y]?") is None
