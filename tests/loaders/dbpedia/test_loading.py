"""``kgprobe load dbpedia``: what becomes of triples in several files, and of what is wrong with them."""

import builtins
import gzip
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgprobe.api.loading import load
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Entity, Fact, Rejected, Relation
from kgprobe.graph.client import Graph
from kgprobe.loaders.dbpedia import own_templates
from kgprobe.loaders.rdf import store
from kgprobe.sources.contract import Source, open_source

pytestmark = pytest.mark.usefixtures("module_home")

PREFIXES = {
    "dbr": "http://dbpedia.org/resource/",
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "schema": "http://schema.org/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def term(text: str) -> str:
    """``dbr:A`` as an IRI; a literal's type too; all else as it stands."""
    value, mark, datatype = text.partition("^^")
    if mark:
        return f"{value}^^{term(datatype)}"
    prefix, colon, name = text.partition(":")
    return f"<{PREFIXES[prefix]}{name}>" if colon and prefix in PREFIXES else text


def write(path: Path, *triples: str) -> Path:
    """Return a file of triples, each in three words, the third of which may hold space."""
    lines = [" ".join(term(part) for part in triple.split(" ", 2)) + " .\n" for triple in triples]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def streams(source: Source) -> tuple[list[Relation], list[Entity], list[Fact], list[tuple[str, int, str]]]:
    placed = [placed for stream in (source.relations(), source.entities(), source.facts()) for placed in stream]
    rejected = [(one.file, one.line, one.record.reason) for one in placed if isinstance(one.record, Rejected)]
    records = [one.record for one in placed]
    return (
        [record for record in records if isinstance(record, Relation)],
        [record for record in records if isinstance(record, Entity)],
        [record for record in records if isinstance(record, Fact)],
        rejected,
    )


def read(*files: Path, **options: Any) -> tuple[dict[str, Relation], dict[str, Entity], dict[str, Fact], list[Any]]:
    relations, entities, facts, rejected = streams(open_source("dbpedia", files=list(files), **options))
    by_id: tuple[dict[str, Any], ...] = tuple({one.id: one for one in kind} for kind in (relations, entities, facts))  # type: ignore[attr-defined]
    assert [len(kind) for kind in by_id] == [len(relations), len(entities), len(facts)], "an id came twice"
    return by_id[0], by_id[1], by_id[2], rejected


def triples_of(facts: Iterable[Fact]) -> set[tuple[str, str, str]]:
    return {(fact.subject, fact.relation, fact.object) for fact in facts}


def test_small_world_out_of_files_in_an_order_that_is_not_ours(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "facts.nt", "dbr:France dbo:capital dbr:Paree", "dbr:France dbp:capital dbr:Paris"),
        write(tmp_path / "values.nt", 'dbr:France dbo:populationTotal "68000000"^^xsd:nonNegativeInteger'),
        write(
            tmp_path / "labels.nt",
            'dbr:Paris rdfs:label "Paris (city)"@en',
            'dbr:Paree rdfs:label "Paree"@en',
            'dbr:Lyon rdfs:label "Lyon"@en',
            'dbo:City rdfs:label "city or town"@en',
            'dbo:capital rdfs:label "seat of government"@en',
            'dbr:Paris foaf:name "Ville de Paris"@en',
        ),
        write(
            tmp_path / "types.nt",
            "dbr:Paris rdf:type dbo:City",
            "dbr:Paris rdf:type schema:City",
            "dbr:Paris rdf:type <http://www.w3.org/2002/07/owl#Thing>",
            "dbo:City rdfs:subClassOf dbo:Settlement",
        ),
        write(tmp_path / "redirects.nt", "dbr:Paree dbo:wikiPageRedirects dbr:Paris"),
    ]
    relations, entities, facts, rejected = read(*files)
    assert rejected == []
    assert set(facts) == {
        "dbr:France dbo:capital dbr:Paris",
        "dbr:France dbp:capital dbr:Paris",
        "dbr:France dbo:populationTotal 68000000^^integer",
    }
    assert set(entities) == {
        *("dbr:France", "dbr:Paris", "68000000^^integer", "dbo:City", "dbo:Settlement", "schema:City"),
    }
    paris = Entity("dbr:Paris", "Paris", ("Ville de Paris",), types=("dbo:City", "schema:City"))
    assert entities["dbr:Paris"] == paris
    assert entities["dbr:France"] == Entity("dbr:France", "France")
    assert entities["dbo:City"] == Entity("dbo:City", "city or town", types=("dbo:Settlement",))
    assert entities["68000000^^integer"].datatype == "integer"
    assert relations["dbo:capital"].label == "seat of government"
    assert relations["dbo:populationTotal"] == own_templates()["dbo:populationTotal"]
    assert read(*reversed(files))[:3] == (relations, entities, facts, rejected)[:3]


