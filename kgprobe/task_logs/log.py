"""The log of one model by an evaluation tool: tasks, their documents, and a value for each document and metric.

docs/methods/comparison.md#logs-of-other-tools.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# Maximum number of characters of a question or answer; the end of a prompt is its question.
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class LoggedDocument:
    """A document (sample) of a task.

    Attributes:
        question: the end of the prompt.
        right_answer: the target.
        prompt: hash of the whole prompt; empty if unknown.
        values: value in [0, 1] by metric; a metric without a value is missing.
        answers: answer of the model by metric, where the log has one.
    """

    id: str
    question: str
    right_answer: str
    prompt: str = ""
    values: dict[str, float] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskLog:
    """The documents of one task.

    Attributes:
        documents: by a key that equal documents of two logs share.
        reported: mean of a metric as the tool reports it, by metric.
        left_out: metrics without values in [0, 1], such as perplexity, or of which lower values are better.
    """

    task: str
    path: Path
    documents: Mapping[str, LoggedDocument]
    reported: Mapping[str, float]
    left_out: Sequence[str] = ()

    @property
    def metrics(self) -> list[str]:
        """Metrics with a value of any document, in the order of the log."""
        metrics: dict[str, None] = {}
        for document in self.documents.values():
            metrics.update(dict.fromkeys(document.values))
        return list(metrics)

    def mean(self, metric: str) -> float:
        """Return the mean of a metric over the documents that have a value."""
        values = [document.values[metric] for document in self.documents.values() if metric in document.values]
        return math.fsum(values) / len(values)


@dataclass(frozen=True, slots=True)
class ModelLog:
    """All tasks that a tool logged for one model.

    Attributes:
        model: name of the model in the log.
        notes: remarks for the user, in sentences.
    """

    tool: str
    model: str
    path: Path
    tasks: Mapping[str, TaskLog]
    notes: Sequence[str] = ()


def shown_text(text: str) -> str:
    """Return a text in one line; of a long one, its end.

    >>> shown_text("Question:   two?")
    'Question: two?'
    """
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"… {line[-_SHOWN:]}"


def is_accuracy(value: object) -> bool:
    """Return True for numbers in [0, 1], also for truth values.

    >>> is_accuracy(True), is_accuracy(0.5), is_accuracy(-3.2), is_accuracy([1, 2])
    (True, True, False, False)
    """
    return isinstance(value, (bool, int, float)) and 0 <= value <= 1
