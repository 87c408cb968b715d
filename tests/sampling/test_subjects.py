"""Other subjects on both engines, against the definition on a graph small enough to enumerate."""

from collections import Counter
from collections.abc import Sequence

import pytest
from scipy import stats

from kgprobe.base.records import Entity, Fact
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling import pool_draws as module
from kgprobe.sampling.distractors import other_subjects
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from tests.written_source import WrittenSource

KINDS: Sequence[tuple[str, ...]] = [("city",), ("city", "port"), ("port",), ("river",), ()]
ENTITIES = [Entity(f"e{n}", "" if n % 7 == 6 else f"name {n}", types=KINDS[n % 5]) for n in range(40)]
FACTS = [Fact(f"f{n}", f"e{n}", f"r{n % 2}", f"e{(7 * n) % 40}") for n in range(25)]


def naive(fact: Fact) -> set[str]:
    """Named entities of the subject's type; where it has none, other subjects of the relation."""
    subject = ENTITIES[int(fact.subject[1:])]
    if subject.types:
        others = [other for other in ENTITIES if set(other.types) & set(subject.types)]
    else:
        others = [ENTITIES[int(other.subject[1:])] for other in FACTS if other.relation == fact.relation]
    return {other.label for other in others if other.label and other is not subject}


@pytest.mark.parametrize("listed", [10_000, 0], ids=["listed types", "types by number"])
def test_all_are_found_and_nothing_else(graph: Graph, monkeypatch: pytest.MonkeyPatch, listed: int) -> None:
    monkeypatch.setattr(module, "LISTED_MEMBERS", listed)
    # Whoever draws by number learns slowly that there are no more.
    monkeypatch.setattr(module, "PATIENCE", 15)
    load(graph, WrittenSource(ENTITIES, FACTS))
    asked = describe_facts(graph, [FactKey(fact.subject, fact.id) for fact in FACTS])
    for fact, found in zip(FACTS, other_subjects(graph, asked, 60, [1]), strict=True):
        assert len(found) == len(set(found))
        assert set(found) == naive(fact), fact
    few = other_subjects(graph, asked, 3, [1])
    alone = [other_subjects(graph, [fact], 3, [1])[0] for fact in asked[:5]]
    assert [len(found) for found in few] == [3] * len(asked)
    assert few[:5] == alone
    assert few != other_subjects(graph, asked, 3, [2])


@pytest.mark.parametrize("listed", [10_000, 0], ids=["listed types", "types by number"])
def test_each_is_equally_probable(graph: Graph, monkeypatch: pytest.MonkeyPatch, listed: int) -> None:
    monkeypatch.setattr(module, "LISTED_MEMBERS", listed)
    load(graph, WrittenSource(ENTITIES, FACTS))
    counts: Counter[str] = Counter()
    asked = describe_facts(graph, [FactKey("e0", "f0")])
    for seed in range(60):
        counts.update(*other_subjects(graph, asked, 6, [seed]))
    assert set(counts) == naive(FACTS[0])
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3
