"""Dotted map of relations by entities: numbers of asked facts, and the share that a model never answers right.

Figure 5 of the parameterized-graph paper shows countries by relations as dots. The size is the share of the country's
facts that are of the relation, the colour is the zero-sense rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

# Maximum numbers: those with most facts.
RELATIONS = 12
ENTITIES = 16


@dataclass(frozen=True, slots=True)
class Dot:
    """The asked facts of one relation at one entity.

    Attributes:
        row, column: positions of the relation and the entity.
        facts: number of facts.
        share: their share of the entity's asked facts, in (0, 1].
        zero_sense_rate: the share of them that was never answered right.
    """

    row: int
    column: int
    facts: int
    share: float
    zero_sense_rate: float


@dataclass(frozen=True, slots=True)
class DottedMap:
    """The relations and entities with most facts.

    Attributes:
        relations, entities: their names, by decreasing number of facts.
        dots: by row and column, without empty ones.
        facts: number of all asked facts.
        shown: number of facts that are in a dot.
    """

    relations: Sequence[str]
    entities: Sequence[str]
    dots: Sequence[Dot]
    facts: int
    shown: int

    def rows(self) -> list[dict[str, Any]]:
        """Return the dots for programs, with the names of relations and entities."""
        return [
            {
                "relation": self.relations[dot.row],
                "entity": self.entities[dot.column],
                "facts": dot.facts,
                "share": dot.share,
                "zero_sense_rate": dot.zero_sense_rate,
            }
            for dot in self.dots
        ]


def dotted_map(facts: pd.DataFrame) -> DottedMap:
    """Count the facts of a finding by relation and entity; a fact counts for its subject and its object."""
    never = facts[["fact", "relation"]].assign(never=facts["right"] == 0)
    subjects = never.assign(entity=facts["subject"], label=facts["subject_label"])
    objects = never.assign(entity=facts["object"], label=facts["object_label"])
    ends = pd.concat([subjects, objects]).drop_duplicates(["fact", "entity"])
    rows = _most(facts["relation"], RELATIONS)
    totals = ends["entity"].value_counts()
    ends = ends[ends["relation"].isin(rows)]
    columns = _most(ends["entity"], ENTITIES)
    ends = ends[ends["entity"].isin(columns)]
    names = dict(zip(facts["relation"], facts["relation_label"], strict=True))
    labels = dict(zip(ends["entity"], ends["label"], strict=True))
    cells = ends.groupby(["relation", "entity"])["never"].agg(["size", "mean"])
    # A relation without facts of these entities has no row.
    rows = [relation for relation in rows if relation in set(ends["relation"])]
    dots = [
        Dot(rows.index(relation), columns.index(entity), int(size), int(size) / int(totals[entity]), float(mean))
        for (relation, entity), size, mean in cells.itertuples()
    ]
    dots.sort(key=lambda dot: (dot.row, dot.column))
    return DottedMap(
        [str(names[relation] or relation) for relation in rows],
        [str(labels[entity] or entity) for entity in columns],
        dots,
        len(facts),
        ends["fact"].nunique(),
    )


def _most(keys: "pd.Series[str]", count: int) -> list[str]:
    """Return the most frequent keys; ties go to the smaller key, so that the order of the facts does not matter."""
    sizes = keys.value_counts()
    return sorted(sizes.index, key=lambda key: (-sizes[key], str(key)))[:count]
