"""Semantic distractors: those most like the object, by the features they share.

Section 3.3 of the distractor paper; docs/methods/distractor-strategies.md. :mod:`.features` says what features are
and how they weigh, :mod:`.nearest` finds those most like the object, and the graph turns down who is no distractor.
Where too few share anything with the object, others of its type follow at random (:mod:`.pool_draws`), marked as
unlike it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.distractors import Distractor, admissible
from kgprobe.sampling.features import K1, B, FeatureIndex, Floats, Int32s, open_features
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.nearest import Search
from kgprobe.sampling.pool_draws import Draw, go_through

# How many shared features a reason names.
SHOWN_FEATURES = 3


@dataclass(slots=True)
class _Ranking:
    """Of one fact: whom its distractors have to be like, and those that were found.

    Attributes:
        entity: the object's number; -1 where it was not loaded itself.
        groups: its types' places in the index; without a type, the relation's.
        ranked: the best entities that share a feature with the object, whether they are distractors or not.
        scores: of these.
        found: the distractors among them.
        complete: whether the groups have no more that share one.
    """

    key: FactKey
    entity: int
    groups: tuple[int, ...]
    ranked: Int32s = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    scores: Floats = field(default_factory=lambda: np.empty(0))
    found: dict[int, Distractor] = field(default_factory=dict)
    complete: bool = False


class SemanticDistractors:
    """Finds the distractors most like each fact's object, in one graph."""

    name = "semantic"

    def __init__(
        self,
        graph: Graph,
        weighting: str = "tf-idf",
    ) -> None:
        """Open the index of the graph's features, or make it.

        Args:
            weighting: of features: ``tf-idf`` or ``bm25``.

        Raises:
            UnknownNameError: there is no such weighting.
            KgprobeError: nothing was loaded into the graph yet, or something is being loaded into it now.
        """
        self._graph = graph
        self._weighting = weighting
        self._index: FeatureIndex = open_features(graph, weighting)
        self._search = Search(self._index)
        self._relations = {row["id"]: row["label"] or row["id"] for row in graph.read("sample/relations")}

    def describe(self) -> dict[str, Any]:
        """The strategy and its weighting; see :class:`~kgprobe.sampling.distractors.Retriever`."""
        parameters = {"k1": K1, "b": B} if self._weighting == "bm25" else {}
        return {"strategy": self.name, "weighting": self._weighting, **parameters}

    def retrieve(self, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[list[Distractor]]:
        """The distractors most like each fact's object; see :class:`~kgprobe.sampling.distractors.Retriever`.

        Those that share no feature with the object come last, in random order; nothing else here is random.

        Cost: a search for each object (:meth:`.nearest.Search.nearest`), a look-up in the graph for each distractor.
        """
        rankings = self._begin(keys)
        pending = [ranking for ranking in rankings if not ranking.complete]
        # Some of the best are no distractors: what is true often resembles what is true.
        wanted = count + count // 4 + 8
        while pending:
            untested = self._extend(pending, wanted)
            tested = admissible(
                self._graph, [(one.key, new.tolist()) for one, new in zip(pending, untested, strict=True)]
            )
            for ranking, found in zip(pending, tested, strict=True):
                ranking.found |= found
            pending = [ranking for ranking in pending if len(ranking.found) < count and not ranking.complete]
            wanted *= 2
        self._fill_up(rankings, count, seed)
        return self._explained([(ranking, list(ranking.found)[:count]) for ranking in rankings])

    def _fill_up(self, rankings: Sequence[_Ranking], count: int, seed: Sequence[int]) -> None:
        """Add random members of the groups where too few are like the object.

        All that share a feature with it have been looked at by then and are few, so hardly a draw is in vain.
        """
        short = [ranking for ranking in rankings if len(ranking.found) < count and ranking.entity >= 0]
        members: dict[tuple[int, ...], Int32s] = {(): np.empty(0, dtype=np.int32)}
        draws = []
        for ranking in short:
            groups = ranking.groups
            if groups not in members:
                its = [self._index.members[group] for group in groups]
                members[groups] = its[0] if len(its) == 1 else np.unique(np.concatenate(its))
            draw: Draw[Distractor] = Draw.of_members(ranking.key, members[groups], seed)
            draw.found = ranking.found
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

    def _extend(self, rankings: Sequence[_Ranking], wanted: int) -> list[Int32s]:
        """Rank more entities for each, and return those that are new."""
        nearest: dict[tuple[int, tuple[int, ...]], tuple[Int32s, Floats]] = {}
        untested = []
        for ranking in rankings:
            like = (ranking.entity, ranking.groups)
            if like not in nearest:
                nearest[like] = self._search.nearest(ranking.entity, ranking.groups, wanted)
            before = len(ranking.ranked)
            ranked, scores = nearest[like]
            sharing = int(np.count_nonzero(scores > 0))
            ranking.ranked, ranking.scores = ranked[:sharing], scores[:sharing]
            ranking.complete = sharing < wanted
            untested.append(ranking.ranked[before:])
        return untested

    def _explained(self, chosen: Sequence[tuple[_Ranking, Sequence[int]]]) -> list[list[Distractor]]:
        """The chosen distractors, each with a word on how like the object it is, and in what."""
        shared = [[self._shared(ranking.entity, number) for number in numbers] for ranking, numbers in chosen]
        features = {feature for one in shared for its in one for feature in its}
        names = self._names(features)
        explained = []
        for (ranking, numbers), its in zip(chosen, shared, strict=True):
            scores = dict(zip(ranking.ranked.tolist(), ranking.scores.tolist(), strict=True))
            distractors = []
            for number, features_ in zip(numbers, its, strict=True):
                distractor = ranking.found[number]
                unlike = number not in scores
                why = "shares no feature with it"
                if not unlike:
                    in_what = ", ".join(names[feature] for feature in features_)
                    why = f"{self._likeness(ranking, scores[number])}: {in_what}"
                distractors.append(replace(distractor, reason=f"{distractor.reason}; {why}", unlike=unlike))
            explained.append(distractors)
        return explained

    def _likeness(self, ranking: _Ranking, score: float) -> str:
        if self._weighting == "tf-idf":
            return f"cosine {score / self._index.divisors[ranking.entity]:.2f}"
        return f"BM25 {score:.1f}"

    def _shared(self, one: int, other: int) -> list[int]:
        """The weightiest features that two entities share; none that is a part of one before it."""
        index = self._index
        features = np.intersect1d(index.features[one], index.features[other], assume_unique=True)
        single = (index.relations[features] < 0) | (index.entities[features] < 0)
        # Of equal weight, pairs before their parts.
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
        """What features are called: ``country = France``, ``France`` as the object of whatever, ``country = …``."""
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
