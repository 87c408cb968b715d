"""Property graphs of any schema: proposed, mapped, loaded; each engine reads what lies in the other."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import rdflib
from click.testing import CliRunner

import kgprobe
from kgprobe.api.loading import load
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.cli.load import load as load_command
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint, same_database
from kgprobe.loaders.own_graph.mapping import read_mapping
from kgprobe.loaders.own_graph.sentences import sentences_of, sentences_of_date, words_of
from kgprobe.loaders.own_graph.values import bound_of, literal_of
from kgprobe.sources.contract import open_source
from tests.conftest import require_engine
from tests.graph.servers.shared import wipe

DATA = Path(__file__).parent.parent / "data" / "own_graph"


ON_NEO4J = pytest.mark.parametrize(("endpoint", "own"), [("arcadedb", "neo4j")], indirect=True)
ON_BOTH = pytest.mark.parametrize(
    ("endpoint", "own"), [("arcadedb", "arcadedb"), ("arcadedb", "neo4j"), ("neo4j", "arcadedb")], indirect=True
)


@pytest.fixture
def own(
    request: pytest.FixtureRequest,
    start_server: Callable[[str], Endpoint],
    second_endpoint: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Graph]:
    """A user's own graph, empty, with its credentials set; on the embedded engine unless the test names Neo4j."""
    engine = getattr(request, "param", "arcadedb")
    require_engine(engine)
    endpoint = second_endpoint if engine == "arcadedb" else start_server(engine)
    for name, value in (("USER", endpoint.user), ("PASSWORD", endpoint.password), ("DATABASE", endpoint.database)):
        monkeypatch.setenv(f"KGPROBE_FROM_{name}", value or "")
    with Graph(endpoint) as connection:
        wipe(connection)
        yield connection


def fill(graph: Graph, cypher: str, **parameters: Any) -> None:
    list(graph.run_text(cypher, parameters)[1])


def rows(graph: Graph, cypher: str) -> list[dict[str, Any]]:
    return list(graph.run_text(cypher, {})[1])


def loaded(graph: Graph) -> set[tuple[str, str, str, str | None]]:
    facts = rows(
        graph,
        "MATCH (s:Entity)-[f:FACT]->(o:Entity)"
        " RETURN s.label AS s, f.relation AS r, o.label AS o, f.start AS start, f.end AS end",
    )
    return {(row["s"], row["r"], row["o"], row["start"]) for row in facts}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def read(own: Graph, mapping: Path) -> tuple[list[Placed], list[Placed], list[Placed]]:
    source = open_source("graph", source=own.endpoint.address, mapping=mapping)
    return list(source.relations()), list(source.entities()), list(source.facts())


def test_movies_are_loaded_as_proposed(own: Graph, graph: Graph, tmp_path: Path) -> None:
    fill(own, (DATA / "movies.cypher").read_text())
    address = own.endpoint.address
    mapping = kgprobe.propose_mapping("graph", source=address, mapping=tmp_path / "movies.toml")
    report = load(graph, "graph", source=address, mapping=mapping)
    assert not sum(report.skipped.values())
    ways = rows(
        own,
        "MATCH (s)-[r]->(o) RETURN s.name AS s, type(r) AS r, coalesce(o.title, o.name) AS o",
    )
    expected = {(row["s"], row["r"], row["o"], None) for row in ways}
    for key, name in (("born", "name"), ("released", "title")):
        of = rows(own, f"MATCH (n) WHERE n.{key} IS NOT NULL RETURN n.{name} AS s, n.{key} AS o")
        expected |= {(row["s"], key, str(row["o"]), None) for row in of}
    assert loaded(graph) == expected
    assert ("Keanu Reeves", "ACTED_IN", "The Matrix", None) in expected
    (acted,) = rows(graph, "MATCH (r:Relation {id: 'ACTED_IN'}) RETURN r.clozes AS c, r.wh_questions AS q")
    assert acted == {"c": ["[X] acted in [Y]"], "q": ["Which movie did [X] act in?"]}
    (keanu,) = rows(graph, "MATCH (e:Entity {label: 'Keanu Reeves'}) RETURN e.id AS id, e.types AS types")
    assert keanu == {"id": "Person:Keanu Reeves", "types": ["Person"]}
    assert rows(graph, "MATCH (e:Entity {id: 'Person'}) RETURN e.label AS label") == [{"label": "person"}]
    assert not [flaw for flaw in kgprobe.check_templates(graph).flaws if flaw.severity == "error"]
    # Nothing came into the graph that was read.
    assert rows(own, "MATCH (n) WHERE n:Entity OR n:KgprobeLoad RETURN count(n) AS n") == [{"n": 0}]


