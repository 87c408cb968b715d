"""Semantic distractors: the search against the naive definition and scikit-learn, the retrieval on both engines."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling import pool_draws, semantic
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.semantic import Described, Search, SemanticDistractors, build_index, open_features
from tests.sampling.enumerable import bags, distractors, enumerable, ranking, ruled
from tests.written_source import WrittenSource


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    return tmp_path


@some.composite
def described(draw: some.DrawFn) -> Described:
    """Up to 40 entities with gaps in their numbers, some without a name, with types and facts; some objects outside."""
    size = draw(some.integers(1, 40))
    there = draw(some.lists(some.booleans(), min_size=size, max_size=size).map(lambda kept: np.flatnonzero([*kept, 1])))
    named = np.array(draw(some.lists(some.booleans(), min_size=len(there), max_size=len(there))), dtype=bool)
    numbers = some.sampled_from(there.tolist())
    triples = draw(some.lists(some.tuples(numbers, some.integers(0, 2), numbers | some.integers(-2, -1)), max_size=80))
    # As in graphs, most entities have much in common.
    triples += [(number, 0, there[0]) for number in there[: draw(some.integers(0, len(there)))]]
    pairs = draw(some.lists(some.tuples(numbers, some.integers(0, 1)), max_size=60))
    pairs = [(number, type_) for number, type_ in pairs if named[there.searchsorted(number)]]
    subjects, relations, objects = np.array(triples, dtype=np.int32).reshape(-1, 3).T
    instances, types = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return Described(
        *(there[named].astype(np.int32), there[~named].astype(np.int32), subjects, relations, objects),
        *(instances, types, ["r0", "r1", "r2"], ["t0", "t1"], ["x0", "x1"]),
    )


def records(of: Described) -> tuple[list[Entity], list[Fact]]:
    """Return the same as records, where an entity's id is its number."""
    labels = dict.fromkeys(of.named.tolist(), "named") | dict.fromkeys(of.unnamed.tolist(), "")
    types = list(zip(of.instances.tolist(), of.types.tolist(), strict=True))
    triples = zip(of.subjects.tolist(), of.relations.tolist(), of.objects.tolist(), strict=True)
    people = [
        Entity(str(number), label, types=tuple({f"t{type_}" for owner, type_ in types if owner == number}))
        for number, label in sorted(labels.items())
    ]
    return people, [Fact("", str(subject), f"r{relation}", str(object_)) for subject, relation, object_ in triples]


