"""Names and templates in a language: stored, exchanged in queries, and refused where a graph lacks them."""

import io
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files

import pytest

from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.graph.names import entities_called, entity_ids, relation_ids
from kgprobe.graph.queries import get_query, query_names, text_in
from kgprobe.graph.record_batches import LABEL_BYTES
from kgprobe.graph.state import graph_state
from kgprobe.sampling.columns.graph_columns import AskableFacts, open_columns
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.lookup import find_fact
from kgprobe.sampling.selection import Selection, read_facts
from tests.graph.servers.shared import wipe
from tests.written_source import WrittenSource

TODAY = 20260101


def names(label: str, *aliases: str) -> dict[str, str | tuple[str, ...]]:
    return {"label": label, "aliases": aliases}


# Bonn lacks a Chinese label; Lyon has none but the main one.
ENTITIES = [
    Entity(
        "Q183",
        "Germany",
        ("FRG",),
        types=("Q6256",),
        texts={"en": names("Germany"), "de": names("Deutschland", "BRD"), "zh-hans": names("德国")},
    ),
    Entity(
        "Q142",
        "France",
        types=("Q6256",),
        texts={"en": names("France"), "de": names("Frankreich"), "zh-hans": names("法国")},
    ),
    Entity(
        "Q64",
        "Berlin",
        types=("Q515",),
        texts={"en": names("Berlin"), "de": names("Berlin", "Spree-Athen"), "zh-hans": names("柏林")},
    ),
    Entity("Q586", "Bonn", types=("Q515",), texts={"en": names("Bonn"), "de": names("Bonn")}),
    Entity("Q456", "Lyon", types=("Q515",)),
    Entity("Q515", "city", texts={"de": names("Stadt")}),
    Entity("Q6256", "country"),
]
FACTS = [
    Fact("Q183-capital", "Q183", "P36", "Q64"),
    Fact("Q183-seat", "Q183", "P36", "Q586"),
    Fact("Q142-capital", "Q142", "P36", "Q456"),
]
RELATIONS = [
    Relation(
        "P36",
        "capital",
        clozes=("The capital of [X] is [Y]",),
        texts={"de": {"label": "Hauptstadt", "clozes": ("Die Hauptstadt von [X] ist [Y]",)}},
    )
]
SOURCE = WrittenSource(ENTITIES, FACTS, RELATIONS, languages=("en", "de", "zh-Hans"))


@pytest.fixture(scope="module")
def named(endpoint: Endpoint) -> Iterator[Graph]:
    """Loaded once: what is tested here reads alone."""
    with Graph(endpoint) as graph:
        wipe(graph)
        load(graph, SOURCE)
        yield graph


@pytest.mark.parametrize("language", ["en", "de", "zh-Hans"])
def test_askable_facts_in_language_have_labels_in_it(named: Graph, language: str) -> None:
    keys = AskableFacts(open_columns(named.in_language(language)), ["P36"], TODAY)
    labelled = {entity.id for entity in ENTITIES if language.lower() in entity.texts}
    assert set(keys) == {FactKey(fact.subject, fact.id) for fact in FACTS if {fact.subject, fact.object} <= labelled}
    assert keys, "the comparison would hold for no facts"


def test_described_fact_in_language_has_its_names(named: Graph) -> None:
    [fact] = describe_facts(named.in_language("de"), [FactKey("Q183", "Q183-capital")])
    assert (fact.subject_label, fact.subject_aliases) == ("Deutschland", ("BRD",))
    assert (fact.object_label, fact.object_aliases) == ("Berlin", ("Spree-Athen",))
    assert fact.relation_label == "Hauptstadt"
    # Types and relations without a label in the language keep the main one.
    assert [type_.label for type_ in (*fact.subject_types, *fact.object_types)] == ["country", "Stadt"]
    [fact] = describe_facts(named.in_language("zh-hans"), [FactKey("Q183", "Q183-capital")])
    assert (fact.subject_label, fact.object_label, fact.relation_label) == ("德国", "柏林", "capital")


def test_templates_in_language_are_of_it_alone(named: Graph) -> None:
    codes = (None, "de", "en", "zh-hans")
    clozes = {code: named.in_language(code).read("sample/relations")[0]["clozes"] for code in codes}
    # Those as loaded are English.
    english, german = ["The capital of [X] is [Y]"], ["Die Hauptstadt von [X] ist [Y]"]
    assert clozes == {None: english, "de": german, "en": english, "zh-hans": []}


