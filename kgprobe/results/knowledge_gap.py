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
    """What a model knows by one way of asking and misses by another; one row in all, then one a relation.

    Attributes:
        found: the shares, and the facts.
        config: what was compared.
        folder: where :meth:`page` writes.
    """

    found: FoundGap
    config: Mapping[str, Any]
    folder: Path

    columns: ClassVar[Sequence[str]] = (
        *("relation", "name", "facts", "stored", "stored_low", "stored_high", "said", "said_low", "said_high"),
        *("known", "unsaid", "unsaid_low", "unsaid_high", "said_alone"),
    )

    def rows(self) -> list[dict[str, Any]]:
        """All facts, then each relation, the greatest gap first; relation is None of all."""
        return [_gap_row(one) for one in (self.found.overall, *self.found.relations)]

    def tables(self) -> list[Table]:
        """The gap, and the first of the facts."""
        return gap_tables(self.found)

    def summary(self) -> str:
        """How much is known and not said, in a sentence."""
        return gap_verdict(self.found)

    def facts_frame(self) -> "pd.DataFrame":
        """Every fact that is known by the first way of asking and missed by the second."""
        import pandas as pd

        columns = ("fact", "subject", "relation", "relation_name", "question", "right_answer", "said")
        frame: pd.DataFrame = pd.DataFrame([asdict(one) for one in self.found.unsaid], columns=columns)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Everything, with stable keys; shares have their ends beside them."""
        found = self.found
        overall, *relations = self.rows()
        return {
            "summary": self.summary(),
            "notes": list(self.notes),
            "caveat": found.caveat,
            "model": found.model,
            "stored_by": found.stored_by,
            "said_by": found.said_by,
            "guessed_stored": found.guessed[0],
            "guessed_said": found.guessed[1],
            "overall": overall,
            "relations": relations,
            "unsaid_facts": [asdict(one) for one in found.unsaid],
        }

    def page(self) -> Path:
        """Write a page with a heat map, everything as JSON, and all unsaid facts as CSV; give the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        title = f"{self.found.model}: known by {self.found.stored_by}, missed by {self.found.said_by}"
        write_result_files(self.folder, "gap.json", self.to_dict(), "unsaid_facts.csv", self.facts_frame())
        page = self.folder / "gap.html"
        return write_plots_page(
            page, title, self.summary(), [gap_map(self.found)], self.tables(), self.notes, self.config
        )


def _gap_row(one: GroupGap) -> dict[str, Any]:
    return {"unsaid_low": None, "unsaid_high": None, **flat_fields(one)}


def gap_verdict(found: FoundGap) -> str:
    """How much a model holds and does not say, in a sentence."""
    overall = found.overall
    if overall.unsaid is None:
        return f"By {found.stored_by}, {found.model} knows none of the {overall.facts:,} facts."
    return (
        f"Of {overall.known:,} facts that {found.model} knows by {found.stored_by}, it misses {overall.unsaid} by"
        f" {found.said_by}."
    )


def gap_tables(found: FoundGap) -> list[Table]:
    """The gap in all and by relation, and the first of the facts."""

    def row(one: GroupGap) -> dict[str, object]:
        return {
            "relation": one.name,
            "facts": one.facts,
            f"known by {found.stored_by}": one.stored,
            f"known by {found.said_by}": one.said,
            "of the first, missed": one.unsaid,
            "known by the second alone": one.said_alone,
        }

    guessed = (
        f"A guesser knows {found.guessed[0]:.0%} by {found.stored_by} and {found.guessed[1]:.0%} by {found.said_by};"
        " what is known by luck and missed counts, too."
    )
    rows = [row(one) for one in (found.overall, *found.relations)]
    tables = [Table("gap", f"{found.model}: known by {found.stored_by}", rows, [found.caveat, guessed])]
    if found.unsaid:
        listed = [
            {"relation": one.relation_name, "question": one.question, "right": one.right_answer, "said": one.said}
            for one in found.unsaid[:SHOWN_FACTS]
        ]
        tables.append(Table("unsaid", f"Missed by {found.said_by}", listed, more_note(len(found.unsaid), listed)))
    return tables


def gap_map(found: FoundGap) -> HeatMap:
    """Both shares by relation as colours."""
    return HeatMap(
        "Known by relation, the greatest gap first",
        [one.name for one in found.relations],
        [found.stored_by, found.said_by],
        [[one.stored.value, one.said.value] for one in found.relations],
        "share known",
    )
