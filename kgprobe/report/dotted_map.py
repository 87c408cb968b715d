"""Relations against entities: where the facts are that were asked, and which of them a model never gets right.

Figure 5 of the parameterized-graph paper shows countries by relations as dots: the larger, the more of a country's
facts are of the relation; the colour tells the zero-sense rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

RELATIONS = 12


ENTITIES = 16


@dataclass(frozen=True, slots=True)
class Dot:
    """The asked facts of one relation at one entity.

    Attributes:
        row, column: places of the relation and the entity.
        facts: how many there are.
        share: of the entity's facts that were asked, in (0, 1].
        zero_sense_rate: the share of them that was never answered right.
    """

    row: int
    column: int
    facts: int
    share: float
    zero_sense_rate: float


@dataclass(frozen=True, slots=True)
class DottedMap:
    """Those with most facts.

    Attributes:
        relations, entities: what they are called, those with most facts first.
        dots: by row and column, those without a fact left out.
        facts: how many were asked in all.
        shown: how many of these stand at one of the dots.
    """

    relations: Sequence[str]
    entities: Sequence[str]
    dots: Sequence[Dot]
    facts: int
    shown: int


def dotted_map(facts: pd.DataFrame, relations: int = RELATIONS, entities: int = ENTITIES) -> DottedMap:
    """The relations and entities with most facts; a fact counts for its subject and for its object.

    Args:
        facts: as a finding has them, one row a fact.
        relations, entities: how many at most.
    """
    ends = pd.concat(
        [
            pd.DataFrame(
                {
                    "fact": facts["fact"],
                    "relation": facts["relation"],
                    "entity": facts[end],
                    "label": facts[f"{end}_label"],
                    "never": facts["right"] == 0,
                }
            )
            for end in ("subject", "object")
        ]
    ).drop_duplicates(["fact", "entity"])
    rows = _most(facts["relation"], relations)
    totals = ends["entity"].value_counts()
    ends = ends[ends["relation"].isin(rows)]
    columns = _most(ends["entity"], entities)
    ends = ends[ends["entity"].isin(columns)]
    told = dict(zip(facts["relation"], facts["relation_label"], strict=True))
    labels = dict(zip(ends["entity"], ends["label"], strict=True))
    cells = ends.groupby(["relation", "entity"])["never"].agg(["size", "mean"])
    dots = [
        Dot(rows.index(relation), columns.index(entity), int(size), int(size) / int(totals[entity]), float(mean))
        for (relation, entity), size, mean in cells.itertuples()
    ]
    dots.sort(key=lambda dot: (dot.row, dot.column))
    return DottedMap(
        [str(told[relation] or relation) for relation in rows],
        [str(labels[entity] or entity) for entity in columns],
        dots,
        len(facts),
        ends["fact"].nunique(),
    )


def _most(keys: "pd.Series[str]", count: int) -> list[str]:
    """The keys that come most often; of equal ones the smaller ones, whatever the order of the facts."""
    sizes = keys.value_counts()
    return sorted(sizes.index, key=lambda key: (-sizes[key], str(key)))[:count]
