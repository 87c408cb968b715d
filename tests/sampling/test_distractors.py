"""What may be a distractor, and random ones, on both engines, against the definition on an enumerable graph."""

from collections import Counter
from operator import attrgetter

import pytest
from scipy import stats

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling import pool_draws as module
from kgprobe.sampling.columns.graph_columns import AskableFacts, open_columns
from kgprobe.sampling.distractors import EXCLUDED, Distractor, FormerObjects, RandomDistractors, admissible
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.lookup import describe_pool
from kgprobe.sampling.pool_draws import PoolEntities
from tests.sampling.enumerable import AS_OF, current, distractors, enumerable, ruled
from tests.written_source import WrittenSource


@pytest.mark.parametrize(
    "sizes", [(99, 99), (99, 0), (0, 0)], ids=["shuffled pools", "listed pools", "pools by number"]
)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_all_distractors_are_found_and_nothing_else(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, int], seed: int
) -> None:
    monkeypatch.setattr(module, "LISTED_MEMBERS", sizes[0])
    monkeypatch.setattr(module, "LISTED_SHARE", 0.01 if sizes[0] else 0)
    monkeypatch.setattr(module, "SHUFFLED_MEMBERS", sizes[1])
    # Whoever draws by number learns slowly that there are no more.
    monkeypatch.setattr(module, "PATIENCE", 15)
    people, facts = enumerable(seed, entities=30, facts=40)
    load(graph, WrittenSource(people, facts))
    named = {entity.id for entity in people if entity.label}
    asked = [fact for fact in facts if {fact.subject, fact.object} <= named]
    keys = [FactKey(fact.subject, fact.id) for fact in asked]
    drawn = RandomDistractors(graph).retrieve(ruled(graph, keys), len(people), [0])
    for fact, rivals in zip(asked, drawn, strict=True):
        ids = [rival.id for rival in rivals]
        assert len(ids) == len(set(ids))
        assert set(ids) == distractors(people, facts, fact), fact


def test_draws_do_not_depend_on_what_is_cached(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    people, facts = enumerable(5)
    load(graph, WrittenSource(people, facts))
    named = {entity.id for entity in people if entity.label}
    keys = [FactKey(fact.subject, fact.id) for fact in facts if {fact.subject, fact.object} <= named]
    asked = ruled(graph, keys)
    drawn = RandomDistractors(graph).retrieve(asked, 4, [0])
    assert sum(map(len, drawn)) > 50
    for name in ("CACHED_MEMBERS", "CACHED_BYTES", "CACHED_OBJECTS"):
        monkeypatch.setattr(module, name, 0)
    # Each call empties the caches of the one before it.
    sampler = RandomDistractors(graph)
    assert [sampler.retrieve([fact], 4, [0])[0] for fact in asked] == drawn


@pytest.mark.parametrize(
    "sizes", [(99, 99), (99, 0), (0, 0)], ids=["shuffled pools", "listed pools", "pools by number"]
)
@pytest.mark.representatives(2)
def test_every_distractor_is_equally_probable(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, int]
) -> None:
    monkeypatch.setattr(module, "LISTED_MEMBERS", sizes[0])
    monkeypatch.setattr(module, "LISTED_SHARE", 0.01 if sizes[0] else 0)
    monkeypatch.setattr(module, "SHUFFLED_MEMBERS", sizes[1])
    # A third of the type are no distractors; twice as many entities are of another type.
    people = [Entity(f"e{n}", f"name {n}", types=("t" if n % 3 == 0 else "u",)) for n in range(90)]
    facts = [Fact(f"f{n}", "e1", "r", f"e{3 * n}") for n in range(10)]
    load(graph, WrittenSource(people, facts))
    sampler = RandomDistractors(graph)
    counts: Counter[str] = Counter()
    first: Counter[str] = Counter()
    asked = ruled(graph, [FactKey("e1", fact.id) for fact in facts])
    for seed in range(40):
        for rivals in sampler.retrieve(asked, 3, [seed]):
            assert len(rivals) == 3
            counts.update(rival.id for rival in rivals)
            first[rivals[0].id] += 1
    assert set(counts) == {f"e{3 * n}" for n in range(10, 30)}
    for observed in (counts, first):
        assert stats.chisquare(list(observed.values()) + [0] * (20 - len(observed))).pvalue > 1e-3


