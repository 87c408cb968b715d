"""Samples balanced over popularity, and facts with a former object, against naive definitions."""

import gzip
import itertools
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling.drawing import DrawOptions
from kgprobe.sampling.keys import FactKey, Keys
from kgprobe.sampling.selection import PopularFacts, Selection, balanced_sample, choose_facts, ranges_of
from tests.sampling.enumerable import AS_OF as ENUMERABLE
from tests.sampling.enumerable import current, distractors, enumerable
from tests.written_source import WrittenSource

AS_OF = 20251231
BALANCED = DrawOptions(balance="popularity")


def popular(popularities: Sequence[float]) -> PopularFacts:
    keys = [FactKey("s", f"f{place}") for place in range(len(popularities))]
    return PopularFacts(keys, np.array(popularities), 0)


def ids(keys: Keys) -> list[str]:
    return [keys[place].fact for place in range(len(keys))]


@given(arrays(np.float64, some.integers(2, 40), elements=some.integers(0, 60).map(lambda number: number / 2)))
def test_ranges_of_popularities_equal_pandas_cut(popularities: np.ndarray) -> None:
    if np.ptp(popularities) == 0:
        assert set(ranges_of(popularities)) == {0}
    else:
        assert ranges_of(popularities).tolist() == pd.cut(popularities, bins=10, labels=False).tolist()


def test_balanced_sample_draws_with_the_paper_probabilities() -> None:
    # Ranges of 5, 2 and 1 facts.
    popularities = [0.0, 0.1, 0.2, 0.3, 0.4, 5.2, 5.3, 10.0]
    weights = {f"f{place}": weight for place, weight in enumerate([1 / 5] * 5 + [1 / 2] * 2 + [1.0])}
    seeds = 4_000
    drawn = Counter(tuple(ids(balanced_sample(popular(popularities), 2, seed))) for seed in range(seeds))
    for first, second in itertools.permutations(weights, 2):
        rest = sum(weights.values()) - weights[first]
        expected = weights[first] / sum(weights.values()) * weights[second] / rest
        deviation = math.sqrt(expected * (1 - expected) / seeds)
        assert drawn[first, second] / seeds == pytest.approx(expected, abs=4.5 * deviation)


def test_balanced_sample_has_prefixes_and_all_facts() -> None:
    facts = popular([float(place**2) for place in range(30)])
    everything = ids(balanced_sample(facts, None, 3))
    assert sorted(everything) == sorted(ids(facts.keys))
    assert ids(balanced_sample(facts, 7, 3)) == everything[:7]
    assert ids(balanced_sample(facts, 7, 4)) != everything[:7]


def test_balanced_sample_fills_each_range_evenly(shared_data: Path) -> None:
    with gzip.open(shared_data / "distractors" / "facts_random_5000.jsonl.gz", "rt", encoding="utf-8") as file:
        published = np.array([json.loads(line)["popularity"] for line in file])
    # Many more unpopular facts than popular ones, as in a graph.
    kept = np.random.default_rng(0).random(len(published)) < np.exp(-published / 10)
    facts = popular(published[kept].tolist())
    ranges = pd.cut(facts.popularities, bins=10, labels=False)
    sizes = np.bincount(ranges)
    assert sizes[0] > 8 * sizes[-2]
    # Published code: `DataFrame.sample` with the weights of the ranges.
    frame = pd.DataFrame({"range": ranges, "weight": 1 / sizes[ranges]})
    drawn, naive = [], []
    for seed in range(100):
        own = ranges[[int(fact[1:]) for fact in ids(balanced_sample(facts, 200, seed))]]
        drawn.append(np.bincount(own, minlength=10))
        theirs = frame.sample(200, weights="weight", random_state=seed)["range"]
        naive.append(np.bincount(theirs, minlength=10))
    deviations = np.sqrt((np.var(drawn, axis=0) + np.var(naive, axis=0)) / 100)
    assert np.all(np.abs(np.mean(drawn, axis=0) - np.mean(naive, axis=0)) <= 4.5 * deviations)
    # A uniform sample would have other counts.
    assert np.mean(drawn, axis=0)[0] < 200 * sizes[0] / sizes.sum() / 2


