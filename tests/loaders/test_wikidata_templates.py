"""Shipped templates for Wikidata's properties: they are well formed, cover the facts, and reach a graph."""

import csv
import gzip
import json
import os
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgprobe.base.records import Placed, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.loaders import wikidata_model
from kgprobe.loaders.wikidata import DumpSelection, open_dump
from kgprobe.loaders.wikidata_model import read_inactive_relations, shipped_relations, with_shipped_templates
from kgprobe.sources.contract import open_source
from kgprobe.verbalize.askable_relations import askable_relations
from kgprobe.verbalize.templates.check import check_file, check_relation
from kgprobe.verbalize.templates.examples import ExampleFact
from kgprobe.verbalize.tense import in_the_past, tense_of
from tests.loaders.entities import Json, dump, entity, item, snak, statement, terms, time

BERLIN = entity("Q64", labels=terms(en="Berlin"))
GERMANY = entity(
    "Q183",
    labels=terms(en="Germany", de="Deutschland"),
    claims={
        "P31": [statement("P31", item(6256), "Q183$a")],
        "P36": [statement("P36", item(64), "Q183$b", P580=time("+1990-10-03T00:00:00Z"))],
        "P571": [statement("P571", time("+1949-05-23T00:00:00Z"), "Q183$c")],
        "P47": [{**statement("P47", item(64), "Q183$d"), "mainsnak": snak("P47", None, "somevalue")}],
    },
)
CAPITAL = entity("P36", labels=terms(en="main city", de="Hauptstadt"), descriptions=terms(en="its seat"))


