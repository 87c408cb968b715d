"""Facts from a list and at random, on both engines."""

import io
from collections import Counter

from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.records import Entity, Fact
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
s P1 a
s\tP1\tb\t2001
"""


def test_a_list_names_facts_in_several_ways(graph: Graph) -> None:
    facts = [
        Fact("f1", "s", "P1", "a"),
        Fact("f2", "s", "P1", "b"),
        Fact("f3", "t", "P2", "a", start="2001", end="2005"),
        Fact("f4", "t", "P2", "a", start="2011"),
    ]
    load(graph, WrittenSource([Entity(id_, id_.upper()) for id_ in "stab"], facts))
    found = read_facts(graph, io.StringIO(LIST), "list.jsonl")
    assert found.keys == [FactKey("s", "f1"), FactKey("s", "f2"), FactKey("t", "f3"), FactKey("t", "f4")]
    messages = sorted(found.missing)
    assert [message.split(":")[0] for message in messages] == [f"list.jsonl, line {n}" for n in (10, 6, 7, 8, 9)]
    assert "1 columns where 3 are expected" in messages[0]
    assert "no fact s P9 a" in messages[1]
    assert "no fact f9" in messages[2]
    assert "neither `fact` nor both" in messages[3]
    header = read_facts(graph, io.StringIO("subject\trelation\tobject\nt\tP2\ta\n"), "list.tsv")
    assert (header.keys, header.missing) == ([FactKey("t", "f3"), FactKey("t", "f4")], [])


def test_a_sample_is_uniform_and_in_order() -> None:
    keys = [FactKey("s", f"f{n}") for n in range(6)]
    drawn = Counter(key for seed in range(3000) for key in sample_facts(keys, 2, seed))
    # 1,000 each, with a standard deviation of 26.
    assert all(900 < drawn[key] < 1100 for key in keys)
    assert sample_facts(keys, 4, 7) == sorted(sample_facts(keys, 4, 7), key=keys.index)
    assert sample_facts(keys, 9, 0) == keys
