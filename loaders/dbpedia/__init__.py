"""``kgprobe load dbpedia``: DBpedia's dumps, any number of them at once: N-Triples and Turtle.

Read from every file:

- facts of the ontology (``dbo:``) and of info boxes (``dbp:``), whose objects are things or values (:mod:`.literals`),
  and related pages (``rdfs:seeAlso``);
- labels, other names and descriptions in the chosen languages; the default label is the page's title;
- types of the ontology and of schema.org;
- redirects, which are resolved in subjects, objects and page views; disambiguation pages, which are left out with their
  facts;
- intermediate nodes (``dbr:X__Tenure__1``), rows of a table within a page: their things become facts of the page, with
  their dates as interval; their numbers and texts are left out.

Everything is read once, and grouped on disk (:mod:`.preparing`, with the cost).
"""

import re
import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.base.errors import KgprobeError, how_to_install
from kgprobe.base.options import option
from kgprobe.base.records import Placed, Relation
from kgprobe.base.temporary import temporary_folder
from kgprobe.sources.contract import Loader
from kgprobe.sources.lines import InputFile, fingerprint, open_input
from kgprobe.verbalize.templates.file import read_relations

from ..wikidata_model import (
    LANGUAGES_OPTION,
    LITERALS_OPTION,
    TEMPLATES_OPTION,
    check_forms,
    distinct_languages,
    with_templates,
)
from .identifiers import words

if TYPE_CHECKING:
    from .preparing import Prepared, ReadingOptions

OWN_TEMPLATES = Path(__file__).with_name("relations.jsonl")

INTERMEDIATE = ("fold", "remove")

_RELATION_ID = re.compile(r"rdfs:seeAlso|db[op](?:-[a-z][a-z-]*)?:\S+")
_LANGUAGES_HELP = (
    "Language of labels, other names, descriptions and texts; repeatable, the first with a label gives it."
)


@dataclass
class DBpedia:
    """Files as a source; see :class:`kgprobe.sources.contract.Source`. Errors are reported with the relations.

    All files are read for the first stream, which takes most of the time of a load.

    Attributes:
        popularity: table of page views; may be None.
        templates: the user's templates, which override ours.
    """

    name: str
    fingerprint: str
    files: list[InputFile]
    popularity: InputFile | None
    templates: InputFile | None
    reading: "ReadingOptions"
    partial: bool = False
    _prepared: "Prepared | None" = field(default=None, init=False)

    @property
    def total(self) -> int:
        """The bytes of all files three times: for reading, and for each of the two streams made of them."""
        return 3 * self._size

    @property
    def done(self) -> int:
        """Part of ``total`` done so far."""
        if self._prepared is None:
            return sum(file.position for file in self.files)
        given = self._prepared.entities.given + self._prepared.facts.given
        return self._size + int(self._size * given)

    @property
    def not_loaded(self) -> Mapping[str, int]:
        """Numbers of statements that are not loaded, by kind; known after reading."""
        return {} if self._prepared is None else dict(self._prepared.not_loaded)

    @property
    def _size(self) -> int:
        return sum(file.size for file in self.files)

    def relations(self) -> Iterator[Placed]:
        """Yield the rejected records; then the relations with facts, with our sentences if any."""
        prepared = self._read()
        yield from prepared.problems()
        yield from with_templates(_relations(prepared), self.templates, lambda name: True)

    def entities(self) -> Iterator[Placed]:
        """Yield things, values and classes."""
        from .records import read_entities

        return read_entities(self._read())

    def facts(self) -> Iterator[Placed]:
        """Yield the facts, each once."""
        from .records import read_facts

        return read_facts(self._read())

    def _read(self) -> "Prepared":
        from .preparing import prepare

        if self._prepared is None:
            with ExitStack() as stack:
                folder = stack.enter_context(temporary_folder("dbpedia"))
                prepared = prepare(folder, self.files, self.popularity, self.reading)
                # With the last who could read it, or at the end of the program.
                weakref.finalize(prepared, stack.pop_all().close)
            self._prepared = prepared
        return self._prepared


