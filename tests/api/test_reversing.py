"""The other direction of a graph: what is in it, what is told, and that it is made once, whole, and anew when stale."""

from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph import ingest, record_batches
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.models.model import Model
from kgprobe.verbalize import inverse_graph
from tests.written_source import WrittenSource

COUNTRY, CITY, DAY = "Q6256", "Q515", "1969-07-20"
ENTITIES = [
    Entity("Q142", "France", ("French Republic",), "country in Europe", (COUNTRY,), popularity=0.5),
    Entity(DAY, "20 July 1969", value=DAY, datatype="date"),
    Entity("Q183", "Germany", types=(COUNTRY,)),
    Entity("Q39", "Switzerland", types=(COUNTRY,)),
    Entity("Q90", "Paris", types=(CITY,)),
    Entity("Q64", "Berlin", types=(CITY,)),
    Entity("Q586", "Bonn", types=(CITY,)),
    Entity("Q4916", "euro"),
]
FACTS = [
    Fact("f1", "Q142", "P36", "Q90"),
    Fact("f2", "Q183", "P36", "Q64", start="1990-10-03"),
    Fact("f3", "Q183", "P36", "Q586", rank="preferred", start="1949", end="1990-10"),
    # An end in the open: it would be a second subject of Bonn if it counted.
    Fact("f4", "Q39", "P36", "Q586", end="unknown"),
    Fact("f5", "Q142", "P38", "Q4916"),
    Fact("f6", "Q183", "P38", "Q4916"),
    Fact("f7", "Q142", "P571", DAY),
    # France is its own neighbour here.
    Fact("f8", "Q142", "P47", "Q142"),
    Fact("f9", "Q142", "P47", "Q39", start="1800"),
    Fact("f10", "Q183", "P47", "Q39"),
]
RELATIONS = [
    Relation("P36", "capital", statements=("[Y] is the capital of [X].",), clozes=("The capital of [X] is [Y]",)),
    Relation("P38", "currency"),
    Relation("P571", "inception"),
]


def small(*more: Fact, fingerprint: str = "written-1") -> WrittenSource:
    return WrittenSource(ENTITIES, [*FACTS, *more], RELATIONS, fingerprint=fingerprint)


def rows(graph: Graph, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in graph.run_text(text, {})[1]]


FACTS_OF = (
    "MATCH (s:Entity)-[f:FACT]->(o:Entity)"
    " RETURN f.id, s.id, f.relation, o.id, f.rank, f.start, f.`end`, f.from, f.until"
)


def naive(graph: Graph, relations: set[str]) -> list[tuple[Any, ...]]:
    """Return the facts of a graph turned round, one by one."""
    literals = {row[0] for row in rows(graph, "MATCH (l:Literal) RETURN l.id")}
    found = rows(graph, FACTS_OF)
    return sorted(
        (
            (fact, o, relation, s, *rest)
            for fact, s, relation, o, *rest in found
            if o not in literals and relation in relations
        ),
        key=repr,
    )


@pytest.fixture(params=[2, 1_000], ids=["small steps", "one step"])
def steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inverse_graph, "NUMBERS_AT_ONCE", request.param)


@pytest.mark.usefixtures("steps")
def test_source_is_every_fact_turned_round(graph: Graph) -> None:
    ingest.load(graph, small())
    counted = inverse_graph.count_subjects(graph, 1.5)
    assert [(one.id, one.facts, one.lasting, one.objects, one.kept) for one in counted] == [
        *[("P36", 4, 2, 2, True), ("P38", 2, 2, 1, False), ("P47", 3, 3, 2, True)],
    ]
    source = inverse_graph.ReversedSource(graph, "f", ["P36", "P47"], inverse_graph.count_numbers(graph))
    relations, entities, facts = (
        [placed.record for placed in stream()] for stream in (source.relations, source.entities, source.facts)
    )
    assert [record.clozes for record in relations if isinstance(record, Relation)] == [
        ("[X] is the capital of [Y]",),
        (),
    ]
    assert entities == [entity for entity in ENTITIES if entity.datatype is None]
    expected = [
        Fact(fact.id, fact.object, fact.relation, fact.subject, fact.rank, fact.start, fact.end)
        for fact in FACTS
        if fact.relation in ("P36", "P47")
    ]
    assert sorted(facts, key=repr) == sorted(expected, key=repr)
    # The same stream the second time, by which an interrupted making goes on.
    assert [placed.record for placed in source.facts()] == facts
    assert source.done == source.total


ONE_ENGINE = pytest.mark.parametrize("endpoint", ["arcadedb"], indirect=True)


