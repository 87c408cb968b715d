"""Years of facts in results: the start of the fact, or a date of its subject.

docs/methods/findings.md. Without a relation given by the user, the year is that in which a fact began if at least half
of the facts have such a year. Otherwise it is a date of the subject, by the relation of :data:`DATE_RELATIONS` that
gives a year to most of the facts, if that is more than the facts' own starts. The source is one for all facts, and
results name it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter

from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids, relation_names

# The year in which a fact began, in place of the id of a relation.
FACT_START = "start"
# Relations that give an entity one obvious date, of Wikidata and of DBpedia; a tie goes to the first.
DATE_RELATIONS = (
    *("P577", "P571", "P569", "P575", "P1191", "P1619", "P729", "P606", "P585", "P580"),
    *("dbo:releaseDate", "dbo:publicationDate", "dbo:firstPublicationDate", "dbo:premiereDate"),
    *("dbo:foundingDate", "dbo:foundingYear", "dbo:formationDate", "dbo:formationYear"),
    *("dbo:birthDate", "dbo:birthYear", "dbo:openingDate", "dbo:openingYear", "dbo:discovered"),
)


@dataclass(frozen=True, slots=True)
class YearSource:
    """Origin of the years in a result.

    Attributes:
        relation: id of a relation whose earliest date at the subject is taken; ``start`` for the fact's own start.
        name: the relation's name, or *start of the fact*.
    """

    relation: str
    name: str
    dated: int
    facts: int

    @property
    def note(self) -> str:
        """The source in a sentence."""
        name = self.name if self.relation == FACT_START else f"{self.name} of the subject"
        return f"Year: {name}; {self.dated:,} of {self.facts:,} facts have one."


def year_relation_id(graph: Graph, relation: str | None) -> str | None:
    """Return the id of a relation that the user gave by id or name; ``start`` and None as they are."""
    return relation if relation in (None, FACT_START) else relation_ids(graph, [relation])[0]


def candidate_sources(graph: Graph, relation: str | None) -> list[str]:
    """Return the possible sources of years, in order of preference.

    Without a chosen relation (an id, or ``start``), they are all possible ones.

    Cost: one reading of the relations, if the user chose none.
    """
    if relation is not None:
        return [relation]
    used = set(map(itemgetter("id"), graph.read("sample/used_relations")))
    return [FACT_START, *(id_ for id_ in DATE_RELATIONS if id_ in used)]


def has_enough(dated: int, facts: int) -> bool:
    """Return True if the facts' own starts are the source, whatever dates their subjects have."""
    return 2 * dated >= facts


def choose_source(graph: Graph, dated: Mapping[str, int], facts: int) -> YearSource:
    """Return the source of years.

    ``dated`` is the number of facts with a year by source, in order of preference; at least one source.
    """
    relation = FACT_START
    if not has_enough(dated.get(FACT_START, -1), facts):
        relation = max(dated, key=lambda source: dated[source])
    name = "start of the fact" if relation == FACT_START else relation_names(graph, [relation])[relation]
    return YearSource(relation, name, dated[relation], facts)
