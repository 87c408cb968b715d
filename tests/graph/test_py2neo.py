"""py2neo, which notebooks use to explore, connects to both engines."""

import sys

import pytest

import kgprobe
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from tests.written_source import WrittenSource


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_py2neo_reads_facts_as_nodes_and_relationships(graph: Graph) -> None:
    pytest.importorskip("py2neo", reason="needs the extra explore")
    people = [Entity("A", "Ada <b>"), Entity("B", "Ben")]
    load(graph, WrittenSource(people, [Fact("f", "A", "knows", "B", start="1990")], [Relation("knows", "knows")]))
    explored = kgprobe.py2neo_graph(graph)
    (row,) = explored.run("MATCH (s:Entity {id: $id})-[f:FACT]->(o) RETURN s, f, o", id="A").data()
    assert (row["s"]["label"], set(row["s"].labels), row["o"]["label"]) == ("Ada <b>", {"Entity"}, "Ben")
    assert (type(row["f"]).__name__, row["f"]["from"], row["f"]["relation_label"]) == ("FACT", 19900101, "knows")
    frame = explored.run("MATCH (e:Entity) RETURN e.id AS id, e.degree AS degree ORDER BY id").to_data_frame()
    assert frame.to_dict("list") == {"id": ["A", "B"], "degree": [1, 1]}


def test_py2neo_missing_is_said_with_the_remedy(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py2neo", None)
    with pytest.raises(kgprobe.KgprobeError, match=r"py2neo is not installed: run .*\[explore\]"):
        kgprobe.py2neo_graph(graph)
