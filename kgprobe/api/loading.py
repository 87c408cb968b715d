"""``kgprobe.load`` and its kin: load a source into a graph, in transactions or by Neo4j's import."""

import shlex
from pathlib import Path
from typing import Any

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.options import make_options
from kgprobe.base.progress import OnProgress, no_progress
from kgprobe.graph.bulk.bulk_files import finish, read_bulk_files
from kgprobe.graph.client import Graph
from kgprobe.graph.loading import LoadReport, OnProblem, load_source
from kgprobe.graph.servers.bulk_loading import load_bulk_source, write_bulk_source
from kgprobe.sampling.columns.graph_columns import keep_imported_columns
from kgprobe.sources.contract import LOADERS, open_source


def load(
    graph: Graph,
    loader: str,
    *,
    strict: bool = False,
    remove_missing: bool = False,
    on_problem: OnProblem = lambda message: None,
    on_progress: OnProgress = no_progress,
    **options: Any,
) -> LoadReport:
    """Load a source into the graph. Loading twice changes nothing; an interrupted load is resumed.

    Entities and relations of the graph keep what the source has no value for: a table of facts does not remove the
    templates of its relations.

    >>> report = load(graph, "table", entities="entities.jsonl", facts="facts.tsv")
    >>> print(report)
    entities.jsonl, facts.tsv: 3 entities, 0 relations, 2 facts.
    Skipped: 1 missing.
    >>> print(report.problems[0])
    facts.tsv, line 4: the object Q9 of 'Q183 P47 Q9' is not in the graph. ...

    Cost: the source's records and the facts of their entities, independent of the size of the graph. Memory: a few
    thousand records.

    Args:
        loader: name of the loader, such as ``table`` or ``wikidata``; ``kgprobe load --help`` lists them.
        strict: True to raise an error at the first invalid record; earlier records stay.
        remove_missing: True to remove names, templates, types and other properties of the source's entities and
            relations that it has no value for.
        on_problem: called with a message for each skipped record.
        on_progress: called after each batch of records, and at least every second.
        options: options of the loader; see ``kgprobe load NAME --help``.

    Raises:
        UnknownNameError: no such loader.
        ArgumentError: no such option, a missing one, or an invalid value.
        KgprobeError: the source is unreadable, a record is invalid under ``strict``, or the graph fails repeatedly.
            Earlier records are in the graph, and the same call resumes.
    """
    source = open_source(loader, **options)
    return load_source(
        graph, source, strict=strict, remove_missing=remove_missing, on_problem=on_problem, on_progress=on_progress
    )


def load_bulk(
    graph: str | Path,
    loader: str,
    *,
    bulk_files: str | Path | None = None,
    strict: bool = False,
    on_problem: OnProblem = lambda message: None,
    on_progress: OnProgress = no_progress,
    **options: Any,
) -> LoadReport:
    """Load a source into a new or empty graph by Neo4j's import; for sources that take hours otherwise.

    >>> report = kgprobe.load_bulk("big", "table", entities="entities.jsonl", facts="facts.tsv")
    >>> print(report)
    entities.jsonl, facts.tsv: 3 entities, 0 relations, 2 facts.
    Skipped: 1 missing.
    >>> with kgprobe.open_graph("big") as big:
    ...     big.query("MATCH ()-[fact:FACT]->() RETURN count(fact) AS facts")
    facts
    2
    1 row

    The graph is the same as that of :func:`~kgprobe.load`. It is locked until the import is complete. After an
    interruption the same call starts again, and reuses completely written files.

    Cost: one pass over the source's streams, one import; about 200 bytes of temporary disk space for each fact, and 90
    of columns for runs in kgprobe's home folder.
    Memory: 1 GB for DuckDB, 500 MB, and the import's, at most 60% of the free memory.

    Args:
        graph: folder of a graph with the engine Neo4j.
        loader, strict, options: as in :func:`~kgprobe.load`.
        bulk_files: folder in which the files are kept; None for a temporary one.
        on_problem: called with a message for each skipped record.
        on_progress: called often, with the progress of reading, importing and finishing.

    Raises:
        ArgumentError: the graph is an address, of another engine, or not empty; or an option is invalid.
        UnknownNameError: no such loader.
        KgprobeError: the source is unreadable, a record is invalid under ``strict``, Java is missing, another process
            imports into the folder, or the import fails.
    """
    source = open_source(loader, **options)
    return load_bulk_source(
        graph,
        source,
        bulk_files=bulk_files,
        strict=strict,
        on_problem=on_problem,
        on_progress=on_progress,
        on_import=keep_imported_columns,
    )


