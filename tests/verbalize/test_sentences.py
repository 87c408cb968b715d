"""Templates into sentences."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from kgprobe.verbalize.sentences import Cloze, fill, object_continuations, wh_question

NAMES = st.text(min_size=1).map(str.strip).filter(lambda name: name and not re.search(r"(?i)\bthe\b", name))


def test_cloze_stops_before_its_blank() -> None:
    assert Cloze("The capital of [X] is [Y]", "Japan").prompt == "The capital of Japan is"
    assert Cloze("The currency of [X] is the [Y]", "Japan").prompt == "The currency of Japan is the"


def test_names_get_their_article() -> None:
    assert Cloze("The capital of [X] is [Y]", "Netherlands").prompt == "The capital of the Netherlands is"
    assert fill("[Y] is an ally of [X].", "United Kingdom", "United States") == (
        "The United States is an ally of the United Kingdom."
    )
    assert wh_question("What is the capital of [X]?", "Soviet Union") == "What is the capital of the Soviet Union?"
    assert object_continuations("[X] is paid in [Y]", ["euro", "€"]) == ["the euro", "€"]
    assert object_continuations("[X] is an [Y]", ["the Beatles", "The Amazons"]) == ["a Beatles", "an Amazons"]


def test_cloze_without_articles_has_names_as_they_are() -> None:
    names = ["Netherlands", "The Hague", " euro "]
    for template, prompt in (
        ("[X] lives in [Y]", "Ann lives in"),
        ("[X] is a/an [Y]", "Ann is a"),
        ("[X] is the [Y]", "Ann is the"),
    ):
        cloze = Cloze(template, "Ann", articles=False)
        assert (cloze.prompt, cloze.continuations(names)) == (prompt, ["Netherlands", "The Hague", "euro"])


def test_template_with_an_article_takes_the_bare_name() -> None:
    assert object_continuations("Its currency, in [X], is the [Y]", ["euro", "the single currency", "euro"]) == [
        "euro",
        "single currency",
    ]
    assert fill("The mayor of the [Y] is [X].", "Ann", "The Hague") == "The mayor of the Hague is Ann."
    assert fill("[X] is a [Y].", "Bern", "European Union") == "Bern is a European Union."
    assert fill("Bathe [X] in [Y].", "Ann", "euro") == "Bathe Ann in the euro."


def test_names_that_read_alike_count_once_in_their_order() -> None:
    assert object_continuations("[X] is in [Y]", ["Netherlands", "Holland", "the Netherlands", " "]) == [
        "the Netherlands",
        "Holland",
    ]


def test_plural_has_a_bare_possessive() -> None:
    assert fill("[X]'s capital is [Y].", "Netherlands", "Amsterdam") == "The Netherlands' capital is Amsterdam."
    assert fill("[X]'s capital is [Y].", "Laos", "Vientiane") == "Laos's capital is Vientiane."
    assert fill("The [X]’s capital is [Y].", "United States", "D") == "The United States’ capital is D."
    assert fill("The king of [X]'s capital is [Y].", "Laos", "Vientiane") == "The king of Laos's capital is Vientiane."
    assert fill("[X]'s seat is [Y].", "McDonald's", "Chicago") == "McDonald's seat is Chicago."


def test_indefinite_article_agrees_with_the_name() -> None:
    assert fill("[X] is a [Y].", "Ann", "architect") == "Ann is an architect."
    assert fill("An [X] is a/an [Y].", "violin", "instrument") == "A violin is an instrument."
    assert fill("[X] is an [Y].", "Bern", "university town") == "Bern is a university town."
    assert fill("Is [X] a [Y]?", "Laika", "the dog") == "Is Laika a dog?"


def test_indefinite_article_before_blank_fits_the_name() -> None:
    for article in ("a", "an", "a/an"):
        cloze = Cloze(f"[X] works as {article} [Y]", "Ann")
        assert cloze.prompt == "Ann works as"
        assert cloze.continuations(["actor", "singer", "FBI agent"]) == ["an actor", "a singer", "an FBI agent"]


def test_full_stop_is_not_doubled() -> None:
    assert fill("[X] has its seat in [Y].", "Amnesty", "Washington, D.C.") == "Amnesty has its seat in Washington, D.C."
    assert fill("Is [X] in [Y]?", "Amnesty", "Washington, D.C.") == "Is Amnesty in Washington, D.C.?"


def test_sentence_begins_with_a_capital_except_own_case() -> None:
    assert fill("[X] is a company of [Y].", "euro", "Ann") == "The euro is a company of Ann."
    assert fill("[X] is owned by [Y].", "eBay", "Ann") == "eBay is owned by Ann."
    assert fill("[X] borders [Y].", "émile", "Ann") == "Émile borders Ann."
    assert fill("[X] borders [Y].", "al-Andalus", "Ann") == "Al-Andalus borders Ann."


def test_name_that_looks_like_a_placeholder_stays_itself() -> None:
    assert fill("[X] knows [Y].", "[Y]", "[X]") == "[Y] knows [X]."


@settings(deadline=None)
@given(subject=NAMES, object_=NAMES)
def test_sentence_has_both_names_and_is_else_unchanged(subject: str, object_: str) -> None:
    text = fill("It is said that [X] lies near [Y], too.", subject, object_)
    matched = re.fullmatch(r"It is said that (?:the )?(.*) lies near (?:the )?(.*), too\.", text, re.DOTALL)
    assert matched is not None
    assert (matched[1], matched[2]) == (subject, object_)


@settings(deadline=None)
@given(names=st.lists(NAMES, max_size=6))
def test_continuations_are_different_and_bare_of_space(names: list[str]) -> None:
    found = object_continuations("[X] lies near [Y]", names)
    assert len(set(found)) == len(found)
    assert all(text == text.strip() for text in found)
    assert {text.removeprefix("the ") for text in found} == set(names)
