"""Reasons for empty answers, on both engines."""

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.runs import NO_RUN, NONE_IN_VIEW
from kgprobe.graph.subgraphs import facts_of

TWO_RUNS = (
    "CREATE (:Run {id: 'a', asked: 1, round: 1, started: '1'}), (:Run {id: 'b', asked: 1200, round: 9, started: '2'})"
)
IN_VIEW = "CREATE (:Run {id: 'a', asked: 1, round: 1, started: '1', inView: true}), (:Run {id: 'b', started: '2'})"


@pytest.mark.parametrize(
    ("query", "parameters", "before", "note"),
    [
        ("explore/unknown", {}, "RETURN 1", NO_RUN),
        ("explore/runs", {}, "RETURN 1", NO_RUN),
        ("explore/suspects", {}, "RETURN 1", NO_RUN),
        ("explore/changed", {"entity": "France"}, "RETURN 1", NO_RUN),
        ("explore/weakest_relations", {}, "RETURN 1", NO_RUN),
        ("explore/two_hops", {}, "RETURN 1", NO_RUN),
        ("explore/two_hops", {}, TWO_RUNS, NONE_IN_VIEW),
        ("explore/to_retrieve", {"entities": ["France"]}, TWO_RUNS, NONE_IN_VIEW),
        ("explore/frontier", {}, IN_VIEW, "Nothing of that kind is believed by run a (1 answer)."),
        (
            "explore/to_retrieve",
            {"entities": ["France", "Q183"]},
            IN_VIEW,
            "Nothing of that kind at Q142, Q183 is believed by run a (1 answer).",
        ),
        (
            "explore/changed",
            {"entity": "France"},
            TWO_RUNS,
            "Nothing of that kind at Q142 is believed by run b (1,200 answers).",
        ),
        (
            "explore/changed",
            {},
            "CREATE (:Run {id: 'a', asked: 1, round: 1, started: '1'}), (:Run {id: 'b', round: 0, started: '2'})",
            "a is the only run with a finished round; a change needs an earlier one.",
        ),
        ("explore/judged", {}, "RETURN 1", "No judge has judged this graph yet; `kgprobe judge predict` does."),
        ("explore/facts_of_relations", {"relations": []}, "RETURN 1", "The graph has nothing of that kind."),
        (
            "explore/known",
            {"run": "a"},
            TWO_RUNS,
            "Nothing of that kind is believed by run a (1 answer).",
        ),
        (
            "explore/known",
            {},
            TWO_RUNS,
            "Nothing of that kind is believed by run b (1,200 answers).",
        ),
        (
            "explore/suspects",
            {},
            "CREATE (:Run {id: 'a', asked: 1, round: 1, started: '1'}), (:Run {id: 'b', started: '2'})",
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


def test_known_path_on_the_embedded_engine_is_refused(few_facts: Graph) -> None:
    few_facts.query(TWO_RUNS)
    if few_facts.is_embedded:
        with pytest.raises(KgprobeError, match="only for Neo4j; on the embedded engine, use `kgprobe graph path`"):
            few_facts.query("explore/known_path", one="France", other="Germany")
    else:
        assert few_facts.query("explore/known_path", one="France", other="Germany").note == NONE_IN_VIEW


def test_query_of_an_empty_graph_says_so(graph: Graph) -> None:
    assert graph.query("explore/facts").note == "The graph is empty; `kgprobe load example` loads the example."


def test_query_with_rows_has_no_note(few_facts: Graph) -> None:
    assert few_facts.query("explore/facts").note is None
    assert few_facts.query("MATCH (n:Nothing) RETURN n").note is None


def test_subgraph_without_facts_says_why(few_facts: Graph) -> None:
    empty = facts_of(few_facts, ["Germany"], ["capital"], as_of="2000-01-01")
    assert empty.note == "The graph has no facts of Germany that `relations` and `as_of` allow."
    assert empty.to_frame().attrs["note"] == empty.note
    assert repr(empty) == f"<Subgraph of 0 facts, 1 entities>\n{empty.note}"
    assert facts_of(few_facts, ["Germany"], ["capital"]).note is None
