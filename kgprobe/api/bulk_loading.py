"""Bulk loading: files for Neo4j's import, for sources that are too large for transactions."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgprobe.api.loading import LoadProgress
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.bulk.bulk_files import BulkFiles, read_bulk_files
from kgprobe.graph.bulk.converting import convert
from kgprobe.graph.bulk.finishing import finish
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import is_address
from kgprobe.results.loading import KEPT_PROBLEMS, LoadReport
from kgprobe.servers.bulk_import import STAGES, import_files, reserved_for_import
from kgprobe.servers.folder import Folder
from kgprobe.servers.leases import take_lease
from kgprobe.servers.opening import folder_of
from kgprobe.sources.contract import Source, open_source

# Subfolder of the graph's folder for temporary files.
_FILES = "bulk"


def load_bulk(
    graph: str | Path,
    loader: str,
    *,
    bulk_files: str | Path | None = None,
    strict: bool = False,
    on_problem: Callable[[str], None] = lambda message: None,
    on_progress: Callable[[LoadProgress], None] = lambda progress: None,
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

    Cost: one pass over the source's streams, one import; about 200 bytes of temporary disk space for each fact.
    Memory: about 35 bytes for each entity (at times 70), 500 MB, and the import's, at most 60% of the free memory.

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
        graph, source, bulk_files=bulk_files, strict=strict, on_problem=on_problem, on_progress=on_progress
    )


def load_bulk_source(
    graph: str | Path | None,
    source: Source,
    *,
    bulk_files: str | Path | None = None,
    strict: bool = False,
    on_problem: Callable[[str], None] = lambda message: None,
    on_progress: Callable[[LoadProgress], None] = lambda progress: None,
) -> LoadReport:
    """Load an open source; otherwise as :func:`load_bulk`."""
    if isinstance(graph, str) and is_address(graph):
        raise ArgumentError(
            "graph",
            f"is {graph}, a running server; only its administrator can run the import. `bulk_files` writes the files"
            " for it.",
        )
    folder = folder_of(graph)
    place = folder.path / _FILES if bulk_files is None else Path(bulk_files)
    problems: list[str] = []
    with reserved_for_import(folder):
        files = _written(source, place, strict, is_own=bulk_files is None)
        resumed = files is not None
        if files is None:
            files = _convert(source, place, strict, problems, on_problem, on_progress)
        _import(folder, place, files, on_progress)
    if bulk_files is None:
        shutil.rmtree(place)
    return _report(files, problems, resumed)


def _import(folder: Folder, place: Path, files: BulkFiles, on_progress: Callable[[LoadProgress], None]) -> None:
    """Import files into a reserved folder, and finish the graph."""
    import_files(folder, place, files, lambda percent: on_progress(LoadProgress("importing", 0, percent, 100 * STAGES)))
    lease = take_lease(folder, unfinished=True)
    try:
        connection = Graph(lease.endpoint, release=lease.give_back)
    except BaseException:
        lease.give_back()
        raise
    with connection:
        finish(connection, place, lambda stage, done, total: on_progress(LoadProgress(stage, 0, done, total)))
    folder.remove_import()


def write_bulk(
    bulk_files: str | Path,
    loader: str,
    *,
    strict: bool = False,
    on_problem: Callable[[str], None] = lambda message: None,
    on_progress: Callable[[LoadProgress], None] = lambda progress: None,
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


def write_bulk_source(
    bulk_files: str | Path,
    source: Source,
    *,
    strict: bool = False,
    on_problem: Callable[[str], None] = lambda message: None,
    on_progress: Callable[[LoadProgress], None] = lambda progress: None,
) -> LoadReport:
    """Write an open source; otherwise as :func:`write_bulk`."""
    problems: list[str] = []
    return _report(
        _convert(source, Path(bulk_files), strict, problems, on_problem, on_progress), problems, resumed=False
    )


def import_command(bulk_files: str | Path, database: str = "neo4j") -> str:
    """Return the shell command that imports files, on the machine of a stopped Neo4j; it replaces the database.

    Raises:
        KgprobeError: no such files.
    """
    arguments = " ".join(read_bulk_files(Path(bulk_files)).arguments(database))
    return f"cd {shlex.quote(str(bulk_files))} && neo4j-admin {arguments}"


def finish_bulk(
    graph: Graph, bulk_files: str | Path, *, on_progress: Callable[[LoadProgress], None] = lambda progress: None
) -> None:
    """Finish a graph imported from files of :func:`write_bulk`: indexes, and values that an import cannot write.

    Args:
        on_progress: called often, with the number of finished entities.

    Raises:
        ArgumentError: the graph was not imported from these files.
        KgprobeError: no such files, or the graph differs from them.
    """
    finish(graph, Path(bulk_files), lambda stage, done, total: on_progress(LoadProgress(stage, 0, done, total)))


def _written(source: Source, place: Path, strict: bool, is_own: bool) -> BulkFiles | None:
    """Return usable files of this source; None if there are none.

    Args:
        is_own: True for the graph's own folder: files of another source are deleted.
    """
    if not place.exists():
        return None
    try:
        files = read_bulk_files(place)
    except KgprobeError:
        files = None
    if files is not None and files.fingerprint == source.fingerprint:
        if not (strict and any(files.records.problems.values())):
            return files
    elif not is_own:
        raise ArgumentError("bulk_files", f"is {place}, which has other files; name a new folder.")
    shutil.rmtree(place)
    return None


def _convert(
    source: Source,
    place: Path,
    strict: bool,
    problems: list[str],
    on_problem: Callable[[str], None],
    on_progress: Callable[[LoadProgress], None],
) -> BulkFiles:
    if place.exists():
        raise ArgumentError("bulk_files", f"is {place}, which exists; name a new folder.")

    def keep_problem(message: str) -> None:
        if len(problems) < KEPT_PROBLEMS:
            problems.append(message)
        on_problem(message)

    return convert(
        source,
        place,
        strict=strict,
        report_problem=keep_problem,
        report_progress=lambda stage, records: on_progress(LoadProgress(stage, records, source.done, source.total)),
    )


def _report(files: BulkFiles, problems: list[str], resumed: bool) -> LoadReport:
    counts = files.records
    return LoadReport(
        source=files.source,
        entities=counts.written.get("entities", 0),
        relations=counts.written.get("relations", 0),
        facts=counts.written.get("facts", 0),
        skipped={reason: counts.problems.get(reason, 0) for reason in ("unreadable", "duplicate", "missing")},
        outside=counts.outside,
        resumed=resumed,
        problems=problems,
        broken=tuple(counts.broken),
    )
