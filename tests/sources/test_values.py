"""What all formats ask of ids, texts and intervals."""

import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgprobe.sources.values import ID_LIMIT, check_id, check_interval, fact_id, name_key, plain_name, tidy, tidy_all


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ("France", "France"),
        ("  two  spaces ", "two  spaces"),
        ("a\nb", "a b"),
        ("a \r\n\t b", "a b"),
        ("a\0b\x7f", "a b"),
        ("\u2028", ""),
        ("a\u00a0b", "a\u00a0b"),
        ("\u00a0\u3000", ""),
        ("\u2009a\u00a0\n", "a"),
        ("👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿", "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿"),
        ("\u200fالقاهرة\u200f", "\u200fالقاهرة\u200f"),
        ("ירושלים", "ירושלים"),
    ],
)
def test_tidy(text: str, tidied: str) -> None:
    assert tidy(text) == tidied


@given(st.text())
def test_tidy_text_is_one_line_and_stays_unchanged(text: str) -> None:
    tidied = tidy(text)
    assert len(tidied.splitlines()) <= 1
    assert all(unicodedata.category(character) != "Cc" for character in tidied)
    assert tidy(tidied) == tidied
    assert [c for c in text if c.isalnum()] == [c for c in tidied if c.isalnum()]


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Ame\u0301lie", "Am\u00e9lie"),
        ("\u1112\u1161\u11ab", "\ud55c"),
        ("\u212bngstr\u00f6m", "\u00c5ngstr\u00f6m"),
        ("Vie\u0323\u0302t", "Vi\u1ec7t"),
        ("\ufeffRome\u200e", "Rome"),
        ("Donau\u00addampf\u200bschiff", "Donaudampfschiff"),
        ("Par\u200dis\u200c\ufe0f", "Paris"),
        ("\u202bAmman\u202c", "Amman"),
        ("e\u034f\u0301", "\u00e9"),
        ("New\u00a0York", "New York"),
        ("New\u00a0 \u2009York\u3000", "New York"),
        ("N\u2019Djamena \u02bc\u2018", "N'Djamena ''"),
        ("Rhein\u2010Main\u2011Gebiet", "Rhein-Main-Gebiet"),
        ("\u200b\u00a0", ""),
        # Visible differences and joiners that shape a script remain.
        ("two  spaces", "two  spaces"),
        ("1990\u20131999 \u201cx\u201d 5\u2032", "1990\u20131999 \u201cx\u201d 5\u2032"),
        ("Nuku\u02bbalofa", "Nuku\u02bbalofa"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\u0d28\u0d4d\u200d", "\u0d28\u0d4d\u200d"),
        ("👩‍👩‍👧‍👦 ❤\ufe0f 🏴󠁧󠁢󠁳󠁣󠁴󠁿", "👩‍👩‍👧‍👦 ❤\ufe0f 🏴󠁧󠁢󠁳󠁣󠁴󠁿"),
        ("x\u00b2 \ufb01 \uff21", "x\u00b2 \ufb01 \uff21"),
    ],
)
def test_names_that_print_alike_are_equal(name: str, plain: str) -> None:
    assert plain_name(name) == plain
    assert plain_name(plain) == plain


@given(st.text(st.sampled_from("ae\u0301\u0323\u200d\ufe0f\u200e\u00a0 \u2019\u212b\u1e63\u0d4d\u3000\u1ebf")))
def test_plain_name_stays_unchanged(name: str) -> None:
    assert plain_name(plain_name(name)) == plain_name(name)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Stra\u00dfe", "STRASSE"),
        ("\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2"),
        ("ame\u0301lie", "AM\u00c9LIE\u200e"),
    ],
)
def test_name_key_ignores_case(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


def test_texts_are_unique_in_order_without_the_label() -> None:
    assert tidy_all(["b", " a", "", "b\n", "the label", "\t"], without="the label") == ("b", "a")


@pytest.mark.parametrize(
    ("identifier", "message"),
    [
        ("", "the id is empty"),
        ("Q1" * (ID_LIMIT // 2) + "0", "the id has 1,001 characters, more than 1,000"),
        ("Q1\n", "control characters or space"),
        (" Q1", "control characters or space"),
        ("Q\x001", "control characters or space"),
    ],
)
def test_bad_ids(identifier: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_id(identifier)


def test_good_ids_are_given_back() -> None:
    for identifier in ("Q142", "dbr:Café_(film)", 'quote"`$', "x" * ID_LIMIT, "北京"):
        assert check_id(identifier) == identifier


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (None, None),
        ("2011", None),
        (None, "-0044-03-15"),
        ("2011", "2011"),
        ("2011-05", "2011"),
        ("-0044-03-15", "-0044"),
        ("-0100", "0014"),
    ],
)
def test_intervals_in_order(start: str | None, end: str | None) -> None:
    check_interval(start, end)


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        ("2012", "2011-12-31", "the end 2011-12-31 lies before the start 2012"),
        ("0014", "-0100", "lies before"),
        ("2011-13", None, "its month or day"),
        (None, "yesterday", "'yesterday' is not a date"),
        (None, "2011-02-29", "its month or day"),
    ],
)
def test_bad_intervals(start: str | None, end: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_interval(start, end)


def test_two_terms_of_one_triple_have_two_ids() -> None:
    assert fact_id("Q142", "P35", "Q329", None) == "Q142 P35 Q329"
    assert fact_id("Q142", "P35", "Q329", "2007-05") == "Q142 P35 Q329 @2007-05"
    with pytest.raises(ValueError, match="id made of subject, relation and object has"):
        fact_id("a" * 500, "b" * 500, "c", None)


NAMES = st.text("ab |\\@", min_size=1, max_size=5).filter(lambda name: name == name.strip())
TRIPLES = st.tuples(NAMES, NAMES, NAMES, st.none() | st.sampled_from(["2011", "2012"]))


@given(one=TRIPLES, other=TRIPLES)
@example(one=("a", "r b", "c", None), other=("a", "r", "b c", None))
@example(one=("a | b", "r", "c", None), other=("a", "b", "r | c", None))
def test_different_facts_have_different_ids(one: Any, other: Any) -> None:
    assert (fact_id(*one) == fact_id(*other)) == (one == other)


def test_ids_of_ordinary_facts_are_read_at_a_glance() -> None:
    assert fact_id("Q142", "P36", "Q90", None) == "Q142 P36 Q90"
    assert fact_id("Q142", "P36", "Q90", "2011") == "Q142 P36 Q90 @2011"
    assert fact_id("Der Zauberberg", "author", "Thomas Mann", None) == "Der Zauberberg | author | Thomas Mann |"
