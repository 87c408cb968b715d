"""Ten small graphs in the forms of different vocabularies and formats, as texts by their files' names.

Each is made by a rule and has about two hundred statements. ``BAD`` has the lines that no reader accepts.
"""

import json
from collections.abc import Callable, Mapping

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF, RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
SKOS, SCHEMA = "http://www.w3.org/2004/02/skos/core#", "http://schema.org/"
WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
DATA = "https://www.wikidata.org/wiki/Special:EntityData/"
EX = "http://example.org/"

PREFIXES = f"""@prefix rdf: <{RDF}> .
@prefix rdfs: <{RDFS}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <{SKOS}> .
@prefix schema: <{SCHEMA}> .
@prefix yago: <http://yago-knowledge.org/resource/> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix xsd: <{XSD}> .
@prefix ex: <{EX}> .
"""


def yago() -> Mapping[str, str]:
    """Return YAGO 4.5's form: facts, a taxonomy, and meta facts about facts in a file of their own."""
    facts, meta = [PREFIXES], []
    for number in range(25):
        person, city = f"yago:Person_{number}", f"yago:City_{number % 5}"
        facts.append(
            f"{person} a schema:Person, yago:Writer ;\n"
            f'  rdfs:label "Person {number}"@en, "Personne {number}"@fr ;\n'
            f'  schema:alternateName "P. {number}"@en ;\n'
            f'  schema:birthDate "19{number + 10}-03-{number + 1:02}"^^xsd:date ;\n'
            f"  schema:birthPlace {city} ;\n"
            f'  yago:length "{number}.50"^^xsd:decimal ;\n'
            f"  schema:spouse yago:Person_{(number + 1) % 25} ."
        )
        resource = "http://yago-knowledge.org/resource/Person_"
        quoted = f"<< <{resource}{number}> <{SCHEMA}spouse> <{resource}{(number + 1) % 25}> >>"
        meta += [
            f'{quoted} <{SCHEMA}startDate> "20{number:02}-01-02"^^<{XSD}date> .',
            f'{quoted} <{SCHEMA}endDate> "20{number + 1:02}"^^<{XSD}gYear> .',
        ]
    facts += [f'yago:City_{number} a schema:City ; rdfs:label "City {number}"@en .' for number in range(5)]
    facts.append("schema:City rdfs:subClassOf schema:Place . yago:Writer rdfs:subClassOf schema:Person .")
    return {"facts.ttl": "\n".join(facts), "meta.ntx": "\n".join(meta)}


def schema_org() -> Mapping[str, str]:
    """Return schema.org's form: JSON-LD with the vocabulary's own context."""
    nodes: list[object] = []
    nodes += [
        {
            "@id": f"{EX}book/{number}",
            "@type": "Book",
            "name": f"Book {number}",
            "datePublished": f"{1900 + number}-05-06",
            "numberOfPages": 100 + number,
            "author": {"@id": f"{EX}author/{number % 6}", "@type": "Person", "name": f"Author {number % 6}"},
            "image": {"@id": f"{EX}image/{number}.png"},
        }
        for number in range(30)
    ]
    return {"books.jsonld": json.dumps({"@context": "https://schema.org/", "@graph": nodes}, indent=1)}


