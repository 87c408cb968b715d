"""``kgprobe load rdf``: ten graphs of different vocabularies, compared with a naive reading by rdflib."""

import bz2
import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
import rdflib
from rdflib import BNode, Literal

from kgprobe.api.loading import load
from kgprobe.base.errors import ArgumentError
from kgprobe.base.records import Entity, Fact, Rejected, Relation
from kgprobe.graph.client import Graph
from kgprobe.sources.contract import open_source
from tests.loaders.rdf.graphs import BAD, EX, GRAPHS, PREFIXES, RDF, RDFS, SCHEMA, WD, WDT

pytestmark = pytest.mark.usefixtures("module_home")

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": lambda data: pa.compress(data, "zstd", asbytes=True)}
FORMATS = {"ttl": "turtle", "jsonld": "json-ld", "nt": "nt", "nq": "nquads", "owl": "xml", "trig": "trig"}


class Read(NamedTuple):
    """Records by their ids, rejected statements by file and line, numbers of statements not loaded."""

    relations: dict[str, Relation]
    entities: dict[str, Entity]
    facts: list[Fact]
    rejected: list[tuple[str, int, str]]
    not_loaded: Mapping[str, int]


def write(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    paths = []
    for name, text in texts.items():
        path = folder / name
        path.write_bytes(PACK.get(path.suffix, bytes)(text.encode()))
        paths.append(path)
    return paths


def read(paths: list[Path], **options: Any) -> Read:
    source = open_source("rdf", files=paths, **options)
    placed = [*source.relations(), *source.entities(), *source.facts()]
    records = [one.record for one in placed]
    facts = [record for record in records if isinstance(record, Fact)]
    assert len({fact.id for fact in facts}) == len(facts)
    return Read(
        {record.id: record for record in records if isinstance(record, Relation)},
        {record.id: record for record in records if isinstance(record, Entity)},
        facts,
        [(one.file, one.line, one.record.reason) for one in placed if isinstance(one.record, Rejected)],
        source.not_loaded,  # type: ignore[attr-defined]
    )


NAMESPACES = {
    RDF: "rdf",
    RDFS: "rdfs",
    SCHEMA: "schema",
    WD: "wd",
    WDT: "wdt",
    "http://www.w3.org/2002/07/owl#": "owl",
    "http://www.w3.org/2004/02/skos/core#": "skos",
    "http://yago-knowledge.org/resource/": "yago",
    "http://purl.org/dc/terms/": "dcterms",
    "http://xmlns.com/foaf/0.1/": "foaf",
    "http://wikiba.se/ontology#": "wikibase",
}
LABELS = ("rdfs:label", "skos:prefLabel", "schema:name", "dcterms:title", "foaf:name")
ALIASES = ("skos:altLabel", "schema:alternateName", "foaf:nick")
DESCRIPTIONS = ("rdfs:comment", "schema:description", "skos:definition", "dcterms:description")
TYPES = ("rdf:type", "rdfs:subClassOf", "wdt:P31")


def id_of(term: Any) -> str:
    """Return the id that an IRI or a literal should have."""
    if isinstance(term, Literal):
        kind = str(term.datatype or "").rpartition("#")[2].rpartition("/")[2]
        if kind in ("date", "Date", "gYear", "dateTime"):
            return str(term)[:10]
        if kind in ("decimal", "double", "integer"):
            return f"{float(term):g}^^{'integer' if kind == 'integer' else 'decimal'}"
        return f"{term}^^string"
    for namespace, prefix in NAMESPACES.items():
        if term.startswith(namespace):
            return f"{prefix}:{term[len(namespace) :]}"
    return str(term)


def is_page(term: Any) -> bool:
    return "Special:EntityData" in term or "genid" in term or str(term) == f"{RDF}nil"


class Naive:
    """A reading by rdflib, statement by statement, with all that is not loaded."""

    def __init__(self, statements: set[tuple[Any, Any, Any]]) -> None:
        self.facts: set[tuple[str, str, str]] = set()
        self.types: defaultdict[str, set[str]] = defaultdict(set)
        self.labels: dict[str, tuple[tuple[int, int], str]] = {}
        self.aliases: defaultdict[str, set[str]] = defaultdict(set)
        self.counts: Counter[str] = Counter()
        self.size = len(statements)
        for subject, predicate, object_ in statements:
            self._add(subject, id_of(predicate), object_)

    def _add(self, subject: Any, predicate: str, object_: Any) -> None:
        id_ = id_of(subject)
        if isinstance(subject, BNode) or isinstance(object_, BNode):
            self.counts["list" if predicate in ("rdf:first", "rdf:rest") else "blank node"] += 1
        elif predicate in LABELS:
            language = ["en", "mul", None].index(object_.language) if object_.language in ("en", None) else 9
            rank = (language, LABELS.index(predicate))
            if language < 9 and rank < self.labels.get(id_, ((9, 9), ""))[0]:
                self.labels[id_] = rank, str(object_)
        elif predicate in ALIASES:
            self.aliases[id_].add(str(object_))
        elif predicate in TYPES:
            if not (is_page(subject) or id_of(object_).startswith(("owl:", "wikibase:"))):
                self.types[id_].add(id_of(object_))
        elif predicate == "owl:sameAs":
            self.counts["owl:sameAs"] += 1
        elif predicate in ("schema:image", "foaf:homepage"):
            self.counts["web address"] += 1
        elif predicate.startswith(("rdfs:", "owl:", "wikibase:")) and predicate not in DESCRIPTIONS:
            self.counts["statement of the ontology"] += predicate != "wikibase:directClaim"
        elif predicate not in DESCRIPTIONS:
            self._add_fact(subject, predicate, object_)

    def _add_fact(self, subject: Any, predicate: str, object_: Any) -> None:
        if is_page(subject) or is_page(object_):
            self.counts["other subject" if is_page(subject) else "other entity"] += 1
        elif str(getattr(object_, "datatype", "")).endswith("wktLiteral"):
            self.counts["coordinates"] += 1
        elif getattr(object_, "language", None) not in (None, "en"):
            self.counts["text in another language"] += 1
        else:
            self.facts.add((id_of(subject), predicate, id_of(object_)))

    @property
    def entities(self) -> set[str]:
        ends = {end for subject, _, object_ in self.facts for end in (subject, object_)}
        return ends | self.types.keys() | {type_ for types in self.types.values() for type_ in types}


def by_rdflib(texts: Mapping[str, str]) -> Naive:
    """Read files by rdflib, without the lines and the quotations that it cannot read."""
    statements: set[tuple[Any, Any, Any]] = set()
    for name, text in texts.items():
        format_ = next((kind for suffix, kind in FORMATS.items() if f".{suffix}" in name), None)
        if format_ is None:
            continue
        if format_ == "json-ld":
            context: dict[str, Any] = {"@vocab": SCHEMA, "datePublished": {"@type": "Date"}}
            text = json.dumps(json.loads(text) | {"@context": context})
        text = re.sub(r"\{\|.*?\|\}|^<<.*", "", text, flags=re.MULTILINE | re.DOTALL if "{|" in text else re.MULTILINE)
        for bad in BAD.values():
            text = text.replace(f"{bad}\n", "\n")
        dataset = rdflib.Dataset()
        dataset.parse(data=text, format=format_)
        statements |= {(subject, predicate, object_) for subject, predicate, object_, _ in dataset.quads()}
    return Naive(statements)


@pytest.mark.parametrize("name", GRAPHS)
def test_graph_is_read_as_by_rdflib(tmp_path: Path, name: str) -> None:
    texts = GRAPHS[name]()
    naive = by_rdflib(texts)
    known = read(write(tmp_path, texts))
    assert {(fact.subject, fact.relation, fact.object) for fact in known.facts} == naive.facts
    assert known.entities.keys() == naive.entities
    assert {id_: set(entity.types) for id_, entity in known.entities.items() if not entity.datatype} == {
        id_: naive.types.get(id_, set()) for id_ in naive.entities if "^^" not in id_ and not id_[0].isdigit()
    }
    for id_, (_, label) in naive.labels.items():
        if id_ in known.entities:
            assert known.entities[id_].label == label
            assert set(known.entities[id_].aliases) == naive.aliases.get(id_, set()) - {label}
    counts = {kind: number for kind, number in known.not_loaded.items() if kind != "quoted statement"}
    assert counts == +naive.counts
    assert known.relations.keys() == {relation for _, relation, _ in naive.facts}
    assert naive.size >= 120
    assert known.rejected == [] or name == "bad lines"


def test_bad_statements_are_rejected_with_file_and_line(tmp_path: Path) -> None:
    known = read(write(tmp_path, GRAPHS["bad lines"]()))
    assert [(file, line) for file, line, _ in known.rejected] == [("bad.nt", line) for line in BAD]
    assert "1950-02-30" in known.rejected[-1][2]
    xml = '<rdf:RDF xmlns:rdf="{}" xmlns:a="{}">\n<a:T rdf:about="http://a/ b"/>\n<a:T rdf:about="http://a/c"/>\n'
    (path,) = write(tmp_path, {"cut.rdf": xml.format(RDF, EX)})
    known = read([path])
    assert [(file, line) for file, line, _ in known.rejected] == [("cut.rdf", 2), ("cut.rdf", 3)]
    assert known.entities.keys() == {"http://a/c", f"{EX}T"}
    (path,) = write(tmp_path, {"far.jsonld": '{"@context": "https://a.example/", "@id": "http://a/b", "p": "x"}'})
    assert "write the context itself in its place" in read([path]).rejected[0][2]


def test_relations_have_labels_of_the_ontology_or_their_name(tmp_path: Path) -> None:
    relations = read(write(tmp_path, GRAPHS["truthy"]())).relations
    assert {id_: relation.label for id_, relation in relations.items()} == {
        "wdt:P19": "place of birth",
        "wdt:P569": "p569",
    }
    relation = read(write(tmp_path, GRAPHS["owl"]())).relations[f"{EX}o#partOf"]
    assert (relation.label, relation.description) == ("is part of", "Of wholes.")
    assert read(write(tmp_path, GRAPHS["yago"]())).relations["schema:birthPlace"].label == "birth place"


def test_quotations_give_validity_stated_or_not(tmp_path: Path) -> None:
    facts = read(write(tmp_path, GRAPHS["yago"]())).facts
    dates = {fact.subject: (fact.start, fact.end) for fact in facts if fact.relation == "schema:spouse"}
    assert dates == {f"yago:Person_{n}": (f"20{n:02}-01-02", f"20{n + 1:02}") for n in range(25)}
    known = read(write(tmp_path, GRAPHS["cycles"]()))
    dates = {fact.subject: (fact.start, fact.end) for fact in known.facts if fact.relation == f"{EX}rules"}
    assert dates == {f"{EX}x{n}": (str(1900 + n), str(1901 + n)) for n in range(30)}
    assert known.not_loaded["quoted statement"] == 1


def test_same_entities_are_merged_on_request(tmp_path: Path) -> None:
    known = read(write(tmp_path, GRAPHS["cycles"]()), merge_same_as=True)
    assert "owl:sameAs" not in known.not_loaded
    rulers = {fact.subject for fact in known.facts if fact.relation == f"{EX}rules"}
    assert rulers == {f"{EX}x0", f"{EX}x10", f"{EX}x20"}
    text = (
        f"{PREFIXES}ex:b owl:sameAs ex:c . ex:a ex:p ex:c ; a ex:A .\n"
        'ex:c rdfs:label "C"@en ; a ex:B, ex:C . ex:b a ex:A . ex:C owl:sameAs ex:B .\n'
    )
    known = read(write(tmp_path, {"a.ttl": text}), merge_same_as=True)
    assert [(fact.subject, fact.object) for fact in known.facts] == [(f"{EX}a", f"{EX}b")]
    assert known.entities[f"{EX}b"] == Entity(f"{EX}b", "C", types=(f"{EX}C", f"{EX}A"))
    assert known.entities.keys() == {f"{EX}{name}" for name in "abAC"}


def test_blank_nodes_collapse_into_facts_with_dates(tmp_path: Path) -> None:
    known = read(write(tmp_path, GRAPHS["blank nodes"]()), collapse_blank_nodes=True)
    facts = {(one.relation, one.object, one.start) for one in known.facts if one.subject == f"{EX}shop3"}
    assert facts == {
        (f"{EX}near", f"{EX}shop1", None),
        ("schema:address / schema:addressLocality", "Town 3^^string", None),
        ("schema:member", f"{EX}Ann", "2001-04-01"),
    }
    relation = known.relations["schema:address / schema:addressLocality"]
    assert relation.label == "address locality"
    # Of each shop: two types, a place within the address with its link, the link to a list; six cells of the list.
    assert known.not_loaded == {"blank node": 15 * 5, "list": 15 * 6, "other entity": 15}


def test_names_are_the_last_part_of_ids_without_labels(tmp_path: Path) -> None:
    text = f"{PREFIXES}ex:New_York ex:partOf <http://a/b#U%53A> . ex:Q42 ex:partOf <http://a/x/> .\n"
    known = read(write(tmp_path, {"a.ttl": text}))
    labels = {id_: entity.label for id_, entity in known.entities.items()}
    assert labels == {f"{EX}New_York": "New York", "http://a/b#U%53A": "USA", f"{EX}Q42": "", "http://a/x/": "x"}
    assert known.relations[f"{EX}partOf"].label == "part of"


def test_languages_come_in_order_then_all_then_none(tmp_path: Path) -> None:
    text = (
        f"{PREFIXES}ex:a ex:p ex:b, ex:c, ex:d ."
        'ex:a rdfs:label "A"@en, "Ah"@de . ex:b rdfs:label "B", "Beh"@mul ; skos:prefLabel "Bee"@en .'
        'ex:c rdfs:label "C", "Ceh"@mul . ex:d rdfs:label "Deh"@fr, "D" .\n'
    )
    paths = write(tmp_path, {"a.ttl": text})
    labels = {id_: entity.label for id_, entity in read(paths, languages=["de", "en"]).entities.items()}
    assert labels == {f"{EX}a": "Ah", f"{EX}b": "Bee", f"{EX}c": "Ceh", f"{EX}d": "D"}


def test_regional_languages_come_after_their_language(tmp_path: Path) -> None:
    text = (
        f'{PREFIXES}ex:a ex:p ex:b, "tap"@en-US, "robinet"@fr .\n'
        'ex:a rdfs:label "Farbe"@de, "Colour"@en-GB, "Color"@en-US .\n'
        'ex:b rdfs:label "Autumn"@en, "Fall"@en-US .\n'
    )
    paths = write(tmp_path, {"a.ttl": text})
    known = read(paths)
    labels = {id_: entity.label for id_, entity in known.entities.items()}
    assert labels == {f"{EX}a": "Colour", f"{EX}b": "Autumn", "tap^^string": "tap"}
    assert known.not_loaded == {"text in another language": 1}
    assert read(paths, languages=["en", "de"]).entities[f"{EX}a"].label == "Colour"
    entities = read(paths, languages=["en-US", "en"]).entities
    assert (entities[f"{EX}a"].label, entities[f"{EX}b"].label) == ("Color", "Fall")


def test_statements_of_several_batches_are_all_read(tmp_path: Path) -> None:
    lines = [f"<{EX}s{number}> <{EX}p> <{EX}o{number % 7}> .\n" for number in range(20_000)]
    facts = read(write(tmp_path, {"many.nt": "".join(lines)})).facts
    assert {(fact.subject, fact.object) for fact in facts} == {(f"{EX}s{n}", f"{EX}o{n % 7}") for n in range(20_000)}


def test_named_quotations_give_validity(tmp_path: Path) -> None:
    text = (
        f'{PREFIXES}ex:a ex:p ex:b ~ ex:r {{| schema:startDate "2001"^^xsd:gYear |}} .\n'
        "ex:r2 rdf:reifies <<( ex:a ex:p ex:c )>> . ex:a ex:p ex:c .\n"
        'ex:r2 schema:startDate "2002"^^xsd:gYear ; schema:endDate "2003"^^xsd:gYear .\n'
        'ex:fair schema:startDate "1999"^^xsd:gYear . ex:Ann ex:says <<( ex:a ex:p ex:d )>> .\n'
    )
    known = read(write(tmp_path, {"a.ttl": text}))
    assert {(one.subject, one.object, one.start, one.end) for one in known.facts} == {
        (f"{EX}a", f"{EX}b", "2001", None),
        (f"{EX}a", f"{EX}c", "2002", "2003"),
        (f"{EX}fair", "1999", None, None),
    }
    assert known.rejected == []
    assert known.not_loaded == {"quoted statement": 1}


def test_values_without_a_name_are_counted_or_rejected(tmp_path: Path) -> None:
    text = (
        f'{PREFIXES}ex:a ex:p "NaN"^^xsd:double, "-INF"^^xsd:float, "2001+02:00"^^xsd:gYear,\n'
        '"P1Y"^^xsd:duration,\n"--02-30"^^xsd:gMonthDay, "--02-29"^^xsd:gMonthDay . ex:caf%E9 ex:p ex:a .\n'
    )
    known = read(write(tmp_path, {"a.ttl": text}))
    assert {fact.object for fact in known.facts} == {"2001", "P1Y^^string", "--02-29^^dayOfYear", f"{EX}a"}
    assert known.not_loaded == {"number that is infinite or missing": 2}
    line = PREFIXES.count("\n") + 3
    assert known.rejected == [("a.ttl", line, "'--02-30' is not a day of a year: its month or day does not exist")]
    # Percent signs of Latin-1.
    assert known.entities[f"{EX}caf%E9"].label == ""


def test_numbers_of_other_datatypes_have_units(tmp_path: Path) -> None:
    text = (
        f'{PREFIXES}ex:a ex:long "5.50"^^<http://a/unit/kilometre> ;'
        ' ex:on "true"^^xsd:boolean ; ex:in "2001"^^xsd:gYear .'
    )
    entities = read(write(tmp_path, {"a.ttl": text})).entities
    assert entities["5.5^^kilometre"].label == "5.5 kilometres"
    assert entities.keys() == {f"{EX}a", "5.5^^kilometre", "true^^string", "2001"}
    known = read([tmp_path / "a.ttl"], literals=False)
    assert (known.facts, known.not_loaded) == ([], {"quantity": 1, "date": 1, "string": 1})


def test_tables_of_triples_with_labels(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        {
            "train.txt": "/m/02x\t/people/person/place_of_birth\t/m/0d9\nQ1\tP1\nQ1\tP1\tQ2\n",
            "valid.txt.gz": "Q1\tP1\tQ2\nQ2\tP1\tQ3\n",
        },
    )
    labels = write(
        tmp_path,
        {
            "names.txt": "Q1\tone\tunity\n/m/0d9\tBerlin\nP1\tcomes before\nQ9\n",
            "names.json": '{"Q2": {"label": "two", "description": "a number"}, "Q3": "three"}',
        },
    )
    known = read(paths, triples=True, labels=labels)
    triples = {(fact.subject, fact.relation, fact.object) for fact in known.facts}
    assert triples == {
        ("/m/02x", "/people/person/place_of_birth", "/m/0d9"),
        ("Q1", "P1", "Q2"),
        ("Q2", "P1", "Q3"),
    }
    assert set(known.entities.values()) == {
        Entity("Q1", "one", ("unity",)),
        Entity("Q2", "two", description="a number"),
        Entity("Q3", "three"),
        Entity("/m/02x"),
        Entity("/m/0d9", "Berlin"),
    }
    assert {id_: relation.label for id_, relation in known.relations.items()} == {
        "P1": "comes before",
        "/people/person/place_of_birth": "place of birth",
    }
    assert known.rejected == [
        ("train.txt", 2, "expected 3 columns (subject, relation, object), found 2"),
        ("names.txt", 4, "expected an id, a tab and a label"),
    ]
    assert len(read(paths, triples=True, relations=["P1"]).facts) == 2
    with pytest.raises(ArgumentError, match="`labels` is for tables: give `triples`, too"):
        open_source("rdf", files=paths, labels=labels)


def test_graph_is_loaded_with_its_counts(tmp_path: Path, graph: Graph) -> None:
    report = load(graph, "rdf", files=write(tmp_path, GRAPHS["skos"]()))
    assert (report.facts, report.not_loaded) == (105, {})
