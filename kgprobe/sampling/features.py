"""Weighted features of entities, as an index on disk.

Section 3.3 of the distractor paper; docs/methods/distractor-strategies.md. An entity's features are itself, each
relation of which it is the subject, each object of these facts, and each pair of both; every feature counts once. The
types of an entity count as objects of a relation, :data:`INSTANCE_OF`. Every loaded entity is a document. Facts of all
times count, so the index does not depend on a date.

The similarity of two entities is Σ w(f) over their shared features f, divided by a normalisation:

- ``tf-idf``: w = idf², idf = ln((1 + N) / (1 + df)) + 1, divided by both vectors' lengths: their cosine.
- ``bm25``: w = ln(1 + (N - df + ½) / (df + ½)), divided by (1 + k1 (1 - b + b · features / their mean)) / (k1 + 1) of
  the retrieved entity.

With both weightings an entity has one divisor, and the lists of the index are sorted by divisors. Weights are integers
in units of 2⁻³²: their sums do not depend on the order, and entities with equal vectors tie.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import UnknownNameError, expected_one_of
from kgprobe.base.progress import Task
from kgprobe.graph.client import Graph
from kgprobe.sampling.graph_cache import cached_folder
from kgprobe.sampling.lists import Lists, lists_of, mapped_array, mapped_lists

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WEIGHTINGS = ("tf-idf", "bm25")

# BM25: saturation of repeated features (none are repeated here), and normalisation by the number of features.
K1 = 1.2
B = 0.75

# Weights are in units of 1 / SCALE.
SCALE = 2**32

# Version of the files.
FORMAT = 2

# Relation of an entity to its types, which graphs store apart from facts.
INSTANCE_OF = "instance_of"

# Number of entities between two reports of progress.
REPORT_EVERY = 20_000


@dataclass(frozen=True, slots=True)
class FeatureIndex:
    """The features of a graph's entities, which are identified by their numbers.

    Features of a single entity count in its divisor only. A group is a type with its members, or a relation with its
    objects; entities without a name are in no group.

    Attributes:
        weights: of each feature, shape (features,), in units of 1 / SCALE.
        relations, entities: parts of each feature, shape (features,); -1 for a missing part. A relation is a place in
            ``relation_ids``; an entity outside the graph has its place in ``outside_ids`` behind all numbers.
        divisors: of each entity, shape (entities,), positive; infinite for an unused number.
        features: of each entity, ascending.
        found: the entities with each feature, by divisor, then number.
        groups: of each entity.
        members: of each group, by divisor, then number.
        group_ids: groups by kind (``type``, ``relation``) and id.
        relation_ids, outside_ids: ids of relations, and of objects of facts that were not loaded as entities.
    """

    weights: Int64s
    relations: Int32s
    entities: Int32s
    divisors: Floats
    features: Lists[np.int32]
    found: Lists[np.int32]
    groups: Lists[np.int32]
    members: Lists[np.int32]
    group_ids: dict[tuple[str, str], int]
    relation_ids: Sequence[str]
    outside_ids: Sequence[str]


# Fields in the files of an index, in their order.
_ARRAYS = ("weights", "relations", "entities", "divisors")
_LISTS = ("features", "found", "groups", "members")


def open_features(graph: Graph, weighting: str) -> FeatureIndex:
    """Return the index of the graph's current state, from the cache (:func:`.graph_cache.cached_folder`) or computed.

    Cost: from the cache, some file headers (files are mapped into memory); else a scan of the graph, and memory of some
    100 bytes for each fact and entity while sorting.
    """
    if weighting not in WEIGHTINGS:
        raise UnknownNameError(f"There is no weighting {weighting!r}; {expected_one_of(weighting, WEIGHTINGS)}.")

    def make(folder: Path, wait: Task) -> None:
        index = build_index(_read(graph, wait), weighting)
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(index, name))
        for name in _LISTS:
            getattr(index, name).save(folder, name)
        names = {"groups": list(index.group_ids), "relations": index.relation_ids, "outside": index.outside_ids}
        (folder / "names.json").write_bytes(msgspec.json.encode(names))

    title = "Reading what entities have in common"
    return _open(cached_folder(graph, "features", weighting, FORMAT, title, make, _open))


def _open(folder: Path) -> FeatureIndex:
    names = msgspec.json.decode((folder / "names.json").read_bytes())
    values: dict[str, Any] = {name: mapped_array(folder, name) for name in _ARRAYS}
    values |= {name: mapped_lists(folder, name) for name in _LISTS}
    group_ids = {(kind, id_): group for group, (kind, id_) in enumerate(names["groups"])}
    return FeatureIndex(**values, group_ids=group_ids, relation_ids=names["relations"], outside_ids=names["outside"])


@dataclass(frozen=True, slots=True)
class Described:
    """Facts and types of entities, as arrays of integers, from which features are computed.

    Attributes:
        named, unnamed: numbers of the loaded entities, with a label and without.
        subjects, relations, objects: of the facts, and of the types as facts, shape (facts,). A subject that was not
            loaded is -1; the object at place p of ``outside_ids`` is ``-1 - p``.
        instances, types: named entities and their types, shape (pairs,).
    """

    named: Int32s
    unnamed: Int32s
    subjects: Int32s
    relations: Int32s
    objects: Int32s
    instances: Int32s
    types: Int32s
    relation_ids: Sequence[str]
    type_ids: Sequence[str]
    outside_ids: Sequence[str]


def _read(graph: Graph, wait: Task) -> Described:
    columns = [array("i") for _ in range(7)]
    named, unnamed, subjects, relations, objects, instances, types = columns
    relation_ids: dict[str, int] = {}
    type_ids: dict[str, int] = {}
    outside: dict[str, int] = {}
    for count, row in enumerate(graph.stream("sample/features"), start=1):
        number = -1 if row["number"] is None else row["number"]
        if number >= 0:
            (named if row["named"] else unnamed).append(number)
        kinds = [(INSTANCE_OF, kind) for kind in row["kinds"]]
        for relation, object_ in (*row["facts"], *kinds):
            subjects.append(number)
            relations.append(relation_ids.setdefault(relation, len(relation_ids)))
            objects.append(object_ if isinstance(object_, int) else -1 - outside.setdefault(object_, len(outside)))
        if row["named"] and number >= 0:
            instances.extend([number] * len(row["types"]))
            types.extend([type_ids.setdefault(name, len(type_ids)) for name in row["types"]])
        if count % REPORT_EVERY == 0:
            wait.note = f"{count:,} entities read"
    ids = (list(relation_ids), list(type_ids), list(outside))
    values: list[Any] = [*map(np.asarray, columns), *ids]
    return Described(*values)


def build_index(described: Described, weighting: str) -> FeatureIndex:
    """Weight and sort the features of entities. Cost: some sorts of all features."""
    numbers = np.concatenate([described.named, described.unnamed])
    size = int(numbers.max(initial=-1)) + 1
    objects = np.where(described.objects < 0, size - 1 - described.objects, described.objects).astype(np.int64)
    entities = int(objects.max(initial=size - 1)) + 1

    # A feature is a number: entities first, then relations, then pairs of both.
    relations = len(described.relation_ids)
    pairs, pair_of_fact = np.unique(described.relations * np.int64(entities) + objects, return_inverse=True)
    total = entities + relations + len(pairs)
    inside = described.subjects >= 0
    subjects = described.subjects[inside].astype(np.int64)
    # Distinct pairs of an entity and a feature.
    keys = np.concatenate(
        [
            numbers * np.int64(total) + numbers,
            subjects * total + objects[inside],
            subjects * total + entities + described.relations[inside],
            subjects * total + entities + relations + pair_of_fact[inside],
        ]
    )
    keys = np.unique(keys)
    holders, features = np.divmod(keys, total)
    frequencies = np.bincount(features, minlength=total)

    weights = _weights(frequencies, len(numbers), weighting)
    divisors = np.full(size, np.inf)
    divisors[numbers] = _divisors(holders, weights[features], size, weighting)[numbers]
    order = np.lexsort((numbers, divisors[numbers]))
    by_divisor = numbers[order]
    rank = np.empty(size, dtype=np.int64)
    rank[by_divisor] = np.arange(len(numbers))

    shared = frequencies > 1
    compact = np.cumsum(shared) - 1
    kept = shared[features]
    holders, features = holders[kept], compact[features[kept]]
    places = np.flatnonzero(shared)
    is_relation = (places >= entities) & (places < entities + relations)
    is_pair = places >= entities + relations
    relation_part = np.where(is_relation, places - entities, -1)
    entity_part = np.where(is_relation, -1, places)
    relation_part[is_pair], entity_part[is_pair] = np.divmod(pairs[places[is_pair] - entities - relations], entities)

    members, groups = _groups(described, size)
    types = len(described.type_ids)
    names = [("type", id_) for id_ in described.type_ids] + [("relation", id_) for id_ in described.relation_ids]
    return FeatureIndex(
        weights=weights[places],
        relations=relation_part.astype(np.int32),
        entities=entity_part.astype(np.int32),
        divisors=divisors,
        features=lists_of(holders, features.astype(np.int32), size),
        found=_ranked(features, rank[holders], len(places), by_divisor),
        groups=lists_of(members, groups.astype(np.int32), size),
        members=_ranked(groups, rank[members], types + relations, by_divisor),
        group_ids={name: group for group, name in enumerate(names)},
        relation_ids=described.relation_ids,
        outside_ids=described.outside_ids,
    )


def _weights(frequencies: Int64s, documents: int, weighting: str) -> Int64s:
    """Return the weights of features by their document frequencies."""
    if weighting == "tf-idf":
        weights = np.square(np.log((1 + documents) / (1 + frequencies)) + 1)
    else:
        weights = np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5))
    rounded: Int64s = np.rint(SCALE * weights).astype(np.int64)
    return rounded


def _divisors(holders: Int64s, weights: Int64s, size: int, weighting: str) -> Floats:
    """Return the divisor of each entity; ``holders`` are ascending, each with the weight of a feature."""
    ends = np.searchsorted(holders, np.arange(size + 1))
    divisors: Floats
    if weighting == "tf-idf":
        # If the running sum overflows, differences are still exact.
        running = np.concatenate([[0], np.cumsum(weights)])
        divisors = np.sqrt(np.diff(running[ends]) / SCALE)
    else:
        counts = np.diff(ends)
        mean = counts.sum() / max(1, np.count_nonzero(counts))
        divisors = (1 + K1 * (1 - B + B * counts / max(1.0, mean))) / (K1 + 1)
    return divisors


def _groups(described: Described, size: int) -> tuple[Int64s, Int64s]:
    """Return distinct pairs of a named entity and its group, ascending: types, then relations of objects."""
    has_name = np.zeros(size, dtype=np.bool_)
    has_name[described.named] = True
    is_member = described.objects >= 0
    objects, relations = described.objects[is_member], described.relations[is_member]
    objects, relations = objects[has_name[objects]], relations[has_name[objects]]
    types, total = len(described.type_ids), len(described.type_ids) + len(described.relation_ids)
    keys = np.concatenate(
        [described.instances * np.int64(total) + described.types, objects * np.int64(total) + types + relations]
    )
    members, groups = np.divmod(np.unique(keys), max(1, total))
    return members, groups


def _ranked(owners: Int64s, ranks: Int64s, count: int, by_rank: Int32s) -> Lists[np.int32]:
    """Return lists of entities by owner, each sorted by rank."""
    keys = np.sort(owners * np.int64(max(1, len(by_rank))) + ranks)
    owners, ranks = np.divmod(keys, max(1, len(by_rank)))
    return lists_of(owners, by_rank[ranks], count)
