"""A study: its numbers, plots and notes, its page and its files."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kgprobe.files import home, make_folder, replacing
from kgprobe.report.plots_page import write_plots_page
from kgprobe.running.identity import digest_of
from kgprobe.sanitize import spreadsheet_cell
from kgprobe.studies.study import Study
from kgprobe.tables import Table

if TYPE_CHECKING:
    import pandas as pd


PAGE = "study.html"


def write_study_page(study: Study, folder: Path) -> Path:
    """Write the page of a study into a folder, which is made; return its path. See :func:`write_plots_page`."""
    table = Table(study.name, "", study.table)
    return write_plots_page(folder / PAGE, study.title, study.verdict, study.plots, [table], study.notes, study.config)


@dataclass(frozen=True, slots=True, repr=False)
class StudyResult:
    """Result of a study.

    Attributes:
        study: its numbers, plots and notes.
        folder: folder of its files: the data as CSV, everything as JSON.
        missing: messages about listed facts that are not in the graph.
    """

    study: Study
    folder: Path
    missing: Sequence[str] = ()

    @property
    def data(self) -> Path:
        """CSV file with all numbers of table and plots."""
        return self.folder / DATA

    def to_frame(self) -> "pd.DataFrame":
        """Return all numbers of table and plots in pandas."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(list(self.study.data))

        return frame

    def table(self) -> Table:
        """Return the main table, with notes."""
        return Table(self.study.name, self.study.title, self.study.table, self.study.notes)

    def summary(self) -> str:
        """Return title, verdict and notes, one on each line."""
        return "\n".join([self.study.title, self.study.verdict, *self.study.notes])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from kgprobe.report.notebook import tables_html

        return tables_html(self.summary(), [self.table()])

    def page(self) -> Path:
        """Write a page with plots, table and notes into the folder, and return its path.

        Raises:
            KgprobeError: it cannot be written.
        """
        return write_study_page(self.study, self.folder)


def kept(study: Study, missing: Sequence[str] = ()) -> StudyResult:
    """Write the files of a study, replacing those of the same configuration; return the result.

    Raises:
        KgprobeError: a file cannot be written.
    """
    folder = home() / "studies" / f"{study.name}-{digest_of(study.config)}"
    write_study(study, folder)
    return StudyResult(study, folder, missing)


DATA = "data.csv"


WHOLE = "study.json"


def write_study(study: Study, folder: Path) -> None:
    """Write a study's files into a folder, which is made; existing files are replaced.

    Raises:
        KgprobeError: a file cannot be written.
    """
    make_folder(folder)
    whole = {
        "name": study.name,
        "title": study.title,
        "verdict": study.verdict,
        "notes": study.notes,
        "config": study.config,
    }
    with replacing(folder / WHOLE) as unfinished:
        unfinished.write_bytes(msgspec.json.encode({**whole, "table": study.table, "data": study.data}))
    with replacing(folder / DATA) as unfinished, open(unfinished, "w", newline="", encoding="utf-8") as file:
        columns = list(dict.fromkeys(column for row in study.data for column in row))
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: spreadsheet_cell(cell) for name, cell in row.items()} for row in study.data)
