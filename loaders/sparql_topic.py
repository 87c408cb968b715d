"""A topical graph, gathered from a SPARQL endpoint: the entities that walks reach, and all facts between them.

Everything is gathered before anything is written, and kept below kgprobe's folder under the choices that lead to it: an
interrupted load goes on without asking again, and the same load another time asks nothing.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from filelock import FileLock, Timeout

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import home, make_folder, replacing
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.lines import InputFile, fingerprint, open_input

from .literals import NotLoaded, is_year, year_literal
from .sparql_client import SparqlClient
from .sparql_walk import WalkPlan, walk
from .wikidata_model import (
    BRANCHES,
    ITEM_ID,
    LANGUAGES,
    OWN_PAGES,
    named_languages,
    names,
    read_inactive_relations,
    several_languages,
    shipped_digest,
    texts_of,
    with_shipped_templates,
    with_templates,
)
from .wikidata_rdf import EntityProfile, Wikidata

# A fact of a reached entity whose object no walk reached.
NOT_REACHED = NotLoaded("object not reached")
# An object of which the endpoint knows nothing, although other entities still lead to it.
MISSING = NotLoaded("object deleted")


@dataclass(frozen=True, slots=True)
class EntityFilters:
    """Filters for entities on walks; entities without a label are never admitted.

    Attributes:
        min_sitelinks: minimum number of pages in Wikipedia and its sister projects.
        with_alias: True to require another name in the chosen languages.
        without_types: types whose instances and subclasses are left out.
    """

    min_sitelinks: int = 0
    with_alias: bool = False
    without_types: tuple[str, ...] = OWN_PAGES

    def admit(self, profile: EntityProfile) -> bool:
        """Return True if walks may enter the entity."""
        label, aliases, _ = names(profile.labels, profile.aliases, ())
        if not label or (self.with_alias and not aliases):
            return False
        if (profile.sitelinks or 0) < self.min_sitelinks:
            return False
        return set(self.without_types).isdisjoint(profile.types)


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """Settings of a topical graph.

    Attributes:
        centers: ids or English names of the items where walks begin, without filters.
        branches: maximum number of incoming statements per entity that walks draw from.
        languages: languages of names; the first with a label gives it, aliases come from all.
        truthy: True to read only the preferred statements of a subject and relation, if any; else all but deprecated.
        inactive: reasons of inactive relations, by id.
        literals: True to read dates and quantities of the entities that walks reach.
        all_objects: True to read all objects of each subject and relation with a fact between entities that walks
            reach: the set T of yes/no questions, complete.
        where: statements, each a relation and an item; the items that have one of them are reached without walks.
        years: True to read the years of dates alone.
    """

    centers: tuple[str, ...]
    plan: WalkPlan = field(default_factory=WalkPlan)
    filters: EntityFilters = field(default_factory=EntityFilters)
    branches: int = BRANCHES
    languages: tuple[str, ...] = LANGUAGES
    truthy: bool = False
    inactive: Mapping[str, str] = field(default_factory=read_inactive_relations)
    literals: bool = True
    all_objects: bool = False
    where: tuple[tuple[str, str], ...] = ()
    years: bool = False

    def key(self, endpoint: str) -> str:
        """Return a digest of all settings."""
        choices = asdict(self) | {"inactive": sorted(self.inactive), "endpoint": endpoint}
        choices |= {"named": list(named)} if (named := several_languages(self.languages)) else {}
        return hashlib.blake2b(json.dumps(choices, sort_keys=True).encode(), digest_size=16).hexdigest()


class Gathered(msgspec.Struct):
    """A topical graph in full.

    Attributes:
        rejected: messages about facts that cannot be used.
        not_loaded: numbers of statements of the reached entities that are not loaded, by kind.
    """

    relations: list[Relation]
    entities: list[Entity]
    facts: list[Fact]
    rejected: list[str]
    not_loaded: dict[str, int] = msgspec.field(default_factory=dict)


_decode_gathered = msgspec.msgpack.Decoder(Gathered).decode


@dataclass(slots=True)
class Topic:
    """A topical graph as a source; see :class:`kgprobe.sources.contract.Source`. It is gathered when it is opened."""

    name: str
    fingerprint: str
    gathered: Gathered
    templates: InputFile | None
    shipped: bool = True
    partial: bool = False
    languages: tuple[str, ...] = ()
    _positions: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of records."""
        gathered = self.gathered
        return len(gathered.relations) + len(gathered.entities) + len(gathered.facts) + len(gathered.rejected)

    @property
    def done(self) -> int:
        """Number of records given so far."""
        return sum(self._positions.values())

    @property
    def not_loaded(self) -> Mapping[str, int]:
        """Numbers of statements of the reached entities that are not loaded, by kind."""
        return self.gathered.not_loaded

    def relations(self) -> Iterator[Placed]:
        """Yield the facts' relations with templates, the user's before the shipped ones."""
        used = {relation.id for relation in self.gathered.relations}
        placed: Iterable[Placed] = map(Placed, range(1, len(self.gathered.relations) + 1), self.gathered.relations)
        if self.shipped:
            placed = with_shipped_templates(placed)
        return self._counted("relations", with_templates(placed, self.templates, used.__contains__))

    def entities(self) -> Iterator[Placed]:
        """Yield the entities that walks reached, and their types."""
        return self._counted("entities", map(Placed, range(1, len(self.gathered.entities) + 1), self.gathered.entities))

    def facts(self) -> Iterator[Placed]:
        """Yield all facts between these entities."""
        records: list[Fact | Rejected] = [*self.gathered.facts, *map(Rejected, self.gathered.rejected)]
        return self._counted("facts", map(Placed, range(1, len(records) + 1), records))

    def _counted(self, stream: str, records: Iterator[Placed]) -> Iterator[Placed]:
        for position, placed in enumerate(records, start=1):
            self._positions[stream] = position
            yield placed


