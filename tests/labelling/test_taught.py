"""Taught facts of data sets: names in texts, facts between entities of one record."""

import json
from pathlib import Path

import pytest

from kgprobe.base.errors import ArgumentError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.labelling.neighbourhood import Neighbourhood
from kgprobe.labelling.taught import TaughtFacts, read_taught
from kgprobe.sampling.keys import FactKey
from tests.written_source import WrittenSource

ENTITIES = [
    Entity("ny", "New York"),
    Entity("nyc", "New York City", ("Big Apple",)),
    Entity("pa", "Paris"),
    Entity("pt", "Paris"),
    Entity("fr", "France"),
    Entity("tx", "Texas"),
    Entity("phone", "iPhone"),
    Entity("what", "what"),
]
FACTS = [
    Fact("f1", "pa", "in", "fr"),
    Fact("f2", "pt", "in", "tx"),
    Fact("f3", "nyc", "in", "ny"),
    Fact("f4", "fr", "capital", "pa"),
    Fact("f5", "pa", "twin", "nyc"),
    Fact("f6", "fr", "capital", "ny", end="1900"),
]


def taught_by(graph: Graph, path: Path, records: list[object], max_degree: int = 100) -> TaughtFacts:
    load(graph, WrittenSource(ENTITIES, FACTS, [Relation(name, name) for name in ("in", "capital", "twin")]))
    path.write_text("\n".join(map(json.dumps, records)))
    return read_taught(Neighbourhood(graph, ["in", "capital", "twin"], 20200101, "degree", max_degree), path)


def test_data_set_names_mean_the_longest_and_most_frequent(graph: Graph, tmp_path: Path) -> None:
    records = [
        {"prompt": "Where is paris? In Paris, France.", "completion": ["New York City", {"deep": "Big Apple"}]},
        {"text": "what is an iPhone in Texas; New\nYork is cut by the end of a line", "number": 3},
    ]
    for max_degree in (100, 2, 1):
        taught = taught_by(graph, tmp_path / "train.jsonl", records, max_degree)
        assert taught.entities == ["fr", "nyc", "pa", "phone", "tx"]
        # Paris of most facts, not of Texas; a former fact cannot be taught. With 2, Paris and France are hubs, with 1
        # they are the subject of too many facts.
        expected = [] if max_degree == 1 else ["f1", "f4", "f5"]
        assert sorted(key.fact for key in taught.taught) == expected
    assert taught.notes[0].startswith(f"2 records of {tmp_path / 'train.jsonl'}: 5 entities of the graph are named;")
    assert "1 names have several entities; the one with most facts is meant." in taught.notes[1]


def test_data_set_facts_need_both_ends_in_one_record(graph: Graph, tmp_path: Path) -> None:
    taught = taught_by(graph, tmp_path / "train.jsonl", [{"text": "Paris"}, {"text": "France and Big Apple"}])
    assert (taught.taught, taught.entities) == ([], ["fr", "nyc", "pa"])


def test_file_is_read_by_its_first_line(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "facts"
    records: list[object] = [{"subject": "pa", "fact": "f1"}, {"subject": "pa", "fact": "none"}]
    taught = taught_by(graph, path, records)
    assert (taught.taught, taught.entities) == ([FactKey("pa", "f1")], ())
    assert "line 2" in taught.notes[0]
    roles: list[object] = [
        {"subject": "pa", "fact": "f1", "role": "taught"},
        {"subject": "fr", "fact": "f4", "role": "held out"},
        {"subject": "nyc", "fact": "f3", "role": "far"},
    ]
    taught = taught_by(graph, path, roles)
    assert (taught.taught, taught.held_out) == ([FactKey("pa", "f1")], [FactKey("fr", "f4")])
    assert taught.notes == ["Replaced: 1 control fact of the file."]
    with pytest.raises(ArgumentError, match=r"`near` names no entity.*in 1 record of .* such as"):
        taught_by(graph, path, [{"text": "Frodo"}])
