"""Facts from a list and at random, on both engines."""

import io
from collections import Counter
from collections.abc import Sequence

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.selection import read_facts, sample_facts
from tests.written_source import WrittenSource

LIST = """\
{"subject": "s", "fact": "f1"}
{"subject": {"id": "s", "label": "S"}, "relation": "P1", "object": {"id": "b"}, "popularity": 3.5}

{"subject": "t", "relation": "P2", "object": "a"}
{"subject": "s", "relation": "P1", "object": "a"}
{"subject": "s", "relation": "P9", "object": "a"}
{"subject": "s", "fact": "f9"}
{"subject": "s"}
{"subject": ""
s\tP1 a
s\tP1\tb\t2001
"""


def test_list_names_facts_in_several_ways(graph: Graph) -> None:
    facts = [
        Fact("f1", "s", "P1", "a"),
        Fact("f2", "s", "P1", "b"),
        Fact("f3", "t", "P2", "a", start="2001", end="2005"),
        Fact("f4", "t", "P2", "a", start="2011"),
    ]
    load(graph, WrittenSource([Entity(id_, id_.upper()) for id_ in "stab"], facts))
    found = read_facts(graph, io.StringIO(LIST), "list.jsonl", 20250101)
    assert found.keys == [FactKey("s", "f1"), FactKey("s", "f2"), FactKey("t", "f3"), FactKey("t", "f4")]
    messages = sorted(found.missing)
    assert [message.split(":")[0] for message in messages] == [f"list.jsonl, line {n}" for n in (10, 6, 7, 8, 9)]
    assert "2 columns where 3 are expected" in messages[0]
    assert "no relation is called 'P9'" in messages[1]
    assert "no fact f9" in messages[2]
    assert "neither `fact` nor both" in messages[3]
    header = read_facts(graph, io.StringIO("subject\trelation\tobject\nt\tP2\ta\n"), "list.tsv", 20250101)
    assert (header.keys, header.missing) == ([FactKey("t", "f3"), FactKey("t", "f4")], [])


def test_list_names_facts_as_people_do(graph: Graph) -> None:
    entities = [Entity("Q1", "France", ("French Republic",)), Entity("Q2", "Paris"), Entity("Q3", "Georgia")]
    entities += [Entity("Q4", "Georgia"), Entity("Q5", "Tbilisi"), Entity("Q6", "Atlanta")]
    relations = [Relation("P36", "capital"), Relation("P6", "head")]
    facts = [
        Fact("f1", "Q1", "P36", "Q2"),
        Fact("f2", "Q3", "P36", "Q5"),
        Fact("f3", "Q4", "P36", "Q6", end="1990"),
        Fact("f4", "Q4", "P36", "Q6", start="2000"),
    ]
    load(graph, WrittenSource(entities, facts, relations))
    lines = [
        "france\tCapital\tParis",
        "French Republic | capital | Paris",
        "Q1 P36 Q2",
        "f1",
        '{"subject": "Georgia", "relation": "capital", "object": "Tbilisi"}',
        "Georgia\tcapital\tAtlanta",
        "Frankreich\tcapital\tParis",
        "France\tcaptial\tParis",
        "France\tcapital\tTbilisi",
        "France | capitol | Paris",
        "Q1\tP36\tQ9",
        '{"subject": "France", "relation": "capital", "object": {"id": "Q9"}}',
    ]
    found = read_facts(graph, io.StringIO("\n".join(lines)), "list", 20250101)
    assert found.keys == [FactKey("Q1", "f1"), FactKey("Q3", "f2"), FactKey("Q4", "f4")]
    told = dict(message.removeprefix("list, line ").split(": ", 1) for message in found.missing)
    assert list(told) == ["7", "8", "9", "10", "11", "12"]
    assert told["7"] == "no entity is called 'Frankreich'."
    assert told["8"] == "no relation is called 'captial'; close to it: capital (P36)."
    assert told["9"] == "the graph has no fact France capital Tbilisi."
    assert "No relation is called 'capitol'; close to it: capital (P36)" in told["10"]
    assert told["11"] == "the graph has no fact Q1 P36 Q9."
    assert told["12"] == "no entity is called 'Q9'."


def in_order(keys: Sequence[FactKey], count: int | None, seed: int) -> list[FactKey]:
    sampled = sample_facts(keys, count, seed)
    return [sampled[place] for place in range(len(sampled))]


def test_sample_facts_first_places_are_uniform() -> None:
    keys = [FactKey("s", f"f{n}") for n in range(6)]
    drawn = Counter((place, key) for seed in range(3000) for place, key in enumerate(in_order(keys, 2, seed)))
    # 500 each, with a standard deviation of 20.
    assert all(400 < drawn[place, key] < 600 for place in range(2) for key in keys)
    assert sorted(in_order(keys, 9, 0)) == sorted(in_order(keys, None, 0)) == keys


def test_sample_facts_of_other_facts_share_one_order() -> None:
    keys = [FactKey("s", f"f{n}") for n in range(60)]
    everything = in_order(keys, None, 5)
    assert in_order(keys, 20, 5) == everything[:20]
    few = keys[::3]
    assert in_order(few, None, 5) == [key for key in everything if key in few]
    assert in_order(list(reversed(keys)), None, 5) == everything != in_order(keys, None, 6)