def test_redirects_are_followed_disambiguations_left_out(tmp_path: Path) -> None:
    path = write(
        tmp_path / "all.nt",
        "dbr:B dbo:wikiPageRedirects dbr:C",
        "dbr:A dbo:wikiPageRedirects dbr:B",
        "dbr:Mercury dbo:wikiPageDisambiguates dbr:Mercury_(planet)",
        "dbr:A dbo:part dbr:D",
        "dbr:C dbo:part dbr:D",
        "dbr:D dbo:part dbr:A",
        "dbr:D dbo:part dbr:Mercury",
        "dbr:Mercury dbo:part dbr:D",
        "dbr:Mercury rdf:type dbo:Page",
        'dbr:Mercury rdfs:label "Mercury"@en',
    )
    views = tmp_path / "views.tsv"
    views.write_text("page\tviews\nA\t10\nB 5\ndbr:C\t1\nhttp://dbpedia.org/resource/D\t7\nMercury\t1\n")
    _, entities, facts, rejected = read(path, popularity=views)
    assert triples_of(facts.values()) == {("dbr:C", "dbo:part", "dbr:D"), ("dbr:D", "dbo:part", "dbr:C")}
    assert {id_: entity.popularity for id_, entity in entities.items()} == {"dbr:C": 16, "dbr:D": 7, "dbo:Page": None}
    assert rejected == []


def test_table_of_views_with_bad_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "all.nt", "dbr:A dbo:part dbr:New_York")
    views = tmp_path / "views.tsv"
    views.write_bytes(b"# views\n\nA\t10\nNew York\t3\nA\tmany\nA\t-1\nA\tnan\n\xff\t1\n")
    _, entities, _, rejected = read(path, popularity=views)
    assert [entity.popularity for _, entity in sorted(entities.items())] == [10, 3]
    assert [(file, line) for file, line, _ in rejected] == [("views.tsv", line) for line in (5, 6, 7, 8)]
    assert rejected[0][2] == "'A\\tmany' is not a page followed by a count"


TENURE = (
    "dbr:Ada dbo:termPeriod dbr:Ada__Tenure__1",
    'dbr:Ada__Tenure__1 dbo:activeYearsStartDate "2001-05-02"^^xsd:date',
    "dbr:Ada__Tenure__1 dbo:office dbr:Mayor",
    'dbr:Ada__Tenure__1 dbo:votes "12"^^xsd:integer',
    "dbr:Ada dbo:office dbr:Mayor",
    "dbr:Ada dbo:team dbr:Reds",
    'dbr:Ada__CareerStation__2 dbo:years "1999"^^xsd:gYear',
    "dbr:Ada__CareerStation__2 dbo:team dbr:Blues",
    "dbr:Ada__CareerStation__3 dbo:team dbr:Greens",
)


def test_intermediate_nodes_become_dated_facts_of_their_page(tmp_path: Path) -> None:
    # The end of a tenure stands in another file, as dumps of values and of objects are apart.
    files = [
        write(tmp_path / "objects.nt", *TENURE),
        write(tmp_path / "values.nt", 'dbr:Ada__Tenure__1 dbo:activeYearsEndDate "2005"^^xsd:gYear'),
        write(tmp_path / "redirects.nt", "dbr:Ada dbo:wikiPageRedirects dbr:Ada_L"),
    ]
    _, entities, facts, rejected = read(*files)
    assert {(fact.relation, fact.object, fact.start, fact.end) for fact in facts.values()} == {
        ("dbo:office", "dbr:Mayor", "2001-05-02", "2005"),
        ("dbo:team", "dbr:Reds", None, None),
        ("dbo:team", "dbr:Blues", "1999", None),
        ("dbo:team", "dbr:Greens", None, None),
    }
    assert {fact.subject for fact in facts.values()} == {"dbr:Ada_L"}
    assert set(entities) == {"dbr:Ada_L", "dbr:Mayor", "dbr:Reds", "dbr:Blues", "dbr:Greens"}
    assert rejected == []


