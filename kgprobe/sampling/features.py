"""What entities have in common: their features, weighted, as an index on disk.

Section 3.3 of the distractor paper; docs/methods/distractor-strategies.md. An entity's features are itself, each
relation that it is the subject of, each object of these facts, and each pair of the two; every feature counts once.
Every entity that was loaded is a document. Facts count whenever they held: what an entity once was describes it too,
and so the index does not depend on a date.

The likeness of two entities is Σ w(f) over the features f that they share, divided by what the entities are by
themselves:

- ``tf-idf``: w = idf², idf = ln((1 + N) / (1 + df)) + 1, divided by both vectors' lengths: their cosine.
- ``bm25``: w = ln(1 + (N - df + ½) / (df + ½)), divided by (1 + k1 (1 - b + b · features / their mean)) / (k1 + 1) of
  the entity that is found.

So with either weighting an entity has one divisor, and the lists of the index are in the order of their divisors.
Weights are integers, in units of 2⁻³²: their sums are the same in any order, and entities with like vectors tie.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.progress import Wait
from kgprobe.sampling.graph_cache import kept_for
from kgprobe.sampling.lists import Lists, lists_of, mapped_array, mapped_lists

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WEIGHTINGS = ("tf-idf", "bm25")

# Of BM25: how soon repetition saturates (nothing is repeated here, so it scales the next alone), and how far an entity
# with many features is held back.
K1 = 1.2
B = 0.75

# Weights count in units of 1 / SCALE.
SCALE = 2**32

# Changes whenever the files mean something else.
FORMAT = 1

# Entities between two reports of progress.
REPORT_EVERY = 20_000


@dataclass(frozen=True, slots=True)
class FeatureIndex:
    """The features of a graph's entities. Entities go by their numbers.

    Features of one entity alone count in its divisor and are left out of everything else: nothing can be found by them.
    A group is a type with its members, or a relation with its objects; entities without a name are in none.

    Attributes:
        weights: of each feature, shape (features,), in units of 1 / SCALE.
        relations, entities: what each feature is made of, shape (features,); -1 where it has no such part. A relation
            is a place in ``relation_ids``; an entity that was not loaded has its place in ``outside_ids`` behind all
            numbers.
        divisors: of each entity, shape (entities,), positive; infinite where there is no entity.
        features: of each entity, ascending.
        found: the entities with each feature, by divisor, then number.
        groups: of each entity.
        members: of each group, by divisor, then number.
        group_ids: groups by what they are (``type``, ``relation``) and the id of that.
        relation_ids, outside_ids: ids of relations, and of entities that are named by facts and were not loaded.
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


def open_features(graph: Graph, weighting: str) -> FeatureIndex:
    """The index of the graph as it is now: from disk, or made and kept there.

    It lies below ``features`` in kgprobe's folder, and is made anew once something was loaded into the graph; changes
    that were made in Cypher by hand are not noticed.

    Raises:
        UnknownNameError: there is no such weighting.
        KgprobeError: nothing was loaded into the graph yet, or something is being loaded into it now.

    Cost: opening it, some file headers, since the files are mapped into memory; making it, a scan of the graph, and
    memory of some 100 bytes for each fact and entity while the arrays are sorted.
    """
    if weighting not in WEIGHTINGS:
        raise UnknownNameError(f"There is no weighting {weighting!r}; there are: {', '.join(WEIGHTINGS)}.")

    def make(folder: Path, wait: Wait) -> None:
        _make(graph, weighting, folder, wait)

    title = "Reading what entities have in common"
    return _open(kept_for(graph, "features", weighting, FORMAT, title, make, _open))


def _make(graph: Graph, weighting: str, folder: Path, wait: Wait) -> None:
    """Write the index of a graph into an empty folder."""
    index = build_index(_read(graph, wait), weighting)
    for field in fields(index):
        value = getattr(index, field.name)
        if isinstance(value, Lists):
            value.save(folder, field.name)
        elif isinstance(value, np.ndarray):
            np.save(folder / f"{field.name}.npy", value)
    names = {"groups": list(index.group_ids), "relations": index.relation_ids, "outside": index.outside_ids}
    (folder / "names.json").write_bytes(msgspec.json.encode(names))


def _open(folder: Path) -> FeatureIndex:
    names = msgspec.json.decode((folder / "names.json").read_bytes())
    return FeatureIndex(
        weights=mapped_array(folder, "weights"),
        relations=mapped_array(folder, "relations"),
        entities=mapped_array(folder, "entities"),
        divisors=mapped_array(folder, "divisors"),
        features=mapped_lists(folder, "features"),
        found=mapped_lists(folder, "found"),
        groups=mapped_lists(folder, "groups"),
        members=mapped_lists(folder, "members"),
        group_ids={(kind, id_): group for group, (kind, id_) in enumerate(names["groups"])},
        relation_ids=names["relations"],
        outside_ids=names["outside"],
    )


