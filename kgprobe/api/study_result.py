"""What every study gives back: the study, and its files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.files import home
from kgprobe.report.study_files import DATA, write_study
from kgprobe.running.identity import digest_of
from kgprobe.studies.study import Study
from kgprobe.tables import Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False)
class StudyResult:
    """A study that is done.

    Attributes:
        study: its numbers, plots and notes.
        folder: where its files are: the data as CSV, the whole as JSON.
        missing: messages about facts that were listed and are not in the graph.
    """

    study: Study
    folder: Path
    missing: Sequence[str] = ()

    @property
    def data(self) -> Path:
        """The file with every number behind table and plots, CSV."""
        return self.folder / DATA

    def frame(self) -> "pd.DataFrame":
        """Every number behind table and plots, in pandas."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(list(self.study.data))

        return frame

    def table(self) -> Table:
        """What a reader sees first, with what the numbers say."""
        return Table(self.study.name, self.study.title, self.study.table, self.study.notes)

    def summary(self) -> str:
        """What was studied, what was found, and what the numbers say, a sentence a line."""
        return "\n".join([self.study.title, self.study.verdict, *self.study.notes])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from kgprobe.report.notebook import tables_html

        return tables_html(self.summary(), [self.table()])

    def page(self) -> Path:
        """Write a page with plots, table and notes into the folder, and give its path.

        Raises:
            KgprobeError: it cannot be written.
        """
        from kgprobe.report.study_page import write_study_page

        return write_study_page(self.study, self.folder)


def kept(study: Study, missing: Sequence[str] = ()) -> StudyResult:
    """A study with its files written; one of the same configuration is replaced.

    Raises:
        KgprobeError: a file cannot be written.
    """
    folder = home() / "studies" / f"{study.name}-{digest_of(study.config)}"
    write_study(study, folder)
    return StudyResult(study, folder, missing)
