"""Other subjects for a fact's relation: entities of the subject's type, drawn at random.

docs/methods/baselines.md. For a subject without a type: subjects of the same relation. The fact may also be true
of the other subject.
"""

from collections.abc import Sequence

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import ObjectPool, PoolDraws, by_number

# Separates these draws from others with the same seed.
SUBJECTS = 2


def other_subjects(graph: Graph, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[str]]:
    """Draw labels of distinct entities in place of each fact's subject, uniformly.

    Cost: the members of each small type, and the subjects of each relation of typeless subjects; for a subject of a
    large type some look-ups for each entity.

    Args:
        keys: facts of the graph.
        count: number of labels per fact.
        seed: of the draws, which do not depend on the other facts.

    Returns:
        One list per fact, in the order of the keys; shorter than ``count`` if the graph has fewer entities with names.
    """
    rows = graph.read("sample/subject_pools", rows=[key._asdict() for key in keys])
    pools = {row["fact"]: subject_pool(row) for row in rows}

    def with_label(rows: Sequence[tuple[FactKey, Sequence[int]]]) -> list[dict[int, str]]:
        candidates = [{**key._asdict(), "numbers": list(numbers)} for key, numbers in rows]
        matches = graph.read("sample/other_subjects", rows=candidates)
        return by_number(rows, ((row["fact"], row["number"], row["label"]) for row in matches if row["label"].strip()))

    return PoolDraws(graph).draw(keys, pools, count, [*seed, SUBJECTS], with_label)


def subject_pool(row: Row) -> ObjectPool:
    """Return the pool of a row of ``sample/subject_pools``: entities of the types, or subjects of the relation."""
    if not row["types"]:
        return relation_pool(row)
    lists = tuple(("sample/members", type_["id"]) for type_ in row["types"])
    return ObjectPool(lists, sum(type_["size"] for type_ in row["types"]), row["total"])


def relation_pool(row: Row) -> ObjectPool:
    """Return the pool of the subjects of a fact's relation, from a row of ``sample/subject_pools``."""
    # Their number is unknown without listing them: a size of 0 lists all.
    return ObjectPool((("sample/subjects", row["relation"]),), 0, row["total"])
