"""Negatives with another subject, relation or object on both engines, against the definition on an enumerable graph."""

from collections import Counter
from collections.abc import Sequence

import pytest
from scipy import stats

from kgprobe.base.records import Entity, Fact
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling import pool_draws
from kgprobe.sampling import statement_negatives as module
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.statement_negatives import ENDS, FalseFact, StatementNegatives
from tests.sampling.naive_negatives import RELATIONS, Naive, Triple, graph_of
from tests.written_source import WrittenSource


def triples_of(negatives: Sequence[FalseFact]) -> list[Triple]:
    return [(negative.subject, negative.relation, negative.object) for negative in negatives]


@pytest.mark.parametrize(
    ("listed", "any_type"),
    [
        pytest.param(True, True, id="listed, of any type"),
        pytest.param(False, False, id="by number, of its type", marks=pytest.mark.slow),
        pytest.param(True, False, id="listed, of its type", marks=pytest.mark.slow),
        pytest.param(False, True, id="by number, of any type", marks=pytest.mark.slow),
    ],
)
def test_all_negatives_are_found_and_nothing_else(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, listed: bool, any_type: bool
) -> None:
    if not listed:
        monkeypatch.setattr(pool_draws, "LISTED_MEMBERS", 0)
        monkeypatch.setattr(pool_draws, "LISTED_SHARE", 0)
        monkeypatch.setattr(module, "SHUFFLED_MEMBERS", 0)
        # Whoever draws by number learns slowly that there are no more.
        monkeypatch.setattr(pool_draws, "PATIENCE", 20)
    monkeypatch.setattr(module, "NAMESAKES_DEGREE", 8)
    people, facts = graph_of(3)
    load(graph, WrittenSource(people, facts))
    naive = Naive(people, facts, max_degree=8)
    asked = describe_facts(graph, [FactKey(fact.subject, fact.id) for fact in facts])
    counts: Counter[str] = Counter()
    for place in ENDS:
        drawn = StatementNegatives(graph, RELATIONS, RELATIONS, replace=place, any_type=any_type).draw(
            asked, len(people), [0]
        )
        for fact, negatives in zip(facts, drawn, strict=True):
            found = triples_of(negatives)
            assert len(found) == len(set(found))
            assert set(found) == naive.negatives(fact, place, any_type=any_type), (fact, place)
            for negative in negatives:
                assert negative.replaced == place
                assert negative.subject_label == naive.by_id[negative.subject].label
                assert negative.object_label == naive.by_id[negative.object].label
            counts[place] += len(found)
    assert min(counts[place] for place in ENDS) > 20


def test_namesakes_of_both_ends_say_the_same(graph: Graph) -> None:
    entities = [
        *(Entity(f"town {n}", "Springfield", types=("town",)) for n in range(2)),
        *(Entity(f"other {n}", f"Town {n}", types=("town",)) for n in range(2)),
        *(Entity(f"state {n}", f"State {n}", types=("state",)) for n in range(3)),
        Entity("state again", "Again", ("State 1",), types=("state",)),
    ]
    facts = [
        Fact("f0", "town 0", "in", "state 0"),
        Fact("f1", "town 1", "in", "state 2", end="1990"),
        Fact("f2", "other 0", "in", "state 1"),
    ]
    load(graph, WrittenSource(entities, facts))

    def drawn(place: str, key: FactKey) -> set[Triple]:
        (negatives,) = StatementNegatives(graph, {}, ["in"], replace=place).draw(describe_facts(graph, [key]), 9, [0])
        return set(triples_of(negatives))

    # Another Springfield was in state 2; what is called State 1 as well is no other state.
    assert drawn("object", FactKey("town 0", "f0")) == {("town 0", "in", "state 1"), ("town 0", "in", "state again")}
    # The other Springfield goes by the right name, and so does nothing else.
    assert drawn("subject", FactKey("town 0", "f0")) == {("other 0", "in", "state 0"), ("other 1", "in", "state 0")}
    assert drawn("object", FactKey("other 0", "f2")) == {("other 0", "in", "state 0"), ("other 0", "in", "state 2")}


