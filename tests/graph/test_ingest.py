"""Ingestion on both engines: idempotent, resumable, and nothing is lost silently."""

import gc
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neo4j.exceptions import TransientError

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.graph import derive, driver, ingest, record_batches
from kgprobe.graph.client import Graph, Transaction
from kgprobe.graph.loading import load_source
from kgprobe.graph.names import entity_ids, relation_ids
from kgprobe.graph.servers.bulk_loading import write_bulk_source
from kgprobe.graph.servers.folder import Folder
from kgprobe.graph.servers.leases import stop
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.state import graph_state
from tests.conftest import require_engine
from tests.written_source import WrittenSource

EVERYTHING = (Path(__file__).parent.parent / "data" / "everything.cypher").read_text(encoding="utf-8")

COUNTRY, CITY = "Q6256", "Q515"
ENTITIES = [
    Entity("Q142", "France", ("French Republic",), "country in Europe", (COUNTRY,)),
    Entity("Q183", "Germany", (), "country in Europe", (COUNTRY,), popularity=0.5),
    Entity("Q90", "Paris", (), "capital of France", (CITY, COUNTRY)),
    Entity("Q64", "Berlin", (), "", (CITY,)),
    Entity("Q586", "Bonn", (), "", (CITY,)),
    Entity(CITY, "city"),
    Entity("1969-07-20", "20 July 1969", value="1969-07-20", datatype="date"),
]
FACTS = [
    Fact("f1", "Q142", "P36", "Q90"),
    Fact("f2", "Q183", "P36", "Q64", start="1990-10-03"),
    Fact("f3", "Q183", "P36", "Q586", rank="preferred", start="1949", end="1990-10"),
    Fact("f4", "Q142", "P47", "Q183"),
    Fact("f5", "Q183", "P47", "Q142"),
    Fact("f6", "Q142", "P47", "Q142"),
]
RELATIONS = [Relation("P36", "capital", ("capital city",), "seat", clozes=("The capital of [X] is [Y]",))]


def small(**changes: Any) -> WrittenSource:
    return WrittenSource(**{"entity_records": ENTITIES, "fact_records": FACTS, "relation_records": RELATIONS} | changes)


