"""Queries for people on 116,000 facts of Wikidata with the beliefs of two runs: no scans, and the rows of plain Python.

Each answer is computed again from the beliefs, which the test itself draws. Neo4j is the engine with plans.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import pytest

import kgprobe
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.parameters import default_parameters
from kgprobe.graph.queries import explore_names, get_query
from tests.conftest import require_engine
from tests.graph.real_world import IN_VIEW, ROUNDS, RUNS, believe_all, table_files
from tests.graph.test_seeks import FEW, RETURNED, plan_in, scanned

pytestmark = [pytest.mark.slow, pytest.mark.engines]

# France has thousands of facts, the other a single one.
HUB, LEAF = "Q142", "Q7461543"
KNOWN, UNKNOWN = ("surely known", "leans known"), ("surely unknown", "leans unknown")
GIVEN: dict[str, dict[str, Any]] = {
    "around": {"entity": HUB},
    "asked_facts_of_entities": {"run": IN_VIEW, "entities": [HUB]},
    "beliefs_of_facts": {"run": IN_VIEW, "facts": ["Q142 P36 Q90"]},
    "compare_models": {"one": "old", "other": IN_VIEW},
    "entities": {"ids": [HUB, "Q183"]},
    "expected": {"entity": HUB},
    "facts_of_entities": {"entities": [HUB]},
    "facts_of_relations": {"relations": ["P36"]},
    "known_path": {"one": HUB, "other": LEAF},
    "least_known_entity": {"run": IN_VIEW},
    "neighbours": {"id": HUB},
    "to_retrieve": {"entities": [HUB, "Q183"]},
}
# Most accesses to the store: of an aggregate over all facts, or over the beliefs of a run or two; of walks from facts
# found by theta; around France, or of the first facts by an index.
OF_A_RUN, BY_THETA, AROUND = 1_500_000, 300_000, 50_000
AGGREGATES = {
    *("by_relation", "by_type", "changed", "compare_models", "counts", "least_known_entity", "obsolete", "relations"),
    *("size", "suspects", "uncertain", "weakest_relations"),
}
WALKS = {"frontier", "frontier Q142", "ignorance", "known_path", "two_hops"}


def most_hits(case: str) -> int:
    if case in AGGREGATES:
        return OF_A_RUN
    return BY_THETA if case in WALKS else AROUND


class World(NamedTuple):
    """A graph, and what it holds in Python: beliefs by run, and of the run in view by subject and by entity."""

    graph: Graph
    beliefs: dict[str, list[Row]]
    by_subject: dict[str, list[Row]]
    by_entity: dict[str, list[Row]]


@pytest.fixture(scope="module")
def world(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    require_engine("neo4j")
    folder = tmp_path_factory.mktemp("real") / "graph"
    kgprobe.load_bulk(folder, "table", **table_files(shared_data))
    with kgprobe.open_graph(folder) as graph:
        beliefs = believe_all(graph)
        by_subject, by_entity = defaultdict(list), defaultdict(list)
        for belief in beliefs[IN_VIEW]:
            by_subject[belief["subject"]].append(belief)
            for entity in {belief["subject"], belief["object"]}:
                by_entity[entity].append(belief)
        yield World(graph, beliefs, by_subject, by_entity)


def asked(beliefs: list[Row]) -> list[Row]:
    return [belief for belief in beliefs if belief["belief"] != "not asked"]


def least_known(beliefs: list[Row]) -> list[Row]:
    return sorted(beliefs, key=lambda belief: (-belief["theta"], belief["fact"]))


def ids(rows: Any) -> list[str]:
    return [row["fact"] for row in rows]


def test_plans_scan_only_what_queries_return(world: World) -> None:
    rows_read, hits = {}, {}
    for name in explore_names():
        query = get_query(name)
        given = GIVEN.get(name.partition("/")[2], {})
        cases = [default_parameters(query) | given]
        if "entity" in cases[0] and not given:
            cases.append(cases[0] | {"entity": HUB})
        for parameters in cases:
            plan = plan_in(world.graph, "CYPHER replan=force PROFILE", query.text, parameters)
            case = f"{name.partition('/')[2]} {parameters.get('entity') or ''}".strip()
            rows_read[case] = scanned(plan) - FEW - RETURNED.get(name, set())
            hits[case] = sum(step.hits or 0 for step in plan)
    assert {case: labels for case, labels in rows_read.items() if labels} == {}
    assert {case: count for case, count in hits.items() if count > most_hits(case)} == {}


def test_match_of_readme_reads_what_it_returns(world: World) -> None:
    text = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())
    match = re.search(r"`(MATCH [^`]*f\.belief = 'surely unknown'[^`]*)`", text)
    assert match is not None
    plan = plan_in(world.graph, "CYPHER replan=force PROFILE", match[1], {})
    assert scanned(plan) == set()
    # The relationship, its ends, and the five properties of a row.
    assert sum(step.hits or 0 for step in plan) <= 10 * (plan[0].rows or 0)


def network(beliefs: list[Row], most: float) -> "nx.Graph[str]":
    graph: nx.Graph[str] = nx.Graph()
    graph.add_edges_from((belief["subject"], belief["object"]) for belief in beliefs if belief["theta"] <= most)
    return graph


def best_known(beliefs: list[Row], one: str, other: str, facts: int) -> float | None:
    """Return theta of the least known fact of the best known path, by a bisection over all values of theta."""
    thetas = sorted({belief["theta"] for belief in beliefs})

    def is_connected(most: float) -> bool:
        graph = network(beliefs, most)
        if one not in graph or other not in graph:
            return False
        return other in nx.single_source_shortest_path_length(graph, one, cutoff=facts)

    low, high = -1, len(thetas) - 1
    if not is_connected(thetas[high]):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_connected(thetas[middle]) else (middle, high)
    return float(thetas[high])


@pytest.mark.parametrize(
    ("one", "other", "facts"),
    [(HUB, "Q64", 6), (HUB, "Q64", 2), (HUB, LEAF, 6), ("Q36526", "Q2840250", 8), ("Q36526", LEAF, 3)],
)
def test_known_path_is_the_best_of_all(world: World, one: str, other: str, facts: int) -> None:
    expected = best_known(world.beliefs[IN_VIEW], one, other, facts)
    path = kgprobe.known_path(world.graph, one, other, facts=facts)
    assert path.known == (None if expected is None else 1 - expected)
    rows = world.graph.query("explore/known_path", one=one, other=other, facts=facts)
    assert len(rows) == (expected is not None)
    if expected is None:
        return
    entities = [one]
    for fact in path.facts:
        assert entities[-1] in (fact.subject, fact.object)
        entities.append(fact.object if entities[-1] == fact.subject else fact.subject)
    shortest = nx.shortest_path_length(network(world.beliefs[IN_VIEW], expected), one, other)
    assert (entities[-1], len(path)) == (other, shortest)
    assert len(path) <= facts
    # To one percentage point, and then the shortest.
    assert 1 - expected - 0.01 <= rows[0]["known"] <= 1 - expected
    assert rows[0]["facts"] <= shortest


def chains(world: World, firsts: list[Row], known: int) -> list[tuple[str, str]]:
    rows_read = []
    for first in firsts:
        for second in asked(world.by_subject[first["object"]]):
            if len({first["subject"], first["object"], second["object"]}) < 3:
                continue
            if sum(hop["belief"] in KNOWN for hop in (first, second)) == known:
                thetas = first["theta"], second["theta"]
                gap = abs(thetas[0] - thetas[1]) if known == 1 else 0.0
                rows_read.append((-gap, max(thetas), first["fact"], second["fact"]))
    return [(first, second) for _, _, first, second in sorted(rows_read)]


def test_two_hops_join_facts(world: World) -> None:
    rows = world.graph.query("explore/two_hops", limit=200)
    best = least_known([belief for belief in world.beliefs[IN_VIEW] if belief["belief"] in KNOWN])[::-1]
    best = [belief for belief in best if belief["theta"] < 0.5][:1_000]
    assert [(row["first"], row["second"]) for row in rows] == chains(world, best, 2)[:200]
    worst = [b for b in world.beliefs[IN_VIEW] if b["belief"] in UNKNOWN and b["theta"] > 0.5]
    one_known = world.graph.query("explore/two_hops", known=1, limit=200)
    starts = best + least_known(worst)[:1_000]
    assert [(row["first"], row["second"]) for row in one_known] == chains(world, starts, 1)[:200]
    for known in (1, 2):
        own = world.graph.query("explore/two_hops", entity=HUB, known=known, limit=500)
        expected = chains(world, asked(world.by_subject[HUB]), known)[:500]
        assert [(row["first"], row["second"]) for row in own] == expected
        assert expected


def frontier(world: World, candidates: list[Row]) -> list[tuple[str, str, int]]:
    rows_read = []
    for belief in candidates:
        best = None
        for entity in sorted({belief["subject"], belief["object"]}):
            around = [near for near in world.by_entity[entity] if near["belief"] == "surely known"]
            degree = sum(1 + (near["subject"] == near["object"]) for near in world.by_entity[entity])
            if around and degree <= 1_000 and (best is None or len(around) > best[1]):
                best = (entity, len(around))
        if best is not None:
            rows_read.append((belief["fact"], *best))
    return rows_read


@pytest.mark.parametrize("expected", [False, True])
@pytest.mark.parametrize("entity", [None, HUB, "Q64"])
def test_frontier_is_next_to_surely_known_facts(world: World, entity: str | None, expected: bool) -> None:
    words = (*UNKNOWN, "not asked") if expected else UNKNOWN
    beliefs = world.beliefs[IN_VIEW] if entity is None else world.by_entity[entity]
    unknown = least_known([belief for belief in beliefs if belief["theta"] > 0.5 and belief["belief"] in words])
    rows = world.graph.query("explore/frontier", entity=entity, expected=expected, limit=100)
    assert [(row["fact"], row["entity"], row["surely_known"]) for row in rows] == frontier(world, unknown[:200])[:100]
    assert len(rows) > 10


def test_by_type_counts_asked_facts(world: World) -> None:
    types = defaultdict(list)
    for row in world.graph.query("MATCH (s:Entity)-[:INSTANCE_OF]->(t:Type) RETURN s.id AS entity, t.id AS type"):
        types[row["entity"]].append(row["type"])
    groups = defaultdict(list)
    for belief in asked(world.beliefs[IN_VIEW]):
        for kind in types[belief["subject"]]:
            groups[kind, belief["relation"]].append(belief)
    expected = {}
    for key, beliefs in groups.items():
        if len(beliefs) >= 5:
            unknown = sum(belief["right"] <= belief["wrong"] for belief in beliefs) / len(beliefs)
            known = 1 - sum(belief["theta"] for belief in beliefs) / len(beliefs)
            expected[key] = (len(beliefs), pytest.approx(unknown), pytest.approx(known))
    rows = world.graph.query("explore/by_type", limit=1_000_000)
    assert len(rows) == len(expected) > 100
    actual = {(row["type"], row["relation"]): (row["asked"], row["unknown"], row["mean_known"]) for row in rows}
    assert actual == expected


@pytest.mark.parametrize("known", [0.0, 0.5, 0.9])
def test_to_retrieve_lists_unknown_facts(world: World, known: float) -> None:
    entities = [HUB, "Q183", "Q64"]
    around = {belief["fact"]: belief for entity in entities for belief in world.by_entity[entity]}
    unknown = []
    for belief in around.values():
        expected = belief["belief"] == "not asked" and 1 - belief["theta"] < known
        if belief["belief"] in UNKNOWN or expected:
            unknown.append(belief)
    rows = world.graph.query("explore/to_retrieve", entities=entities, known=known, limit=300)
    assert ids(rows) == ids(least_known(unknown)[:300])
    assert len(rows) == 300


def test_ignorance_starts_where_most_is_unknown(world: World) -> None:
    unknown = Counter()
    for entity, beliefs in world.by_entity.items():
        unknown[entity] = sum(belief["belief"] == "surely unknown" for belief in beliefs)
    centres = sorted(unknown, key=lambda entity: (-unknown[entity], entity))[:3]
    rows = world.graph.query("explore/ignorance", limit=50)
    assert list(dict.fromkeys((row["entity"], row["unknown"]) for row in rows)) == [(c, unknown[c]) for c in centres]
    for centre in centres:
        own = [row for row in rows if row["entity"] == centre]
        worst = least_known([b for b in world.by_entity[centre] if b["belief"] == "surely unknown"])[:50]
        assert {row["path"].relationships[0]["id"] for row in own} == set(ids(worst))


def test_last_round_lists_the_beliefs_of_the_round(world: World) -> None:
    touched = [belief for belief in world.beliefs[IN_VIEW] if belief["round"] == ROUNDS]
    assert ids(world.graph.query("explore/last_round", limit=200)) == ids(least_known(touched)[:200])
    old = [belief for belief in world.beliefs["old"] if belief["round"] == ROUNDS]
    assert ids(world.graph.query("explore/last_round", run="old", limit=20)) == ids(least_known(old)[:20])


def test_weakest_relations_have_the_lowest_share(world: World) -> None:
    of_relation = defaultdict(list)
    for belief in asked(world.beliefs[IN_VIEW]):
        of_relation[belief["relation"]].append(belief)
    shares = {}
    for relation, beliefs in of_relation.items():
        if len(beliefs) >= 500:
            shares[relation] = sum(belief["right"] > belief["wrong"] for belief in beliefs) / len(beliefs)
    weakest = sorted(shares, key=lambda relation: (shares[relation], relation))[:4]
    rows = world.graph.query("explore/weakest_relations", relations=4, facts=20, asked=500)
    by_share = defaultdict(list)
    for row in rows:
        by_share[row["known"]].append(row["fact"])
    expected = {}
    for relation in weakest:
        failing = [b for b in of_relation[relation] if b["wrong"] >= b["right"]]
        expected[shares[relation]] = ids(least_known(failing)[:20])
    assert by_share == expected


@pytest.mark.parametrize("entity", [None, HUB])
def test_changed_compares_two_runs(world: World, entity: str | None) -> None:
    old = {belief["fact"]: belief["belief"] for belief in world.beliefs["old"]}
    beliefs = world.beliefs[IN_VIEW] if entity is None else world.by_entity[entity]
    changes = {}
    for belief in beliefs:
        words = old[belief["fact"]], belief["belief"]
        if words == ("surely known", "surely unknown"):
            changes[belief["fact"]] = "forgot"
        elif words == ("surely unknown", "surely known"):
            changes[belief["fact"]] = "learned"
    rows = world.graph.query("explore/changed", entity=entity, limit=1_000_000)
    assert {row["fact"]: row["change"] for row in rows} == changes
    assert {row["against"] for row in rows} <= {RUNS[0]}
    assert entity is not None or len(rows) > 100


def test_obsolete_facts_have_one_current_object(world: World) -> None:
    expected = set()
    for belief in asked(world.beliefs[IN_VIEW]):
        same = [b for b in world.by_subject[belief["subject"]] if b["relation"] == belief["relation"]]
        others = [b for b in same if b["fact"] != belief["fact"]]
        is_only = all((other["until"] or 20250101) < 20250101 for other in others)
        if belief["wrong"] >= belief["right"] and is_only and belief["subject_degree"] <= 1_000:
            ended = [b for b in others if b["until"] and b["object"] != belief["object"]]
            expected |= {(belief["fact"], other["fact"]) for other in ended}
    rows = world.graph.query("explore/obsolete", limit=1_000_000)
    assert {(row["fact"], row["path"].relationships[1]["id"]) for row in rows} == expected
    assert len(expected) > 100


def test_communities_agree_with_union_of_sets(world: World) -> None:
    unknown = [belief for belief in asked(world.beliefs[IN_VIEW]) if belief["right"] <= belief["wrong"]]
    parent: dict[str, str] = {}

    def root(entity: str) -> str:
        while parent.setdefault(entity, entity) != entity:
            parent[entity] = parent[parent[entity]]
            entity = parent[entity]
        return entity

    for belief in unknown:
        parent[root(belief["subject"])] = root(belief["object"])
    facts = Counter(root(belief["subject"]) for belief in unknown)
    sizes = Counter(map(root, list(parent)))
    result = kgprobe.find_ignorance(world.graph, method="components", limit=20)
    assert (result.facts, result.entities, result.total) == (len(unknown), len(parent), len(facts))
    expected = sorted(((count, sizes[group]) for group, count in facts.items()), reverse=True)
    assert [row.unknown for row in result.communities] == [count for count, _ in expected[:20]]
    assert (result.communities[0].unknown, result.communities[0].entities) == expected[0]
    central = Counter(end for belief in unknown for end in {belief["subject"], belief["object"]})
    assert result.communities[0].central[0] == min(central, key=lambda entity: (-central[entity], entity))


def test_communities_depend_on_the_seed_only(world: World) -> None:
    first, second = (kgprobe.find_ignorance(world.graph, seed=3, sure=True) for _ in range(2))
    assert first.to_dict() == second.to_dict()
    assert sum(row.share for row in first.communities) <= 1