def test_few_literals_among_many_entities_are_all_found(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHUFFLED_MEMBERS", 10)
    entities = [Entity(f"e{n}", f"name {n}") for n in range(400)]
    entities += [Entity(f"{n}", f"{n}", value=f"{n}", datatype="number") for n in range(3)]
    load(graph, WrittenSource(entities, [Fact("f", "e0", "r", "0"), Fact("g", "e0", "r", "e1")]))
    negatives = StatementNegatives(graph, {}, ["r"], any_type=True)
    of_literal, of_entity = negatives.draw(describe_facts(graph, [FactKey("e0", "f"), FactKey("e0", "g")]), 9, [0])
    assert {negative.object for negative in of_literal} == {"1", "2"}
    assert len({negative.object for negative in of_entity}) == 9


def test_each_is_drawn_with_the_same_probability(graph: Graph) -> None:
    entities = [Entity(f"e{n}", f"name {n}", types=("t",)) for n in range(12)]
    facts = [Fact(f"f{n}", f"e{n}", "r", "e11") for n in range(4)]
    facts += [Fact(f"g{n}", "e4", f"r{n}", "e5") for n in range(6)]
    load(graph, WrittenSource(entities, facts))
    negatives = StatementNegatives(graph, {}, ["r", *(f"r{n}" for n in range(6))], replace="any", any_type=True)
    asked = describe_facts(graph, [FactKey("e1", "f1"), FactKey("e0", "f0")])
    counts = Counter(negatives.draw(asked[1:], 1, [seed])[0][0] for seed in range(150))
    places = Counter(each.replaced for each in counts.elements())
    assert stats.chisquare([places[place] for place in ENDS]).pvalue > 1e-3
    for place, possible in (("subject", 7), ("relation", 6), ("object", 10)):
        its = [count for each, count in counts.items() if each.replaced == place]
        assert len(its) == possible
        assert stats.chisquare(its).pvalue > 1e-3
    # Whatever stands beside a fact has no say, and a draw is the same twice.
    assert negatives.draw(asked[1:], 3, [7]) == negatives.draw(asked, 3, [7])[1:]
    assert negatives.draw([], 3, [7]) == []
    # Where one place has no more, the others go on.
    (everything,) = negatives.draw(asked[1:], 99, [7])
    assert len(everything) == len(set(everything)) == 7 + 6 + 10


def test_large_kind_shows_its_relations_in_a_sample(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgprobe.sampling.statement_negatives.KIND_MEMBERS", 5)
    monkeypatch.setattr(pool_draws, "LISTED_MEMBERS", 0)
    monkeypatch.setattr(pool_draws, "LISTED_SHARE", 0)
    entities = [
        *(Entity(f"p{n}", f"person {n}", types=("person",)) for n in range(40)),
        *(Entity(f"c{n}", f"city {n}", types=("city",)) for n in range(3)),
        Entity("x", "something", types=("thing",)),
    ]
    facts = [
        *(Fact(f"born {n}", f"p{n}", "born in", f"c{n % 3}") for n in range(40)),
        *(Fact(f"died {n}", f"p{n}", "died in", f"c{n % 2}") for n in range(40)),
        *(Fact(f"likes {n}", f"p{n}", "likes", "x") for n in range(40)),
        *(Fact(f"city {n}", f"c{n}", "twinned with", f"c{(n + 1) % 3}") for n in range(3)),
    ]
    load(graph, WrittenSource(entities, facts))
    relations = {fact.relation for fact in facts}
    negatives = StatementNegatives(graph, {}, relations, replace="relation")
    # Person 2 died in city 0, not in city 2 where it was born.
    drawn = negatives.draw(describe_facts(graph, [FactKey("p2", "born 2"), FactKey("p3", "born 3")]), 9, [0])
    assert [triples_of(its) for its in drawn] == [[("p2", "died in", "c2")], [("p3", "died in", "c0")]]
