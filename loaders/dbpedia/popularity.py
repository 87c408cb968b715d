"""How often pages are read: a table of a page and a number a line, parted by a tab or by space."""

import math
from collections.abc import Iterator

from kgprobe.records import Rejected
from kgprobe.sources.lines import InputFile

from .identifiers import RESOURCE


def read_popularity(file: InputFile) -> Iterator[tuple[int, tuple[str, float] | Rejected]]:
    """The rows: line, and id with number. A page is named by its title, its id (``dbr:Paris``) or its IRI.

    Blank lines and lines that begin with ``#`` are none; nor is the first where its number is none: a header.

    Raises:
        KgprobeError: the file cannot be opened any more.
    """
    for number, line in file.lines():
        if isinstance(line, Rejected):
            yield number, line
            continue
        try:
            text = line.decode().strip()
        except UnicodeDecodeError as error:
            yield number, Rejected(f"not UTF-8: {error.reason} at byte {error.start + 1}")
            continue
        if not text or text.startswith("#"):
            continue
        name, _, count = text.rpartition("\t") if "\t" in text else text.rpartition(" ")
        views = _count(count)
        if views is not None and name.strip():
            yield number, (_id(name.strip()), views)
        elif number > 1:
            yield number, Rejected(f"{text[:80]!r} is not a page followed by a count")


def _count(text: str) -> float | None:
    try:
        views = float(text)
    except ValueError:
        return None
    return views if math.isfinite(views) and views >= 0 else None


def _id(name: str) -> str:
    if name.startswith(("dbr:", "dbr-")):
        return name
    name = name.removeprefix("<").removesuffix(">").removeprefix(RESOURCE)
    return f"dbr:{name.replace(' ', '_')}"
