"""Reasons for empty answers, on both engines."""

import pytest

from kgprobe.api.rounds import runs
from kgprobe.graph.client import Graph
from kgprobe.graph.runs import NO_RUN
from kgprobe.graph.subgraphs import facts_of

NOT_PAINTED = "Nothing is painted; `kgprobe beliefs paint` draws the beliefs of a run."


@pytest.mark.parametrize(
    ("query", "parameters", "before", "note"),
    [
        ("explore/unknown", {}, "RETURN 1", NO_RUN),
        ("explore/runs", {}, "RETURN 1", NO_RUN),
        ("explore/suspects", {}, "RETURN 1", NO_RUN),
        ("explore/changed", {"entity": "France"}, "RETURN 1", NOT_PAINTED),
        ("explore/weakest_relations", {}, "RETURN 1", NOT_PAINTED),
        ("explore/judged", {}, "RETURN 1", "No judge has judged this graph yet; `kgprobe judge predict` does."),
        ("explore/facts_of_relations", {"relations": []}, "RETURN 1", "The graph has nothing of that kind."),
        (
            "explore/known_path",
            {"one": "France", "other": "Germany"},
            "MATCH (s {id: 'Q142'}), (o {id: 'Q90'}) CREATE (s)-[:UNKNOWN]->(o)",
            "Nothing of that kind is painted; there are 1 UNKNOWN.",
        ),
        (
            "explore/known",
            {"run": "a"},
            "CREATE (:Run {id: 'a', asked: 1, started: '1'}), (:Run {id: 'b', asked: 1200, started: '2'})",
            "Nothing of that kind is believed by run a (1 answer).",
        ),
        (
            "explore/known",
            {},
            "CREATE (:Run {id: 'a', asked: 1, started: '1'}), (:Run {id: 'b', asked: 1200, started: '2'})",
            "Nothing of that kind is believed by run b (1,200 answers).",
        ),
        (
            "explore/suspects",
            {},
            "CREATE (:Run {id: 'a', asked: 1, started: '1'}), (:Run {id: 'b', started: '2'})",
            "Nothing of that kind is believed by the runs a (1 answer), b (0 answers).",
        ),
        (
            "explore/around",
            {"entity": "lonely"},
            "CREATE (:Entity {id: 'Q0', label: 'Lonely'})",
            "The graph has nothing of that kind at Q0.",
        ),
    ],
)
def test_query_without_rows_says_why(
    few_facts: Graph, query: str, parameters: dict[str, object], before: str, note: str
) -> None:
    few_facts.query(before)
    rows = few_facts.query(query, **parameters)
    assert (len(rows), rows.note) == (0, note)
    assert rows.to_frame().attrs["note"] == note
    assert repr(rows).endswith(f"0 rows\n{note}")


def test_query_of_an_empty_graph_says_so(graph: Graph) -> None:
    assert graph.query("explore/facts").note == "The graph is empty; `kgprobe load example` loads the example."


def test_runs_of_a_graph_without_any_say_so(few_facts: Graph) -> None:
    frame = runs(few_facts)
    assert (len(frame), frame.attrs["note"]) == (0, NO_RUN)
    few_facts.query("CREATE (:Run {id: 'a', asked: 1, started: '1'})")
    assert runs(few_facts).attrs["note"] is None


def test_query_with_rows_has_no_note(few_facts: Graph) -> None:
    assert few_facts.query("explore/facts").note is None
    assert few_facts.query("MATCH (n:Nothing) RETURN n").note is None


def test_subgraph_without_facts_says_why(few_facts: Graph) -> None:
    empty = facts_of(few_facts, ["Germany"], ["capital"], as_of="2000-01-01")
    assert empty.note == "The graph has no facts of Germany that `relations` and `as_of` allow."
    assert empty.to_frame().attrs["note"] == empty.note
    assert repr(empty) == f"<Subgraph of 0 facts, 1 entities>\n{empty.note}"
    assert facts_of(few_facts, ["Germany"], ["capital"]).note is None
