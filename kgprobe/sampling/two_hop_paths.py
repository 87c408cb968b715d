"""Paths of two facts, A → B → C, whose middle is unique, and subjects with another middle.

docs/methods/two-hops.md. At a date, A has one object B by the relation of the first fact, and B has one object C by
that of the second. A, B and C differ, and B is not a literal. A path has a shortcut if a fact joins A and C.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from kgprobe.graph.client import Graph
from kgprobe.sampling.facts import AskedFact, names_of
from kgprobe.sampling.keys import FactKey, key_rows
from kgprobe.sampling.pool_draws import PoolDraws, Tried, by_number, subject_pool

# Separates the draws of subjects with another middle from others with the same seed.
OTHER_MIDDLES = 12
# Number of such subjects that are drawn for one without a forbidden name.
_DRAWN = 8


@dataclass(frozen=True, slots=True)
class SecondHop:
    """A second fact of a path, with the names of its object; ``shortcut`` if a fact joins the path's ends."""

    key: FactKey
    relation: str
    names: Sequence[str]
    shortcut: bool


@dataclass(frozen=True, slots=True)
class WaysOn:
    """The second facts that go on from a fact.

    Attributes:
        middles: number of current objects of the fact's subject and relation; 0 if nothing goes on from the fact.
        hops: one for each relation by which the fact's object has one object, by relation.
    """

    middles: int
    hops: Sequence[SecondHop]


def ways_on(graph: Graph, facts: Sequence[AskedFact], relations: Sequence[str], as_of: int) -> dict[str, WaysOn]:
    """Return the second facts of these relations that go on from each fact, by the first fact.

    Cost: a walk from each subject, and one from each object.
    """
    by_fact = {fact.key.fact: fact for fact in facts}
    middles: dict[str, int] = {}
    hops: defaultdict[str, list[SecondHop]] = defaultdict(list)
    keys = list(map(attrgetter("key"), facts))
    rows = graph.read("sample/second_hops", rows=key_rows(keys), relations=list(relations), as_of=as_of) if keys else []
    for row in rows:
        fact = by_fact[row["fact"]]
        middles[row["fact"]] = row["middles"]
        names = names_of(row["label"], row["aliases"])
        if row["answer"] not in (fact.key.subject, fact.object) and row["label"].strip():
            key = FactKey(fact.object, row["second"])
            hops[row["fact"]].append(SecondHop(key, row["relation"], names, row["joined"] > 0))
    return {fact: WaysOn(middles.get(fact, 0), hops[fact]) for fact in by_fact}


@dataclass(frozen=True, slots=True)
class OtherSubject:
    """A subject whose middle, also given, is not that of a path."""

    id: str
    label: str
    middle: str
    middle_label: str


class OtherMiddles:
    """Draws of subjects with another middle, from one graph at a date (``yyyymmdd``)."""

    def __init__(self, graph: Graph, as_of: int) -> None:
        self._graph, self._as_of = graph, as_of
        self._draws = PoolDraws(graph)

    def draw(
        self,
        paths: Sequence[tuple[AskedFact, AskedFact]],
        seed: Sequence[int],
        admits: Callable[[int, str, str], bool],
    ) -> list[OtherSubject | None]:
        """Draw a subject for each path, uniformly; None where there is none.

        It shares a type with the path's subject (without types: it is a subject of the first relation), has one object
        by the first relation, another than the path's, and that has objects by the second relation without the path's
        answer. Draws do not depend on the other paths. Cost: see :mod:`.pool_draws`.

        Args:
            admits: returns False for labels of a subject and its middle that are not allowed for the path at a place.
        """

        def accepted(tried: Tried) -> list[dict[int, OtherSubject]]:
            rows = []
            for place, numbers in tried:
                first, second = paths[place]
                about = {"relation": first.relation, "next": second.relation, "middle": first.object}
                rows.append({"index": place, **about, "answer": second.object, "numbers": list(numbers)})
            subjects = {}
            for row in self._graph.read("sample/other_middles", rows=rows, as_of=self._as_of):
                if row["label"].strip() and admits(row["index"], row["label"], row["middle_label"]):
                    subject = OtherSubject(row["id"], row["label"], row["middle"], row["middle_label"])
                    subjects[row["index"], row["number"]] = subject
            return by_number(tried, subjects)

        firsts = [first for first, _ in paths]
        keys, pools = list(map(attrgetter("key"), firsts)), list(map(subject_pool, firsts))
        drawn = self._draws.draw(keys, pools, _DRAWN, [*seed, OTHER_MIDDLES], accepted)
        return [subjects[0] if subjects else None for subjects in drawn]
