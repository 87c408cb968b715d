"""A stored comparison, study or report, read back from its folder: figures, tables and page as they were written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import read_json
from kgprobe.base.tables import Table, more_note
from kgprobe.results.result import SHOWN_FACTS, Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class OpenedFiles(Result):
    """A stored comparison, study or report; one row for each row of its main table.

    Attributes:
        stem: name of its JSON and of its page, without ending.
    """

    folder: Path
    stem: str
    content: Mapping[str, Any]

    @property
    def columns(self) -> Sequence[str]:
        """Names of a row's values; none without rows."""
        return tuple(dict.fromkeys(name for row in self.rows() for name in row))

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.folder.name

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows of the main table; none if it has no table."""
        return next(iter(self._lists().values()), [])

    def tables(self) -> list[Table]:
        """Return the tables of the JSON, with their first rows."""
        tables = []
        for name, rows in self._lists().items():
            shown = [_cells(row) for row in rows[:SHOWN_FACTS]]
            tables.append(
                Table(name, name.replace("_", " ").capitalize(), shown, more_note(len(rows), shown), detail=True)
            )
        return tables

    def summary(self) -> str:
        """Return title and verdict, or the summary that was stored."""
        if "title" in self.content:
            lines = [self.content["title"], self.content.get("verdict"), *self.content.get("lead", ())]
        else:
            lines = [self.content.get("summary") or self.content.get("verdict")]
        return "\n".join(str(line) for line in lines if line)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON."""
        return dict(self.content)

    def frames(self) -> "dict[str, pd.DataFrame]":
        """Return the CSV files in pandas, by name without ending.

        Cost: reading the files.
        """
        import pandas as pd

        return {path.stem: pd.read_csv(path) for path in sorted(self.folder.glob("*.csv"))}

    def page(self) -> Path:
        """Return the path of the page.

        Raises:
            KgprobeError: the page was deleted.
        """
        path = self.folder / f"{self.stem}.html"
        if not path.exists():
            raise KgprobeError(f"{path} does not exist. Repeat the command that made the result to write it again.")
        return path

    def _lists(self) -> dict[str, Sequence[Mapping[str, Any]]]:
        """Return the lists of rows in the JSON, by name; those of its further tables last."""
        further = self.content.get("tables")
        content = {**self.content, **(further if isinstance(further, Mapping) else {})}
        return {name: rows for name, rows in content.items() if _has_rows(rows)}


def _has_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the single values of a row; lists are in the JSON."""
    return {name: value for name, value in row.items() if not isinstance(value, (list, dict))}


def read_files(folder: Path, file: str) -> OpenedFiles:
    """Return a stored result from its JSON.

    Raises:
        KgprobeError: the file is missing or damaged.
    """
    path = folder / f"{file}.json"
    try:
        content = read_json(path, dict[str, Any], "Repeat the command that made it to write it again.")
    except FileNotFoundError as error:
        raise KgprobeError(f"{path} does not exist. Repeat the command that made it to write it again.") from error
    notes = content.get("notes", ())
    return OpenedFiles(folder=folder, stem=file, content=content, notes=notes if isinstance(notes, list) else ())
