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

The machinery is that of :mod:`kgprobe.loaders.rdf`.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.base.errors import KgprobeError
from kgprobe.base.options import option
from kgprobe.base.records import Rejected, Relation
from kgprobe.sources.contract import Loader
from kgprobe.sources.lines import InputFile, fingerprint, open_input
from kgprobe.verbalize.templates.file import read_relations

from ..rdf import RDF_LANGUAGES_OPTION, RDF_LITERALS_OPTION, missing_packages
from ..wikidata_model import TEMPLATES_OPTION, check_forms, distinct_languages
from .identifiers import RESOURCE, DBpediaVocabulary

if TYPE_CHECKING:
    from ..rdf.reading import StatementReader
    from ..rdf.source import RdfFiles

OWN_TEMPLATES = Path(__file__).with_name("relations.jsonl")

INTERMEDIATE = ("fold", "remove")

_DOMAIN = "dbpedia.org/"
_RELATION_ID = re.compile(r"rdfs:seeAlso|db[op](?:-[a-z][a-z-]*)?:\S+")


@cache
def own_templates() -> dict[str, Relation]:
    """Return the loader's own sentences and questions by the relation's id."""
    templates = {}
    for placed in read_relations(open_input(OWN_TEMPLATES)):
        if isinstance(placed.record, Relation):
            templates[placed.record.id] = placed.record
    return templates


def _own_relation(id_: str) -> Relation:
    own = own_templates()
    # Info boxes mean by a name what the ontology means by it.
    known = own.get(id_) or own.get(f"dbo:{id_.partition(':')[2]}") or Relation(id_)
    return replace(known, id=id_)


@dataclass(frozen=True, slots=True)
class DBpediaOptions:
    """Options of the loader."""

    files: tuple[Path, ...] = option(
        help="Triples, a line each or as Turtle with prefixes (plain, .gz, .bz2, .zst); all that belongs together at"
        " once: facts, labels, types, redirects, disambiguations, the ontology.",
        positional=True,
    )
    languages: tuple[str, ...] = option(**RDF_LANGUAGES_OPTION, common=True)
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
    literals: bool = option(**RDF_LITERALS_OPTION, common=True)
    popularity: Path | None = option(
        None,
        "Page views: a page's title and a number a line, parted by a tab or space; those of redirects are added.",
        metavar="FILE",
        common=True,
    )
    templates: Path | None = option(**TEMPLATES_OPTION, common=True)


def open_dbpedia(options: DBpediaOptions) -> "RdfFiles":
    """Open files as a source; reads only the beginning of each."""
    check_forms("relations", options.relations, _RELATION_ID, "dbo:capital")
    languages = tuple(language.lower() for language in distinct_languages(options.languages))
    try:
        from ..rdf.reading import ReadingOptions
        from ..rdf.source import RdfFiles
    except ImportError as error:
        raise missing_packages(error) from error
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

    def read(reader: "StatementReader", number: int, file: InputFile) -> None:
        if file is popularity:
            _read_views(reader, number, file)
            return
        reader.read(number, file)
        if file is files[-1] and reader.store.is_empty():
            _check_foreign(files)

    return RdfFiles(
        name=", ".join(file.name for file in files),
        fingerprint=fingerprint([*files, *filter(None, (popularity, templates))], chosen),
        files=[*files, *filter(None, [popularity])],
        templates=templates,
        vocabulary=DBpediaVocabulary(),
        reading=ReadingOptions(
            languages,
            frozenset(options.relations),
            fold=options.intermediate == INTERMEDIATE[0],
            literals=options.literals,
        ),
        read=read,
        shipped=_own_relation,
    )


def _check_foreign(files: Sequence[InputFile]) -> None:
    """Raise if no triple of files is of DBpedia."""
    from ..rdf.triples import read_triples

    foreign = ""
    for file in files:
        for line, quad in read_triples(file):
            if not isinstance(quad, Rejected):
                if _DOMAIN in str(quad):
                    return
                foreign = foreign or f"{file.name}, line {line}: {str(quad.subject).strip('<>')}"
    if foreign:
        raise KgprobeError(
            f"{foreign} is not of DBpedia (http://dbpedia.org/resource/…), nor is any other triple: nothing is loaded."
            " `kgprobe load rdf` reads any RDF."
        )


def _read_views(reader: "StatementReader", number: int, file: InputFile) -> None:
    """Read the page views; those of redirects are added to their ends."""
    from ..rdf.store import place_of

    for line, row in read_popularity(file):
        place = place_of(number, line)
        if isinstance(row, Rejected):
            reader.store.report(place, row.reason, row.broken_off)
        else:
            reader.store.rows["views"].extend((row[0], place, row[1]))
            reader.store.write()


def read_popularity(file: InputFile) -> Iterator[tuple[int, tuple[str, float] | Rejected]]:
    """Yield the rows: line, and id with number. A page is named by its title, its id (``dbr:Paris``) or its IRI.

    Blank lines and lines that begin with ``#`` are none; nor is the first where its number is none: a header.
    """
    for number, line in file.lines():
        if isinstance(line, Rejected):
            yield number, line
            continue
        try:
            text = line.decode().strip()
        except UnicodeDecodeError as error:
            yield number, Rejected(f"not UTF-8: {error.reason} at byte {error.start + 1}")
            continue
        if not text or text.startswith("#"):
            continue
        name, _, count = text.rpartition("\t") if "\t" in text else text.rpartition(" ")
        views = _count(count)
        if views is not None and name.strip():
            yield number, (_id(name.strip()), views)
        elif number > 1:
            yield number, Rejected(f"{text[:80]!r} is not a page followed by a count")


def _count(text: str) -> float | None:
    try:
        views = float(text)
    except ValueError:
        return None
    return views if math.isfinite(views) and views >= 0 else None


def _id(name: str) -> str:
    if name.startswith(("dbr:", "dbr-")):
        return name
    name = name.removeprefix("<").removesuffix(">").removeprefix(RESOURCE)
    return f"dbr:{name.replace(' ', '_')}"


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
