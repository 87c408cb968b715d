"""Semantic distractors: entities similar to the object by shared features.

Section 3.3 of the distractor paper; docs/methods/distractor-strategies.md. :class:`FeatureIndex` has the weighted
features of entities on disk, :class:`Search` finds the most similar entities, and the graph rejects entities that are
not distractors. If too few share a feature with the object, random members of its type follow (:mod:`.pool_draws`),
marked as unlike it.

An entity's features are itself, each relation of which it is the subject, each object of these facts, and each pair of
both; every feature counts once. The types of an entity count as objects of a relation, :data:`INSTANCE_OF`. Every
loaded entity is a document. Facts of all times count, so the index does not depend on a date.

The similarity of two entities is Σ w(f) over their shared features f, divided by a normalisation:

- ``tf-idf``: w = idf², idf = ln((1 + N) / (1 + df)) + 1, divided by both vectors' lengths: their cosine.
- ``bm25``: w = ln(1 + (N - df + ½) / (df + ½)), divided by (1 + k1 (1 - b + b · features / their mean)) / (k1 + 1) of
  the retrieved entity.

With both weightings an entity has one divisor, and the lists of the index are sorted by divisors. Weights are integers
in units of 2⁻³²: their sums do not depend on the order, and entities with equal vectors tie.

Temporal distractors: former objects, then semantic distractors. The former objects of a fact's
subject and relation, which held only before ``as_of``, come first, sorted by their distance in time from the fact, if
:class:`~.distractors.FormerObjects` admits them; else there are semantic distractors only. The distance is that of the
middles of the intervals, in days: an open end counts as ``as_of``, an open start as the end.
"""

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import UnknownNameError, expected_one_of
from kgprobe.base.progress import Task
from kgprobe.graph.client import Graph
from kgprobe.graph.rows import column_by
from kgprobe.sampling.distractors import FORMER_ORDERS, Distractor, RuledFact, admissible, former_distractors
from kgprobe.sampling.graph_cache import cached_folder
from kgprobe.sampling.lists import Lists, lists_of, mapped_array, mapped_lists
from kgprobe.sampling.pool_draws import PoolDraw, PoolEntities, generator_of, go_through

# Length of the first piece of a list; each piece is twice as long as the one before.
FIRST_PIECE = 512
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

# Version of the index's files.
FORMAT = 3

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


@dataclass(slots=True)
class _Best:
    """The best entities so far, by similarity; ties by divisor, then by number."""

    count: int
    divisors: Floats
    entities: Int32s = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    scores: Floats = field(default_factory=lambda: np.empty(0))

    def add(self, entities: Int32s, shared: Int64s) -> None:
        """Add entities with the weights of their shared features."""
        scores = np.concatenate([self.scores, shared / self.divisors[entities]])
        entities = np.concatenate([self.entities, entities])
        if len(scores) > self.count:
            last = np.partition(scores, len(scores) - self.count)[len(scores) - self.count]
            entities, scores = entities[scores >= last], scores[scores >= last]
        order = np.lexsort((entities, self.divisors[entities], -scores))[: self.count]
        self.entities, self.scores = entities[order], scores[order]

    def reach(self, entities: Int32s, bound: int) -> int:
        """Return how many entities of a sorted list could enter, if they share features of that weight at most."""
        if len(self.entities) < self.count:
            return len(entities)
        last, score = self.entities[-1], self.scores[-1]
        divisors = self.divisors[entities]
        bounds = bound / divisors
        earlier = (divisors < self.divisors[last]) | ((divisors == self.divisors[last]) & (entities < last))
        return int(np.count_nonzero((bounds > score) | ((bounds == score) & earlier)))


