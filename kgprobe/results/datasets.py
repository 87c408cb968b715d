"""Multiple-choice datasets: built, opened, and asked."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kgprobe.datasets.building import RelationCounts
from kgprobe.results.result import Result
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import Share
from kgprobe.tables import Table

# Reasons for left-out relations that a summary lists.
_SHOWN_REASONS = 3


@dataclass(frozen=True, slots=True, repr=False)
class BuiltDataset(Result):
    """A new multiple-choice dataset.

    Attributes:
        folder: the dataset's folder.
        relations: all relations, with the reason for those that are left out.
        train, test: facts of each relation in the dataset, by split.
    """

    folder: Path
    relations: Sequence[RelationCounts]
    train: int
    test: int

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return ("relation", "label", "facts", "objects", "reason")

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each relation; ``reason`` is None if it is in the dataset."""
        return [asdict(relation) for relation in self.relations]

    def tables(self) -> list[Table]:
        """Return the relations in the dataset, and those left out."""
        included = [_shown(relation) for relation in self.relations if relation.reason is None]
        left_out = [
            _shown(relation) | {"why": relation.reason} for relation in self.relations if relation.reason is not None
        ]
        return [
            Table("relations", "In the data set", included),
            *([Table("left_out", "Left out", left_out)] if left_out else []),
        ]

    def summary(self) -> str:
        """Return numbers of relations and facts, the folder, and the reasons for left-out relations."""
        included = sum(relation.reason is None for relation in self.relations)
        counts = (
            f"{counted(included, 'relation')} of {len(self.relations):,} qualified: {included * self.train:,} facts to"
            f" show and {included * self.test:,} to ask, in {self.folder}."
        )
        reasons = Counter(
            _without_counts(relation.reason) for relation in self.relations if relation.reason is not None
        )
        if not reasons:
            return counts
        listed = "; ".join(f"{count:,} with {reason}" for reason, count in reasons.most_common(_SHOWN_REASONS))
        more = f"; and {len(reasons) - _SHOWN_REASONS} more reasons" if len(reasons) > _SHOWN_REASONS else ""
        return f"{counts}\nLeft out: {counted(reasons.total(), 'relation')}: {listed}{more}."


@dataclass(frozen=True, slots=True)
class DatasetRelation:
    """Numbers of a relation in a dataset.

    Attributes:
        train, test: facts, by split.
        objects: distinct right objects.
        fewest_choices, most_choices: range of the number of choices of a fact.
    """

    relation: str
    label: str
    train: int
    test: int
    objects: int
    fewest_choices: int
    most_choices: int


@dataclass(frozen=True, slots=True, repr=False)
class Dataset(Result):
    """Contents of a dataset.

    Attributes:
        folder: the dataset's folder.
        relations: its relations, in the order of its files.
    """

    folder: Path
    relations: Sequence[DatasetRelation]

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return ("relation", "label", "train", "test", "objects", "fewest_choices", "most_choices")

    def rows(self) -> list[dict[str, Any]]:
        """One a relation."""
        return [asdict(relation) for relation in self.relations]

    def tables(self) -> list[Table]:
        """One, of all relations."""
        rows = [
            {
                "relation": _called(relation.relation, relation.label),
                "train": relation.train,
                "test": relation.test,
                "objects": relation.objects,
                "choices": f"{relation.fewest_choices:,}"
                + (f"–{relation.most_choices:,}" if relation.most_choices > relation.fewest_choices else ""),
            }
            for relation in self.relations
        ]
        return [Table("relations", "", rows)]

    def summary(self) -> str:
        """Return the numbers of relations and facts."""
        train, test = (sum(getattr(relation, split) for relation in self.relations) for split in ("train", "test"))
        return f"{counted(len(self.relations), 'relation')}: {train:,} facts to show and {test:,} to ask."


@dataclass(frozen=True, slots=True, repr=False)
class DatasetAccuracy(Result):
    """Accuracy of a model on a dataset.

    Attributes:
        model: name of the model.
        facts: number of answered facts.
        accuracy: share of right answers, with its interval; None without answers.
        confidence: mean probability of the right object among the choices; None without answers.
        reasons: numbers of facts that could not be asked, by reason.
        accuracy_tables: accuracy by relation, and by confidence.
        output: file with the answer to each fact; None if it was not written.
    """

    model: str
    facts: int
    accuracy: Share | None
    confidence: float | None
    reasons: dict[str, int]
    accuracy_tables: Sequence[Table]
    output: Path | None

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return self.accuracy_tables[0].columns if self.accuracy_tables else ("relation", "facts", "accuracy")

    def rows(self) -> list[dict[str, Any]]:
        """One a relation."""
        return list(self.accuracy_tables[0].to_dict()["rows"]) if self.accuracy_tables else []

    def tables(self) -> list[Table]:
        """Return accuracy by relation, and accuracy@K."""
        return list(self.accuracy_tables)

    def summary(self) -> str:
        """Return the accuracy over all facts."""
        left_out = sum(self.reasons.values())
        not_asked = f" {counted(left_out, 'fact')} could not be asked." if left_out else ""
        if self.accuracy is None or self.confidence is None:
            return f"{self.model} has no answers.{not_asked}"
        return (
            f"{self.model}: accuracy {self.accuracy} over {counted(self.facts, 'fact')}, mean confidence in the right"
            f" object {self.confidence:.3f}.{not_asked}"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, JSON-compatible."""
        accuracy = self.accuracy
        return {
            "model": self.model,
            "facts": self.facts,
            "accuracy": accuracy and accuracy.value,
            "accuracy_low": accuracy and accuracy.low,
            "accuracy_high": accuracy and accuracy.high,
            "confidence": self.confidence,
            "unaskable": self.reasons,
            "tables": {table.key: table.to_dict() for table in self.accuracy_tables},
            "output": None if self.output is None else str(self.output),
        }


@dataclass(frozen=True, slots=True)
class HarnessTask:
    """A task of lm-evaluation-harness.

    Attributes:
        folder: folder of its files.
        name: name for ``lm_eval --tasks``.
        facts: number of facts.
        notes: differences that are possible between the harness and kgprobe.
    """

    folder: Path
    name: str
    facts: int
    notes: Sequence[str]

    def summary(self) -> str:
        """Return the command that runs the task."""
        return (
            f"{counted(self.facts, 'fact')} in {self.folder}. To run it:\n"
            f"lm_eval --include_path {self.folder.parent} --tasks {self.name} --model hf --model_args pretrained=MODEL"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, JSON-compatible."""
        return {"folder": str(self.folder), "name": self.name, "facts": self.facts, "notes": list(self.notes)}


def _without_counts(reason: str) -> str:
    """Return a reason without a relation's own counts, so that relations can share it.

    >>> _without_counts("12 facts of 500 and 6 objects of 100")
    'fewer than 500 facts and fewer than 100 objects'
    """
    few = re.sub(r"[\d,]+ (facts|objects) of ([\d,]+)", r"fewer than \2 \1", reason)
    return re.sub(r"^[\d,]+ facts have", "facts that have", few)


def _shown(counts: RelationCounts) -> dict[str, Any]:
    return {"relation": _called(counts.relation, counts.label), "facts": counts.facts, "objects": counts.objects}


def _called(relation: str, label: str) -> str:
    return relation if label == relation else f"{label} ({relation})"
