"""``kgprobe load rdf``: any graph in RDF, and tables of triples without a header.

Vocabularies are recognized by their predicates (:mod:`.vocabulary`). Everything is read once, and joined on disk
(:mod:`.store`, with the cost).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.base.errors import ArgumentError, KgprobeError, how_to_install
from kgprobe.base.options import option
from kgprobe.sources.contract import Loader
from kgprobe.sources.lines import InputFile, fingerprint, open_input

from ..wikidata_model import ALL_LANGUAGES, LANGUAGES_OPTION, LITERALS_OPTION, TEMPLATES_OPTION, distinct_languages

if TYPE_CHECKING:
    from .reading import StatementReader
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
    merge_same_as: bool = option(
        False, "Merge entities that owl:sameAs connects into the one that is named first.", common=True
    )
    collapse_blank_nodes: bool = option(
        False,
        "Make facts of the statements about a blank node: X address [locality Y] becomes a fact of X.",
        shown_default="left out and counted",
        common=True,
    )
    triples: bool = option(
        False,
        "Files are tables without a header: subject, relation, object, parted by tabs (FB15k, CoDEx).",
        common=True,
    )
    labels: tuple[Path, ...] = option(
        (),
        "Labels for --triples: a line with id, label and aliases, parted by tabs, or JSON ({ID: {label: …}}); may be"
        " given several times.",
        metavar="FILE",
        shown_default="last part of the id",
        common=True,
    )
    templates: Path | None = option(**TEMPLATES_OPTION, common=True)


def open_rdf(options: RdfOptions) -> "RdfFiles":
    """Open files as a source; reads only the beginning of each."""
    languages = tuple(language.lower() for language in distinct_languages(options.languages))
    try:
        from .reading import ReadingOptions
        from .source import RdfFiles
        from .tables import read_labels, read_table
        from .vocabulary import Vocabulary
    except ImportError as error:
        raise missing_packages(error) from error
    if options.labels and not options.triples:
        raise ArgumentError("labels", "is for tables: give `triples`, too. RDF has its labels in the files.")
    tables = [open_input(path) for path in options.files]
    labels = [open_input(path) for path in options.labels]
    templates = open_input(options.templates) if options.templates is not None else None

    def read(reader: "StatementReader", number: int, file: InputFile) -> None:
        if any(file is table for table in labels):
            read_labels(reader.store, number, file)
        elif options.triples:
            read_table(reader.store, number, file, frozenset(options.relations))
        else:
            reader.read(number, file)

    reading = ReadingOptions(
        tuple(dict.fromkeys((*languages, ALL_LANGUAGES))),
        frozenset(options.relations),
        literals=options.literals,
        collapse=options.collapse_blank_nodes,
        merge=options.merge_same_as,
    )
    chosen = {
        "languages": reading.languages,
        "relations": sorted(reading.relations),
        "flags": [reading.literals, reading.collapse, reading.merge, options.triples],
        "tables": [len(labels), templates is not None],
    }
    return RdfFiles(
        name=", ".join(file.name for file in tables),
        fingerprint=fingerprint([*tables, *labels, *filter(None, [templates])], chosen),
        files=[*tables, *labels],
        templates=templates,
        vocabulary=Vocabulary(),
        reading=reading,
        read=read,
    )


def missing_packages(error: ImportError) -> KgprobeError:
    """Return the message that names the extra."""
    return KgprobeError(f"RDF is read by the package pyoxigraph ({error}): {how_to_install('rdf')}.")


loader = Loader(
    summary="""Load any graph in RDF: several files at once.

    Labels, other names, types and facts are recognized by the usual predicates (RDFS, SKOS, schema.org, Dublin Core,
    FOAF, Wikidata). All other predicates are relations.

    \b
    kgprobe load rdf yago-facts.ttl yago-schema.ttl yago-taxonomy.ttl
    kgprobe load rdf latest-truthy.nt.bz2 --language de --relation wdt:P36
    kgprobe load rdf train.txt valid.txt --triples --labels names.txt
    """,
    options=RdfOptions,
    open=open_rdf,
)
