"""The queries people start with, on both engines, against the same expected rows."""

import pytest

from kgprobe.graph.client import Graph


def test_ready(graph: Graph) -> None:
    assert graph.read("explore/ready") == [{"answer": True}]


def test_counts(few_facts: Graph) -> None:
    assert [tuple(row.values()) for row in few_facts.read("explore/counts")] == [
        ("node", "Entity", 5),
        ("node", "Relation", 2),
        ("node", "Type", 1),
        ("relationship", "FACT", 5),
        ("relationship", "INSTANCE_OF", 2),
    ]


def test_counts_of_an_empty_graph(graph: Graph) -> None:
    assert graph.read("explore/counts") == []


def test_neighbours(few_facts: Graph) -> None:
    rows = few_facts.read("explore/neighbours", id="Q183")
    assert list(rows[0]) == ["direction", "relation", "relation_label", "id", "label", "start", "end", "fact"]
    assert [tuple(row.values()) for row in rows] == [
        ("out", "P36", "capital", "Q586", "Bonn", "1949-05", "1990", "f2"),
        ("out", "P47", "shares border with", "Q142", "France", None, None, "f4"),
        ("in", "P47", "shares border with", "Q142", "France", None, None, "f3"),
    ]


def test_neighbours_shows_a_fact_about_itself_once(few_facts: Graph) -> None:
    rows = few_facts.read("explore/neighbours", id="Q142")
    assert [(row["direction"], row["fact"], row["relation_label"]) for row in rows] == [
        ("out", "f1", "capital"),
        ("out", "f3", "shares border with"),
        ("out", "f5", None),
        ("in", "f4", "shares border with"),
    ]


def test_neighbours_of_nobody(few_facts: Graph) -> None:
    assert few_facts.read("explore/neighbours", id="Q142' OR true //") == []


def test_relations(few_facts: Graph) -> None:
    assert [tuple(row.values()) for row in few_facts.read("explore/relations")] == [
        ("P36", "capital", True, 2, 2, 2),
        ("P47", "shares border with", True, 2, 2, 2),
        ("P99", None, None, 1, 1, 1),
    ]


BELIEFS = """
UNWIND $rows AS row
MATCH (s:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(o)
CREATE (s)-[:BELIEF {run: row.run, fact: row.fact, model: row.run, theta: 1.0 * row.alpha / (row.alpha + row.beta),
                     right: row.right, wrong: row.wrong}]->(o)
"""


@pytest.fixture
def believed(few_facts: Graph) -> Graph:
    columns = ("run", "subject", "fact", "right", "wrong", "alpha", "beta")
    rows = [
        ("a", "Q142", "f1", 3, 0, 1, 4),
        ("b", "Q142", "f1", 0, 2, 4, 1),
        # Of the second run only what neighbours said.
        ("a", "Q183", "f2", 0, 1, 2, 1),
        ("b", "Q183", "f2", 0, 0, 1, 2),
        # Of the first run nothing; of both nothing of their own; of another run.
        ("b", "Q142", "f3", 1, 2, 3, 2),
        ("a", "Q183", "f4", 0, 0, 9, 1),
        ("b", "Q183", "f4", 0, 0, 1, 9),
        ("c", "Q142", "f5", 9, 0, 1, 10),
        ("c", "Q142", "f1", 9, 0, 1, 10),
    ]
    list(few_facts.run_text(BELIEFS, {"rows": [dict(zip(columns, row, strict=True)) for row in rows]})[1])
    return few_facts


def test_two_models_are_compared(believed: Graph) -> None:
    rows = believed.read("explore/compare_models", one="a", other="b", limit=10)
    found = [tuple(round(value, 3) if isinstance(value, float) else value for value in row.values()) for row in rows]
    assert found == [
        ("capital", "France", "Paris", 3, 0, 0.2, 0, 2, 0.8, 0.6, "f1"),
        ("capital", "Germany", "Bonn", 0, 1, 0.667, 0, 0, 0.333, 0.333, "f2"),
        ("shares border with", "France", "Germany", 0, 0, 0.5, 1, 2, 0.6, 0.1, "f3"),
    ]
    assert list(rows[0]) == [
        *("relation", "subject", "object", "one_right", "one_wrong", "one_theta"),
        *("other_right", "other_wrong", "other_theta", "difference", "fact"),
    ]
    # As Neo4j Browser gives numbers.
    assert believed.read("explore/compare_models", one="a", other="b", limit=1.0) == rows[:1]
    turned = believed.read("explore/compare_models", one="b", other="a", limit=10)
    assert (turned[0]["fact"], turned[0]["one_theta"], turned[0]["other_right"]) == ("f1", 0.8, 3)
    assert believed.read("explore/compare_models", one="d", other="e", limit=10) == []
