"""The queries people start with, on both engines, against the same expected rows."""

import re
from collections.abc import Iterable
from typing import Any

import pytest
from scipy import stats

from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.parameters import complete_parameters, default_parameters, parse_map
from kgprobe.graph.queries import explore_names, get_query, parameters_in


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
    assert list(rows[0]) == [
        *("entity", "direction", "relation", "relation_label", "id", "label", "start", "end", "fact")
    ]
    assert [tuple(row.values()) for row in rows] == [
        ("Q183", "out", "P36", "capital", "Q586", "Bonn", "1949-05", "1990", "f2"),
        ("Q183", "out", "P47", "shares border with", "Q142", "France", None, None, "f4"),
        ("Q183", "in", "P47", "shares border with", "Q142", "France", None, None, "f3"),
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
    with pytest.raises(UnknownNameError, match="No entity is called"):
        few_facts.query("explore/neighbours", id="Q142' OR true //")


def test_relations(few_facts: Graph) -> None:
    assert [tuple(row.values()) for row in few_facts.read("explore/relations")] == [
        ("P36", "capital", True, 2, 2, 2),
        ("P47", "shares border with", True, 2, 2, 2),
        ("P99", None, None, 1, 1, 1),
    ]


BELIEFS = """
UNWIND $rows AS row
MATCH (s:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(o)
CREATE (belief:Belief {id: row.run + '/' + row.fact, run: row.run, fact: row.fact, model: row.run, subject: s.id,
                       object: o.id, relation: fact.relation, relation_label: row.label,
                       theta: 1.0 * row.alpha / (row.alpha + row.beta), low: row.low, high: row.high,
                       right: row.right, wrong: row.wrong, believed: row.believed})
SET belief.question = row.question, belief.unaskable = row.unaskable
"""
RUNS = """
UNWIND $rows AS row
CREATE (:Run {id: row.id, model: row.model, probe: 'distractors', round: row.round, asked: row.asked,
              started: row.started})
"""


@pytest.fixture
def believed(few_facts: Graph) -> Graph:
    columns = ("run", "subject", "fact", "right", "wrong", "alpha", "beta", "question", "unaskable")
    rows = [
        ("a", "Q142", "f1", 3, 0, 1, 4, "The capital of France is …", None),
        ("b", "Q142", "f1", 0, 2, 4, 1, "The capital of France is …", None),
        # Of the second run only what neighbours said.
        ("a", "Q183", "f2", 0, 1, 2, 1, "The capital of Germany is …", None),
        ("b", "Q183", "f2", 0, 0, 1, 2, None, None),
        # Of the first run nothing; of both nothing of their own; of another run.
        ("b", "Q142", "f3", 1, 2, 3, 2, "France borders …", None),
        ("a", "Q183", "f4", 0, 0, 9, 1, None, None),
        ("b", "Q183", "f4", 0, 0, 1, 9, None, "it has no name"),
        ("c", "Q142", "f5", 9, 0, 1, 10, "Which?", None),
        ("c", "Q142", "f1", 9, 0, 1, 10, "The capital of France is …", None),
    ]
    made = [dict(zip(columns, row, strict=True)) for row in rows]
    for row in made:
        low, high = stats.beta(row["alpha"], row["beta"]).interval(0.9)
        known = row["right"] > row["wrong"] if row["right"] + row["wrong"] else row["alpha"] < row["beta"]
        surely = high < 0.5 and row["right"] > 0
        row["believed"] = f"{'surely' if surely else 'leans'} {'known' if known else 'unknown'}"
        row |= {"low": float(low), "high": float(high), "label": "P99" if row["fact"] == "f5" else "an old label"}
    few_facts.query(BELIEFS, rows=made)
    begun = [
        {"id": "c", "model": "demo", "round": 1, "asked": 18, "started": "2026-01-01T00:00:00+00:00"},
        {"id": "a", "model": "demo", "round": 2, "asked": 4, "started": "2026-01-02T00:00:00+00:00"},
        {"id": "b", "model": "other", "round": 3, "asked": 5, "started": "2026-01-03T00:00:00+00:00"},
    ]
    few_facts.query(RUNS, rows=begun)
    return few_facts


def rounded(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Return the rows, without their paths, which are those of the facts that they tell of."""
    told = []
    for row in rows:
        if path := row.get("path"):
            (fact,) = path.relationships
            assert (row["fact"], row["subject"], row["object"]) == (
                *(fact.get("id"), path.start_node["label"], path.end_node["label"]),
            )
        values = [value for column, value in row.items() if column != "path"]
        told.append(tuple(round(value, 3) if isinstance(value, float) else value for value in values))
    return told


def test_two_models_are_compared(believed: Graph) -> None:
    rows = list(believed.query("explore/compare_models", one="a", other="b", limit=10))
    assert rounded(rows) == [
        ("capital", "France", "Paris", 3, 0, 0.8, 0, 2, 0.2, 0.6, "f1"),
        ("capital", "Germany", "Bonn", 0, 1, 0.333, 0, 0, 0.667, 0.333, "f2"),
        ("shares border with", "France", "Germany", 0, 0, 0.5, 1, 2, 0.4, 0.1, "f3"),
    ]
    assert list(rows[0]) == [
        *("relation", "subject", "object", "one_right", "one_wrong", "one_known"),
        *("other_right", "other_wrong", "other_known", "difference", "fact", "path"),
    ]
    # As Neo4j Browser gives numbers.
    assert rounded(believed.query("explore/compare_models", one="a", other="b", limit=1.0)) == rounded(rows[:1])
    turned = believed.read("explore/compare_models", one="b", other="a", limit=10)
    assert (turned[0]["fact"], turned[0]["one_known"], turned[0]["other_right"]) == ("f1", pytest.approx(0.2), 3)
    assert believed.read("explore/compare_models", one="d", other="e", limit=10) == []


BELIEF_COLUMNS = ("run", "relation", "subject", "object", "known", "known_low", "known_high")
FACT_COLUMNS = (*BELIEF_COLUMNS, "believed", "right", "wrong", "question", "fact", "path")


def test_what_a_model_most_surely_does_not_know(believed: Graph) -> None:
    # Of the run begun last, and of another; with the relation's label as it is now.
    latest = believed.query("explore/unknown")
    assert latest.columns == FACT_COLUMNS
    leans = "leans unknown"
    assert rounded(latest) == [
        ("b", "capital", "France", "Paris", 0.2, 0.013, 0.527, leans, 0, 2, "The capital of France is …", "f1"),
        ("b", "shares border with", "France", "Germany", 0.4, 0.098, 0.751, leans, 1, 2, "France borders …", "f3"),
    ]
    # As Neo4j Browser gives numbers.
    assert rounded(believed.query("explore/unknown", run="b", limit=1.0)) == rounded(list(latest)[:1])
    assert [row["fact"] for row in believed.query("explore/unknown", run="a")] == ["f2"]
    assert (
        believed.read("explore/unknown", run="c", limit=9)
        == believed.read("explore/unknown", run="no run", limit=9)
        == []
    )


def test_what_is_sure_is_called_so(believed: Graph) -> None:
    def words(query: str, **parameters: Any) -> dict[str, str | None]:
        return {row["fact"]: row["believed"] for row in believed.query(query, **parameters)}

    believed.query("MATCH (b:Belief {run: 'b', fact: 'f1'}) SET b.believed = 'surely unknown'")
    assert words("explore/unknown", run="b") == {"f1": "surely unknown", "f3": "leans unknown"}
    assert words("explore/around", run="b", entity="Q142") == {
        "f1": "surely unknown",
        "f3": "leans unknown",
        "f4": "leans known",
        "f5": None,
    }
    believed.query("MATCH (b:Belief {run: 'c', fact: 'f5'}) SET b.believed = 'leans known'")
    assert words("explore/known", run="c") == {"f1": "surely known", "f5": "leans known"}


def test_what_a_model_most_surely_knows(believed: Graph) -> None:
    assert list(believed.query("explore/known")) == []
    rows = believed.query("explore/known", run="c")
    assert rows.columns == FACT_COLUMNS
    surely = "surely known"
    # A relation that nothing describes goes by what the belief calls it.
    assert rounded(rows) == [
        ("c", "capital", "France", "Paris", 0.909, 0.741, 0.995, surely, 9, 0, "The capital of France is …", "f1"),
        ("c", "P99", "France", "France", 0.909, 0.741, 0.995, surely, 9, 0, "Which?", "f5"),
    ]


def test_what_a_run_is_least_sure_of(believed: Graph) -> None:
    rows = believed.query("explore/uncertain", run="b")
    assert rows.columns == (*BELIEF_COLUMNS, "right", "wrong", "question", "fact", "path")
    # Not what could not be asked.
    assert [(row["fact"], round(row["known_high"] - row["known_low"], 3)) for row in rows] == [
        ("f2", 0.751),
        ("f3", 0.654),
        ("f1", 0.514),
    ]
    believed.query("MATCH (b:Belief) SET b.low = 0.25, b.high = 0.75")
    assert [row["fact"] for row in believed.query("explore/uncertain", run="b")] == ["f3", "f2", "f1"]


def test_what_a_run_found_by_relation(believed: Graph) -> None:
    rows = believed.query("explore/by_relation")
    assert rows.columns == ("run", "relation", "relation_label", "asked", "mean_known", "known")
    assert rounded(rows) == [("b", "P36", "capital", 1, 0.2, 0.0), ("b", "P47", "shares border with", 1, 0.4, 0.0)]
    assert rounded(believed.query("explore/by_relation", run="a")) == [("a", "P36", "capital", 2, 0.567, 0.5)]
    assert rounded(believed.query("explore/by_relation", run="c"))[1][:4] == ("c", "P99", "P99", 1)


@pytest.mark.parametrize("entity", ["Q142", "France"])
def test_what_a_run_believes_around_an_entity(believed: Graph, entity: str) -> None:
    rows = believed.query("explore/around", entity=entity)
    assert rows.columns == ("run", "entity", *FACT_COLUMNS[1:])
    assert [(row["fact"], row["right"], row["wrong"], row["question"]) for row in rows] == [
        ("f1", 0, 2, "The capital of France is …"),
        ("f3", 1, 2, "France borders …"),
        ("f4", 0, 0, None),
        ("f5", None, None, None),
    ]
    assert rounded(rows)[3] == ("b", "Q142", "P99", "France", "France", *[None] * 7, "f5")
    assert [row["fact"] for row in believed.query("explore/around", entity=entity, run="c", limit=2.0)] == ["f1", "f5"]
    assert believed.read("explore/around", entity="Q142", run="no run", limit=9)[0]["run"] is None
    with pytest.raises(UnknownNameError, match='No entity is called "Q142\' OR true //"'):
        believed.query("explore/around", entity="Q142' OR true //")
    # Where nothing was ever asked, there are the facts.
    believed.query("MATCH (run:Run) DELETE run")
    assert {row["run"] for row in believed.query("explore/around", entity=entity)} == {None}


def test_runs(believed: Graph) -> None:
    rows = believed.query("explore/runs")
    assert rows.columns == ("run", "model", "probe", "rounds", "asked", "begun")
    assert [tuple(row.values()) for row in rows] == [
        ("b", "other", "distractors", 3, 5, "2026-01-03T00:00:00+00:00"),
        ("a", "demo", "distractors", 2, 4, "2026-01-02T00:00:00+00:00"),
        ("c", "demo", "distractors", 1, 18, "2026-01-01T00:00:00+00:00"),
    ]


def test_words_that_a_graph_has(few_facts: Graph) -> None:
    rows = [(row["kind"], row["name"]) for row in few_facts.query("explore/vocabulary")]
    assert {("label", "Entity"), ("label", "Type"), ("type", "FACT"), ("type", "INSTANCE_OF")} <= set(rows)
    assert {kind for kind, _ in rows} == {"label", "type"}
    assert rows == sorted(set(rows))


@pytest.mark.parametrize("name", explore_names())
def test_query_for_people_shows_parameters_as_written(name: str) -> None:
    query = get_query(name)
    shown = re.findall(r"^For Neo4j Browser: :params (\{.*\})$", query.about, re.MULTILINE)
    parameters = {name: value for text in shown for name, value in parse_map(text).items()}
    assert sorted(parameters) == parameters_in(query.text)
    assert default_parameters(query).items() <= parameters.items()
    assert complete_parameters(query, parameters) == parameters


def believe(graph: Graph, rows: Iterable[tuple[str, str, str, float]]) -> None:
    """Runs of models believe facts: (run, model, fact, theta); the interval is 0.15 to each side."""
    made = [
        {
            "run": run,
            "model": model,
            "fact": fact,
            "theta": theta,
            "right": 4 if theta < 0.5 else 1,
            "wrong": 1 if theta < 0.5 else 4,
            "believed": "leans unknown" if theta == 0.6 else f"surely {'known' if theta < 0.5 else 'unknown'}",
        }
        for run, model, fact, theta in rows
    ]
    text = """
    UNWIND $rows AS row
    MATCH (s:Entity)-[fact:FACT {id: row.fact}]->(o)
    CREATE (:Belief {id: row.run + '/' + row.fact, run: row.run, model: row.model, fact: row.fact, subject: s.id,
                     object: o.id, relation: fact.relation, relation_label: 'old', theta: row.theta,
                     low: row.theta - 0.15, high: row.theta + 0.15, right: row.right, wrong: row.wrong,
                     believed: row.believed,
                     question: row.run + ' on ' + row.fact})
    """
    graph.query(text, rows=made)
    graph.query("UNWIND $runs AS id MERGE (:Run {id: id})", runs=sorted({row["run"] for row in made}))
    # As ingestion counts them.
    graph.query("MATCH (e:Entity)-[f:FACT]-() WITH e, count(f) AS degree SET e.degree = degree")


# The graph has five facts.
FEW = {"around": 2}


# What two models know of the relation of f1.
KNOWN = [("a", "first", "f2", 0.05), ("b", "second", "f2", 0.05)]


def test_facts_denied_by_several_models_are_suspect(few_facts: Graph) -> None:
    believe(few_facts, [("a", "first", "f1", 0.9), ("b", "second", "f1", 0.8), *KNOWN])
    believe(few_facts, [("a", "first", "f3", 0.1), ("b", "second", "f3", 0.2), ("b", "second", "f4", 0.3)])
    rows = few_facts.query("explore/suspects", **FEW)
    assert rows.columns == (
        *("relation", "subject", "object", "models", "known", "around", "known_around", "question", "fact", "path"),
    )
    assert rounded(rows) == [("capital", "France", "Paris", 2, 0.15, 2, 0.8, "b on f1", "f1")]
    assert list(few_facts.query("explore/suspects")) == []
    assert list(few_facts.query("explore/suspects", **FEW, models=3.0)) == []
    few_facts.query("CREATE (:Run {id: 'c'})")
    assert list(few_facts.query("explore/suspects", **FEW, runs=["a", "c"])) == []
    assert len(list(few_facts.query("explore/suspects", **FEW, runs=["a", "b"]))) == 1
    # What models do not know of any subject is hard, and not wrong.
    few_facts.query("MATCH (b:Belief {fact: 'f2'}) SET b.theta = 0.5")
    assert list(few_facts.query("explore/suspects", **FEW)) == []


def test_suspects_least_probably_missed_are_first(few_facts: Graph) -> None:
    believe(few_facts, [("a", "first", "f1", 0.9), ("b", "second", "f1", 0.8), *KNOWN])
    believe(few_facts, [("a", "first", "f3", 0.1), ("b", "second", "f3", 0.2)])
    believe(few_facts, [("a", "first", "f4", 0.7), ("b", "second", "f4", 0.7)])
    rows = rounded(few_facts.query("explore/suspects", around=1))
    assert [(row[-1], row[4], row[5], row[6]) for row in rows] == [("f4", 0.3, 3, 0.65), ("f1", 0.15, 2, 0.575)]
    assert len(list(few_facts.query("explore/suspects", around=1, limit=1.0))) == 1
    assert [row["fact"] for row in few_facts.query("explore/suspects", around=1, candidates=1)] == ["f1"]


@pytest.mark.parametrize(
    ("why", "rows"),
    [
        ("one model denies it, asked in two ways", [("b", "first", "f1", 0.9)]),
        ("the other is not sure", [("b", "second", "f1", 0.6)]),
        ("a third one knows it", [("b", "second", "f1", 0.9), ("c", "third", "f1", 0.2)]),
        ("what is around it is denied, too", [("b", "second", fact, 0.9) for fact in ("f1", "f3", "f4")]),
        ("only another run was asked what is around it", [("b", "second", "f1", 0.9)]),
    ],
)
def test_what_is_not_suspect(few_facts: Graph, why: str, rows: list[tuple[str, str, str, float]]) -> None:
    believe(few_facts, [("a", "first", "f1", 0.9), *rows, *KNOWN])
    who = ("c", "third") if "another run" in why else ("a", "first")
    believe(few_facts, [(*who, "f3", 0.3), (*who, "f4", 0.3)])
    assert list(few_facts.query("explore/suspects", **FEW)) == []


def test_entities_of_many_facts_say_nothing_of_one(few_facts: Graph) -> None:
    believe(few_facts, [("a", "first", "f1", 0.9), ("b", "second", "f1", 0.8), *KNOWN])
    believe(few_facts, [("a", "first", "f3", 0.1), ("b", "second", "f3", 0.2), ("b", "second", "f4", 0.3)])
    assert len(list(few_facts.query("explore/suspects", **FEW))) == 1
    few_facts.query("MATCH (e:Entity {id: 'Q142'}) SET e.degree = 1001")
    assert list(few_facts.query("explore/suspects", **FEW)) == []
