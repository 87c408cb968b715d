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


# Results in the report, and its first sentences.
ABOUT = "report.json"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Report:
    """Several results on one page; prints as its first sentences.

    Attributes:
        title, lead: title, and the answer in a few sentences.
        sections: sections of the page, except the picture, the list of asked facts and the settings.
        examined: runs and measurements, fact by fact.
        judged: the judged graphs.
        extra: figures of several results together, by name.
        config: the results and their settings.
        folder: target of :meth:`page`.
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
        """Return the answer in a few sentences."""
        return "\n".join([self.title, *self.lead])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from kgprobe.report.notebook import tables_html

        tables = [section.values["table"] for section in self.sections if section.kind == "table"]
        return tables_html(self.summary(), tables)

    def facts_frame(self) -> "pd.DataFrame":
        """Return every asked fact of every result, with its answers, belief and latest question."""
        import pandas as pd

        frames = [result.asked.assign(result=result.label) for result in self.examined]
        frame: pd.DataFrame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return everything on the page, with stable keys: each section with its rows, and every asked fact."""
        return {
            "title": self.title,
            "lead": list(self.lead),
            "results": [
                {
                    "label": result.label,
                    **asdict(result.finding.about),
                    **result.finding.to_dict(),
                    "asked": result.finding.asked,
                }
                for result in self.examined
            ],
            "judged": [result.to_dict() for result in self.judged],
            "sections": [section_to_dict(section) for section in self.sections],
            **self.extra,
            "facts": self.facts_frame().to_dict("records"),
        }

    def page(self, path: str | Path | None = None) -> Path:
        """Write the page, which is self-contained, and return its path.

        Args:
            path: the file; None writes below kgprobe's own folder.

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