def everything(graph: Graph) -> list[str]:
    """All nodes and relationships, without the loads' own records and the graph's name, in an order of no meaning."""
    own = {"uid", "batches"}

    def plain(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return sorted((key, plain(inner)) for key, inner in value.items() if key not in own)

    rows = [
        [sorted(row["labels"]), *(plain(row[column]) for column in list(row)[1:])]
        for row in graph.run_text(EVERYTHING, {})[1]
        if row["labels"] != ["KgprobeLoad"]
    ]
    return sorted(map(repr, rows))


def rows(graph: Graph, text: str, **parameters: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in graph.run_text(text, parameters)[1]]


@pytest.fixture(params=[2, 10_000], ids=["small batches", "one batch"])
def batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", request.param)


@pytest.mark.usefixtures("batches")
def test_what_is_loaded_is_there(graph: Graph) -> None:
    report = ingest.load(graph, small())
    assert report.written == {"relations": 1, "entities": 7, "facts": 6}
    assert not report.problems
    assert rows(
        graph,
        "MATCH (e:Entity {id: 'Q90'}) RETURN e.label, e.aliases, e.description, e.types, e.degree, e.source",
    ) == [("Paris", [], "capital of France", [CITY, COUNTRY], 1, "written")]
    assert rows(graph, "MATCH (s)-[f:FACT {id: 'f3'}]->(o) RETURN s.id, o.id, properties(f)") == [
        (
            "Q183",
            "Q586",
            {
                "id": "f3",
                "relation": "P36",
                "relation_label": "capital",
                "rank": "preferred",
                "source": "written",
                "load": "written-1",
                "start": "1949",
                "end": "1990-10",
                "from": 19490101,
                "until": 19901031,
                "line": 3,
            },
        )
    ]
    # A self-loop is one fact at its entity.
    assert rows(graph, "MATCH (e:Entity) WHERE e.degree > 0 RETURN e.id, e.degree ORDER BY e.id") == [
        *[("Q142", 4), ("Q183", 4), ("Q586", 1), ("Q64", 1), ("Q90", 1)],
    ]
    assert rows(graph, "MATCH (t:Type) RETURN t.id, t.label, t.size ORDER BY t.id") == [
        (CITY, "city", 3),
        (COUNTRY, None, 3),
    ]
    assert rows(graph, "MATCH (l:Literal) RETURN l.id, l.value, l.datatype") == [("1969-07-20", "1969-07-20", "date")]
    assert rows(graph, "MATCH (r:Relation) RETURN r.id, r.label, r.size, r.active, r.clozes ORDER BY r.id") == [
        ("P36", "capital", 3, True, ["The capital of [X] is [Y]"]),
        ("P47", None, 2, True, None),
    ]


@pytest.mark.usefixtures("batches")
def test_entities_are_numbered_without_gaps(graph: Graph) -> None:
    ingest.load(graph, small())
    more = [Entity("Q1", "one"), ENTITIES[0], Entity("Q2", "two")]
    ingest.load(graph, small(entity_records=more, fingerprint="written-2"))
    numbers = rows(graph, "MATCH (e:Entity) WHERE e.number IS NOT NULL RETURN e.number ORDER BY e.number")
    (total,) = rows(graph, "MATCH (c:KgprobeCounter) RETURN c.next")[0]
    assert len({number for (number,) in numbers}) == len(numbers) == len(ENTITIES) + 2
    # A known entity between new ones may leave its number unused.
    assert total - len(numbers) <= 1


@pytest.mark.usefixtures("batches")
def test_loading_twice_changes_nothing(graph: Graph) -> None:
    ingest.load(graph, small())
    before = everything(graph)
    again = ingest.load(graph, small())
    assert everything(graph) == before
    assert not again.resumed
    assert not again.problems


def test_interrupted_load_goes_on(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", 2)
    ingest.load(graph, small())
    undisturbed = everything(graph)
    graph_is_emptied(graph)
    with pytest.raises(OSError, match="the disk is gone"):
        ingest.load(graph, small(fail_at_fact=4))
    assert rows(graph, "MATCH ()-[f:FACT]->() RETURN count(f)") == [(2,)]
    report = ingest.load(graph, small())
    assert report.resumed
    assert report.records == {"facts": 4}
    assert everything(graph) == undisturbed


def graph_is_emptied(graph: Graph) -> None:
    list(graph.run_text("MATCH (n) DETACH DELETE n", {})[1])


@pytest.mark.usefixtures("batches")
def test_duplicates_and_strangers_are_reported(graph: Graph) -> None:
    problems: list[str] = []
    source = small(
        entity_records=[*ENTITIES, Rejected("no JSON: unexpected end"), Entity("Q142", "Frankreich")],
        fact_records=[
            *FACTS,
            Fact("f1", "Q142", "P36", "Q90"),
            Fact("f9", "Q9", "P36", "Q90"),
            Fact("f8", "Q90", "P36", "Q8"),
        ],
    )
    report = ingest.load(graph, source, report_problem=problems.append)
    assert report.problems == {"unreadable": 1, "duplicate": 2, "missing": 2}
    assert report.written == {"relations": 1, "entities": 7, "facts": 6}
    assert sorted(problems) == [
        "written, line 7: f1 is already on line 1. Skipped; `strict` stops here.",
        "written, line 8: no JSON: unexpected end. Skipped; `strict` stops here.",
        "written, line 8: the subject Q9 of 'f9' is not in the graph. Skipped; `strict` stops here.",
        "written, line 9: Q142 is already on line 1. Skipped; `strict` stops here.",
        "written, line 9: the object Q8 of 'f8' is not in the graph. Skipped; `strict` stops here.",
    ]
    assert rows(graph, "MATCH (e:Entity {id: 'Q142'}) RETURN e.label, e.degree") == [("France", 4)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"entity_records": [Rejected("no JSON")]}, "written, line 1: no JSON."),
        ({"entity_records": [*ENTITIES, ENTITIES[0]]}, "written, line 8: Q142 is already on line 1."),
        (
            {"fact_records": [Fact("f", "Q9", "P36", "Q90")]},
            "written, line 1: the subject Q9 of 'f' is not in the graph.",
        ),
    ],
)
def test_strict_stops_at_the_first(graph: Graph, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(KgprobeError) as caught:
        ingest.load(graph, small(**changes), strict=True)
    assert str(caught.value) == message


def test_objects_outside_a_part_are_counted_not_reported(graph: Graph) -> None:
    facts = [*FACTS, Fact("f8", "Q90", "P36", "Q8")]
    report = ingest.load(graph, small(fact_records=facts, partial=True), strict=True)
    assert (report.outside, report.written["facts"]) == (1, 6)
    assert not report.problems


@pytest.mark.usefixtures("batches")
def test_fact_with_another_object_is_a_duplicate_too(graph: Graph) -> None:
    problems: list[str] = []
    again = Fact("f1", "Q142", "P36", "Q64")
    report = ingest.load(graph, small(fact_records=[*FACTS, again]), report_problem=problems.append)
    assert problems == ["written, line 7: f1 is already on line 1. Skipped; `strict` stops here."]
    assert report.written["facts"] == 6
    assert rows(graph, "MATCH (s)-[f:FACT {id: 'f1'}]->(o) RETURN o.id") == [("Q90",)]
    # The same holds when something else has been loaded before.
    newer = [Fact("f1", "Q142", "P36", "Q586"), Fact("x", "Q142", "P47", "Q183"), again]
    assert ingest.load(graph, small(fact_records=newer, fingerprint="written-2")).problems == {"duplicate": 1}
    assert rows(graph, "MATCH (s)-[f:FACT {id: 'f1'}]->(o) RETURN o.id") == [("Q586",)]


def test_what_the_driver_tries_anew_is_written_whole(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    transaction = Graph.transaction
    failures = []

    def failing_once(self: Graph, work: Any) -> Any:
        def doomed(opened: Any) -> Any:
            result = work(opened)
            if not failures and result and getattr(result, "written", 0) == len(FACTS):
                failures.append(True)
                raise TransientError("a deadlock, as the engine would have it")
            return result

        return transaction(self, doomed)

    monkeypatch.setattr(Graph, "transaction", failing_once)
    report = ingest.load(graph, small(relation_records=()))
    assert failures
    assert report.written["facts"] == len(FACTS)
    assert rows(graph, "MATCH (r:Relation) RETURN r.id, r.size ORDER BY r.id") == [("P36", 3), ("P47", 2)]


def test_changed_fact_leaves_no_belief_behind(graph: Graph) -> None:
    ingest.load(graph, small())
    belief = """
    MATCH ()-[f:FACT {id: $id}]->()
    MERGE (run:Run {id: 'r'})
    CREATE (:Belief {id: 'r/' + f.id, run: run.id, fact: f.id, alpha: 2, beta: 1})
    """
    for fact in ("f1", "f4", "f5"):
        list(graph.run_text(belief, {"id": fact})[1])
    changed = [Fact("f1", "Q142", "P36", "Q64"), Fact("f5", "Q183", "P530", "Q142")]
    ingest.load(graph, small(fact_records=changed, relation_records=(), fingerprint="written-2"))
    assert rows(graph, "MATCH (b:Belief) RETURN b.fact") == [("f4",)]


def test_duplicate_beside_a_stranger_is_reported_once(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", 2)
    ingest.load(graph, small(relation_records=()))
    before = everything(graph)
    facts = [*FACTS, Fact("f1", "Q142", "P99", "Q64"), Fact("f9", "Q142", "P36", "Q8")]
    # The first of them names a relation that nothing else does: a duplicate leaves nothing, not even that.
    assert ingest.load(graph, small(fact_records=facts, relation_records=())).problems == {"duplicate": 1, "missing": 1}
    assert everything(graph) == before


# Ids hold their subject, as those of sources do.
ENDS = st.sampled_from(["Q0", "Q1", "Q2", "Q3"])
CHANGING_FACTS = st.lists(
    st.builds(
        lambda subject, number, relation, object_: Fact(f"{subject}-{number}", subject, relation, object_),
        ENDS,
        st.integers(0, 1),
        st.sampled_from(["P0", "P1"]),
        st.one_of(ENDS, st.just("Q404")),
    ),
    min_size=2,
    max_size=8,
    unique_by=lambda fact: fact.id,
)
CHANGING_TYPES = st.lists(
    st.lists(st.sampled_from(["T0", "T1", "Q0"]), unique=True, max_size=3), min_size=4, max_size=4
)


@given(loads=st.lists(st.tuples(st.booleans(), CHANGING_TYPES, CHANGING_FACTS), min_size=2, max_size=3))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_kept_beside_facts_is_what_they_say(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, loads: list[tuple[bool, list[list[str]], list[Fact]]]
) -> None:
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", 5)
    graph_is_emptied(graph)
    facts: dict[str, Fact] = {}
    types_of: dict[str, list[str]] = {}
    for number, (remove_missing, types, changed) in enumerate(loads):
        entities = [Entity(f"Q{index}", types=tuple(names)) for index, names in enumerate(types)]
        report = ingest.load(
            graph, WrittenSource(entities, changed, fingerprint=f"written-{number}"), remove_missing=remove_missing
        )
        there = {fact.id: fact for fact in changed if fact.object != "Q404"}
        assert report.problems["missing"] == len(changed) - len(there)
        # An entity keeps its types where a source has none for it.
        given = {f"Q{index}": names for index, names in enumerate(types) if names or remove_missing or not number}
        assert report.created == Counter(entities=0 if number else 4, facts=len(there.keys() - facts.keys()))
        assert report.changed == Counter(
            entities=sum(types_of[id_] != names for id_, names in given.items()) if number else 0,
            facts=sum(facts[id_] != there[id_] for id_ in facts.keys() & there.keys()),
        )
        types_of |= given
        facts |= there

    assert rows(graph, "MATCH (s)-[f:FACT]->(o) RETURN f.id, s.id, f.relation, o.id ORDER BY f.id") == sorted(
        (fact.id, fact.subject, fact.relation, fact.object) for fact in facts.values()
    )
    degrees = Counter(entity for fact in facts.values() for entity in {fact.subject, fact.object})
    assert Counter(dict(rows(graph, "MATCH (e:Entity) RETURN e.id, coalesce(e.degree, 0)"))) == degrees
    objects = {(fact.relation, fact.object) for fact in facts.values()}
    assert rows(graph, "MATCH (o)-[:OBJECT_OF]->(r) RETURN r.id, o.id ORDER BY r.id, o.id") == sorted(objects)
    sizes = Counter(relation for relation, _ in objects)
    assert Counter(dict(rows(graph, "MATCH (r:Relation) RETURN r.id, r.size"))) == sizes
    links = {(name, id_) for id_, names in types_of.items() for name in names}
    assert rows(graph, "MATCH (e)-[:INSTANCE_OF]->(t) RETURN t.id, e.id ORDER BY t.id, e.id") == sorted(links)
    members = Counter(name for name, _ in links)
    assert Counter(dict(rows(graph, "MATCH (t:Type) RETURN t.id, t.size"))) == members


@pytest.mark.slow
# The only clock: what walks a subject's facts for each of its rows needs many times as long.
@pytest.mark.parametrize("hub", ["subject", "object"])
def test_entity_of_many_facts_takes_a_walk_a_batch(graph: Graph, hub: str) -> None:
    count = 20_000
    others = [Entity(f"Q{number}") for number in range(1_000)]
    ends = [("hub", other.id) if hub == "subject" else (other.id, "hub") for other in others] * (count // len(others))
    facts = [Fact(f"{subject}-{line}", subject, "P1", object_) for line, (subject, object_) in enumerate(ends)]
    assert ingest.load(graph, WrittenSource([Entity("hub"), *others], facts)).written["facts"] == count
    again = ingest.load(graph, WrittenSource(fact_records=facts, fingerprint="written-2"))
    assert again.written["facts"] == count
    assert rows(graph, "MATCH ()-[f:FACT]->() RETURN count(f), count(DISTINCT f.id)") == [(count, count)]
    assert rows(graph, "MATCH (e:Entity {id: 'hub'}) RETURN e.degree") == [(count,)]


def test_two_loads_at_once_make_each_fact_once(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", 50)
    entities = [Entity(f"Q{number}") for number in range(50)]
    ingest.load(graph, WrittenSource(entities))
    facts = [Fact(f"f{number}", f"Q{number % 7}", "P1", f"Q{number % 50}") for number in range(500)]
    failures: list[BaseException] = []

    def load(fingerprint: str) -> None:
        try:
            ingest.load(graph, WrittenSource(fact_records=facts, fingerprint=fingerprint))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=load, args=[f"written-{number}"]) for number in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert rows(graph, "MATCH ()-[f:FACT]->() RETURN count(f), count(DISTINCT f.id)") == [(500, 500)]
    total = [(2 * 500 - sum(fact.subject == fact.object for fact in facts),)]
    assert rows(graph, "MATCH (e:Entity) RETURN sum(e.degree)") == total


def type_links(graph: Graph) -> list[tuple[Any, ...]]:
    return rows(graph, "MATCH (e:Entity)-[:INSTANCE_OF]->(t) RETURN e.id, count(t), sum(t.size) ORDER BY e.id")


def load_types(graph: Graph, count: int, fingerprint: str) -> None:
    several = [Entity("Q1", types=("T0",)), Entity("Q2", types=tuple(f"T{number}" for number in range(count)))]
    ingest.load(graph, WrittenSource([*several, Entity("Q3", types=("U", "V"))], fingerprint=fingerprint))


def test_types_go_to_the_graph_in_bounded_statements(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive, "TYPES_AT_ONCE", 7)
    run, sizes = Transaction.run, Counter[str]()

    def measured(self: Transaction, query: str, **parameters: Any) -> Any:
        if query in ("load/instances", "load/former_types"):
            count = sum(len(row["types"]) for row in parameters["rows"])
            assert len({row["id"] for row in parameters["rows"]}) == len(parameters["rows"])
        else:
            count = len(parameters["ids"]) if query in ("load/types", "load/new_types") else 0
        sizes[query] = max(sizes[query], count)
        return run(self, query, **parameters)

    monkeypatch.setattr(Transaction, "run", measured)
    for count, fingerprint in ((50, "a"), (50, "b"), (30, "c"), (40, "d")):
        load_types(graph, count, fingerprint)
        assert type_links(graph) == [("Q1", 1, 2), ("Q2", count, count + 1), ("Q3", 2, 2)]
    assert {sizes[query] for query in ("load/instances", "load/former_types", "load/types", "load/new_types")} == {7}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["arcadedb", "neo4j"])
def test_entity_of_200_000_types_loads(tmp_path: Path, engine: str) -> None:
    require_engine(engine)
    # A record is one transaction, and Neo4j holds a transaction in memory: 1 GiB does not do for this one.
    with open_graph(tmp_path / "graph", engine=engine, memory=3072) as graph:
        for fingerprint in ("a", "b"):
            load_types(graph, 200_000, fingerprint)
            assert type_links(graph) == [("Q1", 1, 2), ("Q2", 200_000, 200_001), ("Q3", 2, 2)]


LABELS = [
    "`MATCH` (n) DETACH DELETE n //",
    "\"}) SET e.label = 'x' //",
    "O'Brien \\' $id {id}",
    "<script>alert(1)</script>",
    "שָׁלוֹם עולם",
    "🇫🇷 👩‍👩‍👧",
    "line\u2028break",
    "x" * 29_000,
]


FOLDED = [
    Entity("a", "Ame\u0301lie", ("Am\u00e9lie", "\u200eAmelia", "Amelia")),
    Entity("b", "N\u2019Djamena", ("plain",)),
    Entity("n\u0303", "\u200b", types=("t\u00a0",)),
    Entity("c", "New York", ("New\u00a0York",)),
]


def test_unknown_end_is_stored_as_ended_without_until(graph: Graph) -> None:
    entities = [Entity("s", "subject"), Entity("o", "object")]
    stored = []
    for end in ("unknown", "2001", "unknown", None):
        ingest.load(graph, WrittenSource(entities, [Fact("f", "s", "r", "o", end=end)], fingerprint=str(len(stored))))
        stored += rows(graph, "MATCH ()-[f:FACT]->() RETURN f.end, f.until, f.ended")
    unknown = ("unknown", None, True)
    assert stored == [unknown, ("2001", 20011231, None), unknown, (None, None, None)]


def test_names_are_folded_and_counted(graph: Graph, tmp_path: Path) -> None:
    source = WrittenSource(FOLDED, relation_records=[Relation("r", "part\u00a0of", ("in",))])
    report = load_source(graph, source)
    assert rows(graph, "MATCH (e:Entity) WHERE e.label IS NOT NULL RETURN e.id, e.label, e.aliases ORDER BY e.id") == [
        ("a", "Am\u00e9lie", ["Amelia"]),
        ("b", "N'Djamena", ["plain"]),
        ("c", "New York", []),
        # Ids are no names.
        ("n\u0303", "", []),
    ]
    assert rows(graph, "MATCH (r:Relation) RETURN r.label") == [("part of",)]
    assert report.folded == report.to_dict()["folded"] == 6
    assert "6 names were changed, so that names that print alike are equal" in str(report)
    assert write_bulk_source(tmp_path / "files", source).folded == 6
    # By the way in which someone writes them.
    for name in ("Ame\u0301lie", "n\u2019djamena", "new\u00a0york"):
        assert len(entity_ids(graph, [name])) == 1
    assert relation_ids(graph, ["part\u00a0of"]) == ("r",)


def test_labels_are_data(graph: Graph) -> None:
    entities = [Entity(f"Q{number}", label, (label + "!",)) for number, label in enumerate(LABELS)]
    facts = [Fact(f"f`'\"{number}", f"Q{number}", "P1", "Q0") for number in range(len(LABELS))]
    ingest.load(graph, WrittenSource(entities, facts))
    found = rows(graph, "MATCH (e:Entity) RETURN e.label, e.aliases ORDER BY e.id")
    assert found == [(label, [label + "!"]) for label in LABELS]
    assert len(rows(graph, "MATCH ()-[f:FACT]->() RETURN f.id")) == len(LABELS)


def test_large_records_make_small_batches(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "BATCH_BYTES", 1_400)
    sizes: list[int] = []
    entities = [Entity(f"Q{number}", "x" * 600) for number in range(6)]
    ingest.load(graph, WrittenSource(entities), report_progress=lambda stage, records: sizes.append(records))
    assert [size for size in sizes if size] == [2, 2, 2]


def test_bounds_that_are_days_are_also_dates(graph: Graph) -> None:
    facts = [
        Fact("f0", "a", "r", "b", start="1998-10-27", end="2005-11"),
        Fact("f1", "a", "r", "c", start="-0043-03-15", end="0001-01-01"),
        Fact("f2", "a", "r", "d"),
    ]
    people = [Entity(id_, id_) for id_ in "abcd"]
    ingest.load(graph, WrittenSource(people, facts, [Relation("r", "r")]))
    dates = """
    MATCH ()-[f:FACT]->()
    RETURN f.id, toString(f.start_date), toString(f.end_date), duration.between(f.start_date, date('1998-10-30')).days
    ORDER BY f.id
    """
    assert rows(graph, dates) == [
        ("f0", "1998-10-27", None, 3),
        ("f1", None, "0001-01-01", None),
        ("f2", None, None, None),
    ]
    facts[0] = Fact("f0", "a", "r", "b", end="2005-11-22")
    ingest.load(graph, WrittenSource(people, facts, [Relation("r", "r")], fingerprint="later"))
    assert rows(graph, dates)[0] == ("f0", None, "2005-11-22", None)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (
            Entity("big", "x" * 20_000_000),
            "big has 20.0 MB; a record can have up to 7.8 MB: shorten its text",
        ),
        (
            Entity("wordy", "é" * 15_001),
            "the label of wordy is too long; a label can have up to 30,000 bytes: shorten it",
        ),
        (Entity("half", "\ud800"), "a text in it contains half a character (a lone surrogate)"),
    ],
    ids=["large", "label", "surrogate"],
)
def test_unsendable_record_is_rejected_with_its_line(graph: Graph, record: Entity, reason: str) -> None:
    told: list[str] = []
    source = WrittenSource([Entity("Q1"), record, Entity("Q2")])
    report = ingest.load(graph, source, report_problem=told.append)
    assert report.problems == {"unreadable": 1}
    assert report.written["entities"] == 2
    assert told[0].startswith(f"written, line 2: {reason}")


def test_relation_whose_label_no_index_holds_is_rejected(graph: Graph) -> None:
    told: list[str] = []
    longest, longer = Relation("r", "é" * 3_990), Relation("s", "x" * 8_001)
    report = ingest.load(graph, WrittenSource([Entity("Q1")], [], [longest, longer]), report_problem=told.append)
    assert (report.written["relations"], report.problems) == (1, {"unreadable": 1})
    assert "the label of s is too long; a label can have up to 8,000 bytes: shorten it" in told[0]


@pytest.mark.slow
def test_lost_server_is_a_clear_error_and_load_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "BATCH_RECORDS", 2)
    monkeypatch.setattr(driver, "RETRY_SECONDS", 1.0)
    folder = Folder(tmp_path / "graph")
    with open_graph(folder.path) as graph:

        def stop_in_the_middle(stage: str, records: int) -> None:
            if stage == "facts" and records:
                stop(folder, force=True)

        with pytest.raises(KgprobeError, match="does not answer"):
            ingest.load(graph, small(), report_progress=stop_in_the_middle)
    with open_graph(folder.path) as graph:
        report = ingest.load(graph, small())
        assert report.resumed
        assert report.records == {"facts": 4}
        assert rows(graph, "MATCH ()-[f:FACT]->() RETURN count(f)") == [(6,)]


