"""NegativeArrays out of columns, against the definition on an enumerable graph, on both engines."""

import time
from collections import Counter
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import Task
from kgprobe.base.records import Entity, Fact
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling.columns import graph_columns, making
from kgprobe.sampling.columns import statement_negatives as module
from kgprobe.sampling.columns.graph_columns import (
    AskableFacts,
    FactsById,
    GraphColumns,
    kept_columns,
    kept_said,
    open_columns,
    said_of,
)
from kgprobe.sampling.columns.making import ALWAYS, FOREVER
from kgprobe.sampling.columns.statement_negatives import ColumnNegatives, NegativeArrays
from kgprobe.sampling.drawing import DrawOptions
from kgprobe.sampling.keys import FactKey, seeded_number
from kgprobe.sampling.selection import choose_facts
from kgprobe.sampling.statement_negatives import ENDS
from tests.sampling.naive_negatives import RELATIONS, Naive, Triple, graph_of
from tests.written_source import WrittenSource

pytestmark = pytest.mark.usefixtures("home")


def bases_of(columns: GraphColumns, facts: np.ndarray, seed: int) -> np.ndarray:
    ids = [columns.fact_ids[int(fact)].as_py() for fact in facts]
    return np.array([seeded_number(seed, "negatives", id_) for id_ in ids], dtype=np.uint64)


def drawn(
    columns: GraphColumns, negatives: ColumnNegatives, facts: np.ndarray, count: int, seed: int = 0
) -> tuple[NegativeArrays, list[list[Triple]]]:
    found = negatives.draw(facts, bases_of(columns, facts, seed), count)
    ids = columns.entity_ids.to_pylist()
    return found, [
        [
            (ids[subject], columns.relation_ids[relation], ids[object_])
            for replaced, subject, relation, object_ in zip(*parts, strict=True)
            if replaced >= 0
        ]
        for parts in zip(found.replaced, found.subjects, found.relations, found.objects, strict=True)
    ]


@pytest.mark.parametrize("any_type", [False, True], ids=["of its type", "of any type"])
@pytest.mark.parametrize("draws", [0, 48], ids=["gone through", "drawn"])
@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.representatives(2)
def test_all_negatives_are_found_and_nothing_else(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, draws: int, seed: int, any_type: bool
) -> None:
    monkeypatch.setattr(module, "DRAWS", draws)
    people, facts = graph_of(seed)
    load(graph, WrittenSource(people, facts))
    naive = Naive(people, facts)
    columns, said = open_columns(graph), said_of(kept_said(graph))
    by_id = {fact.id: fact for fact in facts}
    everything = np.arange(len(columns.subjects))
    asked = [by_id[id_] for id_ in columns.fact_ids.to_pylist()]
    assert len(asked) == len(facts)
    counts: Counter[str] = Counter()
    for place in ENDS:
        negatives = ColumnNegatives(columns, said, RELATIONS, RELATIONS, replace=place, any_type=any_type)
        found, triples = drawn(columns, negatives, everything, len(people))
        for fact, its, replaced in zip(asked, triples, found.replaced, strict=True):
            possible = naive.negatives(fact, place, any_type=any_type)
            assert len(its) == len(set(its))
            assert set(its) == possible, (fact, place)
            assert set(replaced[replaced >= 0]) <= {ENDS.index(place)}
            counts[place] += len(its)
    assert min(counts[place] for place in ENDS) > 20


def test_each_is_drawn_with_the_same_probability(graph: Graph) -> None:
    entities = [Entity(f"e{n:02}", f"name {n}", types=("t", "u") if n % 2 else ("t",)) for n in range(12)]
    facts = [Fact(f"f{n}", f"e{n:02}", "r", "e11") for n in range(4)]
    facts += [Fact(f"g{n}", "e04", f"r{n}", "e05") for n in range(6)]
    load(graph, WrittenSource(entities, facts))
    columns, said = open_columns(graph), said_of(kept_said(graph))
    relations = ["r", *(f"r{n}" for n in range(6))]
    negatives = ColumnNegatives(columns, said, {}, relations, replace="any")
    fact = np.array([columns.fact_ids.to_pylist().index("f0")])
    several = np.repeat(fact, 3000)
    bases = np.array([seeded_number(seed, "negatives", "f0") for seed in range(3000)], dtype=np.uint64)
    found = negatives.draw(several, bases, 1)
    places = Counter(found.replaced[:, 0].tolist())
    assert stats.chisquare([places[place] for place in range(3)]).pvalue > 1e-3
    for place, values, possible in ((0, found.subjects, 7), (1, found.relations, 6), (2, found.objects, 10)):
        its = Counter(values[found.replaced[:, 0] == place, 0].tolist())
        assert len(its) == possible
        assert stats.chisquare(list(its.values())).pvalue > 1e-3
    # Whatever stands beside a fact has no say.
    everything = np.arange(len(columns.subjects))
    _, together = drawn(columns, negatives, everything, 3)
    _, alone = drawn(columns, negatives, fact, 3)
    assert alone == [together[fact[0]]]
    # Where one place has no more, the others go on.
    (whole,) = drawn(columns, negatives, fact, 99)[1]
    assert len(whole) == len(set(whole)) == 7 + 6 + 10


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "marks.json"}


