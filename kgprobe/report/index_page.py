"""The index page: all results of a machine, with links to their pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgprobe.report.page import write_page
from kgprobe.report.sections import Section
from kgprobe.sanitize import counted


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A result in the index.

    Attributes:
        says: its summary in a sentence.
        changed: formatted date and time of the last change.
        link: relative link to its page; None where it has none.
        writes_page: the command that writes its page.
    """

    kind: str
    name: str
    says: str
    changed: str
    link: str | None
    writes_page: str


def write_index_page(path: Path, rows: Sequence[IndexRow]) -> Path:
    """Write the index page and return its path. Names are escaped.

    Raises:
        KgprobeError: the page cannot be written.
    """
    kinds = list(dict.fromkeys(row.kind for row in rows))
    lead = f"{counted(len(rows), 'result')} on this machine, the latest first."
    section = Section("index", values={"rows": rows, "kinds": kinds})
    return write_page(path, "Results of kgprobe", [lead], [section], script="index.js")
