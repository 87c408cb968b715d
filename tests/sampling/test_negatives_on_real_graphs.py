"""Negatives by queries and by arrays, compared with each other and with the naive definition on three real graphs."""

import gzip
import json
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.loaders.dbpedia import DBpediaOptions, open_dbpedia
from kgprobe.loaders.example import open_example
from kgprobe.records import Entity, Fact, Relation
from kgprobe.sampling.columns.graph_columns import open_columns
from kgprobe.sampling.columns.said import kept_said, said_of
from kgprobe.sampling.columns.statement_negatives import ColumnNegatives
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.statement_negatives import ENDS, StatementNegatives
from kgprobe.sources.contract import Source
from tests.sampling.naive_negatives import Naive, Triple
from tests.written_source import WrittenSource

# Number of facts of a graph.
_FACTS = 300

Records = tuple[list[Entity], list[Fact], list[Relation]]


def cut(records: Iterable[object]) -> Records:
    """Return some facts, a third of them dated if there are as many, with their ends and relations."""
    entities, facts, relations = [], [], []
    for record in records:
        if isinstance(record, Entity):
            entities.append(record)
        elif isinstance(record, Fact):
            facts.append(record)
        elif isinstance(record, Relation):
            relations.append(record)
    generator = random.Random(0)
    known = {entity.id for entity in entities}
    facts = [fact for fact in facts if fact.subject in known and fact.object in known]
    dated = [fact for fact in facts if fact.end]
    few = generator.sample(dated, min(len(dated), _FACTS // 3))
    facts = sorted({*few, *generator.sample(facts, min(len(facts), _FACTS))}, key=lambda fact: fact.id)
    ends = {fact.subject for fact in facts} | {fact.object for fact in facts}
    used = {fact.relation for fact in facts}
    return (
        [entity for entity in entities if entity.id in ends],
        facts,
        [relation for relation in relations if relation.id in used],
    )


def cut_source(source: Source) -> Records:
    """Return part of a source's records."""
    return cut(each.record for each in chain(source.relations(), source.entities(), source.facts()))


def wikidata(folder: Path) -> Records:
    entities = []
    with gzip.open(folder / "wikidata" / "entities.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            entities.append(Entity(row["id"], row["label"], tuple(row["aliases"]), types=tuple(row["types"])))
    typed = {entity.id for entity in entities if entity.types}
    facts = []
    with gzip.open(folder / "wikidata" / "facts.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            subject, relation, object_, start, end, _ = line.rstrip("\n").split("\t")
            # Most entities of the file have no types.
            if subject in typed or end or hash_of(subject) % 20 == 0:
                id_ = f"{subject} {relation} {object_} {start}"
                facts.append(Fact(id_, subject, relation, object_, start=start or None, end=end or None))
    relations = []
    for line in (folder / "wikidata" / "relations.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        relations.append(Relation(row["id"], row["label"], statements=tuple(row["bear_templates"])))
    return cut([*entities, *facts, *relations])


def hash_of(identifier: str) -> int:
    return sum(identifier.encode())


def dbpedia(folder: Path) -> Records:
    pytest.importorskip("pyoxigraph")
    return cut_source(open_dbpedia(DBpediaOptions(files=(folder / "dbpedia" / "dbpedia-fragment.ttl",))))


def selected(entities: Sequence[Entity], facts: Sequence[Fact]) -> list[Fact]:
    """Return facts of each sort: with a literal, with and without types, ended, a self-loop, with equal names."""
    by_id = {entity.id: entity for entity in entities}
    names = [name for entity in entities for name in {entity.label, *entity.aliases}]
    shared = {name for name in names if names.count(name) > 1}
    sorts: list[Callable[[Entity, Fact, Entity], object]] = [
        lambda subject, fact, object_: object_.datatype and not object_.types,
        lambda subject, fact, object_: object_.types and subject.types,
        lambda subject, fact, object_: not object_.types and not subject.types and not object_.datatype,
        lambda subject, fact, object_: object_.types and not subject.types,
        lambda subject, fact, object_: fact.end,
        lambda subject, fact, object_: subject.id == object_.id,
        lambda subject, fact, object_: shared & {object_.label, *object_.aliases},
        lambda subject, fact, object_: shared & {subject.label, *subject.aliases},
        lambda subject, fact, object_: not subject.label.strip() or not object_.label.strip(),
    ]
    asked: dict[Fact, None] = {}
    for is_sort in sorts:
        of_sort = [fact for fact in facts if is_sort(by_id[fact.subject], fact, by_id[fact.object])]
        asked |= dict.fromkeys(of_sort[:: max(1, len(of_sort) // 4)][:4])
    return list(asked)


def by_queries(graph: Graph, facts: Sequence[Fact], naive: Naive, place: str, any_type: bool) -> list[set[Triple]]:
    negatives = StatementNegatives(graph, naive.relations, naive.relations, replace=place, any_type=any_type)
    drawn = negatives.draw([FactKey(fact.subject, fact.id) for fact in facts], len(naive.by_id), [0])
    assert all(len(set(of_fact)) == len(of_fact) for of_fact in drawn)
    return [{(each.subject, each.relation, each.object) for each in of_fact} for of_fact in drawn]


def by_arrays(graph: Graph, facts: Sequence[Fact], naive: Naive, place: str, any_type: bool) -> list[set[Triple]]:
    columns = open_columns(graph)
    negatives = ColumnNegatives(
        columns, said_of(kept_said(graph)), naive.relations, naive.relations, replace=place, any_type=any_type
    )
    ids = columns.fact_ids.to_pylist()
    places = np.array([ids.index(fact.id) for fact in facts])
    drawn = negatives.draw(places, np.arange(len(facts), dtype=np.uint64), len(naive.by_id))
    triples: list[set[Triple]] = [set() for _ in facts]
    for row, number in np.argwhere(drawn.replaced >= 0).tolist():
        subject, object_ = (
            columns.entity_ids[int(end[row, number])].as_py() for end in (drawn.subjects, drawn.objects)
        )
        triples[row].add((subject, columns.relation_ids[drawn.relations[row, number]], object_))
    assert (drawn.replaced >= 0).sum() == sum(map(len, triples))
    return triples


@pytest.mark.parametrize("read_graph", [None, wikidata, dbpedia], ids=["example", "wikidata", "dbpedia"])
def test_negatives_of_real_graphs_by_both_equal_definition(
    graph: Graph,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read_graph: Callable[[Path], Records] | None,
) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    if read_graph is None:
        entities, facts, relations = cut_source(open_example())
    else:
        entities, facts, relations = read_graph(request.getfixturevalue("shared_data"))
    load(graph, WrittenSource(entities, facts, relations), strict=True)
    words = {}
    # Every fifth relation cannot replace another, as if it were inactive.
    for number, relation in enumerate(relations):
        if number % 5 != 4:
            texts = (relation.label, *relation.clozes, *relation.statements)
            words[relation.id] = {text.casefold() for text in texts if text}
    naive = Naive(entities, facts, {**words, "no facts": {"has no facts"}})
    asked = selected(entities, facts)
    assert len(asked) >= 8
    for place in ENDS:
        for any_type in (False, True):
            some = asked[::3] if any_type else asked
            expected = [naive.negatives(fact, place, any_type=any_type) for fact in some]
            assert by_queries(graph, some, naive, place, any_type) == expected, (place, any_type)
            assert by_arrays(graph, some, naive, place, any_type) == expected, (place, any_type)
            assert any(expected), (place, any_type)
