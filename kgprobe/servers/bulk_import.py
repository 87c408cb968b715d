"""Neo4j's import of files into a graph's folder, in place of whatever its database held."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import disk_is_full
from kgprobe.graph.bulk.bulk_files import BulkFiles
from kgprobe.servers.folder import Folder
from kgprobe.servers.neo4j_engine import ENGINE, admin_command
from kgprobe.servers.opening import open_graph
from kgprobe.servers.server import mark, running, stop_server

# The stages of an import, and how far one has come.
STAGES = 4
_STAGE = re.compile(r"\((\d)/4\)")
_SHARE = re.compile(r"(\d+)%")

# Of the memory that is free, the share that an import may take, and MiB of it that go to Java.
_SHARE_OF_FREE = 0.6
_LEAST_MEMORY, _MOST_HEAP = 1024, 2048


def prepare_import(folder: Folder) -> None:
    """See that the folder can take an import: it is new, has an empty Neo4j, or an import that was interrupted.

    Raises:
        ArgumentError: it has a graph of another engine, or one that holds something.
        KgprobeError: Java or Neo4j is missing, or the folder holds other things.
    """
    ENGINE.prepare()
    engine = folder.engine
    if engine not in (None, ENGINE.name):
        raise ArgumentError(
            "graph", f"is {folder.path}, a graph of {engine}; an import takes Neo4j. Name another folder, or a new one."
        )
    if folder.data(ENGINE).is_dir() and not folder.importing.exists():
        with open_graph(folder.path) as graph:
            nodes = graph.read("copy/counts")[0]["nodes"]
        if nodes:
            raise ArgumentError(
                "graph", f"is {folder.path}, which holds {nodes:,} nodes; an import begins with an empty graph."
            )
    with folder.locked():
        folder.create(ENGINE.name)


def import_files(
    folder: Folder, path: Path, files: BulkFiles, on_progress: Callable[[int], None] = lambda percent: None
) -> None:
    """Import files into a folder that :func:`prepare_import` has looked at. What its database held is gone.

    From here on the graph counts as not whole, until somebody removes ``folder.importing``.

    Args:
        path: where the files lie.
        on_progress: called with how much of it is done, in percent of a stage: 400 in all.

    Raises:
        KgprobeError: the server runs, or the import fails.
    """
    with folder.locked():
        if running(folder):
            raise KgprobeError(f"The server of the graph in {folder.path} runs; `kgprobe graph stop` stops it.")
        # An import whose starter was killed may be at work still.
        stop_server(folder)
        folder.importing.touch()
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
