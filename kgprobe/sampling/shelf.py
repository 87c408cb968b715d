"""What is made from a whole graph and kept on disk: made once for each state of the graph, and deleted when stale."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import filelock
import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import appearing, home, make_folder
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.progress import Wait, waiting


def kept_for(
    graph: Graph, what: str, kind: str, file_format: int, title: str, make: Callable[[Path, Wait], None]
) -> Path:
    """The folder of something that is made from the graph as it is now: as it was kept, or made and kept there.

    It lies below a folder of kgprobe's own, and is made anew once something was loaded into the graph; changes that
    were made in Cypher by hand are not noticed.

    Args:
        what: the folder that it lies in, such as ``features``.
        kind: what tells it from others of the same graph that lie there.
        file_format: changes whenever its files mean something else.
        title: what a waiting person reads while it is made.
        make: fills a folder.

    Raises:
        KgprobeError: nothing was loaded into the graph yet, or something is being loaded into it now.
    """
    state = graph_state(graph)
    uid = msgspec.json.decode(state)["uid"]
    if uid is None:
        raise KgprobeError("Nothing was loaded into this graph yet.")
    shelf = home() / what
    # What a graph calls itself is no name of a file.
    own = hashlib.sha256(str(uid).encode()).hexdigest()[:16]
    digest = hashlib.sha256(f"{file_format} {state}".encode()).hexdigest()[:16]
    folder = shelf / f"{own}-{kind}-{digest}"
    if folder.exists():
        return folder
    make_folder(shelf)
    with filelock.FileLock(shelf / f"{own}-{kind}.lock"):
        if folder.exists():
            return folder
        with waiting(title) as wait, appearing(folder) as unfinished:
            make(unfinished, wait)
        if graph_state(graph) != state:
            shutil.rmtree(folder)
            raise KgprobeError(f"Something is being loaded into the graph; its {what} can be read afterwards.")
        for stale in shelf.glob(f"{own}-{kind}-*"):
            if stale != folder:
                shutil.rmtree(stale, ignore_errors=True)
    return folder
