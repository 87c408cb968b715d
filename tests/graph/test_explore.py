"""The queries people start with, on both engines, against the same expected rows."""

from pathlib import Path

import pytest

from kgprobe.graph.client import Graph

FEW_FACTS = (Path(__file__).parent.parent / "data" / "few_facts.cypher").read_text(encoding="utf-8")


@pytest.fixture
def few_facts(graph: Graph) -> Graph:
    list(graph.run_text(FEW_FACTS, {})[1])
    return graph


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
