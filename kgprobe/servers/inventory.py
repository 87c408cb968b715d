"""An inventory of a database's files, to detect files that were lost between two servers.

An engine ignores missing files and opens a graph with fewer nodes. No program writes to the data between two servers,
so the names and sizes at the end of one must exist at the start of the next. A killed server leaves no inventory; then
only the database's folder must exist.
"""

from pathlib import Path

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import replacing

_LISTED = 5


def write_inventory(list_file: Path, data: Path) -> None:
    """Write the names and sizes of the files; no server may be running."""
    if data.is_dir():
        with replacing(list_file) as unfinished:
            unfinished.write_bytes(msgspec.json.encode(_sizes(data), order="sorted"))


def check_inventory(list_file: Path, data: Path, *, was_made: bool) -> None:
    """Raise if files of the inventory are missing or have become shorter.

    Args:
        was_made: True if a server was ready on this data before.

    Raises:
        KgprobeError: files are missing or shorter.
    """
    if was_made and not data.is_dir():
        raise KgprobeError(
            f"The graph's database {data} is missing. Restore it from a copy. To begin with an empty graph, name "
            f"another folder, or delete {list_file.parent}."
        )
    try:
        before = msgspec.json.decode(list_file.read_bytes(), type=dict[str, int])
    except (FileNotFoundError, msgspec.DecodeError):
        return
    now = _sizes(data) if data.is_dir() else {}
    missing = [name for name in before if name not in now]
    shorter = [name for name, size in before.items() if now.get(name, size) < size]
    faults = []
    if missing:
        faults.append(f"missing: {_first(missing)}")
    if shorter:
        faults.append(f"shorter than they were: {_first(shorter)}")
    if faults:
        raise KgprobeError(
            f"The graph's database {data} was damaged after its server was stopped; {'; '.join(faults)}. Restore the "
            f"files from a copy, or load again into another folder. To open the rest, delete {list_file}."
        )


def _sizes(data: Path) -> dict[str, int]:
    return {str(path.relative_to(data)): path.stat().st_size for path in sorted(data.rglob("*")) if path.is_file()}


def _first(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
