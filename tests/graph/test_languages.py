"""Names and templates in a language: stored, exchanged in queries, and refused where a graph lacks them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files

import pytest

from kgprobe.base.errors import ArgumentError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.graph.names import relation_ids
from kgprobe.graph.queries import get_query, query_names, text_in
from kgprobe.graph.state import graph_state
from kgprobe.sampling.facts import askable_facts, describe_facts
from kgprobe.sampling.keys import FactKey
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
    keys = askable_facts(named.in_language(language), ["P36"], TODAY)
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
        code: sorted(key.fact for key in askable_facts(graph.in_language(code), ["P571"], TODAY))
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
    assert len(askable_facts(graph.in_language("de"), ["P36"], TODAY)) == 2
    assert graph.languages() == ["de", "en", "zh-Hans"]
    named = [replace(ENTITIES[0], texts={**ENTITIES[0].texts, "de": names("Bundesrepublik")})]
    load(graph, WrittenSource(named, languages=("en", "de"), fingerprint="other"))
    assert graph_state(graph) != before
    # With the option, names that the source lacks are removed; those of other languages stay.
    bare = [replace(ENTITIES[0], texts={"en": names("Germany")})]
    load(graph, WrittenSource(bare, languages=("en", "de"), fingerprint="bare"), remove_missing=True)
    assert len(askable_facts(graph.in_language("de"), ["P36"], TODAY)) == 0
    assert len(askable_facts(graph.in_language("zh-hans"), ["P36"], TODAY)) == 1
