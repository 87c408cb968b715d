"""Meaning of predicates, and IRIs as ids and names: ``rdfs:label`` is a label, ``wd:Q42`` an id, *birth place* a name.

A preset, such as DBpedia's, is a :class:`Vocabulary` with other ids, roles and names.

Wikidata's RDF: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format.
"""

import re
from enum import Enum, auto
from typing import NamedTuple
from urllib.parse import unquote

from ..literals import NotLoaded

# Prefixes of ids. Other IRIs are their own ids, independently of the prefixes that a file declares.
PREFIXES = {
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs",
    "http://www.w3.org/2002/07/owl#": "owl",
    "http://www.w3.org/2004/02/skos/core#": "skos",
    "http://www.w3.org/ns/prov#": "prov",
    "http://schema.org/": "schema",
    "https://schema.org/": "schema",
    "http://purl.org/dc/terms/": "dcterms",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://xmlns.com/foaf/0.1/": "foaf",
    "http://www.wikidata.org/entity/": "wd",
    "http://www.wikidata.org/prop/direct/": "wdt",
    "http://wikiba.se/ontology#": "wikibase",
    "http://yago-knowledge.org/resource/": "yago",
    "http://dbpedia.org/resource/": "dbr",
    "http://dbpedia.org/ontology/": "dbo",
    "http://dbpedia.org/property/": "dbp",
    "http://www.geonames.org/ontology#": "gn",
    "http://www.w3.org/2003/01/geo/wgs84_pos#": "geo",
    "http://purl.obolibrary.org/obo/": "obo",
}
# Pages about an entity, its sitelinks, Wikidata's unknown values (blank nodes with an IRI), and the empty list.
_PAGES = re.compile(
    r"https?://(?:www\.wikidata\.org/(?:wiki/Special:EntityData/|\.well-known/genid/)|[a-z-]+\.wik[a-z]+\.org/wiki/"
    r"|www\.w3\.org/1999/02/22-rdf-syntax-ns#nil$)"
)
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# A name without digits, or with a word: not Q42.
_NAME = re.compile(r"\D+|.*[^\W\d_]{3}.*", re.DOTALL)

OTHER_PREDICATE = NotLoaded("other predicate")
BLANK_NODE = NotLoaded("blank node")
LIST = NotLoaded("list")
ONTOLOGY = NotLoaded("statement of the ontology")
SAME_AS = NotLoaded("owl:sameAs")
WEB_ADDRESS = NotLoaded("web address")


class Role(Enum):
    """Role of a statement by its predicate."""

    FACT = auto()
    LABEL = auto()
    ALIAS = auto()
    DESCRIPTION = auto()
    TYPE = auto()
    REDIRECT = auto()
    DISAMBIGUATION = auto()
    SAME = auto()
    REIFIES = auto()
    PROPERTY = auto()
    NONE = auto()


TEXTS = {Role.LABEL: "l", Role.ALIAS: "a", Role.DESCRIPTION: "d"}


class Meaning(NamedTuple):
    """Meaning of a predicate.

    Attributes:
        relation: id of the relation of facts.
        rank: of a label, after the predicates that come before.
        time: ``start``, ``end`` or ``point`` for the validity of a node.
        not_loaded: kind of the statements without a role.
        is_plain: True for facts of a selected relation that is no time.
    """

    role: Role
    relation: str = ""
    rank: int = 0
    time: str = ""
    not_loaded: NotLoaded = OTHER_PREDICATE
    is_plain: bool = False


