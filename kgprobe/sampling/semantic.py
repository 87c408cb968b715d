"""Semantic distractors: entities similar to the object by shared features.

Section 3.3 of the distractor paper; docs/methods/distractor-strategies.md. :mod:`.features` defines features
and their weights, :mod:`.nearest` finds the most similar entities, and the graph rejects entities that are not
distractors. If too few share a feature with the object, random members of its type follow (:mod:`.pool_draws`), marked
as unlike it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.distractors import Distractor, admissible
from kgprobe.sampling.features import K1, B, FeatureIndex, Floats, Int32s, open_features
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.nearest import Search
from kgprobe.sampling.pool_draws import PoolDraw, go_through

# Number of shared features in a reason.
SHOWN_FEATURES = 3


@dataclass(slots=True)
class _Ranking:
    """The search state of a fact.

    Attributes:
        entity: number of the object; -1 if it was not loaded as an entity.
        groups: places of its types in the index; without a type, that of the relation.
        ranked: the best entities that share a feature with the object, distractors or not.
        scores: of these.
        accepted: the distractors among them.
        complete: True if the groups have no more entities with a shared feature.
    """

    key: FactKey
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
        """Open the index of the graph's features, or compute it.

        Args:
            weighting: of features: ``tf-idf`` or ``bm25``.

        Raises:
            UnknownNameError: the weighting is unknown.
            KgprobeError: the graph is empty, or data is being loaded into it.
        """
        self._graph = graph
        self._weighting = weighting
        self._index: FeatureIndex = open_features(graph, weighting)
        self._search = Search(self._index)
        self._relations = {row["id"]: row["label"] or row["id"] for row in graph.read("sample/relations")}

    def describe(self) -> dict[str, Any]:
        """Return the strategy and its weighting; see :class:`~kgprobe.sampling.distractors.Retriever`."""
        parameters = {"k1": K1, "b": B} if self._weighting == "bm25" else {}
        return {"strategy": self.name, "weighting": self._weighting, **parameters}

    def retrieve(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """Return the most similar distractors; see :class:`~kgprobe.sampling.distractors.Retriever`.

        Entities without a shared feature come last, in random order; nothing else is random.

        Cost: a search for each object (:meth:`.nearest.Search.nearest`), a look-up in the graph for each distractor.
        """
        rankings = self._begin(keys)
        pending = [ranking for ranking in rankings if not ranking.complete]
        # Some of the best are rejected: true objects are often similar.
        size = count + count // 4 + 8
        while pending:
            candidates = self._extend(pending, size)
            for ranking, distractors in zip(pending, admissible(self._graph, candidates), strict=True):
                ranking.accepted |= distractors
            pending = [ranking for ranking in pending if len(ranking.accepted) < count and not ranking.complete]
            size *= 2
        self._fill_up(rankings, count, seed)
        return self._explained([(ranking, list(ranking.accepted)[:count]) for ranking in rankings])

    def _fill_up(self, rankings: Sequence[_Ranking], count: int, seed: Sequence[int]) -> None:
        """Add random members of the groups if too few are similar to the object.

        All entities with a shared feature have been tested by then and are few, so few draws are wasted.
        """
        short = [ranking for ranking in rankings if len(ranking.accepted) < count and ranking.entity >= 0]
        members: dict[tuple[int, ...], Int32s] = {(): np.empty(0, dtype=np.int32)}
        draws = []
        for ranking in short:
            groups = ranking.groups
            if groups not in members:
                lists = [self._index.members[group] for group in groups]
                members[groups] = lists[0] if len(lists) == 1 else np.unique(np.concatenate(lists))
            draw: PoolDraw[Distractor] = PoolDraw.of_members(ranking.key, members[groups], seed)
            draw.accepted = ranking.accepted
            draws.append(draw)
        go_through(draws, count, lambda rows: admissible(self._graph, rows))

    def _begin(self, keys: Sequence[FactKey]) -> list[_Ranking]:
        rows = self._graph.read("sample/targets", rows=[key._asdict() for key in keys])
        targets = {row["fact"]: row for row in rows}
        rankings = []
        for key in keys:
            target = targets[key.fact]
            entity = -1 if target["number"] is None else target["number"]
            groups = self._groups(target)
            rankings.append(_Ranking(key, entity, groups, complete=entity < 0 or not groups))
        return rankings

    def _groups(self, target: Row) -> tuple[int, ...]:
        names = [("type", type_) for type_ in target["types"]] or [("relation", target["relation"])]
        return tuple(self._index.group_ids[name] for name in names if name in self._index.group_ids)

    def _extend(self, rankings: Sequence[_Ranking], size: int) -> list[tuple[FactKey, list[int]]]:
        """Rank more entities for each fact, and return the new ones."""
        nearest: dict[tuple[int, tuple[int, ...]], tuple[Int32s, Floats]] = {}
        new: list[tuple[FactKey, list[int]]] = []
        for ranking in rankings:
            query = (ranking.entity, ranking.groups)
            if query not in nearest:
                nearest[query] = self._search.nearest(ranking.entity, ranking.groups, size)
            before = len(ranking.ranked)
            ranked, scores = nearest[query]
            sharing = int(np.count_nonzero(scores > 0))
            ranking.ranked, ranking.scores = ranked[:sharing], scores[:sharing]
            ranking.complete = sharing < size
            new.append((ranking.key, ranking.ranked[before:].tolist()))
        return new

    def _explained(self, chosen: Sequence[tuple[_Ranking, Sequence[int]]]) -> list[list[Distractor]]:
        """Return the chosen distractors, each with its similarity and the shared features as a reason."""
        shared: dict[tuple[int, int], list[int]] = {}
        for ranking, numbers in chosen:
            for number in numbers:
                shared[ranking.entity, number] = self._shared(ranking.entity, number)
        names = self._names(set(chain.from_iterable(shared.values())))
        explained = []
        for ranking, numbers in chosen:
            scores = dict(zip(ranking.ranked.tolist(), ranking.scores.tolist(), strict=True))
            distractors = []
            for number in numbers:
                distractor = ranking.accepted[number]
                unlike = number not in scores
                reason = "shares no feature with it"
                if not unlike:
                    features = ", ".join(names[feature] for feature in shared[ranking.entity, number])
                    reason = f"{self._likeness(ranking, scores[number])}: {features}"
                distractors.append(replace(distractor, reason=f"{distractor.reason}; {reason}", unlike=unlike))
            explained.append(distractors)
        return explained

    def _likeness(self, ranking: _Ranking, score: float) -> str:
        if self._weighting == "tf-idf":
            return f"cosine {score / self._index.divisors[ranking.entity]:.2f}"
        return f"BM25 {score:.1f}"

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
        numbers = {int(index.entities[feature]) for feature in features}
        inside = sorted(number for number in numbers if 0 <= number < len(index.divisors))
        labels = {row["number"]: row["label"] for row in self._graph.read("sample/numbered", numbers=inside)}
        names = {}
        for feature in features:
            relation, entity = int(index.relations[feature]), int(index.entities[feature])
            name = labels.get(entity) or index.outside_ids[entity - len(index.divisors)] if entity >= 0 else "…"
            if relation >= 0:
                id_ = index.relation_ids[relation]
                name = f"{self._relations.get(id_, id_)} = {name}"
            names[feature] = name
        return names