def test_progress_is_heard_while_a_batch_is_long_in_coming(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "_WAIT_SECONDS", 0.01)
    heard = threading.Event()

    class Slow(WrittenSource):
        def entities(self) -> Iterator[Placed]:
            assert heard.wait(300), "nobody asked how far it is"
            yield from super().entities()

    def hear(stage: str, records: int) -> None:
        if (stage, records) == ("entities", 0):
            heard.set()

    report = ingest.load(graph, Slow([Entity("Q1")]), report_progress=hear)
    assert report.written["entities"] == 1


@pytest.mark.parametrize("strict", [False, True])
def test_garbage_is_collected_as_before_when_a_load_has_ended(graph: Graph, strict: bool) -> None:
    before, seen = gc.get_threshold(), []
    source = WrittenSource([Entity("A"), Entity("A")])
    with pytest.raises(KgprobeError) if strict else nullcontext():
        ingest.load(graph, source, strict=strict, report_progress=lambda *_: seen.append(gc.get_threshold()[0]))
    assert gc.get_threshold() == before
    assert all(threshold > before[0] for threshold in seen)
    # Strict loads end at their first batch here.
    assert bool(seen) != strict


CALLED = "MATCH ()-[f:FACT]->() RETURN DISTINCT f.relation, f.relation_label ORDER BY f.relation, f.relation_label"


