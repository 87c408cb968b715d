"""``kgprobe load sparql``: a topical graph, gathered from a SPARQL endpoint by random walks from chosen entities.

The walks (:mod:`.sparql_walk`) select the entities. *All* facts between these are loaded, not only those on a walk,
because missing facts count as false. Types of entities are loaded too, with their names. Dates and quantities of these
entities are literals, as in :mod:`.wikidata`.

Relations of a reviewable list (:mod:`.wikidata_model`) are over-common: walks do not follow them, and their facts
are shown, not asked.

The gathered graph is stored (:mod:`.sparql_topic`), so that the same load sends no requests again. ``refresh`` asks the
endpoint again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import option
from kgprobe.base.progress import print_message
from kgprobe.sources.contract import Loader, ShownText

from .sparql_walk import WalkPlan
from .wikidata_model import (
    BRANCHES,
    DATES_OPTION,
    ITEM_ID,
    LANGUAGES_OPTION,
    LITERALS_OPTION,
    OWN_LIST,
    OWN_PAGES,
    PROPERTY_ID,
    SHIPPED_OPTION,
    TEMPLATES_OPTION,
    TRUTHY_OPTION,
    YEARS,
    check_dates,
    check_forms,
    distinct_languages,
    read_inactive_relations,
    read_statements,
    with_fallback,
)

if TYPE_CHECKING:
    from .sparql_topic import Topic

_PLAN = WalkPlan()

ENDPOINT = "https://query.wikidata.org/sparql"
# Topic, id and name of each center; an id that we do not know is empty.
TOPICS = Path(__file__).with_name("kglens_centers.tsv")


@dataclass(frozen=True, slots=True)
class SparqlOptions:
    """Options of the loader."""

    centers: tuple[str, ...] = option(
        (),
        "Where walks begin: an id or an English name; repeatable. Of several items, the one with most pages is taken.",
        flag="center",
        metavar="Q…|NAME",
        common=True,
    )
    topic: str | None = option(
        None,
        "Begin also at the centers of a graph of KGLens: its 16 countries or 30 NBA teams, or 84 films from 2015 on"
        " (our choice; the paper does not list its own).",
        choices=("countries", "nba", "films"),
    )
    where: tuple[str, ...] = option(
        (),
        "Load also the items with this statement, without walks: P166=Q38104 are the laureates in physics; may be given"
        " several times.",
        metavar="P…=Q…",
        common=True,
    )
    steps: int = option(_PLAN.steps, "Steps of a walk.", minimum=1, common=True)
    walks: int = option(_PLAN.walks, "Walks from each center.", minimum=1, common=True)
    branches: int = option(
        BRANCHES, "Maximum number of incoming statements per entity that walks draw from.", minimum=1
    )
    limit: int = option(_PLAN.limit, "Maximum number of entities.", minimum=1, common=True)
    seed: int = option(_PLAN.seed, "Random seed.", minimum=0)
    min_sitelinks: int = option(
        0, "Enter only entities with so many pages on Wikipedia and its sisters.", minimum=0, common=True
    )
    with_alias: bool = option(False, "Enter only entities that have an alias.")
    without_types: tuple[str, ...] = option(
        OWN_PAGES,
        "Enter no instances and subclasses of this type; may be given several times.",
        flag="without-type",
        metavar="Q…",
        shown_default="pages of Wikimedia's own, such as categories",
    )
    languages: tuple[str, ...] = option(**LANGUAGES_OPTION, common=True)
    truthy: bool = option(**TRUTHY_OPTION)
    literals: bool = option(**LITERALS_OPTION, common=True)
    dates: str = option(**DATES_OPTION)
    all_objects: bool = option(
        False, "Also load the other objects of each loaded subject and relation, so that none counts as wrong."
    )
    inactive: Path = option(
        OWN_LIST,
        "Relations that are shown, not asked, and not walked along: an id a line, and behind it why.",
        metavar="FILE",
        shown_default="a list of our own",
    )
    active: tuple[str, ...] = option(
        (), "Ask this relation and walk along it, although the list has it; may be given several times.", metavar="P…"
    )
    templates: Path | None = option(**TEMPLATES_OPTION, common=True)
    shipped_templates: bool = option(**SHIPPED_OPTION)
    endpoint: str = option(
        ENDPOINT, "Any SPARQL service with Wikidata's data in its RDF form.", metavar="URL", common=True
    )
    contact: str = option(
        "",
        "Where the service's operators reach you; sent with each request.",
        metavar="MAIL|URL",
        variable="KGPROBE_CONTACT",
        common=True,
    )
    pause: float = option(1.0, "Seconds between an answer and the next request.", minimum=0)
    timeout: float = option(65.0, "Seconds that an answer may take.", minimum=1)
    refresh: bool = option(
        False,
        "Ask the endpoint again. Leave it out to continue an interrupted load.",
    )


def _open(options: SparqlOptions) -> "Topic":
    # Here, so that the help of a command need not load what speaks HTTP.
    from .sparql_client import SparqlClient
    from .sparql_topic import EntityFilters, TopicChoice, open_topic

    centers = [*options.centers, *_centers_of(options.topic)]
    statements = read_statements(options.where)
    if not centers and not statements:
        raise ArgumentError("centers", "is empty; expected at least one, a `topic`, or a statement: `where`.")
    check_dates(options.dates, options.literals)
    check_forms("active", options.active, PROPERTY_ID, "P131")
    check_forms("without_types", options.without_types, ITEM_ID, "Q4167410")
    listed = read_inactive_relations(options.inactive)
    inactive = {relation: why for relation, why in listed.items() if relation not in options.active}
    choice = TopicChoice(
        centers=tuple(dict.fromkeys(centers)),
        plan=WalkPlan(options.steps, options.walks, options.limit, options.seed),
        filters=EntityFilters(options.min_sitelinks, options.with_alias, tuple(sorted(set(options.without_types)))),
        branches=options.branches,
        languages=with_fallback(distinct_languages(options.languages)),
        truthy=options.truthy,
        inactive=inactive,
        literals=options.literals,
        all_objects=options.all_objects,
        where=statements,
        years=options.dates == YEARS,
    )
    client = SparqlClient(options.endpoint, contact=options.contact, pause=options.pause, timeout=options.timeout)
    if not options.contact and options.endpoint == ENDPOINT:
        print_message("Wikimedia asks for an address at which it can reach you: `contact` is where it goes.")
    return open_topic(
        choice, client, templates=options.templates, shipped=options.shipped_templates, refresh=options.refresh
    )


def _centers_of(topic: str | None) -> Iterator[str]:
    """Yield the centers of a topic: ids, and names where the id is unknown."""
    for line in TOPICS.read_text(encoding="utf-8").splitlines():
        own, identifier, name = line.split("\t")
        if own == topic:
            yield identifier or name


loader = Loader(
    summary="""Load a topical graph from Wikidata's SPARQL service: what random walks reach from the entities you name.

    --where loads all items with a statement instead, or in addition, and the item that it names.

    Walks go both ways, along statements as subject and as object, and all facts between the entities that they reach
    are loaded. Over-common relations are shown, not asked: --show-inactive prints the list, --inactive replaces it.
    The most frequent relations have templates; --templates replaces them or adds others.

    \b
    kgprobe load sparql --center Q183 --steps 3 --contact you@example.org
    kgprobe load sparql --center Q11660 --min-sitelinks 20 --with-alias
    kgprobe load sparql --where P166=Q38104 --dates years
    kgprobe load sparql --as-paper kglens --topic nba
    """,
    options=SparqlOptions,
    open=_open,
    shows={
        "inactive": ShownText("Print the list of inactive relations.", lambda: OWN_LIST.read_text(encoding="utf-8"))
    },
)
