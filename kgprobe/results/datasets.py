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

# Of the reasons why relations were left out, in a summary.
_SHOWN_REASONS = 3


@dataclass(frozen=True, slots=True, repr=False)
class BuiltDataset(Result):
    """A data set that was built.

    Attributes:
        folder: where it is.
        relations: those that are in it, and those that are not.
        train, test: how many facts of each relation that is in it.
    """

    folder: Path
    relations: Sequence[RelationCounts]
    train: int
    test: int

    @property
    def columns(self) -> Sequence[str]:
        """A relation, how much there is of it, and why it is left out."""
        return ("relation", "label", "facts", "objects", "reason")

    def rows(self) -> list[dict[str, Any]]:
        """One a relation; ``reason`` is None for those that are in it."""
        return [asdict(one) for one in self.relations]

    def tables(self) -> list[Table]:
        """The relations that are in it, and those that are not."""
        taken = [_shown(one) for one in self.relations if one.reason is None]
        left_out = [_shown(one) | {"why": one.reason} for one in self.relations if one.reason is not None]
        return [
            Table("relations", "In the data set", taken),
            *([Table("left_out", "Left out", left_out)] if left_out else []),
        ]

    def summary(self) -> str:
        """Return how many relations and facts it has, where it is, and why relations were left out."""
        taken = sum(one.reason is None for one in self.relations)
        told = (
            f"{counted(taken, 'relation')} of {len(self.relations):,} qualified: {taken * self.train:,} facts to show"
            f" and {taken * self.test:,} to ask, in {self.folder}."
        )
        reasons = Counter(_without_counts(one.reason) for one in self.relations if one.reason is not None)
        if not reasons:
            return told
        listed = "; ".join(f"{count:,} with {reason}" for reason, count in reasons.most_common(_SHOWN_REASONS))
        more = f"; and {len(reasons) - _SHOWN_REASONS} more reasons" if len(reasons) > _SHOWN_REASONS else ""
        return f"{told}\nLeft out: {counted(reasons.total(), 'relation')}: {listed}{more}."


@dataclass(frozen=True, slots=True)
class DatasetRelation:
    """What a data set has of a relation.

    Attributes:
        train, test: facts.
        objects: distinct right ones.
        fewest_choices, most_choices: of its facts.
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
    """What is in a data set.

    Attributes:
        folder: where it is.
        relations: in the order in which they stand in it.
    """

    folder: Path
    relations: Sequence[DatasetRelation]

    @property
    def columns(self) -> Sequence[str]:
        """A relation and how much there is of it."""
        return ("relation", "label", "train", "test", "objects", "fewest_choices", "most_choices")

    def rows(self) -> list[dict[str, Any]]:
        """One a relation."""
        return [asdict(one) for one in self.relations]

    def tables(self) -> list[Table]:
        """One, of all relations."""
        rows = [
            {
                "relation": _called(one.relation, one.label),
                "train": one.train,
                "test": one.test,
                "objects": one.objects,
                "choices": f"{one.fewest_choices:,}"
                + (f"–{one.most_choices:,}" if one.most_choices > one.fewest_choices else ""),
            }
            for one in self.relations
        ]
        return [Table("relations", "", rows)]

    def summary(self) -> str:
        """How much there is in all."""
        train, test = (sum(getattr(one, split) for one in self.relations) for split in ("train", "test"))
        return f"{counted(len(self.relations), 'relation')}: {train:,} facts to show and {test:,} to ask."


@dataclass(frozen=True, slots=True, repr=False)
class DatasetAccuracy(Result):
    """What a model made of a data set.

    Attributes:
        model: its name.
        facts: how many were answered.
        accuracy: the share that was right, with its interval; None where nothing was answered.
        confidence: the mean probability of the right object among the choices; None where nothing was answered.
        reasons: why facts could not be asked, with how many.
        found: accuracy by relation, and where the model is sure.
        output: where the answer to each fact is; None if it was not kept.
    """

    model: str
    facts: int
    accuracy: Share | None
    confidence: float | None
    reasons: dict[str, int]
    found: Sequence[Table]
    output: Path | None

    @property
    def columns(self) -> Sequence[str]:
        """A relation with its accuracy and confidence."""
        return self.found[0].columns if self.found else ("relation", "facts", "accuracy")

    def rows(self) -> list[dict[str, Any]]:
        """One a relation."""
        return list(self.found[0].to_dict()["rows"]) if self.found else []

    def tables(self) -> list[Table]:
        """Accuracy by relation, and accuracy@K."""
        return list(self.found)

    def summary(self) -> str:
        """The accuracy over all facts."""
        left_out = sum(self.reasons.values())
        not_asked = f" {counted(left_out, 'fact')} could not be asked." if left_out else ""
        if self.accuracy is None or self.confidence is None:
            return f"{self.model} answered nothing.{not_asked}"
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
            "tables": {table.key: table.to_dict() for table in self.found},
            "output": None if self.output is None else str(self.output),
        }


@dataclass(frozen=True, slots=True)
class HarnessTask:
    """A task of lm-evaluation-harness.

    Attributes:
        folder: with its files.
        name: what ``lm_eval --tasks`` takes.
        facts: how many it asks.
        notes: where the harness may not say what kgprobe says.
    """

    folder: Path
    name: str
    facts: int
    notes: Sequence[str]

    def summary(self) -> str:
        """How it is run."""
        return (
            f"{counted(self.facts, 'fact')} in {self.folder}. To run it:\n"
            f"lm_eval --include_path {self.folder.parent} --tasks {self.name} --model hf --model_args pretrained=MODEL"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, JSON-compatible."""
        return {"folder": str(self.folder), "name": self.name, "facts": self.facts, "notes": list(self.notes)}


def _without_counts(reason: str) -> str:
    """Return a reason without a relation's own counts, so that relations share it.

    >>> _without_counts("12 facts of 500 and 6 objects of 100")
    'fewer than 500 facts and fewer than 100 objects'
    """
    few = re.sub(r"[\d,]+ (facts|objects) of ([\d,]+)", r"fewer than \2 \1", reason)
    return re.sub(r"^[\d,]+ facts have", "facts that have", few)


def _shown(one: RelationCounts) -> dict[str, Any]:
    return {"relation": _called(one.relation, one.label), "facts": one.facts, "objects": one.objects}


def _called(relation: str, label: str) -> str:
    return relation if label == relation else f"{label} ({relation})"