def gather(choice: TopicChoice, client: SparqlClient) -> Gathered:
    """Ask an endpoint for a topical graph.

    It takes a request for each 5 entities that walks leave (what leads to them), each 15 entities reached (what they
    lead to), each 50 entities looked at, each 50 entities reached (their statements that are not loaded), and each 200
    facts.
    """
    wikidata = Wikidata(client, choice.languages, choice.truthy, choice.branches, sorted(choice.inactive))
    centers = _ids_of(choice.centers, wikidata)
    profiles = wikidata.profiles(centers)
    for center in centers:
        if not names(profiles[center].labels, (), ())[0]:
            raise KgprobeError(
                f"{client.endpoint} has no {center} with a label in {', '.join(choice.languages)}. Check the id; it may"
                " have been merged with another."
            )

    def admitted(ids: Sequence[str]) -> set[str]:
        wikidata.profiles(ids)
        return {identifier for identifier in ids if choice.filters.admit(profiles[identifier])}

    def report(step: int, entities: int) -> None:
        client.report(f"Step {step} of {choice.plan.steps}: {entities:,} entities, {client.requests:,} requests.")

    reached: list[str] = []
    if centers:
        client.report(
            f"Asking {client.endpoint} for {choice.plan.walks:,} walks of {choice.plan.steps} steps from each of"
            f" {len(centers)} centers, one request at a time."
        )
        reached = walk(centers, choice.plan, wikidata, choice.inactive, admitted, report)
    if choice.where:
        reached = _with_statements(choice, wikidata, admitted, reached)
    if wikidata.hubs:
        client.report(f"Too much leads to these to be asked for, so no walk went there: {', '.join(wikidata.hubs)}.")
    gathered = _gathered(choice, wikidata, reached)
    if wikidata.uncounted:
        entities = ", ".join(sorted(wikidata.uncounted))
        client.report(f"These have too many statements to count the ones that are not loaded: {entities}.")
    return gathered