def test_admissible_returns_distractors_with_their_reasons(graph: Graph) -> None:
    people = [
        Entity("t", "city"),
        Entity("u"),
        Entity("s", "France"),
        Entity("o", "Paris", types=("t", "u")),
        Entity("a", "Lyon", ("Lugdunum",), types=("v", "t")),
        Entity("b", "Nice", types=("u", "t")),
        Entity("x", "1999"),
        Entity("y", "2001"),
    ]
    facts = [Fact("f", "s", "r", "o"), Fact("g", "s", "q", "x"), Fact("h", "o", "q", "y")]
    load(graph, WrittenSource(people, facts, [Relation("r"), Relation("q", "founded in")]))
    # They are numbered as they come.
    numbers = {entity.id: number for number, entity in enumerate(people)}
    asked = ruled(graph, [FactKey("s", "f"), FactKey("s", "g")])
    tried = [(0, [numbers["b"], numbers["s"], numbers["a"], numbers["o"], 99]), (1, list(numbers.values())), (0, [])]
    cities, years, none = admissible(PoolEntities(graph), asked, tried)
    assert list(cities.values()) == [
        Distractor("b", "Nice", (), numbers["b"], "city, u, like Paris"),
        Distractor("a", "Lyon", ("Lugdunum",), numbers["a"], "city, like Paris"),
    ]
    assert list(cities) == [numbers["b"], numbers["a"]]
    assert [(rival.id, rival.reason) for rival in years.values()] == [("y", "object of founded in")]
    assert none == {}
    # The same with a cached list of the relation's objects.
    entities = PoolEntities(graph)
    entities.members({("sample/objects", "q")})
    assert admissible(entities, asked, tried) == [cities, years, none]


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("Rome", "ROME"),
        ("Weißenburg", "WEISSENBURG"),
        ("ΟΔΟΣ", "οδος"),
        ("İzmir", "i̇zmir"),
        ("Côte d'Ivoire", "Co\u0302te D\u2019Ivoire"),
        ("New York", "new\u00a0york\u200e"),
    ],
)
def test_names_shared_by_case_folding_exclude_a_rival(graph: Graph, own: str, other: str) -> None:
    entities = [
        Entity("s", "subject"),
        Entity("o", own, ("own alias",), types=("t",)),
        Entity("label", other, types=("t",)),
        Entity("alias", "someone", (other,), types=("t",)),
        Entity("both", "another", ("OWN ALIAS",), types=("t",)),
        Entity("former", "once", ("Also Once",), types=("t",)),
        Entity("namesake of former", "ALSO ONCE", types=("t",)),
        Entity("fine", "someone else", types=("t",)),
    ]
    facts = [Fact("f", "s", "r", "o"), Fact("g", "s", "r", "former", end="1990")]
    load(graph, WrittenSource(entities, facts))
    keys = [FactKey("s", "f")]
    for former, ids in ((EXCLUDED, {"fine", "namesake of former"}), (FormerObjects(names=True), {"fine"})):
        (rivals,) = RandomDistractors(graph).retrieve(ruled(graph, keys, former), 9, [0])
        assert {rival.id for rival in rivals} == ids
    assert describe_pool(graph, *describe_facts(graph, keys)).left_out == (
        ["the object itself", "1 right as well, now or at another time", "3 with a name of its"]
    )


def test_askable_facts_are_current_named_and_of_the_relations(graph: Graph) -> None:
    people, facts = enumerable(4)
    load(graph, WrittenSource(people, facts))
    named = {entity.id for entity in people if entity.label}
    expected = [
        fact.id
        for fact in sorted(facts, key=attrgetter("subject", "object", "id"))
        if fact.relation == "r1" and current(fact) and {fact.subject, fact.object} <= named
    ]
    keys = AskableFacts(open_columns(graph), ["r1"], AS_OF)
    assert [keys[position].fact for position in range(len(keys))] == expected
    assert keys.positions([*expected, "f9999", ""]).tolist() == [*range(len(expected)), -1, -1]
    described = describe_facts(graph, [keys[position] for position in range(len(keys))])
    by_id = {fact.id: fact for fact in facts}
    labels = {entity.id: entity.label for entity in people}
    for fact in described:
        source = by_id[fact.key.fact]
        assert (fact.relation, fact.object) == (source.relation, source.object)
        assert (fact.subject_label, fact.object_label) == (labels[source.subject], labels[source.object])