@ONE_ENGINE
def test_reversed_graph_is_made_once(graph: Graph) -> None:
    ingest.load(graph, small())
    told: list[str] = []
    with kgprobe.reverse_graph(graph, on_note=told.append) as backwards:
        assert sorted(rows(backwards, FACTS_OF), key=repr) == naive(graph, {"P36", "P47"})
        of_entities = "MATCH (e:Entity) RETURN e.id, e.label, e.aliases, e.description, e.types, e.popularity"
        before = [row for row in rows(graph, of_entities) if row[0] != DAY]
        assert sorted(rows(backwards, of_entities), key=repr) == sorted(before, key=repr)
        assert rows(backwards, "MATCH (r:Relation) RETURN r.id, r.label, r.clozes ORDER BY r.id") == [
            ("P36", "capital", ["[X] is the capital of [Y]"]),
            ("P47", "", []),
        ]
        reversal = kgprobe.reversal_of(backwards)
        state = graph_state(backwards)
        with pytest.raises(ArgumentError, match="`graph` is an inverse graph"):
            kgprobe.reverse_graph(backwards)
    assert reversal is not None
    assert reversal.of == graph_state(graph)
    assert [one.called for one in reversal.left_out] == ["currency"]
    assert told == [
        f"Inverse graph: 7 facts of 2 relations, in {backwards.endpoint.folder}."
        " Left out, with more than 1.5 subjects per object on average: currency 2.",
    ]
    # Opened the second time, not made; a graph of the same name, wherever it lies.
    with kgprobe.reverse_graph(graph, on_note=told.append) as again:
        assert graph_state(again) == state
    assert len(told) == 1
    with kgprobe.reverse_graph(graph, 2) as more:
        assert {row[0] for row in rows(more, "MATCH (r:Relation) RETURN r.id")} == {"P36", "P38", "P47"}
        assert more.endpoint.folder != again.endpoint.folder


@pytest.mark.slow
@ONE_ENGINE
def test_interrupted_making_goes_on(graph: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ingest.load(graph, small())
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", 2)
    batches = []

    def fail(progress: object) -> None:
        batches.append(progress)
        if len(batches) == 6:
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        kgprobe.reverse_graph(graph, folder=tmp_path / "backwards", on_progress=fail)
    done: list[Any] = []
    with kgprobe.reverse_graph(graph, folder=tmp_path / "backwards", on_progress=done.append) as backwards:
        assert sorted(rows(backwards, FACTS_OF), key=repr) == naive(graph, {"P36", "P47"})
        state = graph_state(backwards)
    # It went on in the entities or behind them.
    assert {progress.stage for progress in done} <= {"entities", "facts"}
    with kgprobe.reverse_graph(graph, folder=tmp_path / "whole") as whole:
        assert graph_state(whole) == state


@pytest.mark.slow
@ONE_ENGINE
def test_demo_graph_is_rebuilt_after_changes_and_runs_stay(graph: Graph, tiny: Model, tmp_path: Path) -> None:
    ingest.load(graph, small())
    folder = tmp_path / "backwards"
    told: list[str] = []
    with kgprobe.reverse_graph(graph, folder=folder) as backwards:
        before = graph_state(backwards)
    ingest.load(graph, WrittenSource([Entity("Q1", "Rome")], [Fact("g", "Q39", "P36", "Q1")], fingerprint="written-2"))
    with kgprobe.reverse_graph(graph, folder=folder, on_note=told.append) as backwards:
        assert ("g", "Q1", "P36", "Q39") in [row[:4] for row in rows(backwards, FACTS_OF)]
        assert graph_state(backwards) != before
        assert told[0] == "The inverse graph is of an older state of the graph; it is made again."
        run = kgprobe.run_rounds(
            backwards, tiny, "distractors", rounds=1, facts_per_round=1, distractors=1, name="kept-run"
        )
        assert run.reversed
        assert "distractors backwards" in run.summary()
    assert not (tmp_path / "backwards.1").exists()
    ingest.load(graph, small(Fact("h", "Q39", "P36", "Q64"), fingerprint="written-3"))
    kgprobe.reverse_graph(graph, folder=folder, on_note=told.append).close()
    assert f"The old one has runs (kept-run) and is kept in {folder}.1." in told
    with kgprobe.open_graph(f"{folder}.1") as aside:
        assert kgprobe.open("kept-run", aside).finding().about.reversed


@pytest.mark.slow
@ONE_ENGINE
def test_mistakes_are_named(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(KgprobeError, match="The graph is empty"):
        kgprobe.reverse_graph(graph)
    two = [fact for fact in FACTS if fact.relation == "P38"]
    ingest.load(graph, WrittenSource(ENTITIES, two, RELATIONS))
    with pytest.raises(KgprobeError, match=r"No relation qualifies\. .*: currency 2\. Raise `max_subjects`"):
        kgprobe.reverse_graph(graph)
    for wrong in (0.5, float("nan"), "many"):
        with pytest.raises(ArgumentError, match="`max_subjects` is"):
            kgprobe.reverse_graph(graph, wrong)  # type: ignore[arg-type]
    with kgprobe.open_graph(tmp_path / "other") as other:
        ingest.load(other, small())
    with pytest.raises(ArgumentError, match=r"`folder` is .*other, whose graph is not an inverse one"):
        kgprobe.reverse_graph(graph, 2, tmp_path / "other")