class Search:
    """Exact search for the most similar entities of a group, without scoring all of them.

    Each feature of the query entity has a list of the entities that share it, sorted by their divisors. An entity that
    is first found in the list of a feature shares none of the features read before. So its similarity is at most the
    weight of this and the remaining features over its divisor, and this bound decreases along the list. Features are
    read from the rarest (largest weight) on. A list ends when the bound falls below the worst of the best results; most
    lists of common features are never read. (MaxScore and impact-ordered lists of search engines.)

    Memory: a byte per entity, and 8 bytes per feature and group.
    """

    def __init__(self, index: FeatureIndex) -> None:
        """Prepare a search in this index."""
        self._index = index
        # All zero between searches.
        self._seen: Bools = np.zeros(len(index.divisors), dtype=np.bool_)
        self._weights: Int64s = np.zeros(len(index.weights), dtype=np.int64)
        self._is_group: Int64s = np.zeros(len(index.group_ids), dtype=np.int64)

    def nearest(self, entity: int, groups: Sequence[int], count: int) -> tuple[Int32s, Floats]:
        """Return the most similar entities of the groups, without the entity itself.

        An entity in several of the groups (places in the index) counts once.

        Returns:
            Numbers by decreasing similarity (ties by divisor, then by number), and for each the weight of its shared
            features over its divisor. Shorter than ``count`` only if the groups have fewer; entities without a shared
            feature are last, with 0.

        Cost: linear in the lists of the entity's rare features; at most twice the groups' members.
        """
        features = self._index.features[entity]
        best = _Best(count, self._index.divisors)
        touched = [np.array([entity])]
        self._weights[features] = self._index.weights[features]
        self._is_group[list(groups)] = 1
        self._seen[entity] = True
        for piece in self._pieces(best, features, [self._index.members[group] for group in groups]):
            new = piece[~self._seen[piece]]
            self._seen[new] = True
            touched.append(new)
            new = new[self._index.groups.sums(new, self._is_group) > 0]
            if len(new):
                best.add(new, self._index.features.sums(new, self._weights))
        self._weights[features] = 0
        self._is_group[list(groups)] = 0
        self._seen[np.concatenate(touched)] = False
        return best.entities, best.scores / SCALE

    def _pieces(self, best: _Best, features: Int32s, members: Sequence[Int32s]) -> Iterator[Int32s]:
        """Yield candidates in pieces of distinct entities, until no other entity can be among the best."""
        weights = self._index.weights[features]
        rarest = np.argsort(-weights, kind="stable")
        remaining = np.append(np.cumsum(weights[rarest][::-1])[::-1], 0)
        # Beyond this number it is cheaper to read the groups.
        limit = sum(map(len, members))
        first = np.array([group[0] for group in members if len(group)], dtype=np.int32)
        waiting: list[Int32s] = []
        read, done = 0, 0
        while done < len(features) and read <= limit and best.reach(first, int(remaining[done])):
            entities = self._index.found[features[rarest[done]]]
            for piece in _within_reach(best, entities, int(remaining[done])):
                read += len(piece)
                waiting.append(piece)
                # Lists of rare features are short: several are joined to a piece.
                if sum(map(len, waiting)) >= FIRST_PIECE:
                    yield np.unique(np.concatenate(waiting))
                    waiting.clear()
                if read > limit:
                    break
            else:
                done += 1
        if waiting:
            yield np.unique(np.concatenate(waiting))
        for group in members:
            yield from _within_reach(best, group, int(remaining[done]))


def _within_reach(best: _Best, entities: Int32s, bound: int) -> Iterator[Int32s]:
    """Yield the part of a list that can be among the best, in pieces; ``bound`` is the weight of shared features."""
    place, size = 0, FIRST_PIECE
    while place < len(entities):
        piece = entities[place : place + size]
        near = best.reach(piece, bound)
        if near:
            yield piece[:near]
        if near < len(piece):
            return
        place, size = place + size, 2 * size


# Number of shared features in a reason.
SHOWN_FEATURES = 3


@dataclass(slots=True)
class _Ranking:
    """The search state of a fact.

    Attributes:
        entity: number of the object; -1 if it was not loaded as an entity.
        groups: places of its types in the index; without a type, that of the relation.
        ranked: the best entities that share a feature with the object, distractors or not.
        complete: True if the groups have no more entities with a shared feature.
    """

    place: int
    entity: int
    groups: tuple[int, ...]
    ranked: Int32s = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    scores: Floats = field(default_factory=lambda: np.empty(0))
    accepted: dict[int, Distractor] = field(default_factory=dict)
    complete: bool = False


