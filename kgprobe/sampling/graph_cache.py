"""What is made from a whole graph and kept on disk: made once for each state of the graph, and deleted when stale."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import filelock
import msgspec
import pyarrow as pa

from kgprobe.errors import KgprobeError
from kgprobe.files import appearing, home, make_folder
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.progress import Wait, print_message, waiting

# Raised by what opens a damaged file of arrays, texts or JSON.
_DAMAGE = (OSError, ValueError, EOFError, LookupError, TypeError, pa.ArrowException)


def kept_for(
    graph: Graph,
    what: str,
    kind: str,
    file_format: int,
    title: str,
    make: Callable[[Path, Wait], None],
    open_: Callable[[Path], object],
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
        open_: opens what was made; a folder that it cannot open is damaged, and made again.

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
    if folder.exists() and _damage_of(folder, open_) is None:
        return folder
    make_folder(shelf)
    with filelock.FileLock(shelf / f"{own}-{kind}.lock"):
        if folder.exists():
            damage = _damage_of(folder, open_)
            if damage is None:
                return folder
            print_message(f"{folder} is damaged ({damage}); it is made again.")
            _delete(folder)
        with waiting(title) as wait, appearing(folder) as unfinished:
            make(unfinished, wait)
        if graph_state(graph) != state:
            shutil.rmtree(folder)
            raise KgprobeError(f"Something is being loaded into the graph; its {what} can be read afterwards.")
        for stale in shelf.glob(f"{own}-{kind}-*"):
            if stale != folder:
                shutil.rmtree(stale, ignore_errors=True)
    return folder


def _damage_of(folder: Path, open_: Callable[[Path], object]) -> Exception | None:
    """Return the error with which a folder cannot be opened; None where it can."""
    try:
        open_(folder)
    except _DAMAGE as error:
        return error
    return None


def _delete(path: Path) -> None:
    """Delete a folder, or a file in its place."""
    try:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise KgprobeError(f"{path} is damaged and cannot be deleted: {error.strerror}. Delete it.") from error