def test_choose_facts_balanced_on_each_engine(graph: Graph) -> None:
    known = {"a": 0.0, "b": 9.0, "c": 99.0, "d": 999.0}
    entities = [Entity(id_, id_.upper(), popularity=popularity) for id_, popularity in known.items()]
    entities.append(Entity("x", "X"))
    pairs = itertools.permutations([*known, "x"], 2)
    facts = [Fact(f"{subject}{object_}", subject, "r", object_) for subject, object_ in pairs]
    load(graph, WrittenSource(entities, facts, [Relation("r", "knows")]))
    chosen = choose_facts(graph, ["r"], as_of=AS_OF, limit=6, seed=2, draw=BALANCED)
    # Four facts of x as the subject, four as the object.
    assert (chosen.available, chosen.notes) == (
        12,
        ["8 facts are left out: the popularity of an end is unknown."],
    )
    values = {
        fact.id: sum(map(math.log1p, (known[fact.subject], known[fact.object])))
        for fact in facts
        if fact.id[0] != "x" != fact.id[1]
    }
    known_facts = PopularFacts([FactKey(id_[0], id_) for id_ in values], np.array(list(values.values())), 0)
    assert ids(chosen.keys) == ids(balanced_sample(known_facts, 6, 2))
    listed = Selection([FactKey(id_[0], id_) for id_ in values] + [FactKey("x", "xa")], ())
    again = choose_facts(graph, ["r"], as_of=AS_OF, listed=listed, limit=6, seed=2, draw=BALANCED)
    assert (ids(again.keys), again.notes) == (
        ids(chosen.keys),
        ["1 facts are left out: the popularity of an end is unknown."],
    )
    assert again.identity != chosen.identity
    by_degree = choose_facts(graph, ["r"], as_of=AS_OF, draw=DrawOptions(balance="degree"))
    assert (by_degree.available, by_degree.notes) == (20, [])
    unknown = Selection([FactKey("x", "xa")], ())
    with pytest.raises(KgprobeError, match="None of the 1 facts has a popularity at both ends"):
        choose_facts(graph, ["r"], as_of=AS_OF, listed=unknown, draw=BALANCED)
    with pytest.raises(KgprobeError, match="no fact to ask"):
        choose_facts(graph, ["q"], as_of=AS_OF, draw=BALANCED)
    with pytest.raises(KgprobeError, match="None of the facts has a former object"):
        choose_facts(graph, ["r"], as_of=AS_OF, draw=DrawOptions(with_former=True))


def test_choose_facts_with_former_equals_naive_definition(graph: Graph) -> None:
    people, facts = enumerable(8, facts=200, subjects=8)
    load(graph, WrittenSource(people, facts))
    with_names = {entity.id for entity in people if entity.label}
    expected = set()
    for fact in facts:
        wrong, never = (distractors(people, facts, fact, former=former) for former in ("wrong", "never"))
        if current(fact) and {fact.subject, fact.object} <= with_names and wrong - never:
            expected.add(fact.id)
    assert 20 < len(expected) < len(facts) / 2
    with_former = DrawOptions(with_former=True)
    chosen = choose_facts(graph, ["r0", "r1"], as_of=ENUMERABLE, draw=with_former)
    assert set(ids(chosen.keys)) == expected
    # A list with every second one of them, and other facts.
    some_facts = [fact for fact in facts if fact.id not in sorted(expected)[::2]]
    keys = [
        FactKey(fact.subject, fact.id) for fact in some_facts if fact.id in expected or fact.end in ("2010", "unknown")
    ]
    of_list = choose_facts(graph, [], as_of=ENUMERABLE, listed=Selection(keys, ()), draw=with_former)
    assert set(ids(of_list.keys)) == set(sorted(expected)[1::2])
    by_degree = DrawOptions("degree", with_former=True)
    both = choose_facts(graph, ["r0", "r1"], as_of=ENUMERABLE, limit=5, draw=by_degree)
    assert len(both.keys) == 5
    assert set(ids(both.keys)) < expected