def written(folder: Path, *entities: Json, indent: int | None = None) -> Path:
    """Return a file with a dump of some entities."""
    path = folder / "dump.json"
    path.write_text(dump(*entities) if indent is None else json.dumps(entities, indent=indent), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    return path


def relations_of(path: Path, templates: Path | None = None, **selected: Any) -> dict[str, Relation]:
    """Return the relations of a dump by id."""
    source = open_dump(path, templates=templates, selection=DumpSelection(**selected))
    return {record.id: record for _, record, *_ in source.relations() if isinstance(record, Relation)}


@pytest.fixture(scope="module")
def real_facts(shared_data: Path) -> dict[str, list[ExampleFact]]:
    """Return the facts of the real data with both labels, by relation."""
    with gzip.open(shared_data / "wikidata" / "entities.jsonl.gz", "rt", encoding="utf-8") as lines:
        labels = {each["id"]: each["label"] for each in map(json.loads, lines)}
    facts: dict[str, list[ExampleFact]] = defaultdict(list)
    with gzip.open(shared_data / "wikidata" / "facts.tsv.gz", "rt", encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
            subject, object_ = labels.get(row["subject"]), labels.get(row["object"])
            if subject and object_:
                id_ = f"{row['subject']}-{row['relation']}-{row['object']}"
                example = ExampleFact(id_, subject, object_, 1, row["start"] or None, row["end"] or None, 1)
                facts[row["relation"]].append(example)
    return facts


def test_shipped_templates_have_all_kinds_and_no_flaws() -> None:
    checked = check_file(wikidata_model.SHIPPED_FILE)
    flaws = [flaw for flaw in checked.flaws if "in front of [Y], which does not suit all names" not in flaw.problem]
    assert flaws == []
    assert checked.relations == len(shipped_relations()) >= 300
    for relation in shipped_relations().values():
        assert relation.label, relation.id
        assert relation.description, relation.id
        assert len(set(relation.clozes)) in (3, 5), relation.id
        assert len(set(relation.past_clozes)) in (0, len(relation.clozes)), relation.id
        assert relation.statements, relation.id
        assert relation.yes_no_questions, relation.id
        assert relation.wh_questions, relation.id
        assert relation.active is not False, relation.id


def test_relations_of_human_scores_have_five_sentences(shared_data: Path) -> None:
    scores = json.loads((shared_data / "distractors" / "human_scores_gpt2xl.json").read_text(encoding="utf-8"))
    relations = {score["relation"] for score in scores}
    assert len(relations) == 46
    assert {len(shipped_relations()[relation].clozes) for relation in relations} == {5}


def test_shipped_relations_that_end_have_all_kinds_in_the_past() -> None:
    ending = [relation for relation in shipped_relations().values() if relation.past_clozes]
    assert len(ending) > 90
    for relation in ending:
        assert {tense_of(cloze) for cloze in relation.past_clozes} == {"past"}, relation.id
        for template in (*relation.statements, *relation.yes_no_questions, *relation.wh_questions):
            assert in_the_past(template) is not None, (relation.id, template)


def test_shipped_templates_suit_ten_real_facts_each(real_facts: dict[str, list[ExampleFact]]) -> None:
    checked = 0
    for relation in shipped_relations().values():
        examples = real_facts.get(relation.id, [])[:10]
        errors = [flaw for flaw in check_relation(relation, examples) if flaw.severity == "error"]
        assert errors == []
        checked += len(examples)
    assert checked > 1500


def test_shipped_templates_cover_the_real_statements(
    real_facts: dict[str, list[ExampleFact]], shared_data: Path
) -> None:
    counts = Counter({relation: len(facts) for relation, facts in real_facts.items()})
    covered = sum(count for relation, count in counts.items() if relation in shipped_relations())
    assert covered >= 0.95 * counts.total()
    lines = (shared_data / "wikidata" / "relations.jsonl").read_text(encoding="utf-8").splitlines()
    listed = Counter({each["id"]: each["facts"] for each in map(json.loads, lines)})
    assert sum(listed[relation] for relation in shipped_relations()) >= 0.95 * listed.total()


def test_labels_of_shipped_relations_are_of_their_ids(shared_data: Path) -> None:
    lines = (shared_data / "wikidata" / "relations.jsonl").read_text(encoding="utf-8").splitlines()
    labels = {each["id"]: each["label"] for each in map(json.loads, lines) if each["label"]}
    related = 0
    for id_, label in labels.items():
        if id_ in shipped_relations():
            ours, theirs = (set(text.replace(",", " ").split()) for text in (shipped_relations()[id_].label, label))
            related += bool(ours & theirs)
    assert related >= 0.97 * len(labels.keys() & shipped_relations().keys())


@pytest.mark.parametrize("indent", [None, 2])
def test_dump_relations_get_shipped_templates(tmp_path: Path, indent: int | None) -> None:
    relations = relations_of(written(tmp_path, GERMANY, BERLIN, CAPITAL, indent=indent))
    # P571 is not in the dump, but an item has a date of it; P47 has no value, and P580 is a qualifier only.
    assert relations.keys() == {"P36", "P571"}
    assert relations["P571"] == replace(shipped_relations()["P571"], aliases=())
    assert relations["P36"].clozes == shipped_relations()["P36"].clozes
    assert (relations["P36"].label, relations["P36"].description) == ("main city", "its seat")


@pytest.mark.parametrize("relations", [(), ("P31",), ("P36",)])
def test_types_are_asked_as_facts_if_wanted(tmp_path: Path, graph: Graph, relations: tuple[str, ...]) -> None:
    path = written(tmp_path, GERMANY, entity("Q6256", labels=terms(en="country")), BERLIN)
    source = open_source("wikidata", dump=path, types_as_facts="P36" not in relations, relations=relations)
    load(graph, source)
    rows = askable_relations(graph, ["clozes"])
    has_types = relations != ("P36",)
    assert ("P31" in rows) == has_types
    facts = graph.query("MATCH (s:Entity)-[f:FACT {relation: 'P31'}]->(o:Entity) RETURN s.id AS s, o.id AS o")
    assert [(row["s"], row["o"]) for row in facts] == ([("Q183", "Q6256")] if has_types else [])
    if has_types:
        assert rows["P31"]["clozes"][0] == "[X] is a/an [Y]"
    assert [tuple(record.types) for _, record, *_ in source.entities()][:1] == [("Q6256",)]


def test_dump_relations_are_those_of_the_selection(tmp_path: Path) -> None:
    path = written(tmp_path, GERMANY, BERLIN)
    assert relations_of(path, relations=frozenset({"P36"})).keys() == {"P36"}
    assert relations_of(path, types=frozenset({"Q6256"})).keys() == {"P36", "P571"}
    assert relations_of(path, types=frozenset({"Q777"})) == {}
    assert relations_of(path, ids=frozenset({"Q64"})) == {}


def test_templates_of_the_user_replace_shipped_ones(tmp_path: Path) -> None:
    path = written(tmp_path, GERMANY, CAPITAL)
    templates = tmp_path / "templates.jsonl"
    templates.write_text('{"id": "P36", "clozes": ["[X] is ruled from [Y]"]}\n', encoding="utf-8")
    relations = relations_of(path, templates)
    assert relations["P36"] == Relation("P36", "main city", (), "its seat", clozes=("[X] is ruled from [Y]",))
    assert relations["P571"].clozes == shipped_relations()["P571"].clozes


def test_shipped_templates_can_be_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, GERMANY, CAPITAL)
    without = open_source("wikidata", dump=path, shipped_templates=False)
    assert [placed.record for placed in without.relations()] == [Relation("P36", "main city", (), "its seat")]
    assert without.fingerprint != open_source("wikidata", dump=path).fingerprint


def test_inactive_relation_stays_inactive() -> None:
    inactive, unknown = Relation("P17", "country", active=False), Relation("P999999", "unknown")
    first, second = with_shipped_templates([Placed(1, inactive), Placed(2, unknown)])
    assert first.record == replace(shipped_relations()["P17"], active=False)
    assert second.record == unknown
    # Those of the topical loader have templates, too, for users who activate them.
    described = read_inactive_relations().keys() & shipped_relations().keys()
    assert len(described) > 30


def test_loaded_dump_is_asked_with_shipped_templates(tmp_path: Path, graph: Graph) -> None:
    load(graph, open_dump(written(tmp_path, GERMANY, BERLIN, CAPITAL)))
    rows = askable_relations(graph, ["clozes"])
    assert {name: row["generic"] for name, row in rows.items()} == {"P36": False, "P571": False}
    assert tuple(rows["P36"]["wh_questions"]) == shipped_relations()["P36"].wh_questions
    assert askable_relations(graph, ["yes_no_questions"]).keys() == {"P36", "P571"}
