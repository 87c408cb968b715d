"""Other subjects that a fact's relation could be said of: entities of the subject's type, drawn at random.

docs/methods/baselines.md. Where the subject has no type: subjects of the same relation. What is true of the other
subject has no say: the object may be its, too.
"""

from collections.abc import Sequence

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import Pool, PoolDraws, by_number

# Sets this draw apart from all others that follow from the same seed.
SUBJECTS = 2


def other_subjects(graph: Graph, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[str]]:
    """Labels of distinct random entities that could stand in the place of each fact's subject, uniform over them.

    Cost: the listing of each small type and of the subjects of each relation that is needed; for a subject of a large
    type some look-ups for each entity drawn. Never the graph.

    Args:
        keys: facts of the graph.
        count: how many are wanted for each.
        seed: what follows from it does not depend on what stands beside a fact.

    Returns:
        one list a fact, in the order of the keys; shorter than ``count`` where the graph has no more with a name.
    """
    rows = graph.read("sample/subject_pools", rows=[key._asdict() for key in keys])
    pools = {row["fact"]: subject_pool(row) for row in rows}

    def named(asked: Sequence[tuple[FactKey, Sequence[int]]]) -> list[dict[int, str]]:
        tried = [{**key._asdict(), "numbers": list(numbers)} for key, numbers in asked]
        found = graph.read("sample/other_subjects", rows=tried)
        return by_number(asked, ((row["fact"], row["number"], row["label"]) for row in found if row["label"].strip()))

    return PoolDraws(graph).draw(keys, pools, count, [*seed, SUBJECTS], named)


def subject_pool(row: Row) -> Pool:
    """Entities of the subject's types, or else subjects of its relation; from a row of ``sample/subject_pools``."""
    if not row["types"]:
        return relation_pool(row)
    lists = tuple(("sample/members", type_["id"]) for type_ in row["types"])
    return Pool(lists, sum(type_["size"] for type_ in row["types"]), row["total"])


def relation_pool(row: Row) -> Pool:
    """Return the subjects of a fact's relation; from a row of ``sample/subject_pools``."""
    # They are found at the relation's objects, where no number says how many there are: all are listed.
    return Pool((("sample/subjects", row["relation"]),), 0, row["total"])
