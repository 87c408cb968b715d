"""Literals of similar size come first as random distractors and hard negatives, against the definition."""

from collections.abc import Sequence

import numpy as np
import pytest

from kgprobe.base.records import Entity, Fact
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling import pool_draws as module
from kgprobe.sampling import similar_literals
from kgprobe.sampling.distractors import RandomDistractors
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negatives
from kgprobe.sampling.similar_literals import size_of
from tests.cases import slow_except
from tests.sampling.enumerable import ruled
from tests.written_source import WrittenSource

AS_OF = 20251231
YEARS = ("-0044", "0800", "1492", "1871", "1879", "1914", "1990", "2011")
LENGTHS = ("0.5", "3", "7", "12", "40", "650", "6650")


def literal(value: str, datatype: str) -> Entity:
    identifier = value if datatype in ("year", "date") else f"{value}^^{datatype}"
    return Entity(identifier, f"{value} {datatype}", types=(datatype,), value=value, datatype=datatype)


def world() -> tuple[list[Entity], list[Fact]]:
    """Things with a year and a length each; other relations have literals of the same kinds."""
    years, lengths = [literal(year, "year") for year in YEARS], [literal(length, "kilometre") for length in LENGTHS]
    others = [literal("1950", "year"), literal("8", "kilometre"), literal("1879-03-14", "date")]
    things = [Entity(f"t{number}", f"thing {number}") for number in range(10)]
    facts = [Fact(f"y{place}", f"t{place}", "built", year.id) for place, year in enumerate(years)]
    facts += [Fact(f"l{place}", f"t{place}", "length", length.id) for place, length in enumerate(lengths)]
    facts += [Fact("mixed", "t9", "built", others[2].id), Fact("other", "t9", "found", others[0].id)]
    facts += [Fact("far", "t9", "reach", others[1].id)]
    return [*things, *years, *lengths, *others], facts


def plain_size(entity: Entity) -> float:
    value = entity.value or ""
    return float(value)


def similar(entities: Sequence[Entity], facts: Sequence[Fact], fact: Fact) -> set[str]:
    """Return the half, rounded up, of the relation's other literals of the kind that is nearest in size."""
    by_id = {entity.id: entity for entity in entities}
    own = by_id[fact.object]
    objects = {other.object for other in facts if other.relation == fact.relation} - {own.id}
    candidates = [by_id[id_] for id_ in objects if by_id[id_].datatype == own.datatype]
    candidates.sort(key=lambda other: abs(plain_size(other) - plain_size(own)))
    return {other.id for other in candidates[: (len(candidates) + 1) // 2]}


@pytest.mark.parametrize(
    "sizes",
    slow_except([(99, 99), (99, 0), (0, 0)], [(99, 99), (99, 0)]),
    ids=["shuffled pools", "listed pools", "by number"],
)
def test_half_nearest_in_size_comes_first(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, int]
) -> None:
    monkeypatch.setattr(module, "LISTED_MEMBERS", sizes[0])
    monkeypatch.setattr(module, "LISTED_SHARE", 0.01 if sizes[0] else 0)
    monkeypatch.setattr(module, "SHUFFLED_MEMBERS", sizes[1])
    entities, facts = world()
    load(graph, WrittenSource(entities, facts))
    asked = [fact for fact in facts if fact.id[0] in "yl"]
    keys = [FactKey(fact.subject, fact.id) for fact in asked]
    by_id = {entity.id: entity for entity in entities}
    for count in (2, 20):
        distractors = RandomDistractors(graph).retrieve(ruled(graph, keys), count, [0])
        negatives = Negatives(graph, AS_OF).draw(describe_facts(graph, keys), count, [0])
        for fact, drawn, wrong in zip(asked, distractors, negatives, strict=True):
            nearest = similar(entities, facts, fact)
            kind = {entity.id for entity in entities if entity.datatype == by_id[fact.object].datatype}
            assert {each.id for each in drawn[: len(nearest)]} <= nearest, fact
            assert {each.id for each in wrong[: len(nearest)]} <= nearest, fact
            if count == 20:
                assert {each.id for each in drawn} == kind - {fact.object}
                assert {each.id for each in wrong} == kind - {fact.object, "1950", "8^^kilometre"}


def test_at_most_some_literals_on_both_sides_are_similar(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar_literals, "MOST_SIMILAR", 2)
    entities, facts = world()
    load(graph, WrittenSource(entities, facts))
    # 1879 is listed between 1871 and 1914.
    (drawn,) = RandomDistractors(graph).retrieve(ruled(graph, [FactKey("t4", "y4")]), 2, [0])
    assert {each.id for each in drawn} == {"1871", "1914"}
    # An object beyond the listed ones has distractors, too.
    monkeypatch.setattr(similar_literals, "MOST_LITERALS", 1)
    (drawn,) = RandomDistractors(graph).retrieve(ruled(graph, [FactKey("t4", "y4")]), 20, [0])
    assert len(drawn) == len(YEARS)


def test_order_within_the_half_depends_on_the_seed(graph: Graph) -> None:
    entities, facts = world()
    load(graph, WrittenSource(entities, facts))
    asked = ruled(graph, [FactKey("t4", "y4")])
    drawn = [[each.id for each in RandomDistractors(graph).retrieve(asked, 4, [seed])[0]] for seed in range(12)]
    assert {frozenset(ids) for ids in drawn} == {frozenset(similar(entities, facts, facts[4]))}
    assert len({ids[0] for ids in drawn}) > 1
    assert drawn[3] == [each.id for each in RandomDistractors(graph).retrieve(asked, 4, [3])[0]]


def test_literals_without_size_are_drawn_as_before(graph: Graph) -> None:
    texts = [literal(text, "string") for text in ("nan", "In luce", "inf", "Per aspera")]
    things = [Entity(f"t{number}", f"thing {number}") for number in range(4)]
    facts = [Fact(f"f{number}", f"t{number}", "motto", text.id) for number, text in enumerate(texts)]
    load(graph, WrittenSource([*things, *texts], facts))
    (drawn,) = RandomDistractors(graph).retrieve(ruled(graph, [FactKey("t0", "f0")]), 5, [0])
    assert {each.id for each in drawn} == {text.id for text in texts[1:]}


@pytest.mark.parametrize(
    ("earlier", "later", "datatype"),
    [
        ("-0044", "0001", "year"),
        ("1879-03", "1879-04", "month"),
        ("-0044-03-14", "-0044-03-15", "date"),
        ("1999-12-31", "2000-01-01", "date"),
        ("-5", "1E3", "kelvin"),
        ("68000000", "68000001", "integer"),
    ],
)
def test_sizes_are_in_the_order_of_the_values(earlier: str, later: str, datatype: str) -> None:
    first, second = size_of(earlier, datatype), size_of(later, datatype)
    assert first is not None
    assert second is not None
    assert first < second


@pytest.mark.parametrize(
    ("value", "datatype"),
    [
        *(("in luce", "string"), ("7", "string"), ("--06-07", "dayOfYear"), ("nan", "metre"), ("1e999", "metre")),
        *(("", "year"), (None, "year"), ("soon", "date"), ("2011-02-30", "date")),
    ],
)
def test_values_without_size(value: str | None, datatype: str) -> None:
    assert size_of(value, datatype) is None


def test_sizes_of_dates_are_days() -> None:
    sizes = [size_of(day, "date") for day in ("2000-02-28", "2000-03-01")]
    assert np.diff([size for size in sizes if size is not None]).tolist() == [2.0]
