"""Loading what is too large for statements: by files, and Neo4j's own import of them."""

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

# Where files lie that nobody wants to keep, in the graph's folder.
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
    """Load an input into a new graph, or an empty one, by Neo4j's import: for what takes hours otherwise.

    >>> report = kgprobe.load_bulk("big", "table", entities="entities.jsonl", facts="facts.tsv")
    >>> print(report)
    entities.jsonl, facts.tsv: 3 entities, 0 relations, 2 facts.
    Skipped: 1 missing.
    >>> with kgprobe.open_graph("big") as big:
    ...     big.query("MATCH ()-[fact:FACT]->() RETURN count(fact) AS facts")
    facts
    2
    1 row

    The graph is the one that :func:`~kgprobe.load` makes. From the start until it is whole, nobody else can open it.
    Interrupted, the same call begins again, but for files that were written to their end.

    Cost: one reading of the input's streams, one import; on the disk, the files beside the graph, which are some
    200 bytes a fact and go in the end. Memory: about 35 bytes an entity, 70 for a while, 500 MB, and what the import
    takes: 60% of what is free at most.

    Args:
        graph: the folder, whose engine is Neo4j.
        loader, strict, options: as of :func:`~kgprobe.load`.
        bulk_files: a folder for the files, which are kept there; None for one in the graph's, which goes.
        on_problem: called with a message for each record that is left out.
        on_progress: called often, with what is read, imported and completed.

    Raises:
        ArgumentError: the graph is a server's address, of another engine, or holds something; or an option is wrong.
        UnknownNameError: there is no such loader.
        KgprobeError: the input cannot be read at all, a record cannot under ``strict``, Java is missing, another
            process imports into the folder, or the import fails.
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
    """The same of a source that is open, of whatever making."""
    if isinstance(graph, str) and is_address(graph):
        raise ArgumentError(
            "graph",
            f"is {graph}, a server that somebody else runs, whose import only they can run: `bulk_files` writes the"
            " files for it.",
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
    """Import files into a folder that is reserved, and make the graph whole."""
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
    """Write an input as files for ``neo4j-admin database import``, for a server that somebody else runs.

    >>> report = kgprobe.write_bulk("files", "table", entities="entities.jsonl", facts="facts.tsv")
    >>> print(report.facts, kgprobe.import_command("files")[:58])
    2 cd files && neo4j-admin database import full neo4j --overwr

    Once they are imported and the server runs, :func:`finish_bulk` makes the graph whole.

    Args:
        bulk_files: the folder, which is made; there must be none yet.
        loader, strict, on_problem, on_progress, options: as of :func:`load_bulk`.

    Raises:
        ArgumentError: the folder is there already, or an option is wrong.
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
    """The same of a source that is open, of whatever making."""
    problems: list[str] = []
    return _report(
        _convert(source, Path(bulk_files), strict, problems, on_problem, on_progress), problems, resumed=False
    )


def import_command(bulk_files: str | Path, database: str = "neo4j") -> str:
    """What imports files, on the machine of a Neo4j that is stopped; its database is replaced.

    Raises:
        KgprobeError: there are no such files.
    """
    arguments = " ".join(read_bulk_files(Path(bulk_files)).arguments(database))
    return f"cd {shlex.quote(str(bulk_files))} && neo4j-admin {arguments}"


def finish_bulk(
    graph: Graph, bulk_files: str | Path, *, on_progress: Callable[[LoadProgress], None] = lambda progress: None
) -> None:
    """Make a graph whole that was imported from files of :func:`write_bulk`: indexes, and what an import cannot say.

    Args:
        on_progress: called often, with the entities that are done.

    Raises:
        ArgumentError: the graph was not imported from these files.
        KgprobeError: there are no such files, or the graph holds something else than they do.
    """
    finish(graph, Path(bulk_files), lambda stage, done, total: on_progress(LoadProgress(stage, 0, done, total)))


def _written(source: Source, place: Path, strict: bool, is_own: bool) -> BulkFiles | None:
    """The files of this source, if they are there and can be used.

    Args:
        is_own: whether the folder is the graph's own: what lies there of another source goes.
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
        raise ArgumentError(
            "bulk_files", f"is {place}, which holds something else; name a folder that is not there yet."
        )
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
        raise ArgumentError("bulk_files", f"is {place}, which is there already; name a folder that is not.")

    def tell_of(message: str) -> None:
        if len(problems) < KEPT_PROBLEMS:
            problems.append(message)
        on_problem(message)

    return convert(
        source,
        place,
        strict=strict,
        report_problem=tell_of,
        report_progress=lambda stage, records: on_progress(LoadProgress(stage, records, source.done, source.total)),
    )


def _report(files: BulkFiles, problems: list[str], resumed: bool) -> LoadReport:
    told = files.records
    return LoadReport(
        source=files.source,
        entities=told.written.get("entities", 0),
        relations=told.written.get("relations", 0),
        facts=told.written.get("facts", 0),
        skipped={reason: told.problems.get(reason, 0) for reason in ("unreadable", "duplicate", "missing")},
        outside=told.outside,
        resumed=resumed,
        problems=problems,
        broken=tuple(told.broken),
    )
