"""Contents of a dataset: its relations, with numbers of facts, objects and choices."""

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

from kgprobe.base.errors import KgprobeError
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.datasets.folder import SPLITS, DatasetFolder


@dataclass(frozen=True, slots=True)
class DatasetRelation(ResultRow):
    """Numbers of a relation in a dataset.

    Attributes:
        train, test: facts, by split.
        objects: distinct right objects.
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

    Raises:
        KgprobeError: a row is invalid or there twice, or a relation has one object; the message names the row.
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
