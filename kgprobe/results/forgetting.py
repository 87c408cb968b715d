"""Forgetting: the facts that a model lost or gained since an earlier state."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from kgprobe.analysis.forgetting import ChangedFact, FoundForgetting, LossVerdict
from kgprobe.report.plots_page import write_plots_page
from kgprobe.results.comparison import (
    SHOWN_RELATIONS,
)
from kgprobe.results.result import SHOWN_FACTS, Result, more_note, points, write_result_files
from kgprobe.stats.proportions import Points
from kgprobe.tables import Table, flat_row


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Forgetting(Result):
    """Facts that a model lost or gained since an earlier state; one row for each of them.

    Attributes:
        figures: the loss, its bounds, and the facts.
        config: the compared results and their settings.
        folder: target of :meth:`page`.
    """

    figures: FoundForgetting
    config: Mapping[str, Any]
    folder: Path

    columns: ClassVar[Sequence[str]] = (
        *("change", "fact", "subject", "relation", "relation_name", "question", "right_answer"),
        *("base_prediction", "tuned_prediction"),
    )

    @property
    def verdict(self) -> LossVerdict:
        """Verdict: lost (more than the margin), kept, or undecided."""
        return self.figures.verdict

    def rows(self) -> list[dict[str, Any]]:
        """Return all facts that only one of the two has right, the forgotten ones first."""
        changed = [asdict(fact) for fact in (*self.figures.forgotten, *self.figures.gained)]
        return [{"change": "forgotten" if fact.pop("forgotten") else "gained", **fact} for fact in changed]

    def tables(self) -> list[Table]:
        """Return the loss, the worst relations, and the first forgotten facts."""
        return forgetting_tables(self.figures)

    def summary(self) -> str:
        """Return the verdict in a sentence or two."""
        return forgetting_verdict(self.figures)

    def to_dict(self) -> dict[str, Any]:
        """Return figures, relations with a loss, and changed facts, with stable keys; a loss is a share."""
        figures = self.figures
        return {
            "verdict": figures.verdict.value,
            "summary": self.summary(),
            "notes": list(self.notes),
            "caveat": figures.caveat,
            "base": figures.base,
            "tuned": figures.tuned,
            "facts": figures.facts,
            "margin": figures.margin,
            **flat_row({"base_accuracy": figures.base_accuracy, "tuned_accuracy": figures.tuned_accuracy}),
            "loss": figures.loss,
            "loss_low": figures.low,
            "loss_high": figures.high,
            "discordant": figures.discordant,
            "detectable_loss": figures.detectable,
            "facts_needed_if_nothing_is_lost": figures.needed,
            "facts_needed_as_seen": figures.needed_as_seen,
            "forgotten": len(figures.forgotten),
            "gained": len(figures.gained),
            "relations": [asdict(fact) for fact in figures.relations],
            "changed_facts": self.rows(),
        }

    def page(self) -> Path:
        """Write a page, everything as JSON, and all changed facts as CSV; return the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        title = f"Facts that {self.figures.tuned} lost since {self.figures.base}"
        write_result_files(self.folder, "forgetting.json", self.to_dict(), "changed_facts.csv", self.to_frame())
        page = self.folder / "forgetting.html"
        return write_plots_page(page, title, self.summary(), [], self.tables(), self.notes, self.config)


def forgetting_verdict(figures: FoundForgetting) -> str:
    """Return the verdict with its loss, bounds and margin; if undecided, the number of facts that would decide."""
    seen = f"{points(figures.loss)} {'lost' if figures.loss >= 0 else 'gained'} on {figures.facts:,} facts"
    bounds = f"one-sided 95% bounds of the loss {100 * figures.low:.1f} and {100 * figures.high:.1f} points"
    margin = f"the margin of {100 * figures.margin:g} points"
    verdict = f"{figures.verdict.value.capitalize()}: {seen} ({bounds}; {margin})."
    if figures.verdict.value != "undecided":
        return verdict
    needed = [
        f"about {count:,} if {case}"
        for count, case in ((figures.needed, "nothing is lost"), (figures.needed_as_seen, "the loss is as it is seen"))
        if count is not None
    ]
    if not needed:
        return f"{verdict} Not decidable with fewer than ten million facts."
    return f"{verdict} Facts needed for 80% power: {'; '.join(needed)}."


def forgetting_tables(figures: FoundForgetting) -> list[Table]:
    """Return losses and gains, the worst relations, and the first forgotten facts."""
    rows = [
        {
            "facts": figures.facts,
            figures.base: figures.base_accuracy,
            figures.tuned: figures.tuned_accuracy,
            "forgotten": len(figures.forgotten),
            "gained": len(figures.gained),
            "loss": Points(figures.loss, figures.low, figures.high),
            "detectable loss": None if figures.detectable is None else Points(figures.detectable),
        }
    ]
    notes = [
        figures.caveat,
        "The loss is in percentage points, with its one-sided 95% bounds. Detectable loss: the smallest loss that"
        " would be found to exceed the margin with 80% power.",
    ]
    tables = [Table("loss", "Accuracy before and after", rows, notes)]
    if figures.relations:
        worst = [
            {
                "relation": relation.name,
                "facts": relation.facts,
                "forgotten": relation.forgotten,
                "gained": relation.gained,
                "loss": Points(relation.loss),
            }
            for relation in figures.relations[:SHOWN_RELATIONS]
        ]
        tables.append(Table("worst_relations", "Where most was lost", worst, more_note(len(figures.relations), worst)))
    if figures.forgotten:
        listed = [_changed_row(relation) for relation in figures.forgotten[:SHOWN_FACTS]]
        tables.append(Table("forgotten", "Right before, wrong now", listed, more_note(len(figures.forgotten), listed)))
    return tables


def _changed_row(fact: ChangedFact) -> dict[str, object]:
    return {
        "relation": fact.relation_name,
        "question": fact.question,
        "right": fact.right_answer,
        "prediction before": fact.base_prediction,
        "prediction now": fact.tuned_prediction,
    }