def _with_statements(
    choice: TopicChoice,
    wikidata: Wikidata,
    admitted: Callable[[Sequence[str]], Collection[str]],
    reached: Sequence[str],
) -> list[str]:
    """Return the reached entities, the items that the statements name, and the admitted items that have one of them.

    Raises:
        KgprobeError: no admitted item has one of the statements.
    """
    client = wikidata.client
    written = ", ".join(map("=".join, choice.where))
    client.report(f"Asking {client.endpoint} for the items with {written}.")
    having = sorted(wikidata.subjects(choice.where), key=_by_number)
    good = admitted(having)
    if not good:
        raise KgprobeError(
            f"{client.endpoint} has no item with {written} that can be loaded. Check the ids and filters."
        )
    objects = [item for _, item in choice.where]
    every = list(dict.fromkeys([*reached, *objects, *filter(good.__contains__, having)]))
    most = max(choice.plan.limit, len(reached))
    if len(every) > most:
        client.report(f"{len(every) - most:,} items with {written} are left out by the limit of {choice.plan.limit:,}.")
    return every[:most]


def _ids_of(centers: Sequence[str], wikidata: Wikidata) -> list[str]:
    """Return the ids of centers, and report the items of those that are names.

    Raises:
        KgprobeError: no item has one of the names.
    """
    items = wikidata.named([center for center in centers if not ITEM_ID.fullmatch(center)])
    if items:
        wikidata.client.report(f"Centers: {', '.join(f'{name} is {item}' for name, item in items.items())}.")
    return list(dict.fromkeys(items.get(center, center) for center in centers))


def _gathered(choice: TopicChoice, wikidata: Wikidata, reached: Sequence[str]) -> Gathered:
    """Return the reached entities, the facts between them, and their relations and types."""
    outgoing, inside = wikidata.outgoing(reached), set(reached)
    not_loaded = wikidata.not_loaded(reached, choice.literals)
    between = _facts_between(reached, outgoing)
    further = _other_objects(choice, between, outgoing, inside)
    not_reached = sum(len(outgoing[subject]) for subject in reached) - len(between) - len(further)
    described = wikidata.profiles(fact.object for fact in further)
    existing = [fact for fact in further if not described[fact.object].is_missing]
    between += existing
    objects = sorted({fact.object for fact in existing}, key=_by_number)
    for kind, count in ((NOT_REACHED, not_reached), (MISSING, len(further) - len(existing))):
        if count:
            not_loaded[kind.kind] += count
    rejected: list[str] = []
    literals: dict[str, Entity] = {}
    for result in wikidata.literals(reached) if choice.literals else ():
        match result:
            case NotLoaded():
                not_loaded[result.kind] += 1
            case Rejected():
                rejected.append(result.reason)
            case fact, literal:
                literal = year_literal(literal) if choice.years else literal
                between.append(replace(fact, object=literal.id))
                literals[literal.id] = literal
    if choice.years:
        between = _without_repeated_years(between)
    facts: list[Fact] = []
    for record in wikidata.dated(between):
        if isinstance(record, Fact):
            facts.append(record)
        else:
            rejected.append(record.reason)
    relations = sorted({fact.relation for fact in between}, key=_by_number)
    loaded = [*reached, *objects]
    types = _types_of(wikidata, loaded)
    profiles = wikidata.profiles([*relations, *types])
    entities = [_entity(name, profiles[name]) for name in (*loaded, *types)]
    return Gathered(
        [
            Relation(
                name,
                *_named(profiles[name]),
                active=name not in choice.inactive,
                texts=texts_of(profiles[name].by_language),
            )
            for name in relations
        ],
        [*entities, *literals.values()],
        facts,
        rejected,
        dict(not_loaded),
    )


