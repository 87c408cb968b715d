"""Temporal distractors on both engines, against their definition."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.base.dates import day_number
from kgprobe.base.records import Entity, Fact
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling.distractors import FormerObjects
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.semantic import SemanticDistractors, TemporalDistractors
from tests.sampling.enumerable import AS_OF, current, distractors, enumerable, ruled
from tests.written_source import WrittenSource


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))


@given(one=some.dates(), other=some.dates())
def test_days_are_counted_as_the_calendar_does(one: date, other: date) -> None:
    numbers = [day_number(day.year * 10000 + day.month * 100 + day.day) for day in (one, other)]
    assert numbers[0] - numbers[1] == (one - other).days


def test_days_are_counted_across_the_beginning_of_the_years() -> None:
    assert day_number(101) - day_number(-1 * 10000 + 1231) == 1
    assert day_number(-44 * 10000 + 315) - day_number(-45 * 10000 + 315) == 366


def middle(fact: Fact) -> float:
    """Return the middle of a fact's interval in days, for enumerable graphs at their reference date."""
    end = {None: date(2020, 1, 1), "2010": date(2010, 12, 31), "2020": date(2020, 12, 31)}[fact.end]
    start = end if fact.start is None else date(int(fact.start), 1, 1)
    return (start.toordinal() + end.toordinal()) / 2


@pytest.mark.parametrize("seed", [8, pytest.param(9, marks=pytest.mark.slow)])
def test_former_objects_come_first_then_semantic_distractors(graph: Graph, seed: int) -> None:
    people, facts = enumerable(seed, facts=200, subjects=8)
    load(graph, WrittenSource(people, facts))
    order = [entity.id for entity in people]
    named = {entity.id for entity in people if entity.label}
    asked = [fact for fact in facts if {fact.subject, fact.object} <= named]
    keys = [FactKey(fact.subject, fact.id) for fact in asked]
    asked_facts = ruled(graph, keys, FormerObjects(AS_OF))
    everything = TemporalDistractors(graph, AS_OF).retrieve(asked_facts, 100, [0])
    three = TemporalDistractors(graph, AS_OF).retrieve(asked_facts, 3, [0])
    semantic = SemanticDistractors(graph).retrieve(ruled(graph, keys), 100, [0])
    seen = 0
    for fact, found, first, others in zip(asked, everything, three, semantic, strict=True):
        terms = [
            other
            for other in facts
            if (other.subject, other.relation) == (fact.subject, fact.relation) and not current(other)
            if other.end == "2010" and other.object in distractors(people, facts, fact, former="wrong")
        ]
        distances = {
            entity: min(abs(middle(term) - middle(fact)) for term in terms if term.object == entity)
            for entity in {term.object for term in terms}
        }
        expected = sorted(distances, key=lambda entity: (distances[entity], order.index(entity)))
        assert [rival.id for rival in found if rival.former] == expected
        assert [rival.id for rival in found[: len(expected)]] == expected
        assert all(rival.reason.endswith("; held until 2010") for rival in found[: len(expected)])
        assert found[len(expected) :] == [rival for rival in others if rival.id not in expected]
        assert first == found[:3]
        seen += len(expected)
    assert seen > 20


def test_object_distance_is_its_nearest_term_ties_by_end(graph: Graph) -> None:
    people = [Entity("s", "s"), *(Entity(name, name, types=("t",)) for name in "oabcdef")]
    terms = {
        "a": [("1990", "1991")],
        "b": [("1980", "1981"), ("2007", "2008")],
        # The middle of both is the same day.
        "c": [("2001", "2002")],
        "d": [("1998", "2005")],
        # Open at the start: its end counts. In force at the date again: no distractor.
        "e": [(None, "2004")],
        "f": [("2003", "2004"), ("2009", None)],
    }
    facts = [Fact("asked", "s", "r", "o", start="2006")]
    facts += [Fact(f"{o}{start}", "s", "r", o, start=start, end=end) for o, its in terms.items() for start, end in its]
    load(graph, WrittenSource(people, facts))
    strategy = TemporalDistractors(graph, 20100101, "bm25")
    assert strategy.describe() == {"strategy": "temporal-semantic", "weighting": "bm25", "k1": 1.2, "b": 0.75}
    [found] = strategy.retrieve(ruled(graph, [FactKey("s", "asked")], FormerObjects(20100101)), 9, [0])
    assert [rival.id for rival in found] == ["b", "e", "d", "c", "a"]
    assert [rival.reason.split("; ")[1] for rival in found][:2] == ["held until 2008", "held until 2004"]
    by_date = TemporalDistractors(graph, 20100101, "bm25", "reference-date")
    assert by_date.describe()["former_order"] == "reference-date"
    [found] = by_date.retrieve(ruled(graph, [FactKey("s", "asked")], FormerObjects(20100101)), 9, [0])
    # By the middle of the last interval with a known start; without one last.
    assert [rival.id for rival in found] == ["b", "d", "c", "a", "e"]
    # Of what is right later, nothing is wrong: not even `b`, which held before and holds again.
    then = ruled(graph, [FactKey("s", "asked")], FormerObjects(19950101))
    [earlier] = TemporalDistractors(graph, 19950101).retrieve(then, 9, [0])
    assert [rival.id for rival in earlier if rival.former] == ["a"]
    assert {rival.id for rival in earlier} == {"a"}
    # Of what has ended, nobody who ever held is a distractor.
    assert strategy.retrieve(ruled(graph, [FactKey("s", "a1990")], FormerObjects(20100101)), 9, [0]) == [[]]
