"""Two models on the tasks of another evaluation tool: accuracies, their difference with test and interval.

docs/methods/comparison.md#logs-of-other-tools. Documents are paired by hash; each task and metric is one row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from scipy import stats

from kgprobe.base.intervals import Mean, Points, Share
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.probes.distractors.curves import mean_at, mean_curve
from kgprobe.results.result import Listing, StoredResult
from kgprobe.stats.paired_proportions import SIGNIFICANCE, detectable_difference, loss_interval, mcnemar
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