# As neo4j-graphrag writes them: names are properties, a chunk has an embedding, all nodes have its own label.
GRAPHRAG = """
CREATE (d:Document:__KGBuilder__ {id: 'd', path: 'a.pdf'})
CREATE (c:Chunk:__KGBuilder__ {id: 'c', text: 'Ada Lovelace worked with Charles Babbage in London.', index: 0})
CREATE (c)-[:FROM_DOCUMENT]->(d)
CREATE (ada:Person:__Entity__:__KGBuilder__ {id: 'c:0', name: 'Ada Lovelace'})
CREATE (charles:Person:__Entity__:__KGBuilder__ {id: 'c:1', name: 'Charles Babbage'})
CREATE (london:City:__Entity__:__KGBuilder__ {id: 'c:2', name: 'London'})
CREATE (ada)-[:WORKED_WITH]->(charles), (ada)-[:LIVED_IN]->(london), (charles)-[:LIVED_IN]->(london)
CREATE (ada)-[:FROM_CHUNK]->(c), (charles)-[:FROM_CHUNK]->(c), (london)-[:FROM_CHUNK]->(c)
"""
# As the LLM Graph Builder writes them: ids are names, communities are nodes, and an entity may have no type.
GRAPH_BUILDER = """
CREATE (d:Document {fileName: 'a.pdf'})
CREATE (c:Chunk {id: 'c', text: 'Ada Lovelace worked with Charles Babbage in London.', position: 1})-[:PART_OF]->(d)
CREATE (d)-[:FIRST_CHUNK]->(c)
CREATE (ada:Person:__Entity__ {id: 'Ada Lovelace', description: 'a mathematician'})
CREATE (charles:Person:__Entity__ {id: 'Charles Babbage'})
CREATE (london:__Entity__ {id: 'London'})
CREATE (ada)-[:WORKED_WITH]->(charles), (ada)-[:LIVED_IN]->(london), (charles)-[:LIVED_IN]->(london)
CREATE (c)-[:HAS_ENTITY]->(ada), (c)-[:HAS_ENTITY]->(charles), (c)-[:HAS_ENTITY]->(london)
CREATE (com:__Community__ {id: '0-1', title: 'London', level: 0})<-[:IN_COMMUNITY]-(ada)
"""


@pytest.mark.parametrize(
    ("text", "types", "omitted"),
    [
        (
            GRAPHRAG,
            {"Person": 2, "City": 1},
            ["Chunk (1 nodes with id, index, text)", "Document (1 nodes with id, path)"],
        ),
        (
            GRAPH_BUILDER,
            {"Person": 2, "__Entity__": 1},
            ["Chunk (1 nodes with id, position, text)", "Document (1 nodes with fileName)", "__Community__ (1 nodes"],
        ),
    ],
    ids=["neo4j-graphrag", "LLM Graph Builder"],
)
def test_entities_from_texts_are_loaded_without_texts(
    own: Graph, graph: Graph, tmp_path: Path, text: str, types: dict[str, int], omitted: list[str]
) -> None:
    fill(own, text)
    address = own.endpoint.address
    mapping = kgprobe.propose_mapping("graph", source=address, mapping=tmp_path / "extracted.toml")
    assert all(f"# Left out: {label}" in mapping.read_text() for label in omitted)
    report = load(graph, "graph", source=address, mapping=mapping)
    assert not sum(report.skipped.values())
    assert loaded(graph) == {
        ("Ada Lovelace", "WORKED_WITH", "Charles Babbage", None),
        ("Ada Lovelace", "LIVED_IN", "London", None),
        ("Charles Babbage", "LIVED_IN", "London", None),
    }
    sizes = rows(graph, "MATCH (t:Type) WHERE t.size > 0 RETURN t.id AS id, t.size AS size")
    assert {row["id"]: row["size"] for row in sizes} == types


@ON_BOTH
@pytest.mark.representatives(2)
def test_orders_are_facts_with_dates(own: Graph, graph: Graph, tmp_path: Path) -> None:
    fill(own, (DATA / "northwind.cypher").read_text())
    address = own.endpoint.address
    mapping = kgprobe.propose_mapping("graph", source=address, mapping=tmp_path / "northwind.toml")
    load(graph, "graph", source=address, mapping=mapping)
    orders = rows(
        own,
        "MATCH (c:Customer)-[:PURCHASED]->(o:Order)-[:ORDERS]->(p:Product)"
        " RETURN c.companyName AS s, p.productName AS o, o.orderDate AS start",
    )
    facts = loaded(graph)
    assert {fact for fact in facts if fact[1] == "PURCHASED"} == {
        (row["s"], "PURCHASED", row["o"], row["start"]) for row in orders
    }
    assert ("Exotic Liquids", "SUPPLIES", "Chai", None) in facts
    assert {relation for _, relation, _, _ in facts} == {"PURCHASED", "SUPPLIES", "PART_OF"}
    assert rows(graph, "MATCH (e:Entity {id: 'Product:14'}) RETURN e.label AS label") == [{"label": "Tofu"}]


