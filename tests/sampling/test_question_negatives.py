"""Hard negatives on both engines, against the definition on an enumerable graph."""

from collections import Counter
from collections.abc import Sequence

import pytest
from scipy import stats

from kgprobe.base.records import Entity, Fact
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling import pool_draws as module
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negatives
from tests.sampling.enumerable import AS_OF, enumerable
from tests.written_source import WrittenSource


def naive(people: Sequence[Entity], facts: Sequence[Fact], fact: Fact) -> dict[str, bool]:
    """C_r - T_(s,r), without the nameless, namesakes of what is true and the subject; and whether each is former.

    What was true is false only where it ended before the date, on a day that is known, and the fact has not ended.
    """
    by_id = {entity.id: entity for entity in people}
    of_subject = [other for other in facts if (other.subject, other.relation) == (fact.subject, fact.relation)]
    true_ones = [by_id[other.object] for other in of_subject if other.end != "2010" or fact.end in ("2010", "unknown")]
    names = {name for entity in true_ones for name in (entity.label, *entity.aliases)}
    return {
        rival.id: any(other.object == rival.id and other.end == "2010" for other in of_subject)
        for rival in (by_id[id_] for id_ in {other.object for other in facts if other.relation == fact.relation})
        if rival.label
        and rival not in true_ones
        and rival.id != fact.subject
        and not names & {rival.label, *rival.aliases}
    }


@pytest.mark.parametrize("listed", [99, 0], ids=["listed objects", "objects by number"])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_all_negatives_are_found_and_nothing_else(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, listed: int, seed: int
) -> None:
    monkeypatch.setattr(module, "LISTED_MEMBERS", listed)
    monkeypatch.setattr(module, "LISTED_SHARE", 0.01 if listed else 0)
    # Whoever draws by number learns slowly that there are no more.
    monkeypatch.setattr(module, "PATIENCE", 15)
    people, facts = enumerable(seed, entities=30, facts=60, subjects=6)
    load(graph, WrittenSource(people, facts))
    asked = describe_facts(graph, [FactKey(fact.subject, fact.id) for fact in facts])
    drawn = Negatives(graph, AS_OF).draw(asked, len(people), [0])
    formers = 0
    for fact, negatives in zip(facts, drawn, strict=True):
        found = {negative.id: negative.former for negative in negatives}
        assert len(found) == len(negatives)
        assert found == naive(people, facts, fact), fact
        formers += sum(found.values())
        by_id = {entity.id: entity for entity in people}
        assert all((n.label, n.aliases) == (by_id[n.id].label, by_id[n.id].aliases) for n in negatives)
    assert formers


def test_namesake_by_case_folding_is_no_negative(graph: Graph) -> None:
    people = [
        Entity("s", "subject"),
        Entity("o", "Rome", ("Roma",)),
        Entity("too", "Weißenburg"),
        Entity("twin", "ROMA"),
        Entity("other twin", "x", ("WEISSENBURG\u200e",)),
        Entity("fine", "Paris"),
    ]
    facts = [Fact("f", "s", "r", "o"), Fact("g", "s", "r", "too")]
    facts += [Fact(f"of {one.id}", "o", "r", one.id) for one in people[3:]]
    load(graph, WrittenSource(people, facts))
    for former in ("wrong", "right"):
        (negatives,) = Negatives(graph, AS_OF, former).draw(describe_facts(graph, [FactKey("s", "f")]), 9, [0])
        assert [negative.id for negative in negatives] == ["fine"]


@pytest.mark.slow
def test_one_is_drawn_with_the_same_probability_as_any_other(graph: Graph) -> None:
    people = [Entity(f"e{n}", f"name {n}") for n in range(14)]
    facts = [Fact(f"f{n}", "e0" if n < 3 else "e1", "r", f"e{n + 2}") for n in range(12)]
    load(graph, WrittenSource(people, facts))
    negatives = Negatives(graph, AS_OF)
    asked = describe_facts(graph, [FactKey("e1", "f5"), FactKey("e0", "f0")])
    counts = Counter(negatives.draw(asked[1:], 1, [seed])[0][0].id for seed in range(450))
    assert set(counts) == {f"e{n + 2}" for n in range(3, 12)}
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3
    assert negatives.draw(asked[1:], 1, [7]) == negatives.draw(asked, 1, [7])[1:]


def test_literal_has_literals_of_its_kind_beside_it(graph: Graph) -> None:
    entities = [
        *(Entity(f"e{n}", f"person {n}") for n in range(9)),
        *(Entity(f"{1870 + n}", f"{1870 + n}", value=f"{1870 + n}", datatype="year") for n in range(3)),
        *(Entity(f"1879-03-{n}", f"{n} March 1879", value=f"1879-03-{n}", datatype="date") for n in (14, 15, 16)),
        *(Entity(f"place {n}", f"place {n}") for n in range(3)),
    ]
    # Sources mix what they know of a birth: a year, a day, and where it was.
    facts = [Fact(f"f{n}", f"e{n}", "born", entity.id) for n, entity in enumerate(entities[9:])]
    load(graph, WrittenSource(entities, facts))
    asked = describe_facts(graph, [FactKey(fact.subject, fact.id) for fact in facts])
    drawn = Negatives(graph, AS_OF).draw(asked, 99, [0])
    for number, (fact, negatives) in enumerate(zip(facts, drawn, strict=True)):
        kind = {other.object for other in facts[number // 3 * 3 : number // 3 * 3 + 3]}
        assert {negative.id for negative in negatives} == kind - {fact.object}