def test_relations_in_language_have_the_names_as_loaded_too(named: Graph) -> None:
    assert relation_ids(named.in_language("de"), ["Hauptstadt", "capital", "P36"]) == ("P36",)


def test_entities_in_language_have_the_names_as_loaded_too(named: Graph) -> None:
    german = named.in_language("de")
    called = ["frankreich", "France", "BRD", "FRG", "Spree-Athen", "Lyon", "Stadt"]
    assert entity_ids(german, called) == ("Q142", "Q142", "Q183", "Q183", "Q64", "Q456", "Q515")
    for graph, name in [(named, "Frankreich"), (named.in_language("zh-hans"), "Frankreich"), (german, "法国")]:
        with pytest.raises(UnknownNameError):
            entity_ids(graph, [name])
    with pytest.raises(UnknownNameError, match=r"No entity is called 'Frankrech'; close to it: Frankreich \(Q142\)"):
        entity_ids(german, ["Frankrech"])
    # An entity without a German name is not called "".
    assert list(entities_called(german, {""}))[-1] == {"": []}


def test_fact_is_named_in_language_or_as_loaded(named: Graph) -> None:
    german = named.in_language("de")
    for name in ("BRD | Hauptstadt | Spree-Athen", "Deutschland capital Berlin", "FRG | P36 | berlin"):
        assert find_fact(german, name, TODAY) == FactKey("Q183", "Q183-capital")
    file = io.StringIO("deutschland\thauptstadt\tBerlin\nFrance\tcapital\tLyon\n")
    selection = read_facts(german, file, "facts.tsv", TODAY)
    assert selection == Selection([FactKey("Q183", "Q183-capital"), FactKey("Q142", "Q142-capital")], [])


def test_language_that_graph_lacks_is_refused(named: Graph) -> None:
    with pytest.raises(
        ArgumentError, match=r"`ask_in` is 'xx'; this graph has names in de, en, zh-Hans\. `kgprobe load` with"
    ):
        named.in_language("xx")
    assert named.languages() == ["de", "en", "zh-Hans"]


def test_closed_graph_in_language_gives_back_the_connection(named: Graph) -> None:
    with Graph(named.endpoint) as graph:
        german = graph.in_language("de")
    with pytest.raises(Exception, match="cannot be used any more"):
        german.read("load/loads")


@pytest.mark.parametrize("name", [name for name in query_names() if get_query(name).in_language])
def test_query_without_language_is_its_file(name: str) -> None:
    query, file = get_query(name), files("kgprobe.cypher").joinpath(f"{name}.cypher").read_text(encoding="utf-8")
    declaration = f"// Language: {', '.join(query.in_language)}\n"
    assert query.text == file.replace(declaration, "") != file
    # Only the declared names differ: without the languages, the text is that of the file.
    german = text_in(name, "de")
    assert re.sub(r"coalesce\((\w+\.\w+)_de, (?:\1|''|\[\])\)", r"\1", german) == query.text != german
    for variable in query.in_language:
        assert f"coalesce({variable.rstrip('?')}." in german, "the header names a variable that the query lacks"


def test_graph_of_one_language_has_its_names_as_loaded(graph: Graph) -> None:
    german = [Entity("Q183", "Deutschland"), Entity("Q64", "Berlin")]
    load(graph, WrittenSource(german, FACTS[:1], RELATIONS, languages=("de",)))
    [fact] = describe_facts(graph.in_language("de"), [FactKey("Q183", "Q183-capital")])
    assert (fact.subject_label, fact.relation_label) == ("Deutschland", "Hauptstadt")
    with pytest.raises(ArgumentError, match="names in de"):
        graph.in_language("en")


def test_language_loaded_alone_beside_others_is_refused(graph: Graph) -> None:
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS, languages=("en", "de")))
    load(graph, WrittenSource([Entity("Q90", "Parigi")], languages=("it",), fingerprint="alone"))
    with pytest.raises(ArgumentError, match=r"'it'.* loaded in it alone.*--language for all of these: de, en, it\."):
        graph.in_language("it")
    assert not graph.in_language("de").is_plain
    assert not graph.in_language("en").is_plain


def test_graph_without_languages_refuses_any(graph: Graph) -> None:
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
    with pytest.raises(ArgumentError, match=r"this graph has no loads with a language\."):
        graph.in_language("de")


