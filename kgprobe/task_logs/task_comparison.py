"""Two models on the tasks of another evaluation tool: accuracies, their difference with test and interval.

docs/methods/comparison.md#logs-of-other-tools. Documents are paired by hash; each task and metric is one row. The loss
from a base model to a changed one is tested against a margin, by row; the verdict covers all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from scipy import stats

from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean, Points, Share
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.probes.distractors.curves import mean_at, mean_curve
from kgprobe.results.forgetting import LossVerdict
from kgprobe.results.rendering.checks import Check
from kgprobe.results.result import SHOWN_FACTS, Listing, StoredResult, points
from kgprobe.stats.paired_proportions import (
    SIGNIFICANCE,
    detectable_difference,
    detectable_loss,
    facts_needed,
    family_bounds,
    loss_interval,
    mcnemar,
)
from kgprobe.stats.proportions import share
from kgprobe.task_logs.paired_tasks import PairedLogs, PairedMetric, pair_logs

if TYPE_CHECKING:
    from kgprobe.task_logs.log import ModelLog


@dataclass(frozen=True, slots=True)
class TaskDifference(ResultRow):
    """Two models on one task by one metric.

    Attributes:
        documents: number of documents with a value in both logs.
        first, second: accuracies, or means of values between 0 and 1 (then with bootstrap intervals).
        lost, gained: number of documents that only the first, and only the second, model has right; None for values
            between 0 and 1, as are ``p``, ``adjusted`` and ``detectable``.
        difference: second less first; Tango's 95% interval, or a paired bootstrap interval.
        p, adjusted: McNemar's exact test, and adjusted over the rows (Benjamini and Hochberg).
        detectable: the smallest difference that the test detects with 80% power.
    """

    task: Annotated[str, Heading("task")]
    metric: Annotated[str, Heading("metric")]
    documents: Annotated[int, Heading("documents")]
    first: Annotated[Share | Mean, Heading("{first}")]
    second: Annotated[Share | Mean, Heading("{second}")]
    lost: Annotated[int | None, Heading("first alone")]
    gained: Annotated[int | None, Heading("second alone")]
    difference: Annotated[Points, Heading("second - first")]
    p: Annotated[float | None, Heading("p")]
    adjusted: Annotated[float | None, Heading("adjusted p")]
    detectable: Annotated[float | None, Heading("detectable", Points)]


@dataclass(frozen=True, slots=True)
class ChangedDocument(ResultRow):
    """A document that only one of two models has right.

    Attributes:
        change: ``lost`` if only the first model has it right, else ``gained``.
        document: id in the first log.
        first_answer, second_answer: answers of the models; None where the log has none.
    """

    change: str
    task: Annotated[str, Heading("task")]
    metric: Annotated[str, Heading("metric")]
    document: Annotated[str, Heading("document")]
    question: Annotated[str, Heading("question")]
    right_answer: Annotated[str, Heading("right")]
    first_answer: Annotated[str | None, Heading("answer before")]
    second_answer: Annotated[str | None, Heading("answer now")]


_DIFFERENCES = (
    "Differences in percentage points, with 95% intervals; p by McNemar's exact test. Detectable: the smallest"
    " difference that the test finds with 80% power. Values between 0 and 1 have bootstrap intervals, no test."
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class TaskComparison(StoredResult):
    """Two models on the tasks of a log.

    Attributes:
        tool: the tool that wrote the logs.
        first, second: names of the models.
        changed_documents: the lost ones of each row, then the gained ones.
    """

    tool: str
    first: str
    second: str
    differences: Annotated[Sequence[TaskDifference], Listing("Accuracy by task", _DIFFERENCES)]
    changed_documents: Annotated[Sequence[ChangedDocument], Listing()]

    file: ClassVar[str] = "task_comparison"

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"{self.first} and {self.second} on the same documents"

    def summary(self) -> str:
        """Return the numbers of tasks on which one of the models is significantly better."""
        tested = [row for row in self.differences if row.adjusted is not None]
        sure = [row for row in tested if row.adjusted is not None and row.adjusted <= SIGNIFICANCE]
        better = sum(row.difference.value > 0 for row in sure)
        untested = len(self.differences) - len(tested)
        without = f" Not tested, with values between 0 and 1: {untested}." if untested else ""
        return (
            f"{self.second} compared with {self.first} on {counted(len(tested), 'tested row')} (task and metric):"
            f" significantly better on {better}, worse on {len(sure) - better} (adjusted p at most 5%).{without}"
        )


def compare_task_logs(first: "ModelLog", second: "ModelLog", metrics: Sequence[str], seed: int) -> TaskComparison:
    """Compare two logs; see :func:`kgprobe.compare`."""
    paired = pair_logs(first, second, metrics, "results")
    tested = [pair for pair in paired.metrics if pair.is_binary]
    p = mcnemar(*np.array([count_changes(pair) for pair in tested]).reshape(-1, 2).T)
    adjusted = iter(zip(p.tolist(), stats.false_discovery_control(p).tolist() if len(p) else [], strict=True))
    return TaskComparison(
        tool=first.tool,
        first=paired.labels[0],
        second=paired.labels[1],
        differences=[
            _tested(pair, *next(adjusted)) if pair.is_binary else _means(pair, seed)  # In the order of ``tested``.
            for pair in paired.metrics
        ],
        changed_documents=changed_documents(paired),
        config={
            "logs": [str(first.path.resolve()), str(second.path.resolve())],
            "metrics": list(metrics),
            "seed": seed,
        },
        notes=paired.notes,
    )


def changed_documents(paired: PairedLogs) -> list[ChangedDocument]:
    """Return the documents that one model has right and the other has wrong, the lost ones first."""
    lost: list[ChangedDocument] = []
    gained: list[ChangedDocument] = []
    for pair in filter(lambda pair: pair.is_binary, paired.metrics):
        for (before, after), was, now in zip(pair.documents, pair.first, pair.second, strict=True):
            if was == now:
                continue
            changed = ChangedDocument(
                "lost" if was > now else "gained",
                pair.task,
                pair.metric,
                before.id,
                before.question,
                before.right_answer,
                before.answers.get(pair.metric),
                after.answers.get(pair.metric),
            )
            (lost if was > now else gained).append(changed)
    return [*lost, *gained]


def count_changes(pair: PairedMetric) -> tuple[int, int]:
    """Return the numbers of lost and gained documents of a metric with values 0 and 1."""
    return int((pair.first > pair.second).sum()), int((pair.second > pair.first).sum())


def _tested(pair: PairedMetric, p: float, adjusted: float) -> TaskDifference:
    total, (lost, gained) = len(pair.first), count_changes(pair)
    low, high = loss_interval(gained, lost, total)
    return TaskDifference(
        pair.task,
        pair.metric,
        total,
        share(int(pair.first.sum()), total),
        share(int(pair.second.sum()), total),
        lost,
        gained,
        Points((gained - lost) / total, float(low), float(high)),
        p,
        adjusted,
        detectable_difference((lost + gained) / total, total),
    )


def _means(pair: PairedMetric, seed: int) -> TaskDifference:
    first, second = (mean_at(mean_curve(values[:, None], seed), 1) for values in (pair.first, pair.second))
    mean = mean_at(mean_curve((pair.second - pair.first)[:, None], seed, least=-1.0), 1)
    difference = Points(mean.value, mean.low, mean.high)
    nothing = (None, None, difference, None, None, None)
    return TaskDifference(pair.task, pair.metric, len(pair.first), first, second, *nothing)


@dataclass(frozen=True, slots=True)
class TaskLoss(ResultRow):
    """The loss of accuracy in one task by one metric.

    Attributes:
        lost, gained: number of documents that only the base model, and only the changed model, has right.
        loss: accuracy of the base model less that of the changed one, with one-sided bounds: the lower one is corrected
            for the number of rows.
        verdict: ``kept``, ``lost`` or ``undecided``.
        detectable_loss: the smallest loss that one row alone would show to exceed the margin, with 80% power.
        documents_needed: approximate number of documents in each row that show with 80% power that all rows keep the
            margin, if nothing is lost; None where no number does.
    """

    task: Annotated[str, Heading("task")]
    metric: Annotated[str, Heading("metric")]
    documents: Annotated[int, Heading("documents")]
    base_accuracy: Annotated[Share, Heading("{base}")]
    tuned_accuracy: Annotated[Share, Heading("{tuned}")]
    lost: Annotated[int, Heading("lost")]
    gained: Annotated[int, Heading("gained")]
    loss: Annotated[Points, Heading("loss")]
    verdict: Annotated[str, Heading("verdict")]
    detectable_loss: Annotated[float | None, Heading("detectable loss", Points)]
    documents_needed: int | None

    def sentence(self) -> str:
        """Return the loss with its bounds in a sentence."""
        change = "lost" if self.loss.value >= 0 else "gained"
        return (
            f"{points(self.loss.value)} {change} on {self.documents:,} documents: {self.lost:,} lost,"
            f" {self.gained:,} gained (bounds of the loss {100 * (self.loss.low or 0):.1f} and"
            f" {100 * (self.loss.high or 0):.1f} points)."
        )


_LOSS = (
    "The loss is in percentage points, with its one-sided 95% bounds{corrected}. Detectable loss: the smallest loss"
    " that would be found to exceed the margin with 80% power, in this row alone."
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class TaskLosses(StoredResult):
    """Losses of accuracy on the tasks of a log.

    Attributes:
        tool: the tool that wrote the logs.
        base, tuned: names of the models.
        margin: the allowed loss, as a share.
        changed_documents: the lost ones of each row, then the gained ones.
    """

    tool: str
    base: str
    tuned: str
    margin: float
    losses: Annotated[Sequence[TaskLoss], Listing("Accuracy before and after", _LOSS)]
    changed_documents: Annotated[
        Sequence[ChangedDocument],
        Listing("Right before, wrong now", where=lambda document: document.change == "lost", show=SHOWN_FACTS),
    ]

    file: ClassVar[str] = "task_losses"
    properties: ClassVar[Sequence[str]] = ("verdict",)

    @property
    def verdict(self) -> LossVerdict:
        """Verdict: lost if any row is lost, kept if all are kept, else undecided."""
        verdicts = {row.verdict for row in self.losses}
        if LossVerdict.LOST.value in verdicts:
            return LossVerdict.LOST
        return LossVerdict.KEPT if verdicts == {LossVerdict.KEPT.value} else LossVerdict.UNDECIDED

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"Documents that {self.tuned} lost since {self.base}"

    def checks(self) -> list[Check]:
        """Return one check for each task and metric."""
        return [Check(f"{row.task}, {row.metric}", row.verdict, row.sentence()) for row in self.losses]

    @property
    def corrected(self) -> str:
        """The correction of the lower bound, as a clause; empty for one row."""
        return "" if len(self.losses) == 1 else f"; the lower bound is corrected for {len(self.losses)} rows"

    def summary(self) -> str:
        """Return the verdict and the rows that it depends on; if undecided, the documents needed."""
        verdict = self.verdict
        deciding = [row for row in self.losses if row.verdict == verdict.value]
        places = f"{len(deciding)} of {counted(len(self.losses), 'row')} (task and metric)"
        margin = f"the margin of {100 * self.margin:g} points"
        heads = {
            LossVerdict.LOST: f"Lost: {places} lost more than {margin}.",
            LossVerdict.KEPT: f"Kept: {places} are within {margin}.",
            LossVerdict.UNDECIDED: f"Undecided: {places} do not decide about {margin}.",
        }
        worst = max(deciding, key=lambda row: row.loss.value)
        summary = f"{heads[verdict]} Largest loss: {worst.task}, {worst.metric}, {worst.sentence()}"
        needed = [row.documents_needed for row in deciding if row.documents_needed is not None]
        if verdict is not LossVerdict.UNDECIDED or not needed:
            return summary
        return f"{summary} Documents needed for 80% power if nothing is lost: about {max(needed):,} in each task."


def find_task_losses(base: "ModelLog", tuned: "ModelLog", margin: float, metrics: Sequence[str]) -> TaskLosses:
    """Compute the losses between two logs; see :func:`kgprobe.check`."""
    paired = pair_logs(base, tuned, metrics, "tuned")
    tested = [pair for pair in paired.metrics if pair.is_binary]
    untested = [f"{pair.task}, {pair.metric}" for pair in paired.metrics if not pair.is_binary]
    if not tested:
        raise KgprobeError(
            f"No metric has only the values 0 and 1, so that no loss can be tested: {'; '.join(untested)}. Log one"
            " epoch, or use a reducer such as mode."
        )
    notes = [*paired.notes]
    if untested:
        notes.append(f"Not tested, as they have values between 0 and 1: {'; '.join(untested)}.")
    return TaskLosses(
        tool=base.tool,
        base=paired.labels[0],
        tuned=paired.labels[1],
        margin=margin,
        losses=[_loss(pair, margin, len(tested)) for pair in tested],
        changed_documents=changed_documents(paired),
        config={
            "logs": [str(base.path.resolve()), str(tuned.path.resolve())],
            "metrics": list(metrics),
            "margin": margin,
        },
        notes=notes,
    )


def _loss(pair: PairedMetric, margin: float, rows: int) -> TaskLoss:
    total, (lost, gained) = len(pair.first), count_changes(pair)
    low, high = map(float, family_bounds(lost, gained, total, rows))
    discordant = (lost + gained) / total
    return TaskLoss(
        pair.task,
        pair.metric,
        total,
        share(int(pair.first.sum()), total),
        share(int(pair.second.sum()), total),
        lost,
        gained,
        Points((lost - gained) / total, low, high),
        LossVerdict.of(low, high, margin).value,
        detectable_loss(discordant, total, margin),
        facts_needed(0.0, discordant, margin, verdicts=rows),
    )
