"""The files of a database as its server left them: by this, files that were lost since are noticed.

An engine takes a missing file of its data for one that never was, and opens an emptier graph. Between two servers
nobody writes to the data; so the names and sizes that were there when the last one had ended have to be there when the
next one starts. A server that nobody ended in order leaves no list, and then only the database's folder is looked for.
"""

from pathlib import Path

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import replacing

_NAMED = 5


def write_inventory(list_file: Path, data: Path) -> None:
    """Note which files there are, no server being at work."""
    if data.is_dir():
        with replacing(list_file) as unfinished:
            unfinished.write_bytes(msgspec.json.encode(_sizes(data), order="sorted"))


def check_inventory(list_file: Path, data: Path, *, was_made: bool) -> None:
    """See that all files are there that were.

    Args:
        was_made: a server has been ready on this data before.

    Raises:
        KgprobeError: files are missing, or shorter than they were.
    """
    if was_made and not data.is_dir():
        raise KgprobeError(
            f"The graph's database {data} is gone. Put it back from a copy; or, to begin with an empty graph, name "
            f"another folder, or delete {list_file.parent}."
        )
    try:
        before = msgspec.json.decode(list_file.read_bytes(), type=dict[str, int])
    except (FileNotFoundError, msgspec.DecodeError):
        return
    now = _sizes(data) if data.is_dir() else {}
    missing = [name for name in before if name not in now]
    shorter = [name for name, size in before.items() if now.get(name, size) < size]
    if missing or shorter:
        what = [f"missing: {_some(missing)}"] if missing else []
        what += [f"shorter than they were: {_some(shorter)}"] if shorter else []
        raise KgprobeError(
            f"The graph's database {data} was damaged since its server was stopped; {'; '.join(what)}. Put the files "
            f"back from a copy, or load anew into another folder. To open what is left, delete {list_file}."
        )


def _sizes(data: Path) -> dict[str, int]:
    return {str(path.relative_to(data)): path.stat().st_size for path in sorted(data.rglob("*")) if path.is_file()}


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