@pytest.mark.parametrize("piece", [1, 3, 512])
@pytest.mark.parametrize("weighting", ["tf-idf", "bm25"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(of=described(), data=some.data())
@pytest.mark.representatives(2)
def test_nearest_are_those_of_the_definition_in_its_order(
    monkeypatch: pytest.MonkeyPatch, piece: int, weighting: str, of: Described, data: some.DataObject
) -> None:
    monkeypatch.setattr(semantic, "FIRST_PIECE", piece)
    index = build_index(of, weighting)
    people, facts = records(of)
    features = bags([Entity(entity.id) for entity in people], facts)
    order = [entity.id for entity in people]
    search = Search(index)
    for _ in range(3):
        groups = data.draw(some.sampled_from([("t0",), ("t1",), ("t0", "t1"), ("r0",), ("r2",)]))
        like = data.draw(some.sampled_from(people))
        among = {
            entity.id
            for entity in people
            if entity.label
            and (
                set(groups) & set(entity.types) or any((f.relation, f.object) == (groups[0], entity.id) for f in facts)
            )
        }
        expected = ranking(features, like.id, among, order, weighting)
        count = data.draw(some.integers(1, 50))
        places = [group for (_, id_), group in index.group_ids.items() if id_ in groups]
        found, scores = search.nearest(int(like.id), places, count)
        assert [str(number) for number in found] == [entity for entity, _ in expected[:count]]
        own = index.divisors[int(like.id)] if weighting == "tf-idf" else 1.0
        np.testing.assert_allclose(scores / own, [score for _, score in expected[:count]], rtol=1e-12)


def test_similarity_with_types_equals_scikit_learn(graph: Graph) -> None:
    people, facts = enumerable(11, facts=80)
    load(graph, WrittenSource(people, facts))
    # Entities are numbered in their order; types that are not among them are documents without a number.
    types = sorted({type_ for entity in people for type_ in entity.types})
    bags_of_words = []
    for id_ in [*(entity.id for entity in people), *types]:
        pairs = [(fact.relation, fact.object) for fact in facts if fact.subject == id_]
        pairs += [("instance_of", type_) for entity in people if entity.id == id_ for type_ in entity.types]
        bag = {f"entity {id_}"}
        for relation, object_ in pairs:
            bag |= {f"relation {relation}", f"entity {object_}", f"pair {relation} {object_}"}
        bags_of_words.append(sorted(bag))
    index = open_features(graph, "tf-idf")
    documents = bags_of_words[: np.isfinite(index.divisors).sum()]
    counts = CountVectorizer(analyzer=list).fit_transform(documents)
    vectors = TfidfTransformer().fit_transform(counts)
    cosines = (vectors @ vectors.T).toarray()
    compared = 0
    for number, entity in enumerate(people):
        found, scores = Search(index).nearest(number, list(index.group_ids.values()), len(people))
        np.testing.assert_allclose(scores / index.divisors[number], cosines[number, found], atol=1e-8)
        for other, score in zip(found.tolist(), scores.tolist(), strict=True):
            if other < len(people) and set(people[other].types) & set(entity.types):
                assert score > 0
                compared += 1
    assert compared > 100


@pytest.mark.parametrize("weighting", ["tf-idf", "bm25"])
@pytest.mark.parametrize("seed", [5, pytest.param(6, marks=pytest.mark.slow)])
def test_distractors_are_the_nearest_in_omega(graph: Graph, seed: int, weighting: str) -> None:
    people, facts = enumerable(seed, facts=150, subjects=60)
    # Some objects are types that nothing else is said of.
    facts += [Fact(f"g{number}", f"e{number}", "r1", f"t{number % 3}") for number in range(9)]
    load(graph, WrittenSource(people, facts))
    features = bags(people, facts)
    order = [entity.id for entity in people]
    named = {entity.id for entity in people if entity.label}
    asked = [fact for fact in facts if {fact.subject, fact.object} <= named]
    keys = [FactKey(fact.subject, fact.id) for fact in asked]
    retriever = SemanticDistractors(graph, weighting)
    everything, few = (retriever.retrieve(ruled(graph, keys), count, [0]) for count in (100, 2))
    for fact, all_rivals, first in zip(asked, everything, few, strict=True):
        omega = distractors(people, facts, fact)
        expected = ranking(features, fact.object, omega, order, weighting)
        sharing = {entity: likeness for entity, likeness in expected if features[fact.object] & features[entity]}
        assert [rival.id for rival in all_rivals[: len(sharing)]] == list(sharing), fact
        assert sorted(rival.id for rival in all_rivals) == sorted(omega)
        assert first == all_rivals[:2]
        for rival in all_rivals:
            assert rival.unlike == (rival.id not in sharing)
            if rival.unlike:
                assert rival.reason.endswith("; shares no feature with it")
            else:
                likeness = sharing[rival.id]
                measure = f"cosine {likeness:.2f}: " if weighting == "tf-idf" else f"BM25 {likeness:.1f}: "
                assert measure in rival.reason


@pytest.mark.parametrize("shuffled", [10_000, 3])
def test_semantic_unrelated_come_last_in_seeded_order(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, shuffled: int
) -> None:
    # Of a group with more members than this, some are drawn. Entities with a type share it, so these have none.
    monkeypatch.setattr(pool_draws, "SHUFFLED_MEMBERS", shuffled)
    names = [f"c{n:02}" for n in range(30)]
    people = [
        *(Entity(name, name) for name in names),
        *(Entity(name, name) for name in ("s", "z", "p", "q")),
    ]
    facts = [Fact(f"{name} in p", name, "in", "p") for name in names[:5]]
    facts += [Fact("asked", "s", "to", "c01"), Fact("other", "z", "to", "c03")]
    facts += [Fact(f"q to {name}", "q", "to", name) for name in names]
    load(graph, WrittenSource(people, facts))
    retriever = SemanticDistractors(graph)
    keys = [FactKey("s", "asked"), FactKey("z", "other")]

    def retrieved(seed: int, asked: list[FactKey] = keys, count: int = 29) -> list[list[str]]:
        found = retriever.retrieve(ruled(graph, asked), count, [7, seed])
        assert all([rival.unlike for rival in its] == [False] * 4 + [True] * (count - 4) for its in found)
        return [[rival.id for rival in its] for its in found]

    orders = [retrieved(seed)[0] for seed in range(40)]
    for order in orders:
        assert order[:4] == orders[0][:4]
        assert sorted(order[:4]) == ["c00", "c02", "c03", "c04"]
        assert sorted(order[4:]) == names[5:]
    # 25 of them are first once in 25 times each; 40 draws give about 20 different ones.
    assert len({order[4] for order in orders}) > 10
    assert retrieved(1) == retrieved(1)
    assert retrieved(1)[0][4:] != retrieved(1)[1][4:]
    # What stands beside a fact has no say.
    assert retrieved(1, keys[::-1]) == retrieved(1)[::-1]
    assert retrieved(1, keys[:1]) == retrieved(1)[:1]
    assert len(set(retrieved(1, keys, 9)[0])) == 9


def test_reason_names_what_is_shared_weightiest_first(graph: Graph) -> None:
    people = [
        Entity("t", "city"),
        Entity("F", "France"),
        Entity("G", "Germany"),
        *(Entity(f"c{n}", f"city {n}", types=("t",)) for n in range(6)),
        Entity("s", "Seine"),
        Entity("q", "quiz"),
    ]
    pairs = [("c0", "in", "F"), ("c0", "on", "s"), ("c1", "in", "F"), ("c1", "on", "s"), ("c2", "in", "F")]
    pairs += [("c3", "in", "G"), ("c4", "of", "F"), ("c4", "to", "t0"), ("q", "to", "t0"), ("q", "about", "c0")]
    facts = [Fact(f"{s} {r} {o}", s, r, o) for s, r, o in pairs if o != "t0"]
    load(graph, WrittenSource(people, facts, [Relation("in", "country"), Relation("on", "river")]))
    [found] = SemanticDistractors(graph).retrieve(ruled(graph, [FactKey("q", "q about c0")]), 9, [0])
    reasons = {rival.id: rival.reason.split("; ")[1].split(": ")[-1] for rival in found}
    assert reasons == {
        "c1": "river = Seine, country = France, instance of = city",
        "c2": "country = France, instance of = city",
        "c3": "country = …, instance of = city",
        "c4": "France, instance of = city",
        "c5": "instance of = city",
    }
    assert next(iter(reasons)) == "c1"
    assert all(rival.reason.startswith("city, like city 0; ") for rival in found)


def test_index_is_kept_until_something_is_loaded(graph: Graph, home: Path) -> None:
    people, facts = enumerable(7)
    with pytest.raises(KgprobeError, match="Nothing was loaded"):
        open_features(graph, "tf-idf")
    load(graph, WrittenSource(people, facts))
    first = open_features(graph, "tf-idf")
    folders = {path.name for path in (home / "features").iterdir() if path.is_dir()}
    times = {path: path.stat().st_mtime_ns for path in (home / "features").rglob("*.npy")}
    again = open_features(graph, "tf-idf")
    assert times == {path: path.stat().st_mtime_ns for path in (home / "features").rglob("*.npy")}
    np.testing.assert_array_equal(first.features.values, again.features.values)
    assert first.group_ids == again.group_ids

    open_features(graph, "bm25")
    assert len(list((home / "features").glob("*-tf-idf-*"))) == len(list((home / "features").glob("*-bm25-*"))) == 1
    load(graph, WrittenSource([Entity("new", "new", types=("t0",))], fingerprint="written-2"))
    changed = open_features(graph, "tf-idf")
    assert len(changed.divisors) == len(first.divisors) + 1
    left = {path.name for path in (home / "features").glob("*-tf-idf-*")}
    assert len(left) == 1
    assert not left & folders
    with pytest.raises(UnknownNameError, match="tf-idf, bm25"):
        open_features(graph, "cosine")


def test_what_a_graph_calls_itself_is_no_folder(graph: Graph, home: Path) -> None:
    people, facts = enumerable(7)
    load(graph, WrittenSource(people, facts))
    list(graph.run_text("MATCH (c:KgprobeCounter) SET c.uid = '../victims/x' RETURN c.uid", {})[1])
    (home / "victims" / "x-tf-idf-of-somebody-else").mkdir(parents=True, exist_ok=True)
    open_features(graph, "tf-idf")
    assert [path.name for path in (home / "victims").iterdir()] == ["x-tf-idf-of-somebody-else"]
