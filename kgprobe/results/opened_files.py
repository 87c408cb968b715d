"""Stored comparisons, studies and reports, read back from their folders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import read_json
from kgprobe.base.tables import Table, more_note
from kgprobe.results.result import REPEAT, SHOWN_FACTS, Result, StoredResult, read_result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class OpenedFiles(Result):
    """A stored comparison of models, or report, as it was written; one row for each row of its main table.

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
            raise KgprobeError(f"{path} does not exist. {REPEAT}")
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


# Stored results that are read back as what they were, by the name of their JSON; studies have names of their own.
_CLASSES = {
    "forgetting": "kgprobe.results.forgetting:Forgetting",
    "gap": "kgprobe.results.knowledge_gap:KnowledgeGap",
    "judges": "kgprobe.results.judge:JudgeComparison",
    "label_comparison": "kgprobe.labelling.label_comparison:LabelComparison",
    "rates": "kgprobe.results.rate_table:RateTable",
    "roles": "kgprobe.labelling.role_effects:RoleComparison",
    "task_comparison": "kgprobe.task_logs.task_comparison:TaskComparison",
    "task_losses": "kgprobe.task_logs.task_comparison:TaskLosses",
}


def read_files(folder: Path, file: str) -> OpenedFiles | StoredResult:
    """Return a stored result from its JSON.

    Raises:
        KgprobeError: the file is missing or damaged.
    """
    path = folder / f"{file}.json"
    try:
        content = read_json(path, dict[str, Any], REPEAT)
    except FileNotFoundError as error:
        raise KgprobeError(f"{path} does not exist. {REPEAT}") from error
    kind: type[StoredResult] | None = None
    if file == "study":
        kind = resolve_name("kgprobe.papers.studies.study:study_class")(content.get("name", ""))
    elif file in _CLASSES:
        kind = resolve_name(_CLASSES[file])
    if kind is not None:
        return read_result(kind, folder, content)
    notes = content.get("notes", ())
    return OpenedFiles(folder=folder, stem=file, content=content, notes=notes if isinstance(notes, list) else ())
