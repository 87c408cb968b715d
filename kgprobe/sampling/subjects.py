"""Other subjects that a fact's relation could be said of: entities of the subject's type, drawn at random.

docs/methods.md, 1, KaRR. Where the subject has no type: subjects of the same relation. What is true of the other
subject has no say: the object may be its, too.
"""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.distractors import LISTED_MEMBERS, LISTED_SHARE
from kgprobe.sampling.facts import FactKey

# Sets this draw apart from all others that follow from the same seed.
SUBJECTS = 2

# A large type is given up after so many numbers for each subject that was wanted, over its share of all entities.
_PATIENCE = 100


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
    chunks = _numbers(graph, keys, count, seed)
    found: dict[str, dict[int, str]] = {key.fact: {} for key in keys}
    pending = list(keys)
    while pending:
        tried = [(key, next(chunks[key.fact], None)) for key in pending]
        rows = [{**key._asdict(), "numbers": numbers} for key, numbers in tried if numbers is not None]
        labels: dict[str, dict[int, str]] = {row["fact"]: {} for row in rows}
        for row in graph.read("sample/other_subjects", rows=rows):
            if row["label"].strip():
                labels[row["fact"]][row["number"]] = row["label"]
        for row in rows:
            its = labels[row["fact"]]
            found[row["fact"]] |= {number: its[number] for number in row["numbers"] if number in its}
        pending = [key for key, numbers in tried if numbers is not None and len(found[key.fact]) < count]
    return [list(found[key.fact].values())[:count] for key in keys]


def _numbers(graph: Graph, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> dict[str, Iterator[list[int]]]:
    """For each fact the numbers to try, some at a time."""
    rows = {row["fact"]: row for row in graph.read("sample/subject_pools", rows=[key._asdict() for key in keys])}
    groups = {fact: _groups(row) for fact, row in rows.items()}
    members: dict[tuple[str, str], NDArray[np.int64]] = {}
    for query in ("members", "subjects"):
        ids = sorted({id_ for its in groups.values() for kind, id_ in its or () if kind == query})
        members |= {(query, id_): np.empty(0, dtype=np.int64) for id_ in ids}
        for row in graph.stream(f"sample/{query}", ids=ids) if ids else ():
            members[query, row["id"]] = np.array(row["numbers"], dtype=np.int64)
    chunks = {}
    for key in keys:
        generator = np.random.default_rng([*seed, SUBJECTS, zlib.crc32(key.fact.encode())])
        its, row = groups[key.fact], rows[key.fact]
        if its is None:
            share = min(1.0, sum(type_["size"] for type_ in row["types"]) / row["total"])
            chunks[key.fact] = _guessed(generator, row["total"], share, count)
        else:
            chunks[key.fact] = _listed(generator, np.unique(np.concatenate([members[group] for group in its])), count)
    return chunks


def _groups(row: Row) -> list[tuple[str, str]] | None:
    """The lists that a subject's pool consists of; None if its types are too large to be listed."""
    if not row["types"]:
        return [("subjects", row["relation"])]
    if sum(type_["size"] for type_ in row["types"]) > max(LISTED_MEMBERS, LISTED_SHARE * row["total"]):
        return None
    return [("members", type_["id"]) for type_ in row["types"]]


def _listed(generator: np.random.Generator, pool: NDArray[np.int64], count: int) -> Iterator[list[int]]:
    order = generator.permutation(pool)
    for first in range(0, len(order), 2 * count + 4):
        yield order[first : first + 2 * count + 4].tolist()


def _guessed(generator: np.random.Generator, total: int, share: float, count: int) -> Iterator[list[int]]:
    for _ in range(_PATIENCE):
        yield list(dict.fromkeys(generator.integers(total, size=int(2 * count / share) + 4).tolist()))