@pytest.mark.usefixtures("batches")
@pytest.mark.representatives(2)
def test_facts_carry_what_their_relation_is_called(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "_FACTS_AT_ONCE", 2)
    ingest.load(graph, small(relation_records=[Relation("P36", "capital")]))
    assert rows(graph, CALLED) == [("P36", "capital"), ("P47", "P47")]
    labelled = [Relation("P36", "seat of government"), Relation("P47", "borders")]
    ingest.load(graph, WrittenSource([], [], labelled, fingerprint="labels"))
    assert rows(graph, CALLED) == [("P36", "seat of government"), ("P47", "borders")]
    # A fact that is loaded again, a new one, and one whose relation changes.
    more = [Fact("f1", "Q142", "P36", "Q90"), Fact("f9", "Q142", "P47", "Q64"), Fact("f2", "Q183", "P47", "Q64")]
    ingest.load(graph, WrittenSource([], more, [], fingerprint="more"))
    assert rows(graph, CALLED) == [("P36", "seat of government"), ("P47", "borders")]
    assert rows(graph, "MATCH (r:Relation) WHERE r.relabel IS NOT NULL RETURN r.id") == []


def test_interrupted_relabelling_resumes_with_the_next_load(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "_FACTS_AT_ONCE", 1)
    ingest.load(graph, small())
    write = Graph.write
    written: list[str] = []

    def fail(self: Graph, name: str, /, **parameters: Any) -> Any:
        written.append(name)
        if written.count("load/relabelled_facts") == 2:
            raise KgprobeError("killed")
        return write(self, name, **parameters)

    monkeypatch.setattr(Graph, "write", fail)
    renamed = WrittenSource([], [], [Relation("P36", "seat")], fingerprint="renamed")
    with pytest.raises(KgprobeError, match="killed"):
        ingest.load(graph, renamed)
    monkeypatch.setattr(Graph, "write", write)
    assert {label for relation, label in rows(graph, CALLED) if relation == "P36"} == {"capital", "seat"}
    ingest.load(graph, renamed)
    assert {label for relation, label in rows(graph, CALLED) if relation == "P36"} == {"seat"}


