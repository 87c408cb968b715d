"""Roles of DBpedia's predicates: names, descriptions, types, redirects and facts."""

from enum import Enum, auto

from .identifiers import ONTOLOGY, relation


class Role(Enum):
    """Role of a triple."""

    FACT = auto()
    LABEL = auto()
    ALIAS = auto()
    DESCRIPTION = auto()
    TYPE = auto()
    REDIRECT = auto()
    DISAMBIGUATION = auto()
    NONE = auto()


_ROLES = {
    "http://www.w3.org/2000/01/rdf-schema#label": Role.LABEL,
    "http://www.w3.org/2004/02/skos/core#altLabel": Role.ALIAS,
    "http://xmlns.com/foaf/0.1/name": Role.ALIAS,
    "http://xmlns.com/foaf/0.1/nick": Role.ALIAS,
    f"{ONTOLOGY}alias": Role.ALIAS,
    "http://purl.org/dc/terms/description": Role.DESCRIPTION,
    "http://www.w3.org/2000/01/rdf-schema#comment": Role.DESCRIPTION,
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#type": Role.TYPE,
    # A class's own types are those that it is a subclass of, as in Wikidata's.
    "http://www.w3.org/2000/01/rdf-schema#subClassOf": Role.TYPE,
    f"{ONTOLOGY}wikiPageRedirects": Role.REDIRECT,
    f"{ONTOLOGY}wikiPageDisambiguates": Role.DISAMBIGUATION,
    f"{ONTOLOGY}abstract": Role.NONE,
    f"{ONTOLOGY}thumbnail": Role.NONE,
}
# Predicates about the page: its number, length, links and templates.
_OF_THE_PAGE = ("dbo:wikiPage", "dbp:wikiPage")

# Predicates of an intermediate node for its start, its end, and both.
STARTS = frozenset(f"dbo:{name}" for name in ("activeYearsStartDate", "activeYearsStartYear", "startDate", "startYear"))
ENDS = frozenset(f"dbo:{name}" for name in ("activeYearsEndDate", "activeYearsEndYear", "endDate", "endYear"))
POINTS = frozenset(f"dbo:{name}" for name in ("years", "year", "date"))


def role_of(predicate: str) -> tuple[Role, str]:
    """Return the role of a predicate, and for facts the relation's id."""
    known = _ROLES.get(predicate)
    if known is not None:
        return known, ""
    identifier = relation(predicate)
    if identifier is None or identifier.startswith(_OF_THE_PAGE):
        return Role.NONE, ""
    return Role.FACT, identifier