def truthy() -> Mapping[str, str]:
    """Return the form of Wikidata's truthy N-Triples, with properties, pages and an unknown value."""
    lines = []
    for number in range(1, 16):
        item = f"<{WD}Q{number}>"
        for language, name in (("en", f"item {number}"), ("de", f"Ding {number}")):
            lines += [
                f'{item} <{predicate}> "{name}"@{language} .'
                for predicate in (f"{RDFS}label", f"{SKOS}prefLabel", f"{SCHEMA}name")
            ]
        lines += [
            f'{item} <{SKOS}altLabel> "thing {number}"@en .',
            f'{item} <{SCHEMA}description> "a thing"@en .',
            f"{item} <{WDT}P31> <{WD}Q{100 + number % 3}> .",
            f"{item} <{WDT}P19> <{WD}Q{number % 15 + 1}> .",
            f'{item} <{WDT}P569> "18{number + 10}-03-14T00:00:00Z"^^<{XSD}dateTime> .',
            f'{item} <{WDT}P625> "Point(1 {number})"^^<http://www.opengis.net/ont/geosparql#wktLiteral> .',
            f"<{DATA}Q{number}> <{SCHEMA}about> {item} .",
            f"<{DATA}Q{number}> <{RDF}type> <{SCHEMA}Dataset> .",
        ]
    ontology = "http://wikiba.se/ontology#"
    lines += [
        f"<{WD}P19> <{RDF}type> <{ontology}Property> .",
        f'<{WD}P19> <{RDFS}label> "place of birth"@en .',
        f"<{WD}P19> <{ontology}directClaim> <{WDT}P19> .",
        f"<{WD}P19> <{ontology}propertyType> <{ontology}WikibaseItem> .",
        f"<{WD}Q1> <{WDT}P19> <http://www.wikidata.org/.well-known/genid/4711> .",
    ]
    return {"latest-truthy.nt.gz": "\n".join(lines)}


def ontology() -> Mapping[str, str]:
    """Return an OWL ontology with instances in RDF/XML, with relative IRIs and restrictions."""
    parts = [
        f'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="{RDF}" xmlns:rdfs="{RDFS}"'
        f' xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns="{EX}o#" xml:base="{EX}o">',
        '<owl:Ontology rdf:about=""/>',
    ]
    parts += [
        f'<owl:Class rdf:about="#Class{number}"><rdfs:label xml:lang="en">class {number}</rdfs:label>\n'
        f'  <rdfs:subClassOf rdf:resource="#Class{number // 2}"/>\n'
        f'  <rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="#partOf"/>'
        f'<owl:someValuesFrom rdf:resource="#Class0"/></owl:Restriction></rdfs:subClassOf></owl:Class>'
        for number in range(8)
    ]
    parts.append(
        '<owl:ObjectProperty rdf:about="#partOf"><rdfs:label xml:lang="en">is part of</rdfs:label>'
        '<rdfs:comment xml:lang="en">Of wholes.</rdfs:comment><rdfs:domain rdf:resource="#Class1"/>'
        '<rdfs:range rdf:resource="#Class2"/></owl:ObjectProperty>'
    )
    parts += [
        f'<owl:NamedIndividual rdf:about="#thing{number}"><rdf:type rdf:resource="#Class{number % 8}"/>\n'
        f'  <rdfs:label>Thing no. {number}</rdfs:label><partOf rdf:resource="#thing{number // 2}"/>\n'
        f'  <hasWeight rdf:datatype="{XSD}integer">{number}</hasWeight></owl:NamedIndividual>'
        for number in range(30)
    ]
    return {"ontology.owl": "\n".join([*parts, "</rdf:RDF>", ""])}


def thesaurus() -> Mapping[str, str]:
    """Return a SKOS thesaurus in Turtle."""
    concepts = [PREFIXES, 'ex:scheme a skos:ConceptScheme ; dcterms:title "Trades"@en .']
    concepts += [
        f"ex:c{number} a skos:Concept ; skos:inScheme ex:scheme ;\n"
        f'  skos:prefLabel "trade {number}"@en, "Gewerbe {number}"@de ; skos:altLabel "job {number}"@en ;\n'
        f'  skos:definition "A trade."@en ; skos:notation "{number:03}" ; skos:broader ex:c{number // 3} .'
        for number in range(35)
    ]
    return {"trades.ttl.bz2": "\n".join(concepts)}


def people() -> Mapping[str, str]:
    """Return FOAF in N-Quads, in two graphs."""
    foaf = "http://xmlns.com/foaf/0.1/"
    lines = []
    for number in range(40):
        person, graph = f"<{EX}people/p{number}>", f"<{EX}graph/{number % 2}>"
        lines += [
            f"{person} <{RDF}type> <{foaf}Person> {graph} .",
            f'{person} <{foaf}name> "Person {number}" {graph} .',
            f'{person} <{foaf}nick> "p{number}" {graph} .',
            f"{person} <{foaf}knows> <{EX}people/p{number * 7 % 40}> {graph} .",
            f"{person} <{foaf}homepage> <http://home.example/{number}> {graph} .",
        ]
    return {"people.nq": "\n".join(lines)}