def test_intermediate_nodes_are_left_out_if_asked_for(tmp_path: Path) -> None:
    relations, entities, facts, _ = read(write(tmp_path / "objects.nt", *TENURE), intermediate="remove")
    assert triples_of(facts.values()) == {("dbr:Ada", "dbo:office", "dbr:Mayor"), ("dbr:Ada", "dbo:team", "dbr:Reds")}
    assert set(entities) == {"dbr:Ada", "dbr:Mayor", "dbr:Reds"}
    assert set(relations) == {"dbo:office", "dbo:team"}


def test_time_that_cannot_be_is_told_at_the_fact(tmp_path: Path) -> None:
    path = write(tmp_path / "one.nt", *TENURE[:3], 'dbr:Ada__Tenure__1 dbo:activeYearsEndYear "1990"^^xsd:gYear')
    _, _, facts, rejected = read(path)
    assert facts == {}
    assert rejected == [("one.nt", 3, "dbr:Ada__Tenure__1, dbo:office: the end 1990 lies before the start 2001-05-02")]


def test_what_cannot_be_used_is_told_with_its_file_and_line(tmp_path: Path) -> None:
    good = write(tmp_path / "good.nt", "dbr:A dbo:part dbr:B")
    bad = write(
        tmp_path / "bad.nt",
        "_:node dbo:part dbr:B",
        "dbr:A dbo:part _:node",
        "dbr:A dbo:part <B>",
        'dbr:A dbo:born "1950-02-30"^^xsd:date',
        'dbr:A dbo:born "soon"^^xsd:gYear',
        "dbr:A dbo:part dbr:" + "x" * 1100,
        "dbr:C dbo:wikiPageRedirects dbr:D",
        "dbr:D dbo:wikiPageRedirects dbr:C",
    )
    _, _, facts, rejected = read(good, bad)
    assert set(facts) == {"dbr:A dbo:part dbr:B"}
    assert {file for file, _, _ in rejected} == {"bad.nt"}
    assert [line for _, line, _ in rejected] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert "blank node" in rejected[0][2]
    assert "leads in a circle" in rejected[-1][2]


def test_what_is_no_fact_is_left_out_in_silence(tmp_path: Path) -> None:
    path = write(
        tmp_path / "all.nt",
        "dbr:A dbo:part dbr:B",
        "dbr:A dbo:wikiPageWikiLink dbr:C",
        "dbr:A dbo:homepage <http://example.org/>",
        "dbr:A dbp:image dbr:File:A.jpg",
        "dbr:A <http://purl.org/dc/terms/subject> dbr:Category:Letters",
        'dbr:A dbp:name ""@en',
        'dbr:A dbp:name "Ah"@de',
        'dbr:A dbo:abstract "A long text"@en',
    )
    relations, entities, facts, rejected = read(path)
    assert (set(relations), set(entities), len(facts), rejected) == ({"dbo:part"}, {"dbr:A", "dbr:B"}, 1, [])


def test_languages_come_in_the_order_of_the_option(tmp_path: Path) -> None:
    path = write(
        tmp_path / "all.nt",
        "dbr:Munich dbo:part dbr:Bavaria",
        'dbr:Munich rdfs:label "Munich"@en',
        'dbr:Munich rdfs:label "München"@de',
        'dbr:Bavaria rdfs:label "Bavaria"@en',
        'dbr:Bavaria rdfs:label "Bavière"@fr',
        'dbo:part rdfs:label "part"',
        'dbo:part rdfs:label "Teil"@de',
        'dbr:Munich dbp:motto "immer"@de',
    )
    relations, entities, facts, _ = read(path, languages=["DE", "en"])
    assert [entities[f"dbr:{name}"].label for name in ("Munich", "Bavaria")] == ["München", "Bavaria"]
    assert relations["dbo:part"].label == "Teil"
    assert len(facts) == 2
    relations, entities, facts, _ = read(path)
    assert [entities[f"dbr:{name}"].label for name in ("Munich", "Bavaria")] == ["Munich", "Bavaria"]
    assert relations["dbo:part"].label == "part"
    assert len(facts) == 1


def test_relations_are_chosen_by_their_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "all.nt", "dbr:A dbo:part dbr:B", "dbr:A dbp:part dbr:C", "dbr:A dbo:whole dbr:D")
    _, entities, facts, _ = read(path, relations=["dbp:part"])
    assert (set(facts), set(entities)) == ({"dbr:A dbp:part dbr:C"}, {"dbr:A", "dbr:C"})
    dated = write(tmp_path / "dated.nt", *TENURE, 'dbr:Ada dbo:years "1999"^^xsd:gYear')
    facts = read(dated, relations=["dbo:office"])[2]
    assert [(fact.relation, fact.start) for fact in facts.values()] == [("dbo:office", "2001-05-02")]
    with pytest.raises(ArgumentError, match="`relations` names 'part'; one like dbo:capital is expected"):
        open_source("dbpedia", files=[path], relations=["part"])


