"""DBpedia's IRIs as ids, and names as words: ``dbr:France``, ``dbo:birthPlace``, ``dbp:birthPlace``, ``schema:City``.

Editions in other languages have other ids: ``dbr-de:Frankreich``, ``dbp-de:hauptstadt``. An id is the rest of the IRI,
unchanged.

:class:`DBpediaVocabulary` says what triples are: names, types, redirects, facts, dates of table rows.
"""

import re
from urllib.parse import unquote

from ..rdf.vocabulary import Meaning, Role, Vocabulary, words

RESOURCE = "http://dbpedia.org/resource/"
ONTOLOGY = "http://dbpedia.org/ontology/"
PROPERTY = "http://dbpedia.org/property/"
_SCHEMA = re.compile("https?://schema.org/(.+)", re.DOTALL)
_EDITION = re.compile(r"http://([a-z][a-z-]*)\.dbpedia\.org/(resource|property)/(.+)", re.DOTALL)
_LETTERS = {"resource": "dbr", "property": "dbp"}
# Related pages: GraphEval asks about them, too.
_SEE_ALSO = "http://www.w3.org/2000/01/rdf-schema#seeAlso"

# Pages of Wikipedia's own, and files.
_OWN_PAGE = re.compile(
    "dbr[a-z-]*:(?:Category|File|Image|Template|Wikipedia|Portal|Help|Module|Special|User|MediaWiki|Draft|Book|"
    "TimedText|Media)(?:_talk)?:"
)
# Intermediate node of a table row within a page: X__Tenure__1, in old editions X__1.
_INTERMEDIATE = re.compile(r"(.+?[^_])__(?:[A-Za-z]\w*?__)?[0-9]+", re.DOTALL)
_IN_BRACKETS = re.compile(r"(?<=.) \([^()]*\)$", re.DOTALL)


def thing(iri: str) -> str | None:
    """Return the id of a thing with a Wikipedia page; None for others, such as web pages and categories."""
    if iri.startswith(RESOURCE):
        name = iri[len(RESOURCE) :]
        return None if not name or (":" in name and _OWN_PAGE.match(f"dbr:{name}")) else f"dbr:{name}"
    identifier = _of_edition(iri, "resource")
    return None if identifier is None or _OWN_PAGE.match(identifier) else identifier


def relation(iri: str) -> str | None:
    """Return the id of a property of the ontology (``dbo:``) or of info boxes (``dbp:``), or ``rdfs:seeAlso``.

    None for any other.
    """
    if iri == _SEE_ALSO:
        return "rdfs:seeAlso"
    for namespace, prefix in ((ONTOLOGY, "dbo"), (PROPERTY, "dbp")):
        name = iri.removeprefix(namespace)
        if name and name != iri:
            return f"{prefix}:{name}"
    return _of_edition(iri, "property")


def class_(iri: str) -> str | None:
    """Return the id of a class of the ontology (``dbo:City``) or of schema.org (``schema:City``), else None."""
    if iri.startswith(ONTOLOGY) and iri[len(ONTOLOGY) :][:1].isupper():
        return f"dbo:{iri[len(ONTOLOGY) :]}"
    matched = _SCHEMA.fullmatch(iri)
    return None if matched is None else f"schema:{matched[1]}"


def _of_edition(iri: str, kind: str) -> str | None:
    matched = _EDITION.fullmatch(iri)
    if matched is None or matched[2] != kind:
        return None
    return f"{_LETTERS[kind]}-{matched[1]}:{matched[3]}"


def without_brackets(title: str) -> str:
    """Return a page's title without its qualifier: *Paris* of *Paris (mythology)*."""
    return _IN_BRACKETS.sub("", title)


def name_of_thing(identifier: str) -> str:
    """Return the default label of a thing: its page's title without a final part in brackets."""
    return without_brackets(unquote(identifier.partition(":")[2]).replace("_", " ").strip())


_ROLES = {
    "http://www.w3.org/2000/01/rdf-schema#label": Role.LABEL,
    "http://www.w3.org/2004/02/skos/core#altLabel": Role.ALIAS,
    "http://xmlns.com/foaf/0.1/name": Role.ALIAS,
    "http://xmlns.com/foaf/0.1/nick": Role.ALIAS,
    f"{ONTOLOGY}alias": Role.ALIAS,
    "http://purl.org/dc/terms/description": Role.DESCRIPTION,
    "http://www.w3.org/2000/01/rdf-schema#comment": Role.DESCRIPTION,
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#type": Role.TYPE,
    "http://www.w3.org/2000/01/rdf-schema#subClassOf": Role.TYPE,
    f"{ONTOLOGY}wikiPageRedirects": Role.REDIRECT,
    f"{ONTOLOGY}wikiPageDisambiguates": Role.DISAMBIGUATION,
    f"{ONTOLOGY}abstract": Role.NONE,
    f"{ONTOLOGY}thumbnail": Role.NONE,
}
# Predicates about the page: its number, length, links and templates.
_OF_THE_PAGE = ("dbo:wikiPage", "dbp:wikiPage")

# Predicates of an intermediate node for its start, its end, and both.
_TIMES = {
    "start": ("activeYearsStartDate", "activeYearsStartYear", "startDate", "startYear"),
    "end": ("activeYearsEndDate", "activeYearsEndYear", "endDate", "endYear"),
    "point": ("years", "year", "date"),
}
_TIME_OF = {f"dbo:{name}": time for time, names in _TIMES.items() for name in names}


class DBpediaVocabulary(Vocabulary):
    """Vocabulary of DBpedia: pages, the ontology, info boxes. Statements with blank nodes are rejected."""

    mark = "__"
    nameless = None

    def meaning(self, predicate: str) -> Meaning:
        """Return the meaning of a predicate."""
        if predicate in _ROLES:
            return Meaning(_ROLES[predicate])
        identifier = relation(predicate)
        if identifier is None or identifier.startswith(_OF_THE_PAGE):
            return Meaning(Role.NONE)
        return Meaning(Role.FACT, identifier, time=_TIME_OF.get(identifier, ""))

    def entity(self, iri: str) -> str | None:
        """Return the id of a thing with a Wikipedia page; None for others."""
        return thing(iri)

    def named(self, iri: str) -> str | None:
        """Return the id of a thing, a class or a property."""
        return self.entity(iri) or class_(iri) or relation(iri)

    def typed(self, iri: str, type_: str) -> tuple[str, str] | None:
        """Return the ids of a thing or a class and its class; None if either is of another vocabulary."""
        id_ = thing(iri) or (class_(iri) if type_.startswith(ONTOLOGY) else None)
        type_id = class_(type_)
        return None if id_ is None or type_id is None else (id_, type_id)

    def owner(self, id_: str) -> str | None:
        """Return the page of an intermediate node (``dbr:X`` of ``dbr:X__Tenure__1``); None for other ids."""
        # Fast path: nearly all are not.
        matched = _INTERMEDIATE.fullmatch(id_) if "__" in id_ else None
        return None if matched is None else matched[1]

    def label(self, id_: str, label: str) -> str:
        """Return the label of a thing without its qualifier, or its page's title; words for a class."""
        if id_.startswith("dbr"):
            return without_brackets(label) or name_of_thing(id_)
        return label or words(id_)