def library() -> Mapping[str, str]:
    """Return Dublin Core in TriG, without prefix for one of its names."""
    works = [f"{PREFIXES}ex:catalogue {{"]
    works += [
        f'  ex:work{number} dcterms:title "Work {number}"@en ; dcterms:creator ex:Jane_Doe ;\n'
        f'    dcterms:issued "{1950 + number}"^^xsd:gYear ; dcterms:description "A work."@en ;\n'
        f"    dcterms:isPartOf <http://other.example/series#{number % 4}> ."
        for number in range(40)
    ]
    return {"catalogue.trig": "\n".join([*works, "}"])}


BAD = {
    4: "<http://example.org/a> <http://example.org/p> <http://example.org/not ended .",
    9: '<http://example.org/a> <http://example.org/p> "bad \\q escape" .',
    12: "nothing at all",
    20: '<http://example.org/a> <http://example.org/born> "1950-02-30"^^<http://www.w3.org/2001/XMLSchema#date> .',
}


def bad_lines() -> Mapping[str, str]:
    """Return N-Triples with bad lines, comments, escapes, duplicates and IRIs in several scripts."""
    lines = []
    for number in range(200):
        texts = [
            f"<{EX}a{number}> <{EX}p> <{EX}b{number % 7}> .",
            f'<{EX}a{number}> <{RDFS}label> "A\\u00e9 \\"{number}\\""@en .',
            f"<{EX}ü{number}> <{EX}p> <{EX}北京> . # comment",
            f"<{EX}a1> <{EX}p> <{EX}b1> .",
        ]
        lines.append(BAD.get(number + 1, texts[number % 4]))
    return {"bad.nt": "\n".join(lines)}


def nodes_and_lists() -> Mapping[str, str]:
    """Return Turtle with blank nodes within blank nodes, lists, an empty list and several objects."""
    parts = [PREFIXES]
    parts += [
        f'ex:shop{number} rdfs:label "Shop {number}" ; schema:address [ a schema:PostalAddress ;\n'
        f'    schema:addressLocality "Town {number}" ; schema:geo [ schema:latitude 1.{number} ] ] ;\n'
        f"  ex:sells ( ex:bread ex:milk ex:item{number} ) ; ex:returns () ; ex:near ex:shop{number // 2} ;\n"
        "  schema:member [ a schema:Role ; schema:member ex:Ann ;"
        f' schema:startDate "2001-0{number % 9 + 1}-01"^^xsd:date ] .'
        for number in range(15)
    ]
    return {"shops.ttl": "\n".join(parts)}


def cycles() -> Mapping[str, str]:
    """Return Turtle with quoted statements, and owl:sameAs in circles and chains."""
    parts = [PREFIXES]
    parts += [
        f'ex:x{number} ex:rules ex:y{number % 4} {{| schema:startDate "{1900 + number}"^^xsd:gYear ;'
        f' schema:endDate "{1901 + number}"^^xsd:gYear |}} .\n'
        f"ex:x{number} owl:sameAs ex:x{number // 10 * 10 + (number + 1) % 10} .\n"
        f"ex:z{number} owl:sameAs ex:z{number} .\n"
        f"ex:x{number} ex:likes ex:z{number} ."
        for number in range(30)
    ]
    # Quoted, but not stated.
    parts.append('<< ex:x0 ex:rules ex:y9 >> schema:startDate "1900"^^xsd:gYear .')
    return {"cycles.ttl.zst": "\n".join(parts)}


GRAPHS: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "yago": yago,
    "schema.org": schema_org,
    "truthy": truthy,
    "owl": ontology,
    "skos": thesaurus,
    "foaf": people,
    "dublin core": library,
    "bad lines": bad_lines,
    "blank nodes": nodes_and_lists,
    "cycles": cycles,
}