def test_relation_sentences_follow_those_of_the_user(tmp_path: Path) -> None:
    path = write(tmp_path / "all.nt", "dbr:A dbo:capital dbr:B", "dbr:A dbp:capital dbr:C", "dbr:A dbp:motto dbr:D")
    own = own_templates()["dbo:capital"].clozes
    relations = read(path)[0]
    assert relations["dbo:capital"].clozes == relations["dbp:capital"].clozes == own
    assert relations["dbp:motto"].clozes == ()
    assert set(relations) == {"dbo:capital", "dbp:capital", "dbp:motto"}
    templates = tmp_path / "templates.jsonl"
    templates.write_text('{"id": "dbo:capital", "clozes": ["[X] is ruled from [Y]"]}\n')
    relations = read(path, templates=templates)[0]
    assert relations["dbo:capital"].clozes == ("[X] is ruled from [Y]",)
    assert relations["dbo:capital"].label == "capital"
    assert relations["dbp:capital"].clozes == own


EVERY_KIND = (
    "dbr:A dbo:capital dbr:B",
    'dbr:A dbo:foundingDate "1905-06-07"^^xsd:date',
    'dbr:A dbo:feast "--06-07"^^xsd:gMonthDay',
    'dbr:A dbo:populationTotal "5"^^xsd:integer',
    'dbr:A dbo:length "5.5"^^<http://dbpedia.org/datatype/kilometre>',
    'dbr:A dbo:motto "In luce"@en',
    'dbr:A dbo:motto "Im Licht"@de',
    'dbr:A dbo:motto ""@en',
    f'dbr:A dbo:motto "{"x" * 201}"@en',
    'dbr:A dbp:website "http://a.example"^^xsd:anyURI',
    "dbr:A dbp:website <http://a.example/>",
    "<http://a.example/> dbo:capital dbr:B",
    "dbr:A dbo:capital dbr:C",
    "dbr:C dbo:wikiPageDisambiguates dbr:B",
    'dbr:A dbo:wikiPageID "12"^^xsd:integer',
    "dbr:A <http://www.w3.org/2002/07/owl#sameAs> dbr:B",
    "dbr:A dbo:office dbr:A__Tenure__1",
    "dbr:A__Tenure__1 dbo:office dbr:B",
    'dbr:A__Tenure__1 dbo:startDate "1999-01-02"^^xsd:date',
    'dbr:A__Tenure__1 dbo:votes "7"^^xsd:integer',
)
NOT_LOADED = {
    "text in another language": 1,
    "empty text": 1,
    "text of more than 200 characters": 1,
    "web address": 1,
    "other entity": 1,
    "other subject": 1,
    "disambiguation page": 1,
    "other predicate": 2,
    "value of an intermediate node": 1,
}


def test_statements_not_loaded_are_counted_by_kind(tmp_path: Path, graph: Graph) -> None:
    path = write(tmp_path / "all.nt", *EVERY_KIND)
    source = open_source("dbpedia", files=[path])
    facts, rejected = streams(source)[2:]
    assert rejected == []
    assert len(facts) == 7
    assert source.not_loaded == NOT_LOADED  # type: ignore[attr-defined]
    # Each triple is a fact, counted, a redirect, a link to a node or a time of it.
    assert len(facts) + sum(NOT_LOADED.values()) + 3 == len(EVERY_KIND)
    report = load(graph, "dbpedia", files=[path])
    assert report.not_loaded == NOT_LOADED
    assert "1 text in another language" in str(report)


def test_literals_no_leaves_them_out_and_counts_them(tmp_path: Path) -> None:
    path = write(tmp_path / "all.nt", *EVERY_KIND)
    source = open_source("dbpedia", files=[path], literals=False)
    _, entities, facts, rejected = streams(source)
    assert rejected == []
    assert {(fact.relation, fact.object, fact.start) for fact in facts} == {
        ("dbo:capital", "dbr:B", None),
        ("dbo:office", "dbr:B", "1999-01-02"),
    }
    assert not any(entity.datatype for entity in entities)
    assert source.not_loaded == NOT_LOADED | {"date": 2, "quantity": 2, "string": 1}  # type: ignore[attr-defined]
    assert source.fingerprint != open_source("dbpedia", files=[path]).fingerprint


