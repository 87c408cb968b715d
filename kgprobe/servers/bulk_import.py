"""Neo4j's import of files into a graph's folder, in place of whatever its database held."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import disk_is_full
from kgprobe.graph.bulk.bulk_files import BulkFiles
from kgprobe.graph.client import Graph
from kgprobe.servers.folder import Folder, Import
from kgprobe.servers.neo4j_engine import ENGINE, admin_command
from kgprobe.servers.processes import key_of
from kgprobe.servers.server import Wishes, endpoint_on, ensure_server, mark, running, stop_server

# The stages of an import, and how far one has come.
STAGES = 4
_STAGE = re.compile(r"\((\d)/4\)")
_SHARE = re.compile(r"(\d+)%")

# Of the memory that is free, the share that an import may take, and MiB of it that go to Java.
_SHARE_OF_FREE = 0.6
_LEAST_MEMORY, _MOST_HEAP = 1024, 2048


@contextmanager
def reserved_for_import(folder: Folder) -> Iterator[None]:
    """Reserve a folder for an import by this process: it is new, has an empty Neo4j, or an interrupted import.

    Nobody else opens the graph until :meth:`Folder.remove_import`. What fails before :func:`import_files` has begun
    gives the folder back.

    Raises:
        ArgumentError: it has a graph of another engine, or one that holds something.
        KgprobeError: another process imports into it, its server runs, Java or Neo4j is missing, or the folder holds
            other things.
    """
    engine = folder.engine
    # Before Neo4j is downloaded for it.
    if engine not in (None, ENGINE.name):
        raise ArgumentError(
            "graph", f"is {folder.path}, a graph of {engine}; an import takes Neo4j. Name another folder, or a new one."
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
        _give_back(folder)
        raise


def _check_free(folder: Folder) -> bool:
    """Return whether an earlier import into the folder had begun; raise where another process is at one."""
    state = folder.read_import()
    if state is None:
        return False
    if state.process and state.runs() and not _is_ours(state):
        raise KgprobeError(
            f"Another process imports into the graph in {folder.path} already: {state.process.pid}. Wait until it has"
            " ended, or name another folder."
        )
    return state.begun


def _check_empty(folder: Folder) -> None:
    """Raise ArgumentError where the folder's graph holds something; the lock is ours."""
    if not folder.data(ENGINE).is_dir():
        return
    ran = running(folder) is not None
    server = ensure_server(folder, Wishes(unfinished=True))
    try:
        with Graph(endpoint_on(folder, server)) as graph:
            nodes = graph.read("copy/counts")[0]["nodes"]
    finally:
        if not ran:
            stop_server(folder)
    if nodes:
        raise ArgumentError(
            "graph", f"is {folder.path}, which holds {nodes:,} nodes; an import begins with an empty graph."
        )


def _check_stopped(folder: Folder) -> None:
    if running(folder):
        raise KgprobeError(f"The server of the graph in {folder.path} runs; `kgprobe graph stop` stops it.")


def _is_ours(state: Import | None) -> bool:
    return state is not None and state.process == key_of(os.getpid())


def _give_back(folder: Folder) -> None:
    """End the reservation of an import that has failed."""
    if not folder.path.is_dir():
        return
    with folder.locked():
        state = folder.read_import()
        if state is None or not _is_ours(state):
            return
        if state.begun:
            folder.write_import(Import(None, begun=True))
        else:
            folder.remove_import()


def import_files(
    folder: Folder, path: Path, files: BulkFiles, on_progress: Callable[[int], None] = lambda percent: None
) -> None:
    """Import files into a folder that :func:`reserved_for_import` keeps. What its database held is gone.

    From here on the graph counts as not whole, until :meth:`Folder.remove_import`.

    Args:
        path: where the files lie.
        on_progress: called with how much of it is done, in percent of a stage: 400 in all.

    Raises:
        ArgumentError: the graph holds something by now.
        KgprobeError: the reservation is gone, the server runs, or the import fails.
    """
    with folder.locked():
        state = folder.read_import()
        if state is None or not _is_ours(state):
            raise KgprobeError(
                f"The graph in {folder.path} is not reserved for this import any more: its folder was changed while the"
                " files were written. Nothing was imported; give the same command again."
            )
        _check_stopped(folder)
        if not state.begun:
            _check_empty(folder)
        # An import whose starter was killed may be at work still.
        stop_server(folder)
        folder.write_import(Import(state.process, begun=True))
        folder.inventory.unlink(missing_ok=True)
        free = max(int(psutil.virtual_memory().available / 2**20 * _SHARE_OF_FREE), _LEAST_MEMORY)
        heap = min(free // 4, _MOST_HEAP)
        arguments = [*files.arguments(ENGINE.database), f"--max-off-heap-memory={free - heap}m"]
        command, environment = admin_command(folder.path / ENGINE.name, arguments, heap, [mark(folder)])
        said, code = _run(command, environment, path, on_progress)
    if code != 0:
        full = disk_is_full(folder.path)
        end = "\n".join(f"  {line}" for line in said[-10:])
        raise KgprobeError(
            f"Neo4j's import failed with code {code}.{' ' + full if full else ''} Its last words:\n{end}"
        )


def _run(
    command: list[str], environment: dict[str, str], path: Path, on_progress: Callable[[int], None]
) -> tuple[list[str], int]:
    said: list[str] = []
    stage = 1
    with subprocess.Popen(
        command,
        cwd=path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            for line in process.stdout or ():
                if found := _STAGE.search(line):
                    stage = int(found[1])
                if share := _SHARE.search(line):
                    on_progress((stage - 1) * 100 + int(share[1]))
                elif line.strip():
                    said.append(line.rstrip("\n"))
        except BaseException:
            process.terminate()
            raise
    return said, process.returncode