class SemanticDistractors:
    """Distractors most similar to each fact's object, in one graph."""

    name = "semantic"

    def __init__(
        self,
        graph: Graph,
        weighting: str = "tf-idf",
    ) -> None:
        """Open the index of the graph's features, weighted by ``tf-idf`` or ``bm25``, or compute it."""
        self.entities = PoolEntities(graph)
        self._weighting = weighting
        self._index: FeatureIndex = open_features(graph, weighting)
        self._search = Search(self._index)
        self._relations = {INSTANCE_OF: "instance of"} | {
            row["id"]: row["label"] or row["id"] for row in graph.read("sample/relations")
        }

    def describe(self) -> dict[str, Any]:
        """Return the strategy and its weighting; see :class:`~kgprobe.sampling.distractors.Retriever`."""
        parameters = {"k1": K1, "b": B} if self._weighting == "bm25" else {}
        return {"strategy": self.name, "weighting": self._weighting, **parameters}

    def retrieve(self, ruled: Sequence[RuledFact], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Return the most similar distractors; see :class:`~kgprobe.sampling.distractors.Retriever`.

        Entities without a shared feature come last, in random order; nothing else is random.

        Cost: a search for each object (:meth:`.Search.nearest`), a look-up in the graph for each distractor.
        """
        rankings = list(map(self._begin, range(len(ruled)), ruled))
        pending = [ranking for ranking in rankings if not ranking.complete]
        # Some of the best are rejected: true objects are often similar.
        size = count + count // 4 + 8
        while pending:
            candidates = self._extend(pending, size)
            for ranking, distractors in zip(pending, admissible(self.entities, ruled, candidates), strict=True):
                ranking.accepted |= distractors
            pending = [ranking for ranking in pending if len(ranking.accepted) < count and not ranking.complete]
            size *= 2
        self._fill_up(rankings, ruled, count, seed)
        return self._explained([(ranking, list(ranking.accepted)[:count]) for ranking in rankings])

    def _fill_up(
        self, rankings: Sequence[_Ranking], ruled: Sequence[RuledFact], count: int, seed: Sequence[int]
    ) -> None:
        """Add random members of the groups if too few are similar to the object.

        All entities with a shared feature have been tested by then and are few, so few draws are wasted.
        """
        members: dict[tuple[int, ...], Int32s] = {(): np.empty(0, dtype=np.int32)}
        draws = []
        for ranking in rankings:
            if len(ranking.accepted) >= count or ranking.entity < 0:
                continue
            groups = ranking.groups
            if groups not in members:
                lists = [self._index.members[group] for group in groups]
                members[groups] = lists[0] if len(lists) == 1 else np.unique(np.concatenate(lists))
            generator = generator_of(ruled[ranking.place][0].key, seed)
            draw: PoolDraw[Distractor] = PoolDraw.of_members(ranking.place, members[groups], generator)
            draw.accepted = ranking.accepted
            draws.append(draw)
        go_through(draws, count, lambda tried: admissible(self.entities, ruled, tried))

    def _begin(self, place: int, ruled: RuledFact) -> _Ranking:
        fact, _ = ruled
        entity = -1 if fact.object_number is None else fact.object_number
        names = [("type", type_.id) for type_ in fact.object_types] or [("relation", fact.relation)]
        groups = tuple(self._index.group_ids[name] for name in names if name in self._index.group_ids)
        return _Ranking(place, entity, groups, complete=entity < 0 or not groups)

    def _extend(self, rankings: Sequence[_Ranking], size: int) -> list[tuple[int, list[int]]]:
        """Rank more entities for each fact, and return the new ones."""
        nearest: dict[tuple[int, tuple[int, ...]], tuple[Int32s, Floats]] = {}
        new: list[tuple[int, list[int]]] = []
        for ranking in rankings:
            query = (ranking.entity, ranking.groups)
            if query not in nearest:
                nearest[query] = self._search.nearest(ranking.entity, ranking.groups, size)
            before = len(ranking.ranked)
            ranked, scores = nearest[query]
            sharing = int(np.count_nonzero(scores > 0))
            ranking.ranked, ranking.scores = ranked[:sharing], scores[:sharing]
            ranking.complete = sharing < size
            new.append((ranking.place, ranking.ranked[before:].tolist()))
        return new

    def _explained(self, chosen: Sequence[tuple[_Ranking, Sequence[int]]]) -> list[list[Distractor]]:
        """Return the chosen distractors, each with its similarity and the shared features as a reason."""
        shared: dict[tuple[int, int], list[int]] = {}
        for ranking, numbers in chosen:
            for number in numbers:
                shared[ranking.entity, number] = self._shared(ranking.entity, number)
        names = self._names(set(chain.from_iterable(shared.values())))
        is_cosine = self._weighting == "tf-idf"
        explained = []
        for ranking, numbers in chosen:
            scores = dict(zip(ranking.ranked.tolist(), ranking.scores.tolist(), strict=True))
            distractors = []
            for number in numbers:
                distractor = ranking.accepted[number]
                score = scores.get(number)
                if score is None:
                    reason = "shares no feature with it"
                else:
                    cosine = score / self._index.divisors[ranking.entity]
                    likeness = f"cosine {cosine:.2f}" if is_cosine else f"BM25 {score:.1f}"
                    reason = f"{likeness}: {', '.join(map(names.__getitem__, shared[ranking.entity, number]))}"
                reason = f"{distractor.reason}; {reason}"
                changed = msgspec.structs.replace(distractor, reason=reason, unlike=score is None)
                distractors.append(changed)
            explained.append(distractors)
        return explained

    def _shared(self, entity: int, other: int) -> list[int]:
        """Return the shared features of two entities with the largest weights, without parts of chosen pairs."""
        index = self._index
        features = np.intersect1d(index.features[entity], index.features[other], assume_unique=True)
        single = (index.relations[features] < 0) | (index.entities[features] < 0)
        # Ties: pairs before their parts.
        order = np.lexsort((single, -index.weights[features]))
        chosen: list[int] = []
        relations: set[int] = set()
        entities: set[int] = set()
        for feature in features[order].tolist():
            relation, entity = int(index.relations[feature]), int(index.entities[feature])
            if (relation < 0 and entity in entities) or (entity < 0 and relation in relations):
                continue
            relations.add(relation)
            entities.add(entity)
            chosen.append(feature)
            if len(chosen) == SHOWN_FEATURES:
                break
        return chosen

    def _names(self, features: Collection[int]) -> dict[int, str]:
        """Return names of features: ``country = France``, ``France`` (any relation), ``country = …`` (any object)."""
        index = self._index
        numbers = np.unique(index.entities[list(features)])
        inside = numbers[(numbers >= 0) & (numbers < len(index.divisors))].tolist()
        labels = column_by("number", "label", self.entities.graph.read("sample/numbered", numbers=inside))
        names = {}
        for feature in features:
            relation, entity = int(index.relations[feature]), int(index.entities[feature])
            name = labels.get(entity) or index.outside_ids[entity - len(index.divisors)] if entity >= 0 else "…"
            if relation >= 0:
                id_ = index.relation_ids[relation]
                name = f"{self._relations.get(id_, id_)} = {name}"
            names[feature] = name
        return names


class TemporalDistractors:
    """Former objects (marked by :attr:`Distractor.former`), then semantic distractors."""

    name = "temporal-semantic"

    def __init__(
        self, graph: Graph, as_of: int, weighting: str = "tf-idf", former_order: str = FORMER_ORDERS[0]
    ) -> None:
        """Open the index of features, see :class:`~kgprobe.sampling.semantic.SemanticDistractors`.

        Objects that ended before ``as_of`` (``yyyymmdd``) are former.
        """
        self._as_of = as_of
        self._former_order = former_order
        self.semantic = SemanticDistractors(graph, weighting)

    def describe(self) -> dict[str, Any]:
        """Return the strategy and the weighting; see :class:`~kgprobe.sampling.distractors.Retriever`."""
        order = {} if self._former_order == FORMER_ORDERS[0] else {"former_order": self._former_order}
        return {**self.semantic.describe(), "strategy": self.name, **order}

    def retrieve(self, ruled: Sequence[RuledFact], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Return former objects, then similar ones; see :class:`~kgprobe.sampling.distractors.Retriever`.

        Only the order of entities without a feature in common with the object is random.

        Cost: a walk through the facts of each subject, and that of semantic distractors.
        """
        former = former_distractors(self.semantic.entities, ruled, self._as_of, self._former_order)
        lacking = [place for place, distractors in enumerate(former) if len(distractors) < count]
        # All former objects are in the list already.
        others = [(ruled[place][0], replace(ruled[place][1], before=None)) for place in lacking]
        semantic = self.semantic.retrieve(others, count, seed) if lacking else []
        for place, similar in zip(lacking, semantic, strict=True):
            former[place] = [*former[place], *similar]
        return [distractors[:count] for distractors in former]