def test_removed_nodes_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "all.nt", *EVERY_KIND[-4:])
    source = open_source("dbpedia", files=[path], intermediate="remove")
    assert streams(source)[2:] == ([], [])
    assert source.not_loaded == {"value of an intermediate node": 4}  # type: ignore[attr-defined]


def test_other_relations_are_not_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "all.nt", *EVERY_KIND)
    source = open_source("dbpedia", files=[path], relations=["dbo:motto"])
    assert len(streams(source)[2]) == 1
    expected = ("text in another language", "empty text", "text of more than 200 characters", "other predicate")
    assert source.not_loaded == {kind: NOT_LOADED[kind] for kind in expected}  # type: ignore[attr-defined]


@pytest.mark.representatives(1)
@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_truncated_archive_loads_what_is_whole_and_fails(tmp_path: Path, graph: Graph, kind: str) -> None:
    plain = write(
        tmp_path / "all.nt", *[f"dbr:A{number} dbo:part dbr:B{number * 7919 % 5003}" for number in range(5000)]
    )
    data = plain.read_bytes()
    packed = gzip.compress(data) if kind == "gz" else pa.compress(data, codec="zstd", asbytes=True)
    path = tmp_path / f"all.nt.{kind}"
    path.write_bytes(packed[: len(packed) // 2])
    report = load(graph, "dbpedia", files=[path])
    assert 0 < report.facts < 5000
    with pytest.raises(KgprobeError, match=rf"Only a part of all\.nt\.{kind} could be read"):
        report.check()


def naive(pairs: list[tuple[str, str]], id_: str) -> str | None:
    """Return the end of redirects, followed one by one."""
    first = dict(reversed(pairs))
    seen = []
    while id_ in first:
        if id_ in seen:
            return seen[0]
        seen.append(id_)
        id_ = first[id_]
    return id_ or None


NAMES = st.sampled_from([f"dbr:{letter}" for letter in "ABCDEF"])


@settings(max_examples=40, deadline=None)
@given(
    facts=st.lists(st.tuples(NAMES, st.sampled_from(["dbo:p", "dbp:p"]), NAMES), max_size=20),
    pages=st.lists(st.tuples(NAMES, st.one_of(NAMES, st.just(""))), max_size=6),
)
def test_facts_and_entities_are_those_of_a_naive_reading(
    tmp_path_factory: pytest.TempPathFactory,
    facts: list[tuple[str, str, str]],
    pages: list[tuple[str, str]],
) -> None:
    pages = [(source, target) for source, target in pages if source != target]
    resolved = {
        (subject, relation, object_)
        for start, relation, end in facts
        if (subject := naive(pages, start)) and (object_ := naive(pages, end))
    }
    folder = Path(tempfile.mkdtemp(dir=tmp_path_factory.getbasetemp()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "_WAITING", 3)
        patched.setattr(store, "_BATCH", 2)
        _, entities, read_facts, _ = read(
            write(folder / "facts.nt", "dbr:G dbo:p dbr:H", *(" ".join(fact) for fact in facts)),
            write(
                folder / "pages.nt",
                "dbr:X dbo:wikiPageRedirects dbr:Y",
                *(
                    f"{source} dbo:wikiPageRedirects {target}"
                    if target
                    else f"{source} dbo:wikiPageDisambiguates dbr:X"
                    for source, target in pages
                ),
            ),
        )
    expected = resolved | {("dbr:G", "dbo:p", "dbr:H")}
    assert triples_of(read_facts.values()) == expected
    assert set(entities) == {end for subject, _, object_ in expected for end in (subject, object_)}


def test_scratch_files_go_with_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    scratch = tmp_path / "home" / "temporary"
    path = write(tmp_path / "all.nt", "dbr:A dbo:part dbr:B")
    source = open_source("dbpedia", files=[path])
    assert not scratch.exists()
    assert len(list(source.facts())) == 1
    assert len([one for one in scratch.iterdir() if one.is_dir()]) == 1
    del source
    assert list(scratch.glob("rdf-*")) == []


def test_without_the_parser_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "all.nt", "dbr:A dbo:part dbr:B")
    for name in ("reading", "source", "store", "triples"):
        monkeypatch.delitem(sys.modules, f"kgprobe.loaders.rdf.{name}", raising=False)
    real = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "pyoxigraph":
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(KgprobeError, match=r'pip install -e "\.\[rdf\]"'):
        open_source("dbpedia", files=[path])
