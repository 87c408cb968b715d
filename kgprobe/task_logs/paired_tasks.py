"""Documents that two logs of an evaluation tool share, by task and metric.

docs/methods/comparison.md#logs-of-other-tools.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.sanitize import counted
from kgprobe.task_logs.harness_log import TOOL as HARNESS
from kgprobe.task_logs.log import LoggedDocument, ModelLog, TaskLog

# Largest difference between a reported mean and the mean over documents that is rounding.
_ROUNDING = 1e-9
_FILE_NAMES = " Tasks are read from the files' names: samples_TASK.jsonl or samples_TASK_TIME.jsonl."


@dataclass(frozen=True, slots=True)
class PairedMetric:
    """Values of one metric on the documents of a task that both logs have.

    Attributes:
        documents: those of the first and of the second log.
        first, second: values in [0, 1], shape (documents,).
    """

    task: str
    metric: str
    documents: Sequence[tuple[LoggedDocument, LoggedDocument]]
    first: NDArray[np.float64]
    second: NDArray[np.float64]

    @property
    def is_binary(self) -> bool:
        """True if every value is 0 or 1."""
        return bool(np.isin([self.first, self.second], (0, 1)).all())


@dataclass(frozen=True, slots=True)
class PairedLogs:
    """Metrics that two logs share, and remarks on the rest.

    Attributes:
        labels: names of the two models.
    """

    labels: tuple[str, str]
    metrics: Sequence[PairedMetric]
    notes: Sequence[str]


def pair_logs(first: ModelLog, second: ModelLog, metrics: Sequence[str], argument: str) -> PairedLogs:
    """Pair the documents of two logs by task and hash."""
    common = _common_tasks(first, second, argument)
    notes = [*first.notes, *second.notes, *_lone_tasks(first, second), *_lone_tasks(second, first)]
    paired: list[PairedMetric] = []
    for task in common:
        documents = _pair_documents(first.tasks[task], second.tasks[task], notes)
        if not documents:
            sizes = f"{len(first.tasks[task].documents):,} and {len(second.tasks[task].documents):,} documents"
            raise ArgumentError(
                argument, f"cannot be paired: none of the {sizes} of {task} is common. Evaluate both on the same data."
            )
        paired += _pair_metrics(first.tasks[task], second.tasks[task], documents, notes)
    if not paired:
        raise KgprobeError(f"The logs have no common metric with values in [0, 1]. {' '.join(notes)}".rstrip())
    known = dict.fromkeys(pair.metric for pair in paired)
    missing = [metric for metric in metrics if metric not in known]
    if missing:
        raise ArgumentError("metrics", f"{_listed(missing)} is in no common task; the logs have {_listed(known)}.")
    chosen = [pair for pair in paired if not metrics or pair.metric in metrics]
    return PairedLogs(_labels(first, second), chosen, notes)


def _lone_tasks(log: ModelLog, other: ModelLog) -> list[str]:
    """Return a remark on the tasks that only the first log has, if there are any."""
    alone = [task for task in log.tasks if task not in other.tasks]
    return [f"Only {log.path} has {_listed(alone)}."] if alone else []


def _common_tasks(first: ModelLog, second: ModelLog, argument: str) -> list[str]:
    """Return the tasks that both logs have."""
    if first.tool != second.tool:
        raise ArgumentError(
            argument,
            f"cannot be paired: {first.path} is a log of {first.tool}, {second.path} one of {second.tool}. Give logs of"
            " one tool.",
        )
    if first.path.resolve() == second.path.resolve():
        raise ArgumentError(argument, f"cannot be paired: {first.path} is given twice.")
    common = [task for task in first.tasks if task in second.tasks]
    if not common:
        raise ArgumentError(
            argument,
            f"cannot be paired: no task is common. {first.path} has {_listed(first.tasks)}; {second.path} has"
            f" {_listed(second.tasks)}."
            f"{_FILE_NAMES if first.tool == HARNESS else ''}",
        )
    return common


def _pair_documents(first: TaskLog, second: TaskLog, notes: list[str]) -> list[tuple[LoggedDocument, LoggedDocument]]:
    """Return the documents that both logs of a task have, and add remarks to ``notes``."""
    task = first.task
    keys = [key for key in first.documents if key in second.documents]
    if len(keys) < max(len(first.documents), len(second.documents)):
        notes.append(
            f"{len(keys):,} of {len(first.documents):,} and {len(second.documents):,} documents of {task} are common;"
            " only these are compared."
        )
    both = [(first.documents[key], second.documents[key]) for key in keys]
    other_prompts = sum(before.prompt != after.prompt for before, after in both)
    if other_prompts:
        notes.append(
            f"{task}: {counted(other_prompts, 'document')} with different prompts, such as other few-shot examples or"
            " chat templates."
        )
    return both


def _pair_metrics(
    first: TaskLog,
    second: TaskLog,
    documents: Sequence[tuple[LoggedDocument, LoggedDocument]],
    notes: list[str],
) -> list[PairedMetric]:
    """Return the values of each metric that both logs of a task have, and add remarks to ``notes``."""
    notes += [*_odd_means(first), *_odd_means(second)]
    left_out = dict.fromkeys([*first.left_out, *second.left_out])
    if left_out:
        notes.append(f"{first.task}: not compared, as they are no accuracies: {_listed(left_out)}.")
    paired = []
    for metric in dict.fromkeys([*first.metrics, *second.metrics]):
        if metric in left_out:
            continue
        scored = [pair for pair in documents if metric in pair[0].values and metric in pair[1].values]
        missing = len(documents) - len(scored)
        if missing:
            notes.append(
                f"{first.task}, {metric}: {missing:,} of {len(documents):,} documents have no value in one of the logs."
            )
        if not scored:
            continue
        values = np.array([[log.values[metric] for log in pair] for pair in scored])
        paired.append(PairedMetric(first.task, metric, scored, values[:, 0], values[:, 1]))
    return paired


def _odd_means(log: TaskLog) -> list[str]:
    """Return remarks on reported figures that are not the mean over documents."""
    odd = []
    for metric, reported in log.reported.items():
        if metric in log.metrics and abs(log.mean(metric) - reported) > _ROUNDING:
            odd.append(
                f"{log.path}: {metric} of {log.task} is reported as {reported:.4f}; its mean over documents is"
                f" {log.mean(metric):.4f}."
            )
    return odd


def _labels(first: ModelLog, second: ModelLog) -> tuple[str, str]:
    """Return the names of the models; the logs' paths if they have the same name."""
    if first.model == second.model:
        return str(first.path), str(second.path)
    return first.model, second.model


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
