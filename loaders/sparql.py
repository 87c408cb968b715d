"""``kgprobe load sparql``: a topical graph, gathered from a SPARQL endpoint by random walks from chosen entities.

The walks (:mod:`.sparql_walk`) say which entities there are. Between these, *all* facts are loaded, not only those that
were walked along: what is not in the graph will be taken for wrong, so of what it names it has to hold all there is.
The entities' types are loaded too, so that they have names. Items alone are objects, as in :mod:`.wikidata`.

Relations of a reviewable list (:mod:`.inactive_relations`) are over-common: walks do not follow them, and their facts
are shown, not asked.

Everything is gathered before anything is written, and kept below kgprobe's folder under the choices that lead to it: an
interrupted load goes on without asking again, and the same load another time asks nothing. The endpoint may have
changed since; ``--refresh`` asks anew.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec
from filelock import FileLock, Timeout

from kgprobe.errors import KgprobeError
from kgprobe.files import home, make_folder
from kgprobe.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.contract import Loader
from kgprobe.sources.lines import InputFile, fingerprint, open_input

from .inactive_relations import OWN_LIST, read_inactive_relations
from .sparql_client import Client
from .sparql_walk import Plan, walk
from .wikidata_model import ITEM_ID, LANGUAGES, language_option, names, templates_option, truthy_option, with_templates
from .wikidata_rdf import Head, Wikidata
from .word_frequency import word_frequency

ENDPOINT = "https://query.wikidata.org/sparql"

# Pages of Wikimedia's own: disambiguation, category, template, list, module, internal and project page.
OWN_PAGES = ("Q4167410", "Q4167836", "Q11266439", "Q13406463", "Q15184295", "Q17442446", "Q14204246")

_LANGUAGE = re.compile("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entities walks may enter; one without a label never is.

    Attributes:
        min_languages: in which it has a label, in whatever languages.
        min_sitelinks: pages of Wikipedia and its sisters on it.
        min_frequency: of its label among the words of the first language that has a list of them: the Zipf scale,
            0 (not in the list) to about 8.
        with_alias: whether it needs another name in the languages that are read.
        without_types: types whose instances and subclasses are left out.
    """

    min_languages: int = 0
    min_sitelinks: int = 0
    min_frequency: float = 0.0
    with_alias: bool = False
    without_types: tuple[str, ...] = OWN_PAGES

    def admit(self, head: Head, frequency: Callable[[str], float]) -> bool:
        """Whether walks may enter the entity."""
        label, aliases, _ = names(head.labels, head.aliases, ())
        return (
            label != ""
            and head.languages >= self.min_languages
            and (head.sitelinks or 0) >= self.min_sitelinks
            and (not self.with_alias or bool(aliases))
            and not set(self.without_types).intersection(head.types)
            and (not self.min_frequency or frequency(label) >= self.min_frequency)
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """What a topical graph is to be.

    Attributes:
        centers: ids of the items that walks begin at; filters do not apply to them.
        branches: of the statements that lead to an entity, how many walks draw from.
        languages: of labels, aliases and descriptions; the first that has a label gives it, aliases come from all.
        truthy: where a subject has preferred statements of a relation, only those count; else all but deprecated.
        inactive: why relations are not asked, by id.
    """

    centers: tuple[str, ...]
    plan: Plan = field(default_factory=Plan)
    filters: Filters = field(default_factory=Filters)
    branches: int = 100
    languages: tuple[str, ...] = LANGUAGES
    truthy: bool = False
    inactive: Mapping[str, str] = field(default_factory=read_inactive_relations)

    def key(self, endpoint: str) -> str:
        """A short text that differs where what is gathered may differ."""
        choices = asdict(self) | {"inactive": sorted(self.inactive), "endpoint": endpoint}
        return hashlib.blake2b(json.dumps(choices, sort_keys=True).encode(), digest_size=16).hexdigest()


class Gathered(msgspec.Struct):
    """A topical graph in full; ``rejected`` are messages about facts that cannot be used."""

    relations: list[Relation]
    entities: list[Entity]
    facts: list[Fact]
    rejected: list[str]


_decode_gathered = msgspec.msgpack.Decoder(Gathered).decode


@dataclass(slots=True)
class Topic:
    """A topical graph as a source; see :class:`kgprobe.sources.contract.Source`. It is gathered when it is opened."""

    name: str
    fingerprint: str
    gathered: Gathered
    templates: InputFile | None
    partial: bool = False
    _positions: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of records."""
        gathered = self.gathered
        return len(gathered.relations) + len(gathered.entities) + len(gathered.facts) + len(gathered.rejected)

    @property
    def done(self) -> int:
        """How many records were given."""
        return sum(self._positions.values())

    def relations(self) -> Iterator[Placed]:
        """The relations of the facts, joined with what the file of templates says of them."""
        numbered = list(enumerate(self.gathered.relations, start=1))
        used = {relation.id for _, relation in numbered}
        return self._counted("relations", with_templates(numbered, self.templates, used.__contains__))

    def entities(self) -> Iterator[Placed]:
        """The entities that walks reached, and their types."""
        return self._counted("entities", map(Placed, range(1, len(self.gathered.entities) + 1), self.gathered.entities))

    def facts(self) -> Iterator[Placed]:
        """All facts between these entities."""
        records: list[Fact | Rejected] = [*self.gathered.facts, *map(Rejected, self.gathered.rejected)]
        return self._counted("facts", map(Placed, range(1, len(records) + 1), records))

    def _counted(self, stream: str, records: Iterator[Placed]) -> Iterator[Placed]:
        for position, placed in enumerate(records, start=1):
            self._positions[stream] = position
            yield placed


def gather(choice: Choice, client: Client) -> Gathered:
    """Ask an endpoint for a topical graph.

    It takes a request for each 5 entities that walks leave (what leads to them), each 15 entities reached (what they
    lead to), each 50 entities looked at, and each 200 facts.

    Raises:
        KgprobeError: the endpoint does not know a centre, cannot be asked, or a filter cannot be applied.
    """
    frequency = word_frequency(choice.languages) if choice.filters.min_frequency else lambda text: 0.0
    wikidata = Wikidata(
        client,
        choice.languages,
        choice.truthy,
        choice.filters.min_languages > 0,
        choice.branches,
        sorted(choice.inactive),
    )
    heads = wikidata.heads(choice.centers)
    for center in choice.centers:
        if not names(heads[center].labels, (), ())[0]:
            raise KgprobeError(
                f"{client.endpoint} knows no {center} with a label in {', '.join(choice.languages)}. Is the id right,"
                " and is it not merged with another?"
            )

    def admitted(ids: Sequence[str]) -> set[str]:
        wikidata.heads(ids)
        return {identifier for identifier in ids if choice.filters.admit(heads[identifier], frequency)}

    def report(step: int, entities: int) -> None:
        client.report(f"Step {step} of {choice.plan.steps}: {entities:,} entities, {client.requests:,} requests.")

    client.report(
        f"Asking {client.endpoint} for {choice.plan.walks:,} walks of {choice.plan.steps} steps from each of"
        f" {len(choice.centers)} centers, one request at a time."
    )
    reached = walk(choice.centers, choice.plan, wikidata, choice.inactive, admitted, report)
    if wikidata.hubs:
        client.report(f"Too much leads to these to be asked for, so no walk went there: {', '.join(wikidata.hubs)}.")
    outgoing, inside = wikidata.outgoing(reached), set(reached)
    between = [fact for subject in reached for fact in outgoing[subject] if fact.object in inside]
    dated = list(wikidata.dated(between))
    relations = sorted({fact.relation for fact in between}, key=_by_number)
    types = sorted({type_ for one in reached for type_ in heads[one].types} - inside, key=_by_number)
    heads = wikidata.heads([*relations, *types])
    return Gathered(
        [Relation(name, *_named(heads[name]), active=name not in choice.inactive) for name in relations],
        [_entity(name, heads[name]) for name in (*reached, *types)],
        [fact for fact in dated if isinstance(fact, Fact)],
        [fact.reason for fact in dated if isinstance(fact, Rejected)],
    )


def open_topic(choice: Choice, client: Client, *, templates: Path | None = None, refresh: bool = False) -> Topic:
    """A topical graph as a source, from what is kept of it or from the endpoint.

    Args:
        client: its folder of answers is set here; one process at a time asks an endpoint.
        templates: relations as :mod:`.table` reads them, joined to the endpoint's.
        refresh: forget what is kept, and ask anew.

    Raises:
        KgprobeError: as :func:`gather`, or a file cannot be read.
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
    return Topic(
        name=f"{', '.join(choice.centers[:3])}{' …' if len(choice.centers) > 3 else ''}",
        fingerprint=fingerprint(files, {"graph": hashlib.blake2b(content).hexdigest()}),
        gathered=_decode_gathered(content),
        templates=files[0] if files else None,
    )


def _content(file: Path, choice: Choice, client: Client) -> bytes:
    """A gathered graph as bytes; the same for the same graph, as everything in it has its order."""
    try:
        content = file.read_bytes()
        _decode_gathered(content)
    except (OSError, msgspec.DecodeError):
        gathered = gather(choice, client)
        content = msgspec.msgpack.encode(gathered)
        part = file.with_suffix(".part")
        part.write_bytes(content)
        part.replace(file)
        client.report(f"Gathered with {client.requests:,} requests; kept in {file.parent}.")
    return content


@contextmanager
def _alone(folder: Path, client: Client) -> Iterator[None]:
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


def _named(head: Head) -> tuple[str, tuple[str, ...], str]:
    return names(head.labels, head.aliases, head.descriptions)


def _entity(identifier: str, head: Head) -> Entity:
    popularity = None if head.sitelinks is None else float(head.sitelinks)
    return Entity(identifier, *_named(head), head.types, popularity)


def _by_number(identifier: str) -> int:
    return int(identifier[1:])


def _open(
    centers: Sequence[str],
    steps: int,
    walks: int,
    branches: int,
    limit: int,
    seed: int,
    min_languages: int,
    min_sitelinks: int,
    min_frequency: float,
    with_alias: bool,
    without_types: Sequence[str],
    languages: Sequence[str],
    truthy: bool,
    inactive: Path,
    templates: Path | None,
    endpoint: str,
    contact: str,
    pause: float,
    timeout: float,
    refresh: bool,
) -> Topic:
    for option, given, form, example in (
        ("--center", centers, ITEM_ID, "Q42"),
        ("--without-type", without_types, ITEM_ID, "Q4167410"),
        ("--language", languages, _LANGUAGE, "en"),
    ):
        for value in given:
            if not form.fullmatch(value):
                raise KgprobeError(f"{option} {value}: one like {example} is expected.")
    choice = Choice(
        centers=tuple(dict.fromkeys(centers)),
        plan=Plan(steps, walks, limit, seed),
        filters=Filters(min_languages, min_sitelinks, min_frequency, with_alias, tuple(sorted(set(without_types)))),
        branches=branches,
        languages=tuple(dict.fromkeys(languages)),
        truthy=truthy,
        inactive=read_inactive_relations(inactive),
    )
    client = Client(
        endpoint, contact=contact, pause=pause, timeout=timeout, report=lambda message: click.echo(message, err=True)
    )
    if not contact and endpoint == ENDPOINT:
        client.report("Wikimedia asks for an address at which it can reach you: --contact, or KGPROBE_CONTACT.")
    return open_topic(choice, client, templates=templates, refresh=refresh)


def _show_inactive(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(OWN_LIST.read_text(encoding="utf-8"), nl=False)
        context.exit()


_PLAN, _FILTERS = Plan(), Filters()

loader = Loader(
    summary="""Load a topical graph from Wikidata's SPARQL service: what random walks reach from the entities you name.

    Walks go both ways, along statements as subject and as object, and all facts between the entities that they reach
    are loaded. Over-common relations are shown, not asked: --show-inactive prints the list, --inactive replaces it.
    Sentences come with --templates, or afterwards: see `kgprobe templates`.

    \b
    kgprobe load sparql --center Q183 --center Q142 --steps 3 --contact you@example.org
    kgprobe load sparql --center Q11660 --min-sitelinks 20 --with-alias --templates relations.jsonl
    """,
    parameters=[
        click.Option(
            ["--center", "centers"],
            multiple=True,
            required=True,
            metavar="Q…",
            help="Where walks begin; may be given several times.",
        ),
        click.Option(
            ["--steps"],
            type=click.IntRange(min=1),
            default=_PLAN.steps,
            show_default=True,
            help="Steps of a walk.",
        ),
        click.Option(
            ["--walks"],
            type=click.IntRange(min=1),
            default=_PLAN.walks,
            show_default=True,
            help="Walks from each center.",
        ),
        click.Option(
            ["--branches"],
            type=click.IntRange(min=1),
            default=100,
            show_default=True,
            help="Of the statements that lead to an entity, how many walks draw from.",
        ),
        click.Option(
            ["--limit"],
            type=click.IntRange(min=1),
            default=_PLAN.limit,
            show_default=True,
            help="Entities that walks reach, at most.",
        ),
        click.Option(
            ["--seed"],
            type=click.IntRange(min=0),
            default=_PLAN.seed,
            show_default=True,
            help="What all random choices follow from.",
        ),
        click.Option(
            ["--min-languages"],
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Enter only entities with a label in so many languages.",
        ),
        click.Option(
            ["--min-sitelinks"],
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Enter only entities with so many pages on Wikipedia and its sisters.",
        ),
        click.Option(
            ["--min-frequency"],
            type=click.FloatRange(min=0),
            default=0.0,
            show_default=True,
            help="Enter only entities whose label is so frequent a word, on the Zipf scale: 3 is once in a million"
            " words, 6 once in a thousand. Needs wordfreq (the extra `topical`).",
        ),
        click.Option(["--with-alias"], is_flag=True, help="Enter only entities that have an alias."),
        click.Option(
            ["--without-type", "without_types"],
            multiple=True,
            default=OWN_PAGES,
            metavar="Q…",
            help="Enter no instances and subclasses of this type; may be given several times.  [default: pages of"
            " Wikimedia's own, such as categories]",
        ),
        language_option(),
        truthy_option(),
        click.Option(
            ["--inactive"],
            type=click.Path(path_type=Path),
            default=OWN_LIST,
            metavar="FILE",
            help="Relations that are shown, not asked, and not walked along: an id a line, and behind it why."
            "  [default: a list of our own]",
        ),
        click.Option(
            ["--show-inactive"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_inactive,
            help="Print the list of inactive relations, and stop.",
        ),
        templates_option(),
        click.Option(
            ["--endpoint"],
            default=ENDPOINT,
            show_default=True,
            metavar="URL",
            help="Any SPARQL service with Wikidata's data in its RDF form.",
        ),
        click.Option(
            ["--contact"],
            default="",
            envvar="KGPROBE_CONTACT",
            show_envvar=True,
            metavar="MAIL|URL",
            help="Where the service's operators reach you; sent with each request.",
        ),
        click.Option(
            ["--pause"],
            type=click.FloatRange(min=0),
            default=1.0,
            show_default=True,
            help="Seconds between an answer and the next request.",
        ),
        click.Option(
            ["--timeout"],
            type=click.FloatRange(min=1),
            default=65.0,
            show_default=True,
            help="Seconds that an answer may take.",
        ),
        click.Option(
            ["--refresh"],
            is_flag=True,
            help="Ask anew for what an earlier load was told. To go on with such a load, leave this away.",
        ),
    ],
    open=_open,
)
