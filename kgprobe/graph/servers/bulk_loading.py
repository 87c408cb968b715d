"""Bulk loading: files for Neo4j's import, for sources that are too large for transactions."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import disk_is_full
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.graph.bulk.bulk_files import BulkFiles, finish, read_bulk_files
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import is_address
from kgprobe.graph.loading import LoadReport, OnProblem, measuring, report_of
from kgprobe.graph.servers.folder import Folder, Import, folder_of, running
from kgprobe.graph.servers.leases import take_lease
from kgprobe.graph.servers.neo4j_engine import ENGINE, admin_command
from kgprobe.graph.servers.processes import key_of, run_program
from kgprobe.graph.servers.server import ServerOptions, endpoint_on, ensure_server, mark, stop_server
from kgprobe.sources.contract import Source

# Number of stages of an import; patterns of the current stage and its percentage.
STAGES = 4
_STAGE = re.compile(r"\((\d)/4\)")
_SHARE = re.compile(r"(\d+)%")

# Share of the free memory for an import; its minimum and its largest Java heap in MiB.
_SHARE_OF_FREE = 0.6
_LEAST_MEMORY, _MOST_HEAP = 1024, 2048


@contextmanager
def reserved_for_import(folder: Folder) -> Iterator[None]:
    """Reserve a folder for an import by this process; it must be new, an empty Neo4j, or an interrupted import.

    No other process opens the graph until :meth:`Folder.remove_import`. An error before the beginning of
    :func:`import_files` ends the reservation.
    """
    engine = folder.engine
    # Check this before Neo4j is downloaded.
    if engine not in (None, ENGINE.name):
        raise ArgumentError(
            "graph", f"is {folder.path}, a graph of {engine}; an import needs Neo4j. Name another or a new folder."
        )
    ENGINE.prepare(folder.path / ENGINE.name)
    with folder.locked():
        folder.create(ENGINE.name)
        begun = _check_free(folder)
        if not begun:
            _check_empty(folder)
        _check_stopped(folder)
        folder.write_import(Import(key_of(os.getpid()), begun))
    try:
        yield
    except BaseException:
        if folder.path.is_dir():
            with folder.locked():
                state = folder.read_import()
                if state is not None and _is_ours(state) and state.begun:
                    folder.write_import(Import(None, begun=True))
                elif _is_ours(state):
                    folder.remove_import()
        raise


def _check_free(folder: Folder) -> bool:
    """Return True if an earlier import into the folder had begun; raise if another process is importing."""
    state = folder.read_import()
    if state is None:
        return False
    if state.process and state.runs() and not _is_ours(state):
        raise KgprobeError(
            f"Another process ({state.process.pid}) already imports into the graph in {folder.path}. Wait until it has"
            " ended, or name another folder."
        )
    return state.begun


def _check_empty(folder: Folder) -> None:
    """Raise ArgumentError if the folder's graph has nodes; the caller holds the lock."""
    if not folder.data(ENGINE).is_dir():
        return
    was_running = running(folder) is not None
    server = ensure_server(folder, ServerOptions(unfinished=True))
    try:
        with Graph(endpoint_on(folder, server)) as graph:
            nodes = graph.read("copy/counts")[0]["nodes"]
    finally:
        if not was_running:
            stop_server(folder)
    if nodes:
        raise ArgumentError(
            "graph", f"is {folder.path}, which contains {nodes:,} nodes; an import needs an empty graph."
        )


def _check_stopped(folder: Folder) -> None:
    if running(folder):
        raise KgprobeError(f"The server of the graph in {folder.path} is running. Stop it with `kgprobe graph stop`.")


def _is_ours(state: Import | None) -> bool:
    return state is not None and state.process == key_of(os.getpid())


