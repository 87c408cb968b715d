"""Report: several results on one page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kgprobe.analysis.examined import Examined
from kgprobe.files import make_folder, replacing
from kgprobe.report.sections import Section
from kgprobe.results.judged_graph import JudgedGraph
from kgprobe.results.sections import section_to_dict

if TYPE_CHECKING:
    import pandas as pd


PAGE = "report.html"


# What the report is of, and its first sentences.
ABOUT = "report.json"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Report:
    """What some results say; prints as its first sentences.

    Attributes:
        title, lead: what it is about, and the answer in a few sentences.
        sections: parts of the page, but for the picture, the list of asked facts and what the numbers depend on.
        examined: what each run and measurement found, fact by fact.
        judged: the judged graphs.
        extra: what is told of several results together, whole, by name.
        config: what it is of.
        folder: where :meth:`page` writes.
    """

    title: str
    lead: Sequence[str]
    sections: Sequence[Section]
    examined: Sequence[Examined]
    judged: Sequence[JudgedGraph]
    extra: Mapping[str, Any]
    config: Mapping[str, Any]
    folder: Path

    def summary(self) -> str:
        """The answer, in a few sentences."""
        return "\n".join([self.title, *self.lead])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from kgprobe.report.notebook import tables_html

        tables = [section.values["table"] for section in self.sections if section.kind == "table"]
        return tables_html(self.summary(), tables)

    def facts_frame(self) -> "pd.DataFrame":
        """Every asked fact of every result: its own answers, what is believed, and what was put to the model."""
        import pandas as pd

        frames = [one.asked.assign(result=one.label) for one in self.examined]
        frame: pd.DataFrame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Everything that the page shows, with stable keys: each part with its rows, and every asked fact."""
        return {
            "title": self.title,
            "lead": list(self.lead),
            "results": [
                {"label": one.label, **asdict(one.finding.about), **one.finding.to_dict(), "asked": one.finding.asked}
                for one in self.examined
            ],
            "judged": [one.to_dict() for one in self.judged],
            "sections": [section_to_dict(section) for section in self.sections],
            **self.extra,
            "facts": self.facts_frame().to_dict("records"),
        }

    def page(self, path: str | Path | None = None) -> Path:
        """Write the page, which needs nothing beside it, and give its path.

        Args:
            path: of the file; None writes below kgprobe's own folder.

        Raises:
            KgprobeError: it cannot be written.
        """
        from kgprobe.report.page import write_page
        from kgprobe.results.finding_page import write_results_page

        target = self.folder / PAGE if path is None else Path(path)
        if path is None:
            make_folder(self.folder)
            about = {"title": self.title, "lead": self.lead, **self.config}
            with replacing(self.folder / ABOUT) as unfinished:
                unfinished.write_bytes(msgspec.json.encode(about))
        if not self.examined:
            return write_page(target, self.title, self.lead, self.sections)
        return write_results_page(target, self.title, self.lead, self.sections, self.examined)