def _without_repeated_years(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts without dates of one subject and relation in a year that an earlier one has."""
    different: dict[tuple[str, ...], Fact] = {}
    for fact in facts:
        key = (fact.subject, fact.relation, fact.object) if is_year(fact.object) else (fact.id,)
        different.setdefault(key, fact)
    return list(different.values())


def _facts_between(entities: Sequence[str], outgoing: Mapping[str, Sequence[Fact]]) -> list[Fact]:
    inside = set(entities)
    between: list[Fact] = []
    for subject in entities:
        between += [fact for fact in outgoing[subject] if fact.object in inside]
    return between


def _types_of(wikidata: Wikidata, entities: Sequence[str]) -> list[str]:
    """Return the types of entities that are not among them, by number."""
    profiles = wikidata.profiles(entities)
    types = set(chain.from_iterable(profiles[entity].types for entity in entities))
    return sorted(types.difference(entities), key=_by_number)


def _other_objects(
    choice: TopicChoice, between: Sequence[Fact], outgoing: Mapping[str, Sequence[Fact]], inside: Collection[str]
) -> list[Fact]:
    """Return the facts that lead from these subjects and relations to entities that walks did not reach, if chosen."""
    if not choice.all_objects:
        return []
    pairs = {(fact.subject, fact.relation) for fact in between}
    further: list[Fact] = []
    for subject in dict.fromkeys(fact.subject for fact in between):
        others = (fact for fact in outgoing[subject] if fact.object not in inside)
        further += [fact for fact in others if (fact.subject, fact.relation) in pairs]
    return further


def open_topic(
    choice: TopicChoice,
    client: SparqlClient,
    *,
    templates: Path | None = None,
    shipped: bool = True,
    refresh: bool = False,
) -> Topic:
    """Open a topical graph as a source, from its stored answers or from the endpoint.

    Args:
        client: its folder of answers is set here; one process at a time asks an endpoint.
    """
    files = [] if templates is None else [open_input(templates)]
    kept = home() / "sparql"
    folder = kept / choice.key(client.endpoint)
    make_folder(folder)
    with _alone(kept, client):
        if refresh:
            shutil.rmtree(folder)
        client.answers = folder / "answers"
        make_folder(client.answers)
        content = _content(folder / "graph.msgpack", choice, client)
        shutil.rmtree(client.answers)
    begins = [*choice.centers, *map("=".join, choice.where)]
    digests = {"graph": hashlib.blake2b(content).hexdigest(), "shipped": shipped_digest(shipped)}
    return Topic(
        name=f"{', '.join(begins[:3])}{' …' if len(begins) > 3 else ''}",
        fingerprint=fingerprint(files, digests),
        gathered=_decode_gathered(content),
        templates=files[0] if files else None,
        shipped=shipped,
        languages=named_languages(choice.languages),
    )


def _content(file: Path, choice: TopicChoice, client: SparqlClient) -> bytes:
    """Return a gathered graph as bytes, equal for equal graphs: everything in it is ordered."""
    try:
        content = file.read_bytes()
        _decode_gathered(content)
    except (OSError, msgspec.DecodeError):
        gathered = gather(choice, client)
        content = msgspec.msgpack.encode(gathered)
        with replacing(file) as unfinished:
            unfinished.write_bytes(content)
        client.report(f"Gathered with {client.requests:,} requests; kept in {file.parent}.")
    return content


@contextmanager
def _alone(folder: Path, client: SparqlClient) -> Iterator[None]:
    lock = FileLock(folder / f"{urlsplit(client.endpoint).hostname}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        client.report(f"Another kgprobe asks {client.endpoint}; waiting until it is done.")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _named(profile: EntityProfile) -> tuple[str, tuple[str, ...], str]:
    return names(profile.labels, profile.aliases, profile.descriptions)


def _entity(identifier: str, profile: EntityProfile) -> Entity:
    popularity = None if profile.sitelinks is None else float(profile.sitelinks)
    return Entity(identifier, *_named(profile), profile.types, popularity, texts=texts_of(profile.by_language))


def _by_number(identifier: str) -> int:
    return int(identifier[1:])
