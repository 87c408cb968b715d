"""Multiple-choice datasets: built, imported, opened, and exported."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import pandas as pd

from kgprobe.base.errors import KgprobeError
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.datasets.building import RelationCounts
from kgprobe.datasets.folder import SPLITS, DatasetFolder, open_folder
from kgprobe.results.result import Listing, Result


@dataclass(frozen=True, slots=True)
class DatasetRelation(ResultRow):
    """Numbers of a relation in a dataset.

    Attributes:
        train, test: facts, by split.
        fewest_choices, most_choices: range of the number of choices of a fact.
    """

    relation: Annotated[str, Heading("id")]
    label: Annotated[str, Heading("relation")]
    train: Annotated[int, Heading("train")]
    test: Annotated[int, Heading("test")]
    objects: Annotated[int, Heading("objects")]
    fewest_choices: Annotated[int, Heading("fewest choices")]
    most_choices: Annotated[int, Heading("most choices")]


def read_relations(files: DatasetFolder) -> list[DatasetRelation]:
    """Return the relations of a dataset, in the order of its files; check every row.

    Cost: the files are read once. Memory: the ids of the facts.
    """
    facts: dict[tuple[str, str, str], str] = {}
    rows = []
    for split in SPLITS:
        for place, row in files.rows(split):
            triple = (row.subject_id, row.relation, row.object_id)
            if triple in facts:
                raise KgprobeError(f"{place}: the fact {' '.join(triple)} is also in {facts[triple]}.")
            facts[triple] = place
            rows.append((row.relation, row.relation_label, split, row.object_id, len(row.choices), place))
    frame = pd.DataFrame(rows, columns=["relation", "label", "split", "object", "choices", "place"])
    relations = []
    for relation, own in frame.groupby("relation", sort=False):
        if own["object"].nunique() == 1:
            raise KgprobeError(
                f"{own['place'].iloc[0]}: the relation {relation} has only one object, {own['object'].iloc[0]}, in all"
                f" of its {len(own):,} facts, so that the examples reveal it; remove the relation."
            )
        train, test = ((own["split"] == split).sum() for split in SPLITS)
        counts = (train, test, own["object"].nunique(), own["choices"].min(), own["choices"].max())
        relations.append(DatasetRelation(str(relation), own["label"].iloc[0], *map(int, counts)))
    return relations


# Reasons for left-out relations that a summary lists.
_SHOWN_REASONS = 3


@dataclass(frozen=True, slots=True, repr=False)
class BuiltDataset(Result):
    """A new multiple-choice dataset; one row for each relation, whose ``reason`` is None if it is in the dataset.

    Attributes:
        relations: all relations, with the reason for those that are left out.
        train, test: facts of each relation in the dataset, by split.
    """

    folder: Path
    relations: Annotated[
        Sequence[RelationCounts],
        Listing("In the data set", where=lambda relation: relation.reason is None, optional=True),
        Listing("Left out", where=lambda relation: relation.reason is not None, detail=True),
    ]
    train: int
    test: int

    @property
    def left_out(self) -> list[RelationCounts]:
        """The relations that are left out."""
        return [relation for relation in self.relations if relation.reason is not None]

    def summary(self) -> str:
        """Return numbers of relations and facts, the folder, and the reasons for left-out relations."""
        reasons = Counter(_without_counts(str(relation.reason)) for relation in self.left_out)
        included = len(self.relations) - reasons.total()
        counts = (
            f"{counted(included, 'relation')} of {len(self.relations):,} qualified: {included * self.train:,} facts to"
            f" show and {included * self.test:,} to ask, in {self.folder}."
        )
        if not reasons:
            return counts
        listed = "; ".join(f"{count:,} with {reason}" for reason, count in reasons.most_common(_SHOWN_REASONS))
        more = f"; and {len(reasons) - _SHOWN_REASONS} more reasons" if len(reasons) > _SHOWN_REASONS else ""
        return f"{counts}\nLeft out: {counted(reasons.total(), 'relation')}: {listed}{more}."


def _without_counts(reason: str) -> str:
    """Return a reason without a relation's own counts, so that relations can share it.

    >>> _without_counts("12 facts of 500 and 6 objects of 100")
    'fewer than 500 facts and fewer than 100 objects'
    """
    few = re.sub(r"[\d,]+ (facts|objects) of ([\d,]+)", r"fewer than \2 \1", reason)
    return re.sub(r"^[\d,]+ facts have", "facts that have", few)


@dataclass(frozen=True, slots=True, repr=False)
class Dataset(Result):
    """Contents of a dataset; one row for each relation.

    Attributes:
        relations: its relations, in the order of its files.
    """

    folder: Path
    relations: Annotated[Sequence[DatasetRelation], Listing("")]

    def summary(self) -> str:
        """Return the numbers of relations and facts."""
        train = sum(map(attrgetter("train"), self.relations))
        test = sum(map(attrgetter("test"), self.relations))
        return f"{counted(len(self.relations), 'relation')}: {train:,} facts to show and {test:,} to ask."


@dataclass(frozen=True, slots=True, repr=False)
class ImportedDataset(Dataset):
    """A new data set of published files; its notes are unusable lines and templates of the file of templates.

    Attributes:
        skipped: number of skipped rows by reason.
        merged_choices: choices that were left out, because they are the right object, or twice in their row.
    """

    skipped: Mapping[str, int]
    merged_choices: int

    def summary(self) -> str:
        """Return the numbers of relations and facts, the folder, and the skipped rows by reason."""
        lines = [f"{Dataset.summary(self)[:-1]}, in {self.folder}."]
        if self.skipped:
            reasons = "; ".join(f"{count:,}: {reason}" for reason, count in self.skipped.items())
            lines.append(f"Skipped: {counted(sum(self.skipped.values()), 'row')}. {reasons}.")
        if self.merged_choices:
            lines.append(
                f"Left out: {counted(self.merged_choices, 'choice')} that are the right object, or twice in a row."
            )
        return "\n".join(lines)


def open_dataset(folder: Path) -> Dataset:
    """Return the contents of the data set in a folder; see :func:`~kgprobe.datasets.results.read_relations`."""
    files = open_folder(folder)
    relations = read_relations(files)
    untaught = ", ".join(relation.relation for relation in relations if not relation.train)
    notes = [f"Facts of these relations cannot be asked, as `train` has no examples: {untaught}."] if untaught else []
    return Dataset(files.path, relations, notes=notes)


@dataclass(frozen=True, slots=True, repr=False)
class HarnessTask(Result):
    """A task of lm-evaluation-harness; its notes are differences that are possible between the harness and kgprobe.

    Attributes:
        name: name for ``lm_eval --tasks``.
    """

    folder: Path
    name: str
    facts: int

    def summary(self) -> str:
        """Return the command that runs the task."""
        return (
            f"{counted(self.facts, 'fact')} in {self.folder}. To run it:\n"
            f"lm_eval --include_path {self.folder.parent} --tasks {self.name} --model hf --model_args pretrained=MODEL"
            " --log_samples --output_path logs\n`kgprobe compare` reads the logs of two models."
        )
