"""All results of a machine on one page, with links to theirs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgprobe.report.page import write_page
from kgprobe.report.sections import Section
from kgprobe.sanitize import counted


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A result as the index shows it.

    Attributes:
        says: in a sentence.
        changed: the day and the time, as people read it.
        link: to its page, from the index; None where it has none.
        writes_page: the command that writes it.
    """

    kind: str
    name: str
    says: str
    changed: str
    link: str | None
    writes_page: str


def write_index_page(path: Path, rows: Sequence[IndexRow]) -> Path:
    """Write an index and give its path. Whatever names hold shows as text.

    Raises:
        KgprobeError: it cannot be written.
    """
    kinds = list(dict.fromkeys(row.kind for row in rows))
    lead = f"{counted(len(rows), 'result')} on this machine, those that were written last first."
    section = Section("index", values={"rows": rows, "kinds": kinds})
    return write_page(path, "Results of kgprobe", [lead], [section], script="index.js")