@dataclass(frozen=True, slots=True)
class Described:
    """What the features of entities are made from, as arrays of integers.

    Attributes:
        named, unnamed: numbers of the entities that were loaded, with a label and without.
        subjects, relations, objects: of the facts, shape (facts,). A subject that was not loaded is -1; an object that
            was not is ``-1 - its place`` among those.
        instances, types: named entities and their types, shape (pairs,).
        relation_ids, type_ids, outside_ids: what the integers stand for.
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


def _read(graph: Graph, wait: Wait) -> Described:
    named, unnamed, subjects, relations, objects, instances, types = (array("i") for _ in range(7))
    relation_ids: dict[str, int] = {}
    type_ids: dict[str, int] = {}
    outside: dict[str, int] = {}
    for count, row in enumerate(graph.stream("sample/features"), start=1):
        number = -1 if row["number"] is None else row["number"]
        if number >= 0:
            (named if row["named"] else unnamed).append(number)
        for relation, object_ in row["facts"]:
            subjects.append(number)
            relations.append(relation_ids.setdefault(relation, len(relation_ids)))
            objects.append(object_ if isinstance(object_, int) else -1 - outside.setdefault(object_, len(outside)))
        for type_ in row["types"] if row["named"] and number >= 0 else ():
            instances.append(number)
            types.append(type_ids.setdefault(type_, len(type_ids)))
        if count % REPORT_EVERY == 0:
            wait.note = f"{count:,} entities read"
    return Described(
        named=np.asarray(named),
        unnamed=np.asarray(unnamed),
        subjects=np.asarray(subjects),
        relations=np.asarray(relations),
        objects=np.asarray(objects),
        instances=np.asarray(instances),
        types=np.asarray(types),
        relation_ids=list(relation_ids),
        type_ids=list(type_ids),
        outside_ids=list(outside),
    )


def build_index(described: Described, weighting: str) -> FeatureIndex:
    """Weigh the features of entities and put them in order. Cost: some sorts of all features."""
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
    # Each entity and each of its features, once.
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
    made_of = np.flatnonzero(shared)
    is_relation = (made_of >= entities) & (made_of < entities + relations)
    is_pair = made_of >= entities + relations
    pair = pairs[np.where(is_pair, made_of - entities - relations, 0)] if len(pairs) else np.zeros(len(made_of), int)
    relation_part = np.where(is_pair, pair // entities, np.where(is_relation, made_of - entities, -1))
    entity_part = np.where(is_pair, pair % entities, np.where(is_relation, -1, made_of))

    members, groups = _groups(described, size)
    types = len(described.type_ids)
    return FeatureIndex(
        weights=weights[made_of],
        relations=relation_part.astype(np.int32),
        entities=entity_part.astype(np.int32),
        divisors=divisors,
        features=lists_of(holders, features.astype(np.int32), size),
        found=_ranked(features, rank[holders], len(made_of), by_divisor),
        groups=lists_of(members, groups.astype(np.int32), size),
        members=_ranked(groups, rank[members], types + relations, by_divisor),
        group_ids={
            **{("type", id_): group for group, id_ in enumerate(described.type_ids)},
            **{("relation", id_): types + group for group, id_ in enumerate(described.relation_ids)},
        },
        relation_ids=described.relation_ids,
        outside_ids=described.outside_ids,
    )


def _weights(frequencies: Int64s, documents: int, weighting: str) -> Int64s:
    """The weight of features by how many entities have them; a feature of none gets one that nobody asks for."""
    if weighting == "tf-idf":
        weights = np.square(np.log((1 + documents) / (1 + frequencies)) + 1)
    else:
        weights = np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5))
    rounded: Int64s = np.rint(SCALE * weights).astype(np.int64)
    return rounded


def _divisors(holders: Int64s, weights: Int64s, size: int, weighting: str) -> Floats:
    """What the likeness of each entity is divided by; ``holders`` ascending, with the weight of a feature each."""
    ends = np.searchsorted(holders, np.arange(size + 1))
    divisors: Floats
    if weighting == "tf-idf":
        # Where it runs over, differences are right nevertheless.
        running = np.concatenate([[0], np.cumsum(weights)])
        divisors = np.sqrt(np.diff(running[ends]) / SCALE)
    else:
        counts = np.diff(ends)
        mean = counts.sum() / max(1, np.count_nonzero(counts))
        divisors = (1 + K1 * (1 - B + B * counts / max(1.0, mean))) / (K1 + 1)
    return divisors


def _groups(described: Described, size: int) -> tuple[Int64s, Int64s]:
    """Entities with a name and the groups they are in, each pair once, ascending: types, then relations as objects."""
    named = np.zeros(size, dtype=np.bool_)
    named[described.named] = True
    is_member = described.objects >= 0
    objects, relations = described.objects[is_member], described.relations[is_member]
    objects, relations = objects[named[objects]], relations[named[objects]]
    types, total = len(described.type_ids), len(described.type_ids) + len(described.relation_ids)
    keys = np.concatenate(
        [described.instances * np.int64(total) + described.types, objects * np.int64(total) + types + relations]
    )
    members, groups = np.divmod(np.unique(keys), max(1, total))
    return members, groups


def _ranked(owners: Int64s, ranks: Int64s, count: int, by_rank: Int32s) -> Lists[np.int32]:
    """Lists of entities by owner, each in the order of their ranks."""
    keys = np.sort(owners * np.int64(max(1, len(by_rank))) + ranks)
    owners, ranks = np.divmod(keys, max(1, len(by_rank)))
    return lists_of(owners, by_rank[ranks], count)
