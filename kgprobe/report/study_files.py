"""A study on disk and on the terminal: data as CSV, the whole as JSON, and a page with plots, table and notes."""

import csv
import os
from pathlib import Path

import msgspec
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kgprobe.errors import KgprobeError
from kgprobe.files import make_folder
from kgprobe.report.rows import visible
from kgprobe.report.study_page import shown, study_page, table_columns
from kgprobe.studies.study import Study

DATA = "data.csv"
WHOLE = "study.json"
PAGE = "study.html"


def write_study(study: Study, folder: Path) -> None:
    """Write a study's files into a folder, which is made; what stands there is replaced.

    Raises:
        KgprobeError: a file cannot be written.
    """
    make_folder(folder)
    whole = {"name": study.name, "title": study.title, "notes": study.notes, "config": study.config}
    try:
        _replace(folder / WHOLE, msgspec.json.encode({**whole, "table": study.table, "data": study.data}).decode())
        _replace(folder / PAGE, study_page(study))
        with open(folder / DATA, "w", newline="", encoding="utf-8") as file:
            columns = list(dict.fromkeys(column for row in study.data for column in row))
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(study.data)
    except OSError as error:
        raise KgprobeError(f"The study's files in {folder} cannot be written: {error.strerror}.") from error


def study_table(study: Study) -> RenderableType:
    """The table of a study and its notes."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    columns = table_columns(study)
    for column in columns:
        table.add_column(Text(visible(column.name)), justify="right" if column.numeric else "left", overflow="fold")
    for row in study.table:
        table.add_row(*(Text(shown(row.get(column.name))) for column in columns))
    return Group(Text(visible(study.title), style="bold"), table, *(Text(visible(note)) for note in study.notes))


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_suffix(".part")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path)