def test_graph_has_the_same_columns_however_it_was_loaded(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, facts = graph_of(5)
    load(graph, WrittenSource(people[::-1], facts[::-1]))
    columns = open_columns(graph)
    assert columns.entity_ids.to_pylist() == sorted(entity.id for entity in people)
    by_id = {entity.id: entity for entity in people}
    facts_by_id = {fact.id: fact for fact in facts}
    for place, id_ in enumerate(columns.entity_ids.to_pylist()):
        entity = by_id[id_]
        assert columns.labels[place].as_py() == entity.label
        assert [columns.type_ids[one] for one in columns.types[place]] == sorted(entity.types)
        datatype = columns.datatypes[place]
        assert (columns.datatype_names[datatype] if datatype >= 0 else None) == entity.datatype
    order = []
    for place, id_ in enumerate(columns.fact_ids.to_pylist()):
        fact = facts_by_id[id_]
        ends = [columns.entity_ids[int(ends[place])].as_py() for ends in (columns.subjects, columns.objects)]
        assert (ends[0], columns.relation_ids[columns.relations[place]], ends[1]) == (
            fact.subject,
            fact.relation,
            fact.object,
        )
        begin, end = columns.begins[place], columns.ends[place]
        assert (begin == ALWAYS) == (fact.start is None)
        bounds = {None: FOREVER, "unknown": ALWAYS}
        assert end == (bounds[fact.end] if fact.end in bounds else int(f"{fact.end}1231"))
        order.append((fact.subject, fact.relation, fact.object, fact.id))
    assert order == sorted(order)
    # A graph read by many ranges of entities, several at the same time, has the same files.
    whole = contents(kept_columns(graph))
    monkeypatch.setattr(making, "_NUMBERS_AT_ONCE", 2)
    (tmp_path / "ranges").mkdir()
    making.write_columns(making.graph_parts(graph), tmp_path / "ranges", Task("reading", time.monotonic))
    assert contents(tmp_path / "ranges") == whole
    # What is kept is opened again, and made anew once something was loaded.
    (kept,) = (tmp_path / "home" / "columns").glob("*-all-*")
    assert open_columns(graph).fact_ids.equals(columns.fact_ids)
    load(graph, WrittenSource([Entity("new", "New")], [Fact("more", "new", "r0", people[0].id)]))
    assert "more" in open_columns(graph).fact_ids.to_pylist()
    # Also once a fact was deleted by hand.
    graph.query("MATCH ()-[fact:FACT {id: 'more'}]->() DELETE fact")
    assert "more" not in open_columns(graph).fact_ids.to_pylist()
    assert not kept.exists()


@pytest.mark.parametrize("balance", [None, "degree"])
@pytest.mark.parametrize(
    "change",
    [
        "MATCH ()-[fact:FACT {id: 'f'}]->() SET fact.until = 20191231",
        "MATCH (s)-[fact:FACT {id: 'f'}]->() CREATE (s)-[:FACT {id: 'g', relation: 'r'}]->(s) DELETE fact",
        "MATCH (o:Entity {id: 'o'}) SET o.label = ''",
    ],
)
def test_drawn_fact_that_was_changed_by_hand_is_named(graph: Graph, balance: str | None, change: str) -> None:
    load(graph, WrittenSource([Entity("s", "Sam"), Entity("o", "Otto")], [Fact("f", "s", "r", "o")]))
    draw = DrawOptions(balance=balance)
    assert list(choose_facts(graph, ["r"], as_of=20260101, draw=draw).keys) == [FactKey("s", "f")]
    graph.query(change)
    with pytest.raises(KgprobeError, match=r"the fact f of s is missing, not current at 20260101.*Delete \S+columns"):
        choose_facts(graph, ["r"], as_of=20260101, draw=draw)


def test_facts_by_id_are_sorted_and_found(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_columns, "_IDS_AT_ONCE", 3)
    people = ["\N{WOMAN}é", "b", "a longer id"]
    ids = ["ü" * 9, "ü", "1", "f", "g", *map("x{}".format, range(20))]
    facts = [Fact(id_, people[n % 3], "rs"[n == 4], people[n % 2]) for n, id_ in enumerate(ids)]
    load(graph, WrittenSource([Entity(id_, id_) for id_ in people], facts))
    askable = AskableFacts(open_columns(graph), ["r"], 20260101)
    assert list(askable.encoded_ids()) == [key.fact.encode() for key in askable.keys(np.arange(len(askable)))]
    by_id = FactsById(askable)
    keys = sorted((FactKey(fact.subject, fact.id) for fact in facts if fact.relation == "r"), key=itemgetter(1))
    assert [by_id[place] for place in range(len(by_id))] == keys
    for part in (askable, askable.among(np.array([1])), askable.among(np.array([], int))):
        by_id = FactsById(part)
        ids = [key.fact for key in by_id.keys(np.arange(len(part)))]
        sought = [*ids, "g", "", "ü" * 8, "zz"]
        assert by_id.positions(sought).tolist() == [*range(len(part)), *[-1] * 4]
        assert by_id.positions([]).tolist() == []
    by_id = FactsById(askable)
    subjects = [by_id[int(place)].subject.encode() for place in by_id.by_subject()]
    assert subjects == sorted(subjects)
