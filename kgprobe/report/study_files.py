"""A study on disk: the data as CSV, the whole as JSON."""

import csv
from pathlib import Path

import msgspec

from kgprobe.files import make_folder, replacing
from kgprobe.sanitize import spreadsheet_cell
from kgprobe.studies.study import Study

DATA = "data.csv"
WHOLE = "study.json"


def write_study(study: Study, folder: Path) -> None:
    """Write a study's files into a folder, which is made; what stands there is replaced.

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