def _relations(prepared: "Prepared") -> Iterator[Placed]:
    own = own_templates()
    for id_, notes in prepared.relations.items():
        if notes.place:
            # Info boxes mean by a name what the ontology means by it.
            known = own.get(id_) or own.get(f"dbo:{id_.partition(':')[2]}") or Relation(id_)
            label = notes.label[1] if notes.label else known.label or words(id_)
            description = notes.description[1] if notes.description else known.description
            line, file = prepared.line_and_file(notes.place)
            yield Placed(line, replace(known, id=id_, label=label, description=description), file)


def own_templates() -> dict[str, Relation]:
    """Return the loader's own sentences and questions by the relation's id."""
    templates = {}
    for placed in read_relations(open_input(OWN_TEMPLATES)):
        if isinstance(placed.record, Relation):
            templates[placed.record.id] = placed.record
    return templates


@dataclass(frozen=True, slots=True)
class DBpediaOptions:
    """Options of the loader."""

    files: tuple[Path, ...] = option(
        help="Triples, a line each or as Turtle with prefixes (plain, .gz, .bz2, .zst); all that belongs together at"
        " once: facts, labels, types, redirects, disambiguations, the ontology.",
        positional=True,
    )
    languages: tuple[str, ...] = option(
        **{**LANGUAGES_OPTION, "default": ("en",), "help": _LANGUAGES_HELP}, common=True
    )
    relations: tuple[str, ...] = option(
        (),
        "Read facts of this relation alone, as dbo:capital or dbp:capital; may be given several times.",
        flag="relation",
        metavar="ID",
        shown_default="all",
        common=True,
    )
    intermediate: str = option(
        INTERMEDIATE[0],
        "Nodes such as X__Tenure__1: what they say becomes dated facts of X (fold), or is left out (remove).",
        choices=INTERMEDIATE,
        common=True,
    )
    literals: bool = option(
        **{**LITERALS_OPTION, "help": "Load dates, quantities and texts as objects of facts."}, common=True
    )
    popularity: Path | None = option(
        None,
        "Page views: a page's title and a number a line, parted by a tab or space; those of redirects are added.",
        metavar="FILE",
        common=True,
    )
    templates: Path | None = option(**TEMPLATES_OPTION, common=True)


def open_dbpedia(options: DBpediaOptions) -> DBpedia:
    """Open files as a source; reads only the beginning of each."""
    check_forms("relations", options.relations, _RELATION_ID, "dbo:capital")
    languages = tuple(language.lower() for language in distinct_languages(options.languages))
    try:
        from .preparing import ReadingOptions
    except ImportError as error:
        raise KgprobeError(f"Triples are read by the package pyoxigraph: {how_to_install('dbpedia')}.") from error
    files = [open_input(path) for path in options.files]
    popularity = open_input(options.popularity) if options.popularity is not None else None
    templates = open_input(options.templates) if options.templates is not None else None
    chosen = {
        "languages": languages,
        "relations": sorted(set(options.relations)),
        "intermediate": options.intermediate,
        "literals": options.literals,
        "tables": [popularity is not None, templates is not None],
    }
    tables = filter(None, (popularity, templates))
    return DBpedia(
        name=", ".join(file.name for file in files),
        fingerprint=fingerprint([*files, *tables], chosen),
        files=files,
        popularity=popularity,
        templates=templates,
        reading=ReadingOptions(
            languages,
            frozenset(options.relations),
            fold=options.intermediate == INTERMEDIATE[0],
            literals=options.literals,
        ),
    )


loader = Loader(
    summary="""Load DBpedia's dumps: N-Triples or Turtle, several files at once.

    More than 300 frequent properties come with sentences and questions; `kgprobe templates write --from-label` writes
    sentences for the others.

    \b
    kgprobe load dbpedia objects.ttl.bz2 labels.ttl.bz2 --relation dbo:capital
    kgprobe load dbpedia objects.ttl.bz2 labels.ttl.bz2 types.ttl.bz2 \\
        redirects.ttl.bz2 disambiguations.ttl.bz2 --popularity views.tsv
    """,
    options=DBpediaOptions,
    open=open_dbpedia,
)
