"""The call that loads: what it says of itself is run, and what it reports is what it did."""

import doctest
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgprobe.api.loading import load
from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Rejected, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import KEPT_PROBLEMS
from kgprobe.graph.loading import LoadReport, load_source
from kgprobe.sources.contract import open_source
from tests.written_source import WrittenSource

ENTITIES = [Entity(f"e{number}") for number in range(3)]
FACTS = [Fact("f", "e0", "P1", "e1"), Fact("g", "e0", "P1", "e9"), Rejected("no fact")]


def test_example_of_its_docstring_runs(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("entities.jsonl").write_text("".join(f'{{"id": "Q{one}", "label": "{one}"}}\n' for one in (183, 142, 90)))
    Path("facts.tsv").write_text("subject\trelation\tobject\nQ142\tP36\tQ90\nQ183\tP47\tQ142\nQ183\tP47\tQ9\n")
    parser, said = doctest.DocTestParser(), []
    example = parser.get_doctest(load.__doc__ or "", {"load": load, "graph": graph}, "load", None, 0)
    assert example.examples
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert not said, "".join(said)


def test_report_says_what_was_written_and_what_was_not(graph: Graph) -> None:
    told: list[str] = []
    source = WrittenSource(ENTITIES, FACTS, [Relation("P1")])
    report = load_source(graph, source, on_problem=told.append)
    assert report == LoadReport(
        source="written",
        entities=3,
        relations=1,
        facts=1,
        created={"entities": 3, "relations": 1, "facts": 1},
        changed={"entities": 0, "relations": 0, "facts": 0},
        properties=[],
        skipped={"unreadable": 1, "duplicate": 0, "missing": 1},
        outside=0,
        resumed=False,
        problems=told,
    )
    assert str(report) == "written: 3 entities, 1 relations, 1 facts.\nSkipped: 1 unreadable, 1 missing."
    renamed = [replace(ENTITIES[0], label="Other"), *ENTITIES[1:], Entity("new", "New")]
    again = load_source(graph, WrittenSource(renamed, FACTS, [Relation("P1", "first")], fingerprint="again"))
    assert str(again) == (
        "written: 4 entities (1 new, 1 changed, 2 unchanged), 1 relations (1 changed), 1 facts (1 unchanged).\n"
        "Changed in relations: label.\nSkipped: 1 unreadable, 1 missing."
    )
    assert [message.partition(".")[0] for message in told] == [
        "written, line 3: no fact",
        "written, line 2: the object e9 of 'g' is not in the graph",
    ]


def test_report_counts_statements_not_loaded_by_kind(graph: Graph, tmp_path: Path) -> None:
    values = [{"type": "string", "value": "x"}] * 2 + [{"type": "quantity", "value": {"amount": "+3", "unit": "1"}}]
    claims = [{"mainsnak": {"snaktype": "value", "datavalue": value}} for value in values]
    claims.append(claims[0] | {"rank": "deprecated"})
    (tmp_path / "dump.json").write_text(json.dumps({"type": "item", "id": "Q1", "claims": {"P1": claims}}))
    report = load_source(graph, open_source("wikidata", dump=tmp_path / "dump.json"))
    assert (report.entities, report.facts) == (2, 1)
    assert report.not_loaded == report.to_dict()["not_loaded"] == {"deprecated": 1, "string": 2}
    assert str(report).splitlines()[1:] == ["Statements not loaded: 3 (1 deprecated, 2 string)."]


def test_facts_of_what_was_filtered_out_are_counted_apart(graph: Graph) -> None:
    report = load_source(graph, WrittenSource(ENTITIES, FACTS[:2], partial=True))
    assert (report.outside, report.skipped["missing"]) == (1, 0)
    assert str(report).splitlines()[1:] == ["1 facts were left out: their objects are not in this part of the source."]


def test_report_keeps_some_of_many_problems(graph: Graph) -> None:
    told: list[str] = []
    many = [Rejected(f"bad {number}") for number in range(3 * KEPT_PROBLEMS)]
    report = load_source(graph, WrittenSource(many), on_problem=told.append)
    assert list(report.problems) == told[:KEPT_PROBLEMS]
    assert report.skipped["unreadable"] == len(told) == 3 * KEPT_PROBLEMS


def test_progress_is_told_by_stage(graph: Graph) -> None:
    seen: list[Any] = []
    load_source(graph, WrittenSource(ENTITIES, FACTS, [Relation("P1")], total=7), on_progress=seen.append)
    assert [(one.stage, one.things, one.total) for one in seen] == [
        ("entities", 3, 7),
        ("relations", 4, 7),
        ("facts", 7, 7),
    ]


def test_strict_stops_at_the_first_problem_and_resumes(graph: Graph) -> None:
    source = WrittenSource(ENTITIES, FACTS, [Relation("P1")])
    with pytest.raises(KgprobeError, match="written, line 3: no fact"):
        load_source(graph, source, strict=True)
    report = load_source(graph, source)
    assert report.resumed
    assert (report.entities, report.facts) == (0, 1)
    assert str(report).startswith("written: 0 entities, 0 relations, 1 facts (resumed).")
