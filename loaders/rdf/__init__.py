"""``kgprobe load rdf``: any graph in RDF, and tables of triples without a header.

Vocabularies are recognized by their predicates (:mod:`.vocabulary`). Everything is read once, and joined on disk
(:mod:`.store`, with the cost).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.base.errors import KgprobeError, how_to_install
from kgprobe.base.options import option
from kgprobe.sources.contract import Loader
from kgprobe.sources.lines import fingerprint, open_input

from ..wikidata_model import ALL_LANGUAGES, LANGUAGES_OPTION, LITERALS_OPTION, TEMPLATES_OPTION, distinct_languages

if TYPE_CHECKING:
    from .source import RdfFiles

# Options of every loader of RDF.
RDF_LANGUAGES_OPTION: dict[str, Any] = {
    **LANGUAGES_OPTION,
    "default": ("en",),
    "help": "Language of labels, other names, descriptions and texts; repeatable, the first with a label gives it.",
}
RDF_LITERALS_OPTION: dict[str, Any] = {
    **LITERALS_OPTION,
    "help": "Load dates, quantities and texts as objects of facts.",
}


@dataclass(frozen=True, slots=True)
class RdfOptions:
    """Options of the loader."""

    files: tuple[Path, ...] = option(
        help="N-Triples, N-Quads, Turtle, TriG, RDF/XML, JSON-LD (plain, .gz, .bz2, .zst); all that belongs together"
        " at once: facts, labels, types, the ontology.",
        positional=True,
    )
    languages: tuple[str, ...] = option(**RDF_LANGUAGES_OPTION, common=True)
    relations: tuple[str, ...] = option(
        (),
        "Read facts of this relation alone, by its id, as schema:spouse; may be given several times.",
        flag="relation",
        metavar="ID",
        shown_default="all",
        common=True,
    )
    literals: bool = option(**RDF_LITERALS_OPTION, common=True)
    templates: Path | None = option(**TEMPLATES_OPTION, common=True)


def open_rdf(options: RdfOptions) -> "RdfFiles":
    """Open files as a source; reads only the beginning of each."""
    languages = tuple(language.lower() for language in distinct_languages(options.languages))
    try:
        from .reading import ReadingOptions
        from .source import RdfFiles
        from .vocabulary import Vocabulary
    except ImportError as error:
        raise missing_packages(error) from error
    files = [open_input(path) for path in options.files]
    templates = open_input(options.templates) if options.templates is not None else None
    reading = ReadingOptions(
        tuple(dict.fromkeys((*languages, ALL_LANGUAGES))),
        frozenset(options.relations),
        literals=options.literals,
    )
    chosen = {"reading": [*reading.languages, *sorted(reading.relations), reading.literals]}
    return RdfFiles(
        name=", ".join(file.name for file in files),
        fingerprint=fingerprint([*files, *filter(None, [templates])], chosen),
        files=files,
        templates=templates,
        vocabulary=Vocabulary(),
        reading=reading,
    )


def missing_packages(error: ImportError) -> KgprobeError:
    """Return the message that names the extra."""
    return KgprobeError(f"RDF is read by the packages pyoxigraph and duckdb ({error}): {how_to_install('rdf')}.")


loader = Loader(
    summary="""Load any graph in RDF: several files at once.

    Labels, other names, types and facts are recognized by the usual predicates (RDFS, SKOS, schema.org, Dublin Core,
    FOAF, Wikidata). All other predicates are relations.

    \b
    kgprobe load rdf yago-facts.ttl yago-schema.ttl yago-taxonomy.ttl
    kgprobe load rdf latest-truthy.nt.bz2 --language de --language en --relation wdt:P36
    """,
    options=RdfOptions,
    open=open_rdf,
)