def test_literal_without_letters_has_a_name_in_every_language(graph: Graph) -> None:
    year = Entity("1945", "1945", value="1945", datatype="year")
    day = Entity("1945-05-08", "8 May 1945", value="1945-05-08", datatype="date")
    facts = [Fact("a", "Q64", "P571", "1945"), Fact("b", "Q64", "P571", "1945-05-08")]
    load(graph, WrittenSource([ENTITIES[2], year, day], facts, [Relation("P571")], languages=("en", "de")))
    asked = {
        code: sorted(key.fact for key in AskableFacts(open_columns(graph.in_language(code)), ["P571"], TODAY))
        for code in ("en", "de")
    }
    assert asked == {"en": ["a", "b"], "de": ["a"]}


def test_reload_without_language_keeps_its_names(graph: Graph) -> None:
    load(graph, SOURCE)
    before = graph_state(graph)
    without = [
        replace(entity, texts={"en": entity.texts["en"]} if entity.texts.get("en") else {}) for entity in ENTITIES
    ]
    load(graph, WrittenSource(without, FACTS, RELATIONS, languages=("en",), fingerprint="again"))
    assert len(AskableFacts(open_columns(graph.in_language("de")), ["P36"], TODAY)) == 2
    assert graph.languages() == ["de", "en", "zh-Hans"]
    named = [replace(ENTITIES[0], texts={**ENTITIES[0].texts, "de": names("Bundesrepublik")})]
    load(graph, WrittenSource(named, languages=("en", "de"), fingerprint="other"))
    assert graph_state(graph) != before
    # With the option, names that the source lacks are removed; those of other languages stay.
    bare = [replace(ENTITIES[0], texts={"en": names("Germany")})]
    load(graph, WrittenSource(bare, languages=("en", "de"), fingerprint="bare"), remove_missing=True)
    assert len(AskableFacts(open_columns(graph.in_language("de")), ["P36"], TODAY)) == 0
    assert len(AskableFacts(open_columns(graph.in_language("zh-hans")), ["P36"], TODAY)) == 1


def test_name_of_two_entities_in_two_languages_is_ambiguous(graph: Graph) -> None:
    rhine = Entity("Q584", "Rhine", texts={"en": names("Rhine"), "de": names("Rhein")})
    town = Entity("Q1", "Rhein", texts={"en": names("Rhein"), "de": names("Ryn")})
    load(graph, WrittenSource([rhine, town], languages=("en", "de")))
    assert entity_ids(graph, ["Rhein"]) == ("Q1",)
    with pytest.raises(UnknownNameError, match="2 entities are called 'Rhein'"):
        entity_ids(graph.in_language("de"), ["Rhein"])


@pytest.mark.parametrize("endpoint", ["neo4j"], indirect=True)
def test_names_of_the_only_language_use_the_index(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    load(graph, WrittenSource([Entity("Q183", "Deutschland")], languages=("de",)))
    german = graph.in_language("de")
    read: list[str] = []
    monkeypatch.setattr(Graph, "_text", lambda self, query: [read.append(query), text_in(query, "de", plain=True)][1])
    assert entity_ids(german, ["deutschland"]) == ("Q183",)
    assert "sample/called_indexed" in read
    assert not {"sample/called", "sample/similar"} & set(read)


def test_names_in_languages_are_plain(graph: Graph) -> None:
    zurich = unicodedata.normalize("NFD", "Zürich")
    texts = {"en": names("Zurich"), "de": {"label": f"{zurich}\u200e", "aliases": (zurich, "Turicum\u00a0Stadt")}}
    relation = Relation("P36", "capital", texts={"de": {"label": "Haupt\u2011stadt", "clozes": ("[X]\u00a0[Y]",)}})
    report = load(graph, WrittenSource([Entity("Q72", "Zurich", texts=texts)], (), [relation], languages=("en", "de")))
    assert report.folded == 4
    assert graph.query("MATCH (e:Entity) RETURN e.label_de AS label, e.aliases_de AS aliases")[0] == {
        "label": "Zürich",
        "aliases": ["Turicum Stadt"],
    }
    # A template is no name.
    [row] = graph.in_language("de").read("sample/relations")
    assert (row["label"], row["clozes"]) == ("Haupt-stadt", ["[X]\u00a0[Y]"])


def test_label_in_language_that_is_too_long_is_rejected(graph: Graph) -> None:
    texts = {"de": names("ü" * (LABEL_BYTES[Entity] // 2 + 1))}
    problems: list[str] = []
    source = WrittenSource([Entity("Q1", "a", texts=texts), Entity("Q2", "b")], languages=("en", "de"))
    load(graph, source, report_problem=problems.append)
    assert "the label of Q1 is too long; a label can have up to 30,000 bytes" in problems[0]
    assert [row["id"] for row in graph.query("MATCH (e:Entity) RETURN e.id AS id")] == ["Q2"]
