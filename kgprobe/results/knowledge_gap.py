"""Knowledge gap: facts that a model knows by one probe and misses by another."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from kgprobe.analysis.knowledge_gap import FoundGap, GroupGap
from kgprobe.report.plots import HeatMap
from kgprobe.report.plots_page import write_plots_page
from kgprobe.results.result import SHOWN_FACTS, Result, flat_fields, more_note, write_result_files
from kgprobe.tables import Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class KnowledgeGap(Result):
    """Facts that a model knows by one probe and misses by another; one row for all facts, then one for each relation.

    Attributes:
        figures: the shares, and the facts.
        config: the compared results and their settings.
        folder: target of :meth:`page`.
    """

    figures: FoundGap
    config: Mapping[str, Any]
    folder: Path

    columns: ClassVar[Sequence[str]] = (
        *("relation", "name", "facts", "stored", "stored_low", "stored_high", "said", "said_low", "said_high"),
        *("known", "unsaid", "unsaid_low", "unsaid_high", "said_alone"),
    )

    def rows(self) -> list[dict[str, Any]]:
        """Return all facts (relation None), then each relation, the largest gap first."""
        return [_gap_row(group) for group in (self.figures.overall, *self.figures.relations)]

    def tables(self) -> list[Table]:
        """Return the gap, and the first facts in it."""
        return gap_tables(self.figures)

    def summary(self) -> str:
        """Return the share of the known facts that are missed, in a sentence."""
        return gap_verdict(self.figures)

    def facts_frame(self) -> "pd.DataFrame":
        """Return every fact that is known by the first probe and missed by the second."""
        import pandas as pd

        columns = ("fact", "subject", "relation", "relation_name", "question", "right_answer", "said")
        frame: pd.DataFrame = pd.DataFrame([asdict(group) for group in self.figures.unsaid], columns=columns)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with stable keys; the ends of an interval follow its value."""
        figures = self.figures
        overall, *relations = self.rows()
        return {
            "summary": self.summary(),
            "notes": list(self.notes),
            "caveat": figures.caveat,
            "model": figures.model,
            "stored_by": figures.stored_by,
            "said_by": figures.said_by,
            "guessed_stored": figures.guessed[0],
            "guessed_said": figures.guessed[1],
            "overall": overall,
            "relations": relations,
            "unsaid_facts": [asdict(group) for group in figures.unsaid],
        }

    def page(self) -> Path:
        """Write a page with a heat map, everything as JSON, and all missed facts as CSV; return the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        title = f"{self.figures.model}: known by {self.figures.stored_by}, missed by {self.figures.said_by}"
        write_result_files(self.folder, "gap.json", self.to_dict(), "unsaid_facts.csv", self.facts_frame())
        page = self.folder / "gap.html"
        return write_plots_page(
            page, title, self.summary(), [gap_map(self.figures)], self.tables(), self.notes, self.config
        )


def _gap_row(group: GroupGap) -> dict[str, Any]:
    return {"unsaid_low": None, "unsaid_high": None, **flat_fields(group)}


def gap_verdict(figures: FoundGap) -> str:
    """Return the share of the known facts that are missed, in a sentence."""
    overall = figures.overall
    if overall.unsaid is None:
        return f"By {figures.stored_by}, {figures.model} knows none of the {overall.facts:,} facts."
    return (
        f"{figures.model} knows {overall.known:,} facts by {figures.stored_by}, and misses {overall.unsaid} of them by"
        f" {figures.said_by}."
    )


def gap_tables(figures: FoundGap) -> list[Table]:
    """Return the gap for all facts and by relation, and the first facts in it."""

    def row(group: GroupGap) -> dict[str, object]:
        return {
            "relation": group.name,
            "facts": group.facts,
            f"known by {figures.stored_by}": group.stored,
            f"known by {figures.said_by}": group.said,
            "of the first, missed": group.unsaid,
            "known by the second alone": group.said_alone,
        }

    guessed = (
        f"Chance level: {figures.guessed[0]:.0%} by {figures.stored_by} and {figures.guessed[1]:.0%} by"
        f" {figures.said_by}. Facts known by chance and then missed count, too."
    )
    rows = [row(group) for group in (figures.overall, *figures.relations)]
    tables = [Table("gap", f"{figures.model}: known by {figures.stored_by}", rows, [figures.caveat, guessed])]
    if figures.unsaid:
        listed = [
            {
                "relation": group.relation_name,
                "question": group.question,
                "right": group.right_answer,
                "said": group.said,
            }
            for group in figures.unsaid[:SHOWN_FACTS]
        ]
        tables.append(Table("unsaid", f"Missed by {figures.said_by}", listed, more_note(len(figures.unsaid), listed)))
    return tables


def gap_map(figures: FoundGap) -> HeatMap:
    """Return a heat map of both shares by relation."""
    return HeatMap(
        "Known by relation, the greatest gap first",
        [relation.name for relation in figures.relations],
        [figures.stored_by, figures.said_by],
        [[relation.stored.value, relation.said.value] for relation in figures.relations],
        "share known",
    )