def write_bulk(
    bulk_files: str | Path,
    loader: str,
    *,
    strict: bool = False,
    on_problem: OnProblem = lambda message: None,
    on_progress: OnProgress = no_progress,
    **options: Any,
) -> LoadReport:
    """Write a source as files for ``neo4j-admin database import``, for a server on another machine.

    >>> report = kgprobe.write_bulk("files", "table", entities="entities.jsonl", facts="facts.tsv")
    >>> print(report.facts, kgprobe.import_command("files")[:58])
    2 cd files && neo4j-admin database import full neo4j --overwr

    After the import, with the server running, call :func:`finish_bulk`.

    Args:
        bulk_files: new folder for the files; it must not exist.
        loader, strict, on_problem, on_progress, options: as in :func:`load_bulk`.

    Raises:
        ArgumentError: the folder exists, or an option is invalid.
        UnknownNameError, KgprobeError: as :func:`load_bulk`.
    """
    source = open_source(loader, **options)
    return write_bulk_source(bulk_files, source, strict=strict, on_problem=on_problem, on_progress=on_progress)


def import_command(bulk_files: str | Path, database: str = "neo4j") -> str:
    """Return the shell command that imports files, on the machine of a stopped Neo4j; it replaces the database.

    Raises:
        KgprobeError: no such files.
    """
    arguments = " ".join(read_bulk_files(Path(bulk_files)).arguments(database))
    return f"cd {shlex.quote(str(bulk_files))} && neo4j-admin {arguments}"


def finish_bulk(graph: Graph, bulk_files: str | Path, *, on_progress: OnProgress = no_progress) -> None:
    """Finish a graph imported from files of :func:`write_bulk`: indexes, and values that an import cannot write.

    Args:
        on_progress: called often, with the number of finished entities.

    Raises:
        ArgumentError: the graph was not imported from these files.
        KgprobeError: no such files, or the graph differs from them.
    """
    finish(graph, Path(bulk_files), on_progress)
    keep_imported_columns(graph, Path(bulk_files))


def propose_mapping(loader: str, **options: Any) -> Path:
    """Write a first version of the file that a loader needs, for you to review.

    >>> kgprobe.propose_mapping("graph", source="bolt://localhost:7687", mapping="mapping.toml")
    PosixPath('mapping.toml')

    Cost: one pass that counts the source.

    Args:
        loader: name of the loader, such as ``graph``.
        options: options of the loader; one of them is the file.

    Raises:
        UnknownNameError: no such loader.
        ArgumentError: the loader needs no file, or the file exists.
        KgprobeError: the source is unreadable, or the file is not writable.
    """
    chosen = LOADERS.get(loader)
    if chosen.proposes is None:
        raise ArgumentError("loader", f"is {loader}, which needs no file.")
    loader_options = make_options(chosen.options, options, f"the loader {loader}")
    path: Path = getattr(loader_options, chosen.proposes.option)
    if path.exists():
        raise ArgumentError(
            chosen.proposes.option, f"is {path}, which exists and is not overwritten. Name another file."
        )
    text = chosen.proposes.make(loader_options)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Mode x: a file created in the meantime is not overwritten either.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise KgprobeError(f"{path} cannot be written: {error.strerror}.") from error
    return path
