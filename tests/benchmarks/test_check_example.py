"""The comparison of the example graph with what others collected finds each kind of difference."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from benchmarks.check_example import Collection, Triple, compare, differences, read_collection
from kgprobe.base.records import Entity, Fact

ENTITIES = [
    Entity("Q1", "Ýland", ("Isle of Y",)),
    Entity("Q2", "Aville"),
    Entity("Q3", "Beeton"),
    Entity("Q4", "Elsewhere"),
]
NAMES = {"Q1": ("isle of y",), "Q2": ("AVILLE",), "Q3": ("Beeton",)}


def fact(subject: str, relation: str, object_: str, start: str | None = None, end: str | None = None) -> Fact:
    return Fact(f"{subject} {relation} {object_} {start}", subject, relation, object_, start=start, end=end)


def test_what_agrees_is_counted() -> None:
    facts = [fact("Q1", "P36", "Q2", "1990"), fact("Q1", "P36", "Q3", end="1989"), fact("Q4", "P36", "Q2")]
    collection = Collection(NAMES, {Triple("Q1", "P36", "Q2"): ("1990-05-01", "")})
    result = compare(ENTITIES, facts, collection)
    assert (result.ids, result.labels, result.facts.total(), result.dates) == (3, 3, 1, 1)
    assert differences(result) == []


NONE = ("", "")
CAPITAL, PAST = fact("Q1", "P36", "Q2"), fact("Q1", "P36", "Q3", end="1989")
BORDERS = [fact("Q1", "P47", "Q2"), fact("Q2", "P47", "Q3")]


@pytest.mark.parametrize(
    ("facts", "labels", "collected", "expected"),
    [
        ([], {"Q2": ("Bville", "C")}, {}, ["Q2"]),
        ([CAPITAL], {}, {("Q1", "P36", "Q3"): NONE}, ["Q1 P36 Q3"]),
        ([CAPITAL, PAST], {}, {("Q1", "P36", "Q3"): NONE}, []),
        (BORDERS, {}, {("Q1", "P47", "Q3"): NONE, ("Q1", "P47", "Q9"): NONE}, ["Q1 P47 Q3"]),
        ([fact("Q1", "P102", "Q2")], {}, {("Q1", "P36", "Q3"): NONE, ("Q1", "P102", "Q3"): NONE}, []),
    ],
    ids=["name", "capital", "former capital", "known neighbour", "nothing said"],
)
def test_differences_are_found(facts: list[Fact], labels: Any, collected: Any, expected: list[str]) -> None:
    collection = Collection(labels, {Triple(*triple): dates for triple, dates in collected.items()})
    assert differences(compare(ENTITIES, facts, collection)) == expected


@pytest.mark.parametrize(("ours", "differing"), [("1990", 0), ("1990-02", 1)])
def test_another_date_is_found(ours: str, differing: int) -> None:
    result = compare(
        [], [fact("Q1", "P463", "Q2", ours)], Collection({}, {Triple("Q1", "P463", "Q2"): ("1990-01-01", "")})
    )
    assert (len(result.other_dates), result.dates) == (differing, 1 - differing)


def test_collection_is_read_with_its_inverse(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "entities.jsonl.gz", "wt") as file:
        file.write('{"id": "Q1", "label": "Y", "aliases": ["Z"]}\n')
    with gzip.open(tmp_path / "facts.tsv.gz", "wt") as file:
        file.write("subject\trelation\tobject\tstart\tend\tsources\nQ2\tP1376\tQ1\t1990\t\tx\n")
    collection = read_collection(tmp_path)
    assert collection.labels == {"Q1": ("Y", "Z")}
    assert collection.facts[Triple("Q1", "P36", "Q2")] == ("1990", "")