@ON_NEO4J
def test_proposal_is_the_same_each_time_and_overwrites_nothing(
    own: Graph, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []
    for number, where in enumerate((own, own, graph)):
        if number != 1:
            fill(where, (DATA / "northwind.cypher").read_text())
        its = {"USER": where.endpoint.user, "PASSWORD": where.endpoint.password, "DATABASE": where.endpoint.database}
        for name, value in its.items():
            monkeypatch.setenv(f"KGPROBE_FROM_{name}", value or "")
        address = where.endpoint.address
        path = kgprobe.propose_mapping("graph", source=address, mapping=tmp_path / f"{number}.toml")
        texts.append(path.read_text().replace(address, ""))
    assert texts[0] == texts[1] == texts[2]
    with pytest.raises(ArgumentError, match=r"^`mapping` is .*2\.toml, which exists"):
        kgprobe.propose_mapping("graph", source=graph.endpoint.address, mapping=tmp_path / "2.toml")


# As neosemantics stores RDF (handleMultival ARRAY) and pandas a table with gaps; nodes of all kinds that give no facts.
MIXED = """
CREATE (acme:Company {uid: 'c1', rdfs__label: ['Acme', 'Acme Corp', 'Acme'], views: [7], rdfs__comment: ['Makes all.']})
CREATE (beta:Company {uid: 'c2', rdfs__label: ['Beta'], views: $nan, rdfs__comment: $nan})
CREATE (gone:Company {uid: 'c3', rdfs__label: $nan}), (:Company {uid: 'c4', rdfs__label: ['Delta']})
CREATE (ada:Person {name: 'Ada', born: 1815, mail: 'ada@x', aka: ['A.', 'Countess']})
CREATE (bob:Person {name: 'Bob', born: $nan, mail: 'bob@x'})
CREATE (:Person {name: 'Bob', mail: 'bob@y'})
CREATE (ada)-[:HELD]->(:Post {since: 1840, grade: 3})-[:AT]->(acme), (bob)-[:HELD]->(:Post {since: 1841})-[:AT]->(beta)
CREATE (bob)-[:HELD]->(:Post {since: 1850})
CREATE (ada)-[:LIVES]->(house:Address), (bob)-[:LIVES]->(house), (acme)-[:SEAT]->(house), (beta)-[:SEAT]->(house)
CREATE (ada)-[:WROTE]->(:Note {text: 'n'}), (ada)-[:KNOWS {source: 's'}]->(bob), (ada)-[:KNOWS]->(:Robot)
CREATE (deal:Deal), (deal)-[:BY]->(ada), (deal)-[:WITH]->(acme), (deal)-[:ON]->(beta)
CREATE (ada)-[:MADE]->(:Draft), (:Draft)-[:FOR]->(acme)
"""


NAMELESS = "no property looks like a name, and "


def test_lists_are_names_with_aliases_and_nan_is_none(own: Graph, graph: Graph, tmp_path: Path) -> None:
    fill(own, MIXED, nan=math.nan)
    address = own.endpoint.address
    mapping = kgprobe.propose_mapping("graph", source=address, mapping=tmp_path / "mixed.toml")
    report = load(graph, "graph", source=address, mapping=mapping)
    companies = rows(
        graph,
        "MATCH (e:Entity) WHERE 'Company' IN e.types"
        " RETURN e.id AS id, e.label AS label, e.aliases AS aliases, e.popularity AS popularity ORDER BY id",
    )
    assert [tuple(row.values()) for row in companies] == [
        ("Company:c1", "Acme", ["Acme Corp"], 7.0),
        ("Company:c2", "Beta", [], None),
        ("Company:c4", "Delta", [], None),
    ]
    # The company without a name, and the post without a company.
    assert report.skipped["unreadable"] == 2
    assert "it has no 'rdfs__label', which is its name" in report.problems[0]
    assert {fact for fact in loaded(graph) if fact[1] in ("born", "HELD")} == {
        ("Ada", "born", "1815", None),
        ("Ada", "HELD", "Acme", "1840"),
        ("Bob", "HELD", "Beta", "1841"),
    }


def test_proposal_says_what_it_leaves_out_and_why(own: Graph, graph: Graph, tmp_path: Path) -> None:  # noqa: ARG001
    fill(own, MIXED, nan=math.nan)
    mapping = kgprobe.propose_mapping("graph", source=own.endpoint.address, mapping=tmp_path / "mixed.toml")
    text = mapping.read_text()
    kinds = {kind.label: kind for kind in read_mapping(mapping).entities}
    assert (kinds["Company"].name, kinds["Company"].id) == ("rdfs__label", "uid")
    assert (kinds["Person"].name, kinds["Person"].id) == ("name", None)
    assert [facts.node for facts in read_mapping(mapping).node_facts] == ["Post"]
    for line in (
        "# unique, but not like ids by their names, are mail: ids are the graph's own, and differ in a copy",
        "# left out: mail: no date",
        "# left out: grade: neither a start nor an end",
        "# left out: source: neither a start nor an end",
        "# 2 of 3 between two entities; the others give no fact",
        "# 1 relationships\n# left out: 1 others of this type, without entities at both ends",
        f"# Left out: Address (1 nodes): {NAMELESS}1 of its nodes have several LIVES and several SEAT: no facts",
        f"# Left out: Deal (1 nodes): {NAMELESS}3 kinds of relationships connect it to entities, not two (BY, ON",
        f"# Left out: Draft (2 nodes): {NAMELESS}none of its nodes has both MADE and FOR to entities",
        f"# Left out: Note (1 nodes with text): {NAMELESS}1 kind of relationships connect it to entities, not two (WR",
        f"# Left out: Robot (1 nodes): {NAMELESS}1 kind of relationships connect it to entities, not two (KNOWS)",
        "# Left out: WROTE (1 relationships): no entities at both of its ends",
    ):
        assert line in text, line
    assert "between two entities" not in text.replace("2 of 3 between two entities", "")


# As neosemantics stores RDF with keepLangTag, with several values or one; an address is no tag.
TAGGED = """
CREATE (berlin:City {uri: 'u1', rdfs__label: ['Berlino@it', 'Berlin@de', 'Berlin@en', 'Berlin (city)@en-GB']})
SET berlin.rdfs__comment = ['Stadt@de', 'a city@en']
CREATE (berlin)-[:IN]->(:Country {uri: 'u2', rdfs__label: 'Deutschland@de', mail: 'post@example.de'})
CREATE (munich:City {uri: 'u3', rdfs__label: ['München@de', 'Munich@en']})
CREATE (munich)-[:IN]->(:Country {uri: 'u4', rdfs__label: 'Bayern@de'})
"""


def test_names_with_language_tags_are_read_without(own: Graph, graph: Graph, tmp_path: Path) -> None:
    fill(own, TAGGED)
    address = own.endpoint.address
    mapping = kgprobe.propose_mapping("graph", source=address, mapping=tmp_path / "tagged.toml")
    assert {kind.label: kind.language for kind in read_mapping(mapping).entities} == {"City": "en", "Country": "de"}
    assert "# texts end in language tags (de, en, en-gb, it), which are removed" in mapping.read_text()
    load(graph, "graph", source=address, mapping=mapping)
    text = (
        "MATCH (e:Entity)-[:FACT]-() RETURN e.label AS name, e.aliases AS aliases, e.description AS about ORDER BY name"
    )
    assert [tuple(row.values()) for row in rows(graph, text)] == [
        ("Bayern", [], ""),
        ("Berlin", ["Berlin (city)", "Berlino"], "a city"),
        ("Deutschland", [], ""),
        ("Munich", ["München"], ""),
    ]


RDF = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://example.org/> .
ex:Ada a ex:Person ; rdfs:label "Ada"@en, "Ada (de)"@de ; skos:altLabel "Countess"@en ; ex:birthPlace ex:London ;
  ex:birthDate "1815-12-10"^^xsd:date ; ex:children 3 ; ex:spouse ex:William ; ex:name "A. A. Byron" .
ex:William a ex:Person, ex:Earl ; rdfs:label "William"@en ; ex:birthPlace ex:London ; ex:spouse ex:Ada .
ex:London a ex:City ; rdfs:label "London"@en, "Londres"@fr ; ex:partOf ex:England .
ex:Ockham a ex:City ; rdfs:label "Ockham"@en ; ex:partOf ex:England .
ex:England rdfs:label "England"@en .
ex:Person a owl:Class ; rdfs:label "human being"@en . ex:Earl a owl:Class ; rdfs:label "earl"@en .
ex:Earl rdfs:subClassOf ex:Person . ex:City a owl:Class ; rdfs:label "city"@en .
"""
PREFIXES = {"http://example.org/": "ns0", "http://www.w3.org/2000/01/rdf-schema#": "rdfs"}
PREFIXES |= {"http://www.w3.org/2002/07/owl#": "owl", "http://www.w3.org/2004/02/skos/core#": "skos"}
PREFIXES |= {"http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf"}


def bring_in(graph: Graph, turtle: str, vocabulary: str, types: str, *, arrays: bool, tags: bool) -> None:
    """Write RDF into a graph as neosemantics 5 does: handleVocabUris, handleRDFTypes, handleMultival, keepLangTag."""

    def named(iri: rdflib.URIRef) -> str:
        namespace, _, name = re.fullmatch(r"(.*[/#])()(.*)", iri).groups()  # type: ignore[union-attr]
        if vocabulary == "KEEP":
            return str(iri)
        return f"{PREFIXES[namespace]}__{name}" if vocabulary == "SHORTEN" else name

    def stored(term: rdflib.Literal) -> Any:
        value = term.toPython()
        if isinstance(value, date):
            return value.isoformat()
        return f"{term}@{term.language}" if tags and term.language else str(term) if isinstance(value, str) else value

    triples = sorted(rdflib.Graph().parse(data=turtle, format="turtle"), key=str)
    labels: dict[str, set[str]] = {}
    values: dict[str, dict[str, Any]] = {}
    for subject, predicate, term in triples:
        kinds = labels.setdefault(str(subject), {"Resource"})
        if isinstance(term, rdflib.Literal):
            properties = values.setdefault(str(subject), {})
            key = named(predicate)
            properties[key] = [*properties.get(key, []), stored(term)] if arrays else stored(term)
            continue
        if predicate == rdflib.RDF.type and types != "NODES":
            kinds.add(named(term))
        if predicate != rdflib.RDF.type or types != "LABELS":
            labels.setdefault(str(term), {"Resource"})
    fill(graph, "CREATE (:_GraphConfig {_handleVocabUris: 0}), (:_NsPrefDef {ns0: 'http://example.org/'})")
    for uri, kinds in labels.items():
        names = "".join(f":`{kind}`" for kind in sorted(kinds))
        properties = {"uri": uri, **values.get(uri, {})}
        pairs = ", ".join(f"`{key}`: $p{number}" for number, key in enumerate(properties))
        fill(graph, f"CREATE ({names} {{{pairs}}})", **{f"p{n}": value for n, value in enumerate(properties.values())})
    for subject, predicate, term in triples:
        if isinstance(term, rdflib.Literal) or (predicate == rdflib.RDF.type and types == "LABELS"):
            continue
        text = f"MATCH (s:Resource {{uri: $s}}), (o:Resource {{uri: $o}}) CREATE (s)-[:`{named(predicate)}`]->(o)"
        fill(graph, text, s=str(subject), o=str(term))


@pytest.mark.parametrize(
    ("vocabulary", "types", "arrays", "tags"),
    [
        ("SHORTEN", "LABELS", True, True),
        ("SHORTEN", "NODES", True, True),
        ("SHORTEN", "LABELS_AND_NODES", False, False),
        ("IGNORE", "LABELS", False, False),
        ("IGNORE", "LABELS_AND_NODES", True, True),
        ("KEEP", "LABELS", True, True),
        ("KEEP", "NODES", False, False),
    ],
)
def test_graph_of_neosemantics_is_proposed_as_its_rdf(
    own: Graph, tmp_path: Path, vocabulary: str, types: str, arrays: bool, tags: bool
) -> None:
    # Without arrays or tags, a later label replaces an earlier one.
    turtle = RDF if arrays and tags else RDF.replace(', "Ada (de)"@de', "").replace(', "Londres"@fr', "")
    bring_in(own, turtle, vocabulary, types, arrays=arrays, tags=tags)
    mapping = kgprobe.propose_mapping("graph", source=own.endpoint.address, mapping=tmp_path / "rdf.toml")
    relations, entities, facts = read(own, mapping)
    assert not [one.record for one in (*relations, *entities, *facts) if isinstance(one.record, Rejected)]
    names = {one.record.id: one.record.label for one in relations if isinstance(one.record, Relation)}
    source = open_source("rdf", files=[write(tmp_path / "a.ttl", turtle)])
    expected_names = {one.record.id: one.record.label for one in source.relations() if isinstance(one.record, Relation)}
    assert set(names.values()) == set(expected_names.values())

    def known(placed: Iterable[Placed], names: dict[str, str]) -> set[tuple[str, str, str]]:
        records = [one.record for one in placed]
        return {(one.subject, names[one.relation], one.object) for one in records if isinstance(one, Fact)}

    assert known(facts, names) == known(source.facts(), expected_names)
    labels = {one.record.id: one.record.label for one in entities if isinstance(one.record, Entity)}
    for record in (one.record for one in source.entities()):
        if isinstance(record, Entity):
            assert labels[record.id] == record.label
    kinds = {one.record.id: one.record.types for one in entities if isinstance(one.record, Entity)}
    assert "Resource" not in {type_ for each in kinds.values() for type_ in each}
    assert len(kinds["http://example.org/William"]) == (4 if types == "LABELS_AND_NODES" else 2)


MOVIES = """
[[entities]]
label = "Person"
name = "name"
id = "name"
[[entities]]
label = "Movie"
name = "title"
[[relationship_facts]]
type = "ACTED_IN"
"""


def test_mapping_that_fits_nothing_says_what_there_is(own: Graph, graph: Graph, tmp_path: Path) -> None:  # noqa: ARG001
    fill(own, (DATA / "movies.cypher").read_text())
    mapping = write(tmp_path / "m.toml", MOVIES.replace('"ACTED_IN"', '"ACTEDIN"'))
    with pytest.raises(KgprobeError) as wrong_type:
        open_source("graph", source=own.endpoint.address, mapping=mapping)
    assert "reaches no fact" in str(wrong_type.value)
    assert "It looks for relationships ACTEDIN from Person or Movie to Person or Movie; there are none" in str(
        wrong_type.value
    )
    assert "did you mean ACTED_IN?" in str(wrong_type.value)
    assert "The graph has nodes Person (22), Movie (10)." in str(wrong_type.value)
    write(mapping, MOVIES.replace('"Person"', '"person"').replace('"Movie"', '"Film"'))
    with pytest.raises(KgprobeError, match=r"reaches no entity of .* nodes person .* \(did you mean Person\?\)"):
        open_source("graph", source=own.endpoint.address, mapping=mapping)
    # The relationships are there, and none of their ends can be read: the reason is told.
    write(mapping, MOVIES.replace('id = "name"', 'id = "born"').replace('"ACTED_IN"', '"FOLLOWS"'))
    with pytest.raises(KgprobeError, match=r"reaches no fact of .* it has no 'born', which is its id"):
        read(own, mapping)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[entities]]\nlabel = 1", r"m\.toml: Expected `str`, got `int` - at `\$\.entities\[0\]\.label`"),
        (MOVIES.replace("title", 't"', 1), r"m\.toml is not TOML: .*line 8"),
        (MOVIES + 'colour = "red"\n', "unknown field `colour`"),
        (MOVIES + 'from = ["Actor"]\n', r"`relationship_facts\[0\]\.from` has 'Actor'"),
        (MOVIES + '[[relationship_facts]]\ntype = "ACTED_IN"\n', "two of the facts have the relation 'ACTED_IN'"),
        (MOVIES.split("[[rel")[0], "it has no facts"),
    ],
)
def test_mapping_that_is_none_says_where(text: str, said: str, tmp_path: Path) -> None:
    mapping = write(tmp_path / "m.toml", text)
    with pytest.raises(KgprobeError, match=said):
        open_source("graph", source="bolt://127.0.0.1:1", mapping=mapping)


INTERMEDIATE = """
[[entities]]
label = "Person"
name = "name"
id = "id"
aliases = ["known_as"]
popularity = "views"
type_relationship = "IS"
[[entities]]
label = "Company"
name = "name"
id = "id"
prefix = ""
[[entities]]
label = "Job"
name = "name"
id = "name"
[[node_facts]]
node = "Employment"
id = "employer"
subject = { type = "OF", labels = ["Person"] }
object = { type = "AT", labels = ["Company"] }
start = "begin"
end = "stop"
rank = "rank"
clozes = ["[X] works for [Y]", "[X] works"]
[[relationship_facts]]
type = "OWNS"
backwards = true
"""


@ON_BOTH
def test_intermediate_nodes_give_dates_ranks_and_problems(own: Graph, graph: Graph, tmp_path: Path) -> None:  # noqa: ARG001
    fill(
        own,
        "CREATE (ada:Person {id: 1, name: 'Ada', known_as: ['A.', 'Ada L.'], views: 7})-[:IS]->(:Job {name: 'clerk'}),"
        " (bob:Person {id: 2, name: 'Bob'}), (:Person {id: 3}), (x:Person {id: 4, name: 'X'}),"
        " (:Person {id: 4, name: 'Y'}), (acme:Company {id: 'acme', name: 'Acme'}), (bob)-[:OWNS]->(acme),"
        " (ada)<-[:OF]-(:Employment {begin: date('1999-03-31'), stop: 2004})-[:AT]->(acme),"
        " (bob)<-[:OF]-(:Employment {begin: '2001-05', rank: 'deprecated'})-[:AT]->(acme),"
        " (bob)<-[:OF]-(:Employment {begin: '2001-05', rank: 'preferred'})-[:AT]->(acme),"
        " (bob)<-[:OF]-(:Employment {begin: 'soon'})-[:AT]->(acme), (bob)<-[:OF]-(:Employment),"
        " (x)<-[:OF]-(:Employment {begin: 2010})-[:AT]->(acme)",
    )
    relations, entities, facts = read(own, write(tmp_path / "m.toml", INTERMEDIATE))
    (bad,) = [placed for placed in relations if isinstance(placed.record, Rejected)]
    # Facts of relationships are read first.
    assert (bad.file, bad.unit, bad.line) == ("m.toml", "relation", 2)
    people = {placed.record.id: placed.record for placed in entities if isinstance(placed.record, Entity)}
    assert people["Person:1"] == Entity(
        "Person:1", "Ada", ("A.", "Ada L."), types=("Person", "Job:clerk"), popularity=7.0
    )
    assert "acme" in people
    reasons = [placed.record.reason for placed in entities if isinstance(placed.record, Rejected)]
    assert len(reasons) == 3
    assert sum("it has no 'name', which is its name" in reason for reason in reasons) == 1
    assert sum("another node has the id 'Person:4', too" in reason for reason in reasons) == 2
    assert {placed.record for placed in facts if isinstance(placed.record, Fact)} == {
        Fact("acme OWNS Person:2", "acme", "OWNS", "Person:2"),
        Fact("Person:1 employer acme @1999-03-31", "Person:1", "employer", "acme", "normal", "1999-03-31", "2004"),
        Fact("Person:2 employer acme @2001-05", "Person:2", "employer", "acme", "preferred", "2001-05"),
        # Of X or Y, nobody knows; neither is loaded, so that this is reported as missing.
        Fact("Person:4 employer acme @2010", "Person:4", "employer", "acme", "normal", "2010"),
    }
    elements = {row["e"] for row in rows(own, "MATCH (n:Employment) RETURN elementId(n) AS e")}
    wrong = [placed for placed in facts if isinstance(placed.record, Rejected)]
    assert all(any(placed.record.reason.startswith(f"{e}: ") for e in elements) for placed in wrong)  # type: ignore[union-attr]
    assert sorted(re.sub(r"^.*?: ", "", placed.record.reason)[:30] for placed in wrong) == [  # type: ignore[union-attr]
        "it has no object: there is no ",
        "its 'begin' is 'soon', which i",
    ]


def test_passwords_are_not_shown_and_refusals_are_named(
    own: Graph, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(own, (DATA / "movies.cypher").read_text())
    mapping = write(tmp_path / "m.toml", MOVIES)
    address = own.endpoint.address
    command = ["graph", "--from", address, "--mapping", str(mapping), "--graph", graph.endpoint.address, "--json"]
    for name, value in (("USER", graph.endpoint.user), ("PASSWORD", graph.endpoint.password)):
        monkeypatch.setenv(f"KGPROBE_GRAPH_{name}", value)
    monkeypatch.setenv("KGPROBE_GRAPH_DATABASE", graph.endpoint.database or "")
    done = CliRunner().invoke(load_command, command, catch_exceptions=False)
    assert json.loads(done.stdout)["facts"] == 21
    kept = json.dumps(rows(graph, "MATCH (n) RETURN properties(n) AS p"), default=str)
    for secret in (own.endpoint.password, graph.endpoint.password):
        assert secret not in done.output + kept
        assert secret not in repr(open_source("graph", source=address, mapping=mapping))
    monkeypatch.setenv("KGPROBE_FROM_PASSWORD", "not-the-password")
    with pytest.raises(KgprobeError, match=r"Set KGPROBE_FROM_USER and KGPROBE_FROM_PASSWORD") as refused:
        open_source("graph", source=address, mapping=mapping)
    assert "not-the-password" not in str(refused.value)
    with pytest.raises(ArgumentError, match=r"^`source` contains a user or a password before 'h'") as shown:
        open_source("graph", source="bolt://me:secret@h", mapping=mapping)
    assert "secret" not in str(shown.value)
    monkeypatch.delenv("KGPROBE_FROM_PASSWORD")
    with pytest.raises(KgprobeError, match=r"needs the password of .* Set KGPROBE_FROM_PASSWORD\.$"):
        open_source("graph", source=address, mapping=mapping)


def test_graph_is_not_loaded_into_itself(own: Graph, graph: Graph, tmp_path: Path) -> None:  # noqa: ARG001
    fill(own, (DATA / "movies.cypher").read_text())
    with pytest.raises(ArgumentError, match=r"^`graph` is bolt://.* itself"):
        load(own, "graph", source=own.endpoint.address, mapping=write(tmp_path / "m.toml", MOVIES))
    assert rows(own, "MATCH (n:KgprobeLoad) RETURN count(n) AS n") == [{"n": 0}]


def test_same_database_by_other_names() -> None:
    there = Endpoint("bolt://127.0.0.1:7687", "u", "p", "neo4j")
    assert same_database(there, "neo4j://localhost", None)
    assert not same_database(there, "bolt://localhost:7688", None)
    assert not same_database(there, "bolt://localhost:7687", "films")


HOSTILE = "a`b\u202e<b>\n'$type'\\\x85"


def test_hostile_names_are_only_names(own: Graph, graph: Graph, tmp_path: Path) -> None:
    # The embedded engine takes fewer characters, of relationships fewer yet.
    hostile = HOSTILE.replace("`", "``").replace("\\", "\\\\")
    label, type_ = ("we``ird lab:el", "TY PE") if "ArcadeDB" in own.server else (hostile, hostile)
    long = "x" * 100_000
    fill(
        own,
        f"CREATE (:`{label}` {{name: $name}})-[:`{type_}`]->(:Entity {{name: 'one', id: 'Q1', description: $long}}),"
        " (:Thing {name: 'two', id: $long}), (:Thing {name: 'three', id: 'P1'})",
        name=f"<script>alert(1)</script>\u202e{HOSTILE}",
        long=long,
    )
    address = own.endpoint.address
    mapping = kgprobe.propose_mapping("graph", source=address, mapping=tmp_path / "hostile.toml")
    assert not re.search("[\x7f-\x9f\u202a-\u202e]", mapping.read_text())
    report = load(graph, "graph", source=address, mapping=mapping)
    ((subject, relation, object_, _),) = loaded(graph)
    assert (object_, report.facts, report.skipped["unreadable"]) == ("one", 1, 1)
    assert subject.startswith("<script>alert(1)</script>")
    assert "\n" not in subject + relation
    assert "100,0" in report.problems[0]
    assert len(report.problems[0]) < 1_000


@pytest.mark.parametrize(
    ("value", "bound"),
    [
        (1999, "1999"),
        (-44, "-0044"),
        (19990331, "1999-03-31"),
        ("1999-03", "1999-03"),
        ("1996-07-04 00:00:00.000", "1996-07-04"),
        ("1996-07-04T10:00:00Z", "1996-07-04"),
        (" 2011 ", "2011"),
        ("unknown", "unknown"),
        (None, None),
        ("", None),
        (["1999"], "1999"),
        (math.nan, None),
        ([], None),
    ],
)
def test_bounds(value: Any, bound: str | None) -> None:
    assert bound_of(value, "p") == bound


@pytest.mark.parametrize(
    "value", ["soon", "31.3.1999", "1999-13", 922838400000, True, 0, 1.5, ["1999", "2000"], "1999-02-30"]
)
def test_what_is_no_date(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^its 'p' is .*, which is not a date; expected 2011, "):
        bound_of(value, "p")


def test_literals_by_their_kinds() -> None:
    assert literal_of(1999, "p", "date") == Entity("1999", "1999", types=("year",), value="1999", datatype="year")
    assert literal_of(18.5, "p", None).id == "18.5^^decimal"
    assert literal_of(18.0, "p", "number").id == "18^^integer"
    assert literal_of("red ", "p", None).id == "red^^string"
    assert literal_of("light\u00a0red\u200e", "p", None).id == "light red^^string"
    with pytest.raises(ValueError, match="is empty"):
        literal_of("\u200e", "p", None)


@pytest.mark.parametrize(
    ("type_", "cloze", "question"),
    [
        ("ACTED_IN", "[X] acted in [Y]", "Which film did [X] act in?"),
        ("WROTE", "[X] wrote [Y]", "Which film did [X] write?"),
        ("SUPPLIES", "[X] supplies [Y]", "Which film does [X] supply?"),
        ("PART_OF", "[X] is part of [Y]", "Which film is [X] part of?"),
        ("DIRECTED_BY", "[X] was directed by [Y]", "Which film was [X] directed by?"),
        ("isLocatedIn", "[X] is located in [Y]", "Which film is [X] located in?"),
        ("HAS_GENRE", "The genre of [X] is [Y]", "What is the genre of [X]?"),
        ("LIKE", "[X] likes [Y]", "Which film does [X] like?"),
        ("RATED", "[X] rated [Y]", None),
    ],
)
def test_sentences_of_types(type_: str, cloze: str, question: str | None) -> None:
    made = sentences_of(type_, "person", "film")
    assert made is not None
    assert (made.cloze, made.wh_question) == (cloze, question)


@pytest.mark.parametrize(
    ("type_", "yes_no", "reverse"),
    [
        ("ACTED_IN", "Did [X] act in [Y]?", "Which person acted in [Y]?"),
        ("DIRECTED_BY", "Was [X] directed by [Y]?", "Which person was directed by [Y]?"),
        ("HAS_GENRE", "Is [Y] the genre of [X]?", None),
        ("RATED", "Is it true that [X] rated [Y]?", "Which person rated [Y]?"),
        ("IN_CATEGORY", "Is [X] in category [Y]?", "Which person is in category [Y]?"),
    ],
)
def test_questions_follow_from_the_sentence(type_: str, yes_no: str, reverse: str | None) -> None:
    made = sentences_of(type_, "person", "film")
    assert made is not None
    assert (made.yes_no_question, made.reverse_wh_question) == (yes_no, reverse)


def test_what_is_no_sentence() -> None:
    assert sentences_of("2ND_[X]") is None
    assert sentences_of("") is None
    assert sentences_of_date("foo_7") is None
    released = sentences_of_date("released")
    assert released is not None
    assert (released.cloze, released.wh_question) == ("[X] was released in [Y]", "When was [X] released?")
    assert words_of("TVSeriesOf") == "TV series of"


def test_read_mapping_missing_or_without_facts_is_usage(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="does not exist"):
        read_mapping(tmp_path / "absent.toml")
