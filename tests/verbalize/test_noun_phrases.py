"""Noun phrases of the shipped relations, and the composed sentences that they make."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kgprobe import loaders
from kgprobe.verbalize.noun_phrases import cloze_for_phrase, composed, naming_cloze, noun_phrase

FOLDER = Path(str(loaders.__file__)).parent

# Read one by one: the phrase of each relation of the example graph, and its sentence about such a phrase.
EXAMPLE = {
    "P6": ("the head of government of France", "The head of government of the capital of Japan is"),
    "P17": ("the country where France is found", "The capital of Japan is a city in"),
    "P19": ("the birthplace of France", "The capital of Japan was born in"),
    "P30": ("the continent on which France is located", "The continent on which the capital of Japan is located is"),
    "P35": ("the head of state of France", "The head of state of the capital of Japan is"),
    "P36": ("the capital of France", "The capital of the capital of Japan is"),
    "P37": (None, "An official language of the capital of Japan is"),
    "P38": (None, "The official currency of the capital of Japan is the"),
    "P47": (None, "A neighbouring country of the capital of Japan is"),
    "P102": (
        "the political party that France is associated with",
        "In politics, the capital of Japan is known as a member of",
    ),
    "P159": ("the city from which France is run", "The headquarters of the capital of Japan is in"),
    "P206": ("the water beside which France stands", "The capital of Japan is a city on"),
    "P403": (None, "The capital of Japan flows into"),
    "P463": (None, "The capital of Japan is a member of"),
    "P610": ("the highest point of France", "The highest point of the capital of Japan is"),
}
CAPITAL = "The capital of [X] is [Y]"


def relations_of(file: str) -> dict[str, dict[str, Any]]:
    with (FOLDER / file).open(encoding="utf-8") as lines:
        return {relation["id"]: relation for relation in map(json.loads, lines)}


def test_example_relations_have_phrases_that_were_read() -> None:
    relations = relations_of("example/relations.jsonl")
    sentences = {}
    for identifier, relation in relations.items():
        naming = naming_cloze(relation["clozes"], relation["statements"])
        cloze = cloze_for_phrase(relation["clozes"])
        assert cloze is not None
        sentences[identifier] = (naming and noun_phrase(naming, "France"), composed(cloze, CAPITAL, "Japan").prompt)
    assert sentences == EXAMPLE


@pytest.mark.parametrize(
    ("file", "lacking", "examples"),
    [
        (
            "wikidata_relations.jsonl",
            155,
            {
                "P69": "the institution at which Ada was educated",
                "P138": "the namesake of Ada",
                "P177": "the obstacle that Ada crosses",
                "P183": "the only region in which Ada occurs in nature",
                "P407": "the language of Ada",
                "P2389": "the organization headed by Ada",
                "P40": None,
                "P737": None,
            },
        ),
        (
            "dbpedia/relations.jsonl",
            58,
            {"dbo:artist": "the artist behind Ada", "dbo:citizenship": "the country whose citizenship Ada has"},
        ),
    ],
)
def test_shipped_relations_phrases_have_one_form(file: str, lacking: int, examples: dict[str, str | None]) -> None:
    relations = relations_of(file)
    phrases = {}
    for identifier, relation in relations.items():
        naming = naming_cloze(relation["clozes"], relation["statements"])
        phrases[identifier] = noun_phrase(naming, "Ada") if naming else None
        cloze = cloze_for_phrase(relation["clozes"])
        assert cloze is not None, identifier
        prompt = composed(cloze, CAPITAL, "Japan").prompt
        # A sentence about the phrase, which is not in apposition to a noun: the river the capital of Japan.
        assert re.search(r"(?:^|\b[a-z]+ |, )the capital of Japan\b(?!['’-])", prompt[:1].lower() + prompt[1:]), prompt
    assert {identifier: phrases[identifier] for identifier in examples} == examples
    found = [phrase for phrase in phrases.values() if phrase is not None]
    assert len(phrases) - len(found) == lacking
    assert all(re.fullmatch(r"the [^,;:]*\bAda\b[^,;:]*", phrase) for phrase in found)
    assert not any(re.search(r"\b(?:is|was|are)$|\bone of\b", phrase) for phrase in found)


@pytest.mark.parametrize(
    "template",
    [
        "A child of [X] is [Y]",
        "One of the children of [X] is [Y]",
        "[X] was born in [Y]",
        "The parts of [X] are [Y]",
        "The government of [X] is led by [Y]",
        "The currency of [X] is the [Y]",
        'The "50% of" of [X] is [Y]',
        "The capital of [X], by law, is [Y]",
    ],
)
def test_sentence_that_names_no_single_object_gives_none(template: str) -> None:
    assert naming_cloze([template]) is None


def test_statement_names_the_object_where_no_cloze_does() -> None:
    naming = naming_cloze(["[X] is ruled from [Y]"], ["[Y] is a city.", "[Y] was the seat of [X]."])
    assert naming == "The seat of [X] was [Y]"
    assert noun_phrase(naming, "Netherlands") == "the seat of the Netherlands"
    with pytest.raises(ValueError, match="names no object"):
        noun_phrase("[X] is ruled from [Y]", "Japan")


@pytest.mark.parametrize("template", ["[X]'s capital is [Y]", "The river [X] flows into [Y]", "A [X] is a kind of [Y]"])
def test_sentence_that_cannot_take_a_phrase_is_passed_over(template: str) -> None:
    assert cloze_for_phrase([template]) is None
    assert cloze_for_phrase([template, "As a thing, [X] is [Y]"]) == "As a thing, [X] is [Y]"


def test_name_like_a_placeholder_stays_a_name() -> None:
    assert composed(CAPITAL, "The country of [X] is [Y]", "[Y]").prompt == "The capital of the country of [Y] is"
