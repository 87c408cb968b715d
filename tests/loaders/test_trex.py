"""``kgprobe load trex``: documents of T-REx, LAMA's lines of it, and what is said of what is wrong with them."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kgprobe.api.loading import load
from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Placed
from kgprobe.graph.client import Graph
from kgprobe.sources.contract import Source, open_source
from tests.loaders.streams import messages, records

ITEM = "http://www.wikidata.org/entity/"
PROPERTY = "http://www.wikidata.org/prop/direct/"
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"


def mention(uri: str | None, words: str | None = None, annotator: str = "Wikidata_Spotlight_Entity_Linker") -> Any:
    return {"uri": uri, "surfaceform": words, "annotator": annotator, "boundaries": [0, 1]}


def triple(subject: Any, predicate: str, object_: Any) -> dict[str, Any]:
    return {
        "subject": subject,
        "predicate": mention(PROPERTY + predicate),
        "object": object_,
        "sentence_id": 0,
        "confidence": None,
        "annotator": "SPOAligner",
    }


def document(number: int, title: str, *triples: Any) -> dict[str, Any]:
    return {
        "docid": f"{ITEM}Q{number}",
        "title": title,
        "uri": f"{ITEM}Q{number}",
        "text": f'{title} says "{{[,]}}" \\ – ',
        "entities": [mention(f"{ITEM}Q{number}", title)],
        "triples": list(triples),
    }


ULM, EINSTEIN = mention(f"{ITEM}Q3012", "Ulm"), mention(f"{ITEM}Q937", "Einstein")
BORN = triple(mention(f"{ITEM}Q937", "He", "Simple_Coreference"), "P19", ULM)
DOCUMENTS = [
    document(3012, "Ulm (city)", triple(EINSTEIN, "P19", mention(f"{ITEM}Q3012", "the city"))),
    document(937, "Albert Einstein", BORN, triple(EINSTEIN, "P27", mention(f"{ITEM}Q39", "Swiss"))),
    document(39, "Switzerland"),
]


def written(tmp_path: Path, content: object, name: str = "re-nlg_0-10000.json") -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def facts(source: Source) -> list[str]:
    return [placed.record.id for placed in source.facts() if isinstance(placed.record, Fact)]


@pytest.mark.parametrize("indent", [None, 2], ids=["in one line", "over many lines"])
def test_facts_are_read_once_entities_have_document_titles(tmp_path: Path, indent: int | None) -> None:
    source = open_source("trex", path=written(tmp_path, json.dumps(DOCUMENTS, indent=indent)))
    assert records(source.facts()) == [
        Fact("Q937 P19 Q3012", "Q937", "P19", "Q3012"),
        Fact("Q937 P27 Q39", "Q937", "P27", "Q39"),
    ]
    # Whose document has no triple is called as a sentence calls it.
    assert records(source.entities()) == [
        Entity("Q937", "Albert Einstein"),
        Entity("Q3012", "Ulm"),
        Entity("Q39", "Swiss"),
    ]
    assert list(source.relations()) == []
    assert source.done == source.total


def test_pronoun_is_no_name(tmp_path: Path) -> None:
    path = written(tmp_path, [document(1, "", triple(mention("Q2", "It", "Simple_Coreference"), "P19", ULM))])
    assert records(open_source("trex", path=path).entities()) == [Entity("Q2"), Entity("Q3012", "Ulm")]


def test_lines_of_lama_are_told_by_what_they_hold(tmp_path: Path) -> None:
    line = {
        "uuid": "6e5b",
        "obj_uri": "Q142",
        "obj_label": "France",
        "sub_uri": "Q90",
        "sub_label": "Paris",
        "predicate_id": "P17",
        "evidences": [{"sub_surface": "Paris", "obj_surface": "France", "masked_sentence": "Paris, [MASK]"}],
    }
    other = dict(line, sub_uri="Q456", sub_label="Lyon")
    path = written(tmp_path, "\n".join(map(json.dumps, [line, other, line])) + "\n", "P17.jsonl")
    source = open_source("trex", path=path)
    assert list(source.facts()) == [
        Placed(1, Fact("Q90 P17 Q142", "Q90", "P17", "Q142"), "P17.jsonl"),
        Placed(2, Fact("Q456 P17 Q142", "Q456", "P17", "Q142"), "P17.jsonl"),
    ]
    assert records(source.entities()) == [Entity("Q90", "Paris"), Entity("Q142", "France"), Entity("Q456", "Lyon")]


@pytest.mark.parametrize(
    ("uri", "words", "literal"),
    [
        (f"1879-03-14T00:00:00Z^^{DATE_TIME}", "March 14, 1879", ("1879-03-14", "14 March 1879", "date")),
        (f"1879-03-00T00:00:00Z^^{DATE_TIME}", "March 1879", ("1879-03", "March 1879", "month")),
        (f"1879-00-00T00:00:00Z^^{DATE_TIME}", "1879", ("1879", "1879", "year")),
        (f"+1879-01-01T00:00:00Z^^{DATE_TIME}", "1879", ("1879", "1879", "year")),
        (f"1879-03-01T00:00:00Z^^{DATE_TIME}", "March 1879", ("1879-03", "March 1879", "month")),
        (f"1879-01-01T00:00:00Z^^{DATE_TIME}", "1 January 1879", ("1879-01-01", "1 January 1879", "date")),
        (f"-0044-03-15T00:00:00Z^^{DATE_TIME}", "Ides of March", ("-0044-03-15", "15 March 44 BC", "date")),
        ("1879^^http://www.w3.org/2001/XMLSchema#gYear", "1879", ("1879", "1879", "year")),
        ("1879-03-14^^<http://www.w3.org/2001/XMLSchema#date>", "", ("1879-03-14", "14 March 1879", "date")),
    ],
)
def test_dates_are_literals_of_their_precision(
    tmp_path: Path, uri: str, words: str, literal: tuple[str, str, str]
) -> None:
    source = open_source(
        "trex", path=written(tmp_path, [document(937, "Einstein", triple(EINSTEIN, "P569", mention(uri, words)))])
    )
    value, label, kind = literal
    assert records(source.entities())[1] == Entity(value, label, types=(kind,), value=value, datatype=kind)
    assert facts(source) == [f"Q937 P569 {value}"]


def test_another_value_is_a_literal_of_its_type(tmp_path: Path) -> None:
    uri = "12.5^^http://www.w3.org/2001/XMLSchema#decimal"
    path = written(tmp_path, [document(937, "Einstein", triple(EINSTEIN, "P2048", mention(uri, "12.5 m")))])
    assert records(open_source("trex", path=path).entities())[1] == Entity(
        "12.5^^decimal", "12.5", types=("decimal",), value="12.5", datatype="decimal"
    )


def test_graph_draws_dates_among_dates(graph: Graph, tmp_path: Path) -> None:
    days = [mention(f"{year}-03-14T00:00:00Z^^{DATE_TIME}") for year in (1879, 1880)]
    path = written(tmp_path, [*DOCUMENTS, document(937, "Albert Einstein", triple(EINSTEIN, "P569", days[0]))])
    templates = tmp_path / "templates.jsonl"
    templates.write_text('{"id": "P19", "label": "place of birth", "clozes": ["[X] was born in [Y]"]}\n')
    more = document(7259, "Ada Lovelace", triple(mention("Q7259", "Ada"), "P569", days[1]))
    load(graph, "trex", path=path, templates=templates)
    report = load(graph, "trex", path=written(tmp_path, [more], "more.json"))
    assert str(report) == "more.json: 2 entities, 0 relations, 1 facts."
    rows = graph.query(
        "MATCH (:Entity {id: 'Q937'})-[:FACT]->(:Literal)-[:INSTANCE_OF]->(t:Type)<-[:INSTANCE_OF]-(o:Literal)"
        " RETURN t.id AS kind, o.label AS other"
    )
    assert ("date", "14 March 1880") in {(row["kind"], row["other"]) for row in rows}
    relations = {row["id"]: row for row in graph.read("sample/relations")}
    assert relations["P19"]["label"] == "place of birth"
    assert sorted(relations) == ["P19", "P27", "P569"]


@pytest.mark.parametrize("kind", ["folder", "zip", "folder of a zip", "gz"])
def test_folder_a_zip_and_packed_files_are_read(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "TREx"
    folder.mkdir()
    contents = {"re-nlg_0.json": json.dumps(DOCUMENTS[:1]), "re-nlg_1.json": json.dumps(DOCUMENTS[1:])}
    path = folder
    if kind in ("folder", "gz"):
        for name, content in contents.items():
            (folder / name).write_text(content)
        (folder / "LICENSE").write_text("none")
    if kind == "gz":
        path = folder / "one.json.gz"
        path.write_bytes(gzip.compress(json.dumps(DOCUMENTS).encode()))
    elif kind != "folder":
        with zipfile.ZipFile(folder / "TREx.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
            archive.writestr("readme.txt", "none")
        path = folder / "TREx.zip" if kind == "zip" else folder
    source = open_source("trex", path=path)
    assert facts(source) == ["Q937 P19 Q3012", "Q937 P27 Q39"]
    assert len(list(source.entities())) == 3
    assert source.done == source.total
    last = [placed.file for placed in source.facts()][-1]
    assert last == {"folder": "re-nlg_1.json", "gz": "one.json.gz"}.get(kind, "TREx.zip/re-nlg_1.json")


def test_damaged_zip_is_told(tmp_path: Path) -> None:
    path = tmp_path / "TREx.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("re-nlg.json", json.dumps(DOCUMENTS))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(KgprobeError, match=r"TREx\.zip cannot be unpacked"):
        open_source("trex", path=path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "none")
    with pytest.raises(KgprobeError, match=r"has no file that ends in \.json or \.jsonl"):
        open_source("trex", path=path)


def test_folder_without_such_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KgprobeError, match=r"has no file that ends in \.zip, \.json"):
        open_source("trex", path=tmp_path)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"subject": {"uri": 5}}, "Expected `str | null`, got `int` - at `$.subject.uri`"),
        ({"subject": {"surfaceform": "he"}}, "the subject has no `uri`"),
        ({"object": {"uri": None}}, "the object has no `uri`"),
        ({"predicate": {"uri": None}}, "the predicate has no `uri`"),
        (
            {"predicate": {"uri": "http://www.w3.org/2000/01/rdf-schema#label"}},
            "the predicate 'http://www.w3.org/2000/01/rdf-schema#label' is not a property of Wikidata such as P36",
        ),
        (
            {"object": {"uri": "http://dbpedia.org/resource/Ulm"}},
            "the object 'http://dbpedia.org/resource/Ulm' is neither an item of Wikidata such as Q42 nor a value with"
            " a type",
        ),
        (
            {"object": {"uri": f"1879-02-30T00:00:00Z^^{DATE_TIME}"}},
            "'1879-02-30' is not a date: its month or day does not exist",
        ),
        ({"object": {"uri": f"soon^^{DATE_TIME}"}}, "'soon' is not a date such as 1879-03-14T00:00:00Z"),
        (
            {"subject": {"uri": f"1879^^{DATE_TIME}"}},
            "the subject is a value, '1879', where an item is expected",
        ),
        (
            {"object": {"uri": "Q1", "surfaceform": "\ud800"}},
            "the name of the object is not UTF-8, or has half a character (a lone surrogate)",
        ),
    ],
)
def test_triple_that_gives_no_fact_costs_itself_alone(tmp_path: Path, bad: dict[str, Any], reason: str) -> None:
    own = DOCUMENTS[1]
    spoilt = dict(own, triples=[own["triples"][0], own["triples"][0] | bad, own["triples"][1]])
    source = open_source("trex", path=written(tmp_path, json.dumps([DOCUMENTS[0], spoilt], indent=1)))
    line = json.dumps([DOCUMENTS[0]], indent=1).count("\n") + 1
    assert messages(source.facts()) == [f"re-nlg_0-10000.json, line {line}: record 2 (Q937), triple 1: {reason}"]
    assert facts(source) == ["Q937 P19 Q3012", "Q937 P27 Q39"]
    assert len(list(source.entities())) == 3


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (5, "neither a document with `triples` (T-REx) nor a fact with `sub_uri`, `obj_uri`, `predicate_id` (LAMA)"),
        ({"docid": "Q1"}, "neither a document with `triples` (T-REx) nor a fact with"),
        ({"triples": {}}, "Expected `array`, got `object` - at `$.triples`"),
        ({"sub_uri": "Q1", "obj_uri": "Q2"}, "Object missing required field `predicate_id`"),
        (
            {"sub_uri": "Q1", "obj_uri": "Q2", "predicate_id": "P1", "obj_label": {}},
            "Expected `str | null`, got `object` - at `$.obj_label`",
        ),
        ({"sub_uri": "", "obj_uri": "Q2", "predicate_id": "P1"}, "the sub_uri has no `uri`"),
    ],
)
def test_record_that_is_of_neither_form_costs_itself_alone(tmp_path: Path, bad: object, reason: str) -> None:
    source = open_source("trex", path=written(tmp_path, [DOCUMENTS[0], bad, DOCUMENTS[1]]))
    (message,) = messages(source.facts())
    assert message.startswith(f"re-nlg_0-10000.json, line 1: record 2: {reason}")
    assert facts(source) == ["Q937 P19 Q3012", "Q937 P27 Q39"]