def import_files(folder: Folder, path: Path, files: BulkFiles, on_progress: OnProgress = no_progress) -> None:
    """Import files into a folder reserved by :func:`reserved_for_import`; this replaces its database.

    The graph counts as incomplete until :meth:`Folder.remove_import`.

    Args:
        path: folder of the files.
        on_progress: called with the progress, in percent of each of the four stages.
    """
    with folder.locked():
        state = folder.read_import()
        if state is None or not _is_ours(state):
            raise KgprobeError(
                f"The graph in {folder.path} is no longer reserved for this import: its folder was changed while the"
                " files were written. Nothing was imported; repeat the command."
            )
        _check_stopped(folder)
        if not state.begun:
            _check_empty(folder)
        # An import may still run although its starter was killed.
        stop_server(folder)
        folder.write_import(Import(state.process, begun=True))
        folder.inventory.unlink(missing_ok=True)
        free = max(int(psutil.virtual_memory().available / 2**20 * _SHARE_OF_FREE), _LEAST_MEMORY)
        heap = min(free // 4, _MOST_HEAP)
        arguments = [*files.arguments(ENGINE.database), f"--max-off-heap-memory={free - heap}m"]
        command, environment = admin_command(folder.path / ENGINE.name, arguments, heap, [mark(folder)])
        output: list[str] = []
        stage = 1

        def follow(line: str) -> None:
            nonlocal stage
            if header := _STAGE.search(line):
                stage = int(header[1])
            if share := _SHARE.search(line):
                percent = (stage - 1) * 100 + int(share[1])
                on_progress(StepProgress("importing", percent, 100 * STAGES, "%", f"Importing {files.source}"))
            elif line.strip():
                output.append(line)

        code = run_program(command, environment, follow, directory=path, own_session=True)
    if code != 0:
        full = disk_is_full(folder.path)
        end = "\n".join(f"  {line}" for line in output[-10:])
        raise KgprobeError(
            f"Neo4j's import failed with code {code}.{' ' + full if full else ''} Its last output:\n{end}"
        )


# Subfolder of the graph's folder for temporary files.
_FILES = "bulk"


def load_bulk_source(
    graph: str | Path | None,
    source: Source,
    *,
    bulk_files: str | Path | None = None,
    strict: bool = False,
    on_problem: OnProblem = lambda message: None,
    on_progress: OnProgress = no_progress,
    on_import: Callable[[Graph, Path], None] = lambda graph, bulk_files: None,
) -> LoadReport:
    """Load an open source; otherwise as :func:`kgprobe.load_bulk`.

    Args:
        on_import: called with the finished graph and the folder of its files, before the load ends.
    """
    if isinstance(graph, str) and is_address(graph):
        raise ArgumentError(
            "graph",
            f"is {graph}, a running server; only its administrator can run the import. `bulk_files` writes the files"
            " for it.",
        )
    folder = folder_of(graph)
    place = folder.path / _FILES if bulk_files is None else Path(bulk_files)
    with reserved_for_import(folder):
        files = _written(source, place, strict, is_own=bulk_files is None)
        if files is None:
            files = _convert(source, place, strict, on_problem, on_progress)
        else:
            files.records.resumed = True
        _import(folder, place, files, on_progress, on_import)
    if bulk_files is None:
        shutil.rmtree(place)
    return report_of(files.source, files.records)


def _import(
    folder: Folder,
    place: Path,
    files: BulkFiles,
    on_progress: OnProgress,
    on_import: Callable[[Graph, Path], None],
) -> None:
    """Import files into a reserved folder, and finish the graph."""
    import_files(folder, place, files, on_progress)
    with take_lease(folder, unfinished=True).connect() as graph:
        finish(graph, place, on_progress)
        on_import(graph, place)
    folder.remove_import()


def write_bulk_source(
    bulk_files: str | Path,
    source: Source,
    *,
    strict: bool = False,
    on_problem: OnProblem = lambda message: None,
    on_progress: OnProgress = no_progress,
) -> LoadReport:
    """Write an open source; otherwise as :func:`kgprobe.write_bulk`."""
    files = _convert(source, Path(bulk_files), strict, on_problem, on_progress)
    if not any(files.records.written.values()):
        # An import of nothing would empty a database.
        shutil.rmtree(bulk_files)
    return report_of(files.source, files.records)


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


def _convert(source: Source, place: Path, strict: bool, on_problem: OnProblem, on_progress: OnProgress) -> BulkFiles:
    if place.exists():
        raise ArgumentError("bulk_files", f"is {place}, which exists; name a new folder.")
    # Imported here because DuckDB is slow to import.
    from kgprobe.graph.bulk.converting import convert

    return convert(
        source,
        place,
        strict=strict,
        report_problem=on_problem,
        report_progress=measuring("Converting", source, on_progress),
    )