_LABELS = ("rdfs:label", "skos:prefLabel", "schema:name", "dcterms:title", "dc:title", "foaf:name")
_ROLES = {
    **{name: Meaning(Role.LABEL, rank=rank) for rank, name in enumerate(_LABELS)},
    **dict.fromkeys(("skos:altLabel", "schema:alternateName", "foaf:nick", "dcterms:alternative"), Meaning(Role.ALIAS)),
    **dict.fromkeys(
        ("rdfs:comment", "schema:description", "skos:definition", "dcterms:description", "dc:description"),
        Meaning(Role.DESCRIPTION),
    ),
    # A class's own types are those that it is a subclass of, as in Wikidata's.
    **dict.fromkeys(("rdf:type", "rdfs:subClassOf", "wdt:P31", "wdt:P279"), Meaning(Role.TYPE)),
    "owl:sameAs": Meaning(Role.SAME, not_loaded=SAME_AS),
    "rdf:reifies": Meaning(Role.REIFIES),
    # The property of Wikidata that has the relation's names.
    "wikibase:directClaim": Meaning(Role.PROPERTY),
    **dict.fromkeys(("rdf:first", "rdf:rest"), Meaning(Role.NONE, not_loaded=LIST)),
    **dict.fromkeys(
        ("foaf:homepage", "foaf:page", "foaf:depiction", "foaf:img", "schema:url", "schema:image", "schema:sameAs"),
        Meaning(Role.NONE, not_loaded=WEB_ADDRESS),
    ),
}
_TIMES = {"schema:startDate": "start", "schema:endDate": "end"}
_OF_THE_ONTOLOGY = ("rdf:", "rdfs:", "owl:", "wikibase:")


class Vocabulary:
    """Any RDF. All IRIs are entities, except those of pages; predicates without another role are relations.

    Attributes:
        mark: part of the ids of intermediate nodes; by default, none has it.
        nameless: kind of statements with a blank node, which are counted; None to reject them.
    """

    mark: str = "\0"
    nameless: NotLoaded | None = BLANK_NODE

    def meaning(self, predicate: str) -> Meaning:
        """Return the meaning of a predicate."""
        id_ = compact(predicate)
        if id_ in _ROLES:
            return _ROLES[id_]
        if id_.startswith(_OF_THE_ONTOLOGY) and id_ != "rdf:value":
            return Meaning(Role.NONE, not_loaded=ONTOLOGY)
        return Meaning(Role.FACT, id_, time=_TIMES.get(id_, ""))

    def entity(self, iri: str) -> str | None:
        """Return the id of an entity; None for web pages."""
        return None if _PAGES.match(iri) else compact(iri)

    def named(self, iri: str) -> str | None:
        """Return the id of anything with a label: an entity, a class or a relation."""
        return self.entity(iri)

    def typed(self, iri: str, type_: str) -> tuple[str, str] | None:
        """Return the ids of an entity and its type, or of a class and its superclass; None if it is not loaded."""
        id_, class_ = self.entity(iri), compact(type_)
        return None if id_ is None or class_.startswith(_OF_THE_ONTOLOGY) else (id_, class_)

    def owner(self, id_: str) -> str | None:  # noqa: ARG002
        """Return the entity whose facts the statements of an intermediate node are; None for other ids."""
        return None

    def label(self, id_: str, label: str) -> str:
        """Return the label of an entity from the one in the input, which may be empty."""
        if label:
            return label
        name = unquote(last_part(id_)).replace("_", " ").strip()
        # Percent signs of another encoding become replacement characters.
        return name if _NAME.fullmatch(name) and "\ufffd" not in name else ""


def compact(iri: str) -> str:
    """Return an IRI with a prefix, if only a name follows a known namespace: ``wd:Q42``."""
    start = max(iri.rfind("/"), iri.rfind("#")) + 1
    prefix = PREFIXES.get(iri[:start])
    return f"{prefix}:{iri[start:]}" if prefix is not None and start < len(iri) else iri


def last_part(id_: str) -> str:
    """Return the last part of an id or an IRI: after its prefix, the last slash and number sign."""
    return re.split("[/#]", (id_.partition(":")[2] or id_).rstrip("/#"))[-1]


def words(id_: str) -> str:
    """Return the words of a property or class: *birth place* of ``dbo:birthPlace``, *TV show* of ``dbo:TVShow``."""
    parts = []
    for part in _HUMP.split(unquote(last_part(id_)).replace("_", " ")):
        is_abbreviation = part[1:2].isupper()
        parts.append(part if is_abbreviation else part.lower())
    return " ".join(parts).strip()