def test_load_keeps_what_its_source_does_not_say(graph: Graph) -> None:
    templates = Relation("r", "director", clozes=("[X] is by [Y]",), wh_questions=("Who made [X]?",), active=False)
    film = Entity("f1", "Film", ("Movie",), "a film", ("film",), 2.5)
    person = Entity("p1", "Person")
    fact = Fact("f1 r p1", "f1", "r", "p1")
    ingest.load(graph, WrittenSource([film, person], [fact], [templates]))
    before = graph_state(graph)
    facts_alone = WrittenSource(
        [Entity("f1", "Film"), person], [fact], [Relation("r", "director")], fingerprint="again"
    )
    report = ingest.load(graph, facts_alone)
    assert (report.created, report.changed, graph_state(graph)) == (Counter(), Counter(), before)
    in_graph = "MATCH (e:Entity {id: 'f1'}), (r:Relation) RETURN e.aliases, e.types, e.popularity, r.clozes, r.active"
    assert rows(graph, in_graph) == [(["Movie"], ["film"], 2.5, ["[X] is by [Y]"], False)]
    more = WrittenSource([film], [], [Relation("r", "director", clozes=("[Y] made [X]",))], fingerprint="templates")
    report = ingest.load(graph, more)
    assert (report.changed, report.properties) == (Counter(relations=1), {"clozes"})
    assert rows(graph, "MATCH (r:Relation) RETURN r.clozes, r.wh_questions") == [
        (["[Y] made [X]"], ["Who made [X]?"]),
    ]
    changed = graph_state(graph)
    assert changed != before
    report = ingest.load(graph, facts_alone, remove_missing=True)
    assert (report.changed, report.properties) == (
        Counter(entities=1, relations=1),
        {"active", "clozes", "wh_questions"},
    )
    assert rows(graph, in_graph) == [([], [], None, [], True)]
    removed = graph_state(graph)
    assert removed not in (before, changed)
    report = ingest.load(graph, facts_alone, remove_missing=True)
    assert (report.changed, graph_state(graph)) == (Counter(), removed)
