"""The option `former`: Ω(f) of real facts against a naive definition, for each value."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kgprobe.base.dates import UNKNOWN, last_day
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.probes.search.strategies import StrategyContext, make_strategy
from kgprobe.sampling.distractors import FORMER, RandomDistractors, former_objects
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.sentences import Cloze
from tests.sampling.enumerable import ruled
from tests.sampling.real_facts import hash_of, wikidata
from tests.written_source import WrittenSource

AS_OF = 20251231


def ended(fact: Fact) -> bool:
    return fact.end is not None and (fact.end == UNKNOWN or last_day(fact.end) < AS_OF)


def omega(entities: Sequence[Entity], facts: Sequence[Fact], fact: Fact, former: str) -> set[str]:
    """Return Ω(f) of a sentence in the present tense."""
    by_id = {entity.id: entity for entity in entities}
    right = by_id[fact.object]
    ever = [other for other in facts if (other.subject, other.relation) == (fact.subject, fact.relation)]
    excluded = {other.object for other in ever}
    if former == "wrong" and not ended(fact):
        excluded = {other.object for other in ever if not ended(other) or other.end == "unknown"}
    names = {right.label, *right.aliases}
    if former == "right":
        names |= {name for other in ever for name in (by_id[other.object].label, *by_id[other.object].aliases)}
    objects = {other.object for other in facts if other.relation == fact.relation}
    rivals = set()
    for rival in entities:
        alike = set(rival.types) & set(right.types) if right.types else rival.id in objects
        if rival.label and alike and rival.id not in excluded and not names & {rival.label, *rival.aliases}:
            rivals.add(rival.id)
    return rivals - {fact.object}


def with_ends(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts with ends for some: few real ones have an end next to a current object of the same subject."""
    ends = (None, "1999", UNKNOWN, None, "2010-05")
    return [replace(fact, end=fact.end or ends[hash_of(fact.id) % len(ends)]) for fact in facts]


@pytest.mark.slow
def test_omega_real_facts_equals_naive_definition(graph: Graph, shared_data: Path) -> None:
    entities, real_facts, relations = wikidata(shared_data)
    facts = with_ends(real_facts)
    load(graph, WrittenSource(entities, facts, relations))
    named = {entity.id for entity in entities if entity.label}
    facts_of = [fact for fact in facts if {fact.subject, fact.object} <= named]
    ended_ones = {(fact.subject, fact.relation) for fact in facts if ended(fact)}
    with_former = [fact for fact in facts_of if (fact.subject, fact.relation) in ended_ones and not ended(fact)]
    sample = list(dict.fromkeys([*with_former[:150], *facts_of]))[:200]
    assert len(sample) == 200
    keys = [FactKey(fact.subject, fact.id) for fact in sample]
    sizes = {}
    for former in FORMER:
        rule = former_objects(former, AS_OF, present=True)
        drawn = RandomDistractors(graph).retrieve(ruled(graph, keys, rule), len(entities), [0])
        for fact, rivals in zip(sample, drawn, strict=True):
            assert {rival.id for rival in rivals} == omega(entities, facts, fact, former), (former, fact)
        sizes[former] = sum(map(len, drawn))
    assert sizes["wrong"] > sizes["never"]


@pytest.mark.parametrize("strategy", ["random", "semantic", "temporal-semantic"])
def test_strategies_president_returns_former_one_if_wrong(
    graph: Graph, strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    people = ("Trump", "Obama", "Nobody", "Unknown")
    entities = [Entity("USA", "USA"), *(Entity(name, name, types=("human",)) for name in people)]
    facts = [
        Fact("now", "USA", "president", "Trump", start="2025"),
        Fact("then", "USA", "president", "Obama", start="2009", end="2017"),
        Fact("once", "USA", "president", "Unknown", end="unknown"),
    ]
    load(graph, WrittenSource(entities, facts, [Relation("president")]))
    [now, then] = describe_facts(graph, [FactKey("USA", "now"), FactKey("USA", "then")])
    clozes = [Cloze(template, "USA") for template in ("[X] is led by [Y]", "[X] was led by [Y]")]
    for former in FORMER:
        context = StrategyContext(graph, None, AS_OF, former)
        lists = make_strategy(strategy, context).rivals([(now, clozes), (then, clozes)], 9, [0])
        found = [{rival.id: rival.former for rival in rivals.distractors} for of_fact in lists for rivals in of_fact]
        only = {"Nobody": False}
        assert found == [only | {"Obama": True} if former == "wrong" else only, only, only, only]
