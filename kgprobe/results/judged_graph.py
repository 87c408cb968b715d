"""Judged graph: figures of all facts, raw and corrected by labels."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from kgprobe.analysis.label_correction import ENOUGH, Correction
from kgprobe.analysis.whole_graph import (
    ALL,
    METRICS,
    OBJECT_TYPE,
    OVERALL,
    RELATION,
    SUBJECT_TYPE,
    THIRD,
    GroupSums,
    WholeGraph,
)
from kgprobe.judge.judged_facts import PredictionConfig
from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.results.result import Result
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.proportions import Mean
from kgprobe.tables import Table

# Types that tables show.
TYPES = 20


_NO_TYPE = "(no type)"


_UNKNOWN = "(popularity not known)"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class JudgedGraph(Result):
    """Figures of a judged graph; one row for each group and metric.

    Attributes:
        folder: folder of the judged facts.
        config: judge, graph and settings.
        missing: numbers of the missing shards.
        graph: the judge's figures.
        correction: estimates corrected by labels; None without labels, or if shards are missing.
        types: number of types of subjects, and of objects, in tables.
        names: labels of relations and types, by id.
    """

    folder: Path
    config: PredictionConfig
    missing: Sequence[int]
    graph: WholeGraph
    correction: Correction | None
    types: int = TYPES
    names: Mapping[str, str] = field(default_factory=dict)

    columns: ClassVar[Sequence[str]] = (
        *("by", "group", "name", "metric", "facts", "measured", "raw", "estimate", "low", "high"),
        *("standard_error", "weight", "labelled", "labels_worth"),
    )

    def rows(self) -> list[dict[str, Any]]:
        """Return the judge's figure of each group and metric, and its corrected estimate if there is one."""
        estimates = self._estimates()
        rows = []
        for group in self.graph.groups:
            for metric in METRICS:
                sums = group.sums[metric]
                estimate = estimates.get((group.by, group.name, metric))
                rows.append(
                    {
                        "by": group.by,
                        "group": group.name,
                        "name": self._name(group),
                        "metric": metric,
                        "facts": group.facts,
                        "measured": sums.count,
                        "raw": sums.mean if sums.count else None,
                        "estimate": estimate.value if estimate else None,
                        "low": estimate.low if estimate else None,
                        "high": estimate.high if estimate else None,
                        "standard_error": estimate.standard_error if estimate else None,
                        "weight": estimate.weight if estimate else None,
                        "labelled": estimate.labelled if estimate else None,
                        "labels_worth": estimate.labels_worth if estimate else None,
                    }
                )
        return rows

    def tables(self) -> list[Table]:
        """Return tables for all facts; by relation, type, popularity; correlations; judgements; left-out facts."""
        notes = [
            f"*judge* is the mean of the judge's predictions; *corrected* is estimated from these and from"
            f" labels, with a 95% interval, for groups of at least {ENOUGH} labelled facts."
        ]
        tables = [
            self._table("overall", "All facts", OVERALL, notes=notes),
            self._table("relations", "By relation", RELATION),
            self._table("subject_types", "By type of the subject", SUBJECT_TYPE, most=self.types),
            self._table("object_types", "By type of the object", OBJECT_TYPE, most=self.types),
            self._table("thirds", "By popularity of the subject", THIRD),
            self._correlations(),
            self._judgements(),
            self._left_out(),
        ]
        return [table for table in tables if table.rows]

    def summary(self) -> str:
        """Return the correctness, truthfulness and informativeness of the model in a sentence."""
        whole = f"{self.config.judge.answers_of}, judged on {self.graph.facts:,} facts"
        if self.missing:
            whole += f" of {self.config.facts:,} ({len(self.missing):,} shards are missing)"
        estimates = self._estimates()
        figures = []
        for group in self.graph.groups[:1]:
            for metric in METRICS:
                estimate, sums = estimates.get((OVERALL, ALL, metric)), group.sums[metric]
                if estimate is not None:
                    figures.append(f"{metric} {estimate} (by the judge alone {sums.mean:.3f})")
                elif sums.count:
                    figures.append(f"{metric} {sums.mean:.3f} by the judge alone")
        return f"{whole}: {', '.join(figures) or 'none could be measured'}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with stable keys and all types."""
        correction = self.correction
        return {
            "folder": str(self.folder),
            "complete": not self.missing,
            "missing_shards": list(self.missing),
            "sweep": msgspec.to_builtins(self.config),
            "facts": self.graph.facts,
            "figures": self.rows(),
            "correlations": [asdict(each) for each in self.graph.correlations],
            "judgements": {
                name: dict(zip((*JUDGEMENTS, "not_judged"), counts, strict=True))
                for name, counts in self.graph.judgements.items()
            },
            "not_measured": dict(self.graph.reasons),
            "labels": correction
            and {
                "name": correction.labels,
                "asked": correction.asked,
                "used": correction.used,
                "left_out": dict(correction.left_out),
                "partly": correction.partly,
            },
            "notes": list(self.notes),
        }

    def estimate(self, group: GroupSums, metric: str) -> Estimate | None:
        """Return a group's estimate corrected by labels; None if there are too few labels."""
        return self._estimates().get((group.by, group.name, metric))

    def _name(self, group: GroupSums) -> str | None:
        return None if group.name is None else self.names.get(group.name, group.name)

    def _estimates(self) -> dict[tuple[str, str | None, str], Estimate]:
        groups = self.correction.estimates if self.correction else ()
        return {
            (group.by, group.name, metric): estimate for group in groups for metric, estimate in group.estimates.items()
        }

    def _table(self, key: str, title: str, by: str, *, most: int | None = None, notes: Sequence[str] = ()) -> Table:
        estimates = self._estimates()
        groups = [group for group in self.graph.groups if group.by == by]
        heading = "of" if by == OVERALL else by
        rows: list[dict[str, Any]] = []
        for group in groups[:most]:
            first = {heading: self._name(group) or (_UNKNOWN if by == THIRD else _NO_TYPE)}
            rows.append({**first, "by": "judge", "facts": group.sums[METRICS[0]].count, **_means(group)})
            corrected = {
                metric: estimates[group.by, group.name, metric]
                for metric in METRICS
                if (group.by, group.name, metric) in estimates
            }
            if corrected:
                shown = {metric: Mean(each.value, each.low, each.high) for metric, each in corrected.items()}
                labelled = next(iter(corrected.values())).labelled
                rows.append({**first, "by": "corrected", "facts": labelled, **shown})
        rest = len(groups) - len(groups[:most])
        more = [f"{rest:,} more are in the rows and in JSON."] if rest else []
        return Table(key, title, rows, [*notes, *more], groups_by=heading)

    def _correlations(self) -> Table:
        rows: dict[str, dict[str, Any]] = {}
        for each in self.graph.correlations:
            row = rows.setdefault(each.feature, {"with": each.feature.replace("_", "'s "), "facts": each.facts})
            row[each.metric] = each.value
        note = "Spearman's, of the judge's figures, not corrected; equal values have the mean of their ranks."
        return Table("correlations", "Rank correlations", list(rows.values()), [note])

    def _judgements(self) -> Table:
        rows = [
            {
                "statements": name,
                "judged": sum(counts[: len(JUDGEMENTS)]),
                **{
                    each: counts[place] / sum(counts[: len(JUDGEMENTS)]) if sum(counts[: len(JUDGEMENTS)]) else None
                    for place, each in enumerate(JUDGEMENTS)
                },
                "not judged": counts[len(JUDGEMENTS)],
            }
            for name, counts in self.graph.judgements.items()
        ]
        return Table("judgements", "Judgements of statements", rows)

    def _left_out(self) -> Table:
        rows = [{"of": "facts", "number": count, "why": why} for why, count in self.graph.reasons.items()]
        notes = []
        if self.correction is not None:
            rows += [
                {"of": "labelled facts", "number": count, "why": why} for why, count in self.correction.left_out.items()
            ]
            notes.append(
                f"{self.correction.used:,} of {self.correction.asked:,} facts of {self.correction.labels} are used;"
                f" {self.correction.partly:,} of these have negatives without a label. Facts without a label may"
                " differ from others; the estimates do not account for that."
            )
        return Table("left_out", "Left out of the figures", rows, notes, groups_by="of")


def _means(group: GroupSums) -> dict[str, float | None]:
    return {metric: group.sums[metric].mean if group.sums[metric].count else None for metric in METRICS}
