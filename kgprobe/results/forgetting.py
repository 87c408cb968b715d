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
    """What a model has lost; one row for each fact that is forgotten or gained.

    Attributes:
        found: the loss, its bounds, and the facts.
        config: what was compared.
        folder: where :meth:`page` writes.
    """

    found: FoundForgetting
    config: Mapping[str, Any]
    folder: Path

    columns: ClassVar[Sequence[str]] = (
        *("change", "fact", "subject", "relation", "relation_name", "question", "right_answer"),
        *("base_prediction", "tuned_prediction"),
    )

    @property
    def verdict(self) -> LossVerdict:
        """Whether more was lost than the margin."""
        return self.found.verdict

    def rows(self) -> list[dict[str, Any]]:
        """All facts that one of the models alone has right, the forgotten ones first."""
        changed = [asdict(one) for one in (*self.found.forgotten, *self.found.gained)]
        return [{"change": "forgotten" if one.pop("forgotten") else "gained", **one} for one in changed]

    def tables(self) -> list[Table]:
        """The loss, the worst relations, the first of the forgotten facts."""
        return forgetting_tables(self.found)

    def summary(self) -> str:
        """The verdict, in a sentence or two."""
        return forgetting_verdict(self.found)

    def to_dict(self) -> dict[str, Any]:
        """The numbers, all relations with a loss, and the changed facts, with stable keys; a loss is a share."""
        found = self.found
        return {
            "verdict": found.verdict.value,
            "summary": self.summary(),
            "notes": list(self.notes),
            "caveat": found.caveat,
            "base": found.base,
            "tuned": found.tuned,
            "facts": found.facts,
            "margin": found.margin,
            **flat_row({"base_accuracy": found.base_accuracy, "tuned_accuracy": found.tuned_accuracy}),
            "loss": found.loss,
            "loss_low": found.low,
            "loss_high": found.high,
            "discordant": found.discordant,
            "detectable_loss": found.detectable,
            "facts_needed_if_nothing_is_lost": found.needed,
            "facts_needed_as_seen": found.needed_as_seen,
            "forgotten": len(found.forgotten),
            "gained": len(found.gained),
            "relations": [asdict(one) for one in found.relations],
            "changed_facts": self.rows(),
        }

    def page(self) -> Path:
        """Write a page, everything as JSON, and all changed facts as CSV; give the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        title = f"What {self.found.tuned} lost of {self.found.base}"
        write_result_files(self.folder, "forgetting.json", self.to_dict(), "changed_facts.csv", self.to_frame())
        page = self.folder / "forgetting.html"
        return write_plots_page(page, title, self.summary(), [], self.tables(), self.notes, self.config)


def forgetting_verdict(found: FoundForgetting) -> str:
    """Whether more was lost than is allowed, in a sentence or two."""
    seen = f"{points(found.loss)} {'lost' if found.loss >= 0 else 'gained'} on {found.facts:,} facts"
    bounds = f"one-sided 95% bounds of the loss {100 * found.low:.1f} and {100 * found.high:.1f} points"
    margin = f"the margin of {100 * found.margin:g} points"
    told = f"{found.verdict.value.capitalize()}: {seen} ({bounds}; {margin})."
    if found.verdict.value != "undecided":
        return told
    needed = [
        f"about {count:,} if {case}"
        for count, case in ((found.needed, "nothing is lost"), (found.needed_as_seen, "the loss is as it is seen"))
        if count is not None
    ]
    if not needed:
        return f"{told} No number of facts below ten million would do."
    return f"{told} So many facts would do, with 80% power: {'; '.join(needed)}."


def forgetting_tables(found: FoundForgetting) -> list[Table]:
    """What was lost and gained, the worst relations, and the first of the forgotten facts."""
    rows = [
        {
            "facts": found.facts,
            found.base: found.base_accuracy,
            found.tuned: found.tuned_accuracy,
            "forgotten": len(found.forgotten),
            "gained": len(found.gained),
            "loss": Points(found.loss, found.low, found.high),
            "detectable loss": None if found.detectable is None else Points(found.detectable),
        }
    ]
    notes = [
        found.caveat,
        "The loss is in points, between its one-sided 95% bounds. Detectable is the smallest loss that would be found"
        " to exceed the margin in as many facts with 80% power.",
    ]
    tables = [Table("loss", "Accuracy before and after", rows, notes)]
    if found.relations:
        worst = [
            {
                "relation": one.name,
                "facts": one.facts,
                "forgotten": one.forgotten,
                "gained": one.gained,
                "loss": Points(one.loss),
            }
            for one in found.relations[:SHOWN_RELATIONS]
        ]
        tables.append(Table("worst_relations", "Where most was lost", worst, more_note(len(found.relations), worst)))
    if found.forgotten:
        listed = [_changed_row(one) for one in found.forgotten[:SHOWN_FACTS]]
        tables.append(Table("forgotten", "Right before, wrong now", listed, more_note(len(found.forgotten), listed)))
    return tables


def _changed_row(one: ChangedFact) -> dict[str, object]:
    return {
        "relation": one.relation_name,
        "question": one.question,
        "right": one.right_answer,
        "prediction before": one.base_prediction,
        "prediction now": one.tuned_prediction,
    }
