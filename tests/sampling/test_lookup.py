"""Facts as people name them, and what distractors are taken from, on both engines."""

import re
from collections import Counter

import pytest

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling.distractors import former_objects
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.lookup import describe_pool, find_fact
from tests.sampling.enumerable import AS_OF, distractors, enumerable
from tests.written_source import WrittenSource


def test_fact_is_found_by_what_people_call_it(graph: Graph) -> None:
    people = [
        Entity("s", "Sam"),
        Entity("o", "Otto", ("The Great", "Ö")),
        Entity("p", "Sam"),
        Entity("a b", "Kind of Blue"),
    ]
    facts = [
        Fact("s r o", "s", "r", "o"),
        Fact("s$1", "s", "q", "o", end="1999"),
        Fact("s$2", "s", "q", "o", start="2001"),
        Fact("odd", "p", "r", "o"),
        *(Fact(f"p q o @{start}", "p", "q", "o", start=start, end=end) for start, end in (("1", "2"), ("3", "4"))),
        Fact("a b r o", "a b", "r", "o"),
        Fact("b", "o", "of", "a b"),
        Fact("twice", "s", "r", "p"),
    ]
    relations = [Relation("r", "has met"), Relation("q", "kind of", ("type",)), Relation("of", "of")]
    load(graph, WrittenSource(people, facts, relations))
    load(graph, WrittenSource([], [Fact("twice", "o", "r", "p")], name="later"))
    found = {
        "s r o": FactKey("s", "s r o"),
        "s$1": FactKey("s", "s$1"),
        # Of several terms, the one that is current.
        "s q o": FactKey("s", "s$2"),
        "odd": FactKey("p", "odd"),
        "p r o": FactKey("p", "odd"),
        "p q o @3": FactKey("p", "p q o @3"),
        "a b r o": FactKey("a b", "a b r o"),
        # By names, of which some are words of others.
        "s has met Otto": FactKey("s", "s r o"),
        "s|HAS MET | otto": FactKey("s", "s r o"),
        "s TYPE ö": FactKey("s", "s$2"),
        "Kind of Blue has met the great": FactKey("a b", "a b r o"),
        "Otto of Kind of Blue": FactKey("o", "b"),
        "otto r Sam": FactKey("o", "twice"),
    }
    assert {name: find_fact(graph, name, AS_OF) for name in found} == found
    assert find_fact(graph, "s q o", 19990101) == FactKey("s", "s$1")
    for name, message in [
        ("p q o", "more than one fact; name it by its id: 'p q o @1' (1 to 2); 'p q o @3' (3 to 4)."),
        ("Sam has met Otto", "more than one fact; name it by its id: 'odd' (… to …); 's r o' (… to …)."),
        ("twice", "Facts of several subjects have the id 'twice': o, s. Name one by subject, relation and object."),
        ("s r s", "The graph has no fact 's r s'. As has met, Sam (s) has Otto (o), Sam (p)."),
        ("o kind of s", "Otto (o) has no kind of; it has of, has met."),
        ("Oto has met Sam", "No entity is called 'Oto'; close to it: Otto (o)."),
        ("Sam has met Blue", "No entity is called 'Blue'; close to it: Kind of Blue (a b)."),
        ("Sam | has mot | Otto", "No relation is called 'has mot'; close to it: has met (r)."),
        ("what", "The graph has no fact 'what'. A fact is named by its id, or by subject, relation and object"),
    ]:
        with pytest.raises(UnknownNameError, match=re.escape(message)):
            find_fact(graph, name, AS_OF)


def test_fact_that_was_deleted_by_hand_is_named(graph: Graph) -> None:
    load(graph, WrittenSource([Entity("s", "Sam")], [Fact("f", "s", "r", "s")]))
    with pytest.raises(KgprobeError, match=r"The fact gone of s is no longer in the graph.*delete \S+columns"):
        describe_facts(graph, [FactKey("s", "f"), FactKey("s", "gone")])


@pytest.mark.parametrize("former", ["never", "wrong"])
def test_pool_says_who_is_in_it_and_who_is_left_out(graph: Graph, former: str) -> None:
    people, facts = enumerable(10, facts=200 if former == "wrong" else 120)
    load(graph, WrittenSource(people, facts, [Relation("r0", "likes")]))
    by_id = {entity.id: entity for entity in people}
    typed = admitted = 0
    for fact in facts[:40]:
        truth = by_id[fact.object]
        members = {
            entity.id
            for entity in people
            if set(entity.types) & set(truth.types)
            or (not truth.types and any((f.relation, f.object) == (fact.relation, entity.id) for f in facts))
        }
        ever = [other for other in facts if (other.subject, other.relation) == (fact.subject, fact.relation)]
        excluded = former == "never" or fact.end in ("2010", "unknown")
        known = {other.object for other in ever if excluded or other.end != "2010"}
        admitted += len({other.object for other in ever} - known)
        reasons: Counter[str] = Counter()
        for id_ in members - distractors(people, facts, fact, former=former) - {fact.object}:
            nameless = not by_id[id_].label
            reasons[
                "without a name"
                if nameless
                else "right as well, now or at another time"
                if id_ in known
                else "with a name of its"
            ] += 1
        [asked] = describe_facts(graph, [FactKey(fact.subject, fact.id)])
        pool = describe_pool(graph, asked, former_objects(former, AS_OF, present=True))
        order = ["right as well, now or at another time", "with a name of its", "without a name"]
        listed = [f"{reasons[reason]} {reason}" for reason in order if reasons[reason]]
        assert pool.left_out == ["the object itself", *listed]
        assert (pool.size, pool.typed) == (len(members), bool(truth.types))
        objects = {"r0": "that are objects of likes", "r1": "that are objects of r1"}[fact.relation]
        assert pool.kind == (f"of the type {' or '.join(truth.types)}" if truth.types else objects)
        typed += pool.typed
    assert 0 < typed < 40
    assert (admitted > 0) == (former == "wrong")
