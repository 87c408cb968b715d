"""Cache of data derived from a whole graph: computed once for each state of the graph, and deleted when stale."""

import hashlib
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import filelock
import msgspec
import pyarrow as pa

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import appearing, home, make_folder
from kgprobe.base.progress import Task, print_message, waiting
from kgprobe.base.records import property_in
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state

# File with the size of each file, and a checksum of some of its places, of this many bytes each.
_MARKS = "marks.json"
_PLACES, _BYTES = 16, 4096

# Errors of opening a damaged file of arrays, texts or JSON.
_DAMAGE = (OSError, ValueError, EOFError, LookupError, TypeError, pa.ArrowException)


def cached_folder(
    graph: Graph,
    shelf: str,
    kind: str,
    file_format: int,
    title: str,
    make: Callable[[Path, Task], None],
    open_: Callable[[Path], object],
) -> Path:
    """Return the folder of data derived from the graph's current state, and compute it if it is missing.

    The cache is in kgprobe's home folder. Loading into the graph invalidates it, and so do facts that were added or
    deleted by hand in Cypher; other changes by hand do not.

    Args:
        kind: name of the data, to distinguish several caches of a graph; each language asked has its own.
        open_: opens a folder; if it fails, the folder is damaged and computed again, as with files of other sizes or
            with other content in some places.

    Raises:
        KgprobeError: the graph is empty, or data is being loaded into it.
    """
    state = graph_state(graph)
    if graph.language is not None:
        kind = f"{kind}.in-{property_in('', graph.language)[1:]}"
    uid = msgspec.json.decode(state)["uid"]
    if uid is None:
        raise KgprobeError("Nothing was loaded into this graph yet.")
    parent = home() / shelf
    # The id of a graph may not be a valid file name.
    own = hashlib.sha256(str(uid).encode()).hexdigest()[:16]
    facts = graph.read("sample/fact_count")[0]["facts"]
    digest = hashlib.sha256(f"{file_format} {facts} {state}".encode()).hexdigest()[:16]
    folder = parent / f"{own}-{kind}-{digest}"
    if folder.exists() and _damage_of(folder, open_) is None:
        return folder
    make_folder(parent)
    with filelock.FileLock(parent / f"{own}-{kind}.lock"):
        if folder.exists():
            damage = _damage_of(folder, open_)
            if damage is None:
                return folder
            print_message(f"{folder} is damaged ({damage}); it is made again.")
            try:
                if folder.is_dir():
                    shutil.rmtree(folder)
                else:
                    folder.unlink()
            except OSError as error:
                raise KgprobeError(
                    f"{folder} is damaged and cannot be deleted: {error.strerror}. Delete it."
                ) from error
        with waiting(title) as wait, appearing(folder) as unfinished:
            make(unfinished, wait)
            (unfinished / _MARKS).write_bytes(msgspec.json.encode(_marks(unfinished)))
        if graph_state(graph) != state:
            shutil.rmtree(folder)
            raise KgprobeError(f"Data is being loaded into the graph; its {shelf} can be read afterwards.")
        for stale in parent.glob(f"{own}-{kind}-*"):
            if stale != folder:
                shutil.rmtree(stale, ignore_errors=True)
    return folder


def _damage_of(folder: Path, open_: Callable[[Path], object]) -> Exception | None:
    """Return the error of opening a folder; None if it opens."""
    try:
        if msgspec.json.decode((folder / _MARKS).read_bytes()) != _marks(folder):
            return ValueError("files differ from those written")
        open_(folder)
    except _DAMAGE as error:
        return error
    return None


def _marks(folder: Path) -> dict[str, list[int]]:
    """Return the size of each file, and a checksum of some places. Cost: a millisecond for each file."""
    marks = {}
    for path in folder.iterdir():
        if path.name != _MARKS:
            size, checksum = path.stat().st_size, 0
            with path.open("rb") as file:
                for place in range(_PLACES):
                    file.seek(max(size - _BYTES, 0) * place // (_PLACES - 1))
                    checksum = zlib.crc32(file.read(_BYTES), checksum)
            marks[path.name] = [size, checksum]
    return marks
