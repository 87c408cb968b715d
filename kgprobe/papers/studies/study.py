"""A study: a verdict, rows of data, plots and notes, with its page and files."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from kgprobe.base.files import home, make_folder, replacing
from kgprobe.base.intervals import Mean
from kgprobe.base.sanitize import spreadsheet_cell
from kgprobe.base.tables import Table
from kgprobe.results.rendering.plots import CategoryPlot, Plot, write_plots_page
from kgprobe.running.settings import digest_of

if TYPE_CHECKING:
    import pandas as pd

DATA, WHOLE, PAGE = "data.csv", "study.json", "study.html"


@dataclass(frozen=True, slots=True, repr=False)
class Study:
    """The result of one study.

    Attributes:
        name: as on the command line.
        title: subject of the study, model and numbers.
        verdict: the main result in a sentence or two.
        data: every number behind table and plots, in rows of the same columns.
        table: the rows shown first.
        plots: in the order of the page.
        further: other tables, each also a CSV file with the name of its key.
        notes: results and exclusions, in sentences.
        config: settings that affect the numbers; JSON-compatible.
        missing: messages about listed facts that are not in the graph, and about facts that the draw left out.
    """

    name: str
    title: str
    verdict: str
    data: Sequence[Mapping[str, Any]]
    table: Sequence[Mapping[str, Any]]
    plots: Sequence[Plot | CategoryPlot]
    notes: Sequence[str] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    missing: Sequence[str] = ()
    further: Sequence[Table] = ()

    @property
    def folder(self) -> Path:
        """Folder of the files: the data as CSV, everything as JSON. Studies of the same configuration share it."""
        return home() / "studies" / f"{self.name}-{digest_of(self.config)}"

    @property
    def data_file(self) -> Path:
        """CSV file with all numbers of table and plots."""
        return self.folder / DATA

    def to_dict(self) -> dict[str, Any]:
        """Return verdict, tables, data, notes and settings, for programs."""
        names = ("name", "title", "verdict", "notes", "config", "table", "data")
        content = {name: getattr(self, name) for name in names}
        return content | {"tables": {table.key: table.to_dict()["rows"] for table in self.further}}

    def to_frame(self) -> "pd.DataFrame":
        """Return all numbers of table and plots in pandas."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(list(self.data))
        return frame

    def tables(self) -> list[Table]:
        """Return the main table, with notes, and the further ones."""
        return [Table(self.name, self.title, self.table, self.notes), *self.further]

    def summary(self) -> str:
        """Return title, verdict and notes, one on each line."""
        return "\n".join([self.title, self.verdict, *self.notes])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from kgprobe.results.rendering.page import tables_html

        return tables_html(self.summary(), self.tables())

    def save(self, missing: Sequence[str] = ()) -> "Study":
        """Write the files, replacing those of the same configuration; return the study with messages on missing facts.

        Raises:
            KgprobeError: a file cannot be written.
        """
        self.write(self.folder)
        return replace(self, missing=missing)

    def write(self, folder: Path) -> None:
        """Write the files into a folder, which is made; existing files are replaced.

        Raises:
            KgprobeError: a file cannot be written.
        """
        make_folder(folder)
        with replacing(folder / WHOLE) as unfinished:
            unfinished.write_bytes(msgspec.json.encode(self.to_dict()))
        _write_csv(folder / DATA, self.data)
        for table in self.further:
            _write_csv(folder / f"{table.key}.csv", table.to_dict()["rows"])

    def page(self, folder: Path | None = None) -> Path:
        """Write a page with plots, table and notes, and return its path.

        Args:
            folder: folder of the page, which is made; None is that of the study.

        Raises:
            KgprobeError: it cannot be written.
        """
        path, tables = (folder or self.folder) / PAGE, [Table(self.name, "", self.table), *self.further]
        return write_plots_page(path, self.title, self.verdict, self.plots, tables, self.notes, self.config)


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with replacing(path) as unfinished, open(unfinished, "w", newline="", encoding="utf-8") as file:
        columns = list(dict.fromkeys(chain.from_iterable(rows)))
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: spreadsheet_cell(cell) for name, cell in row.items()})


def counted_notes(title: str, messages: Iterable[str]) -> list[str]:
    """Return one note per different message with its count, the most frequent first."""
    return [f"{title}: {count:,}: {message}." for message, count in Counter(messages).most_common()]


def signed(mean: Mean) -> str:
    """Return a difference with its sign, and with its interval if it has one."""
    return f"{mean.value:+.3f}" + ("" if mean.low is None else f" [{mean.low:+.3f}, {mean.high:+.3f}]")


def json_number(value: float) -> float | None:
    """Return a number, or None for NaN, which JSON lacks."""
    return None if np.isnan(value) else float(value)
