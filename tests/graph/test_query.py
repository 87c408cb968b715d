"""Cypher from Python: by name or as text, with its parameters checked, as rows and as a table."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.parameters import complete_parameters, default_parameters, parse_map
from kgprobe.graph.queries import QueryError, explore_names, find_query, get_query, parameters_in, query_names
from kgprobe.graph.rows import Rows


def test_query_by_name_or_as_text(few_facts: Graph) -> None:
    named = few_facts.query("explore/neighbours", id="Q183")
    assert list(named) == few_facts.read("explore/neighbours", id="Q183")
    columns = ("entity", "direction", "relation", "relation_label", "id", "label", "start", "end", "fact")
    assert named.columns == columns
    text = few_facts.query("// Whose label?\nMATCH (e:Entity {id: $id}) RETURN e.label AS label;", id="Q90")
    assert (text.columns, list(text), len(text), text[0]) == (("label",), [{"label": "Paris"}], 1, {"label": "Paris"})


def test_query_may_write_as_a_whole_or_not_at_all(graph: Graph) -> None:
    assert list(graph.query("CREATE (e:Entity {id: 'Q1'})")) == []
    with pytest.raises(KgprobeError, match="reports"):
        graph.query("UNWIND [1, 0] AS i CREATE (:Entity {id: toString(6 / i)})")
    assert list(graph.query("MATCH (e:Entity) RETURN e.id AS id")) == [{"id": "Q1"}]


def test_parameters_are_checked(graph: Graph) -> None:
    with pytest.raises(QueryError, match="explore/neighbours needs the parameter id"):
        graph.query("explore/neighbours")
    with pytest.raises(QueryError, match="The query has no parameter ide; it takes id"):
        graph.query("RETURN $id", id=1, ide=2)
    assert list(graph.query("RETURN $query AS query", query=[1, None])) == [{"query": [1, None]}]


def test_frame_holds_values_as_json_knows_them(few_facts: Graph) -> None:
    frame = few_facts.query(
        "MATCH (e:Entity) WHERE e.id STARTS WITH $start RETURN e, e.id AS id, date('2011-05-06') AS day ORDER BY id",
        start="Q1",
    ).to_frame()
    assert list(frame.columns) == ["e", "id", "day"]
    assert frame.iloc[0].tolist() == [
        {"labels": ["Entity"], "properties": {"id": "Q142", "label": "France"}},
        "Q142",
        "2011-05-06",
    ]
    empty = few_facts.query("MATCH (e:Entity {id: 'nobody'}) RETURN e.id AS id, e.label AS label")
    assert (repr(empty).splitlines()[-1], len(empty.to_frame())) == ("0 rows", 0)


@pytest.mark.parametrize("name", ["explore/nieghbours", "ready", "a-b/c_d"])
def test_what_could_only_be_a_name_is_one(name: str) -> None:
    with pytest.raises(UnknownNameError, match=f"Unknown query '{name}'; ") as caught:
        find_query(name)
    near = {"explore/nieghbours": "explore/neighbours", "ready": "explore/ready"}.get(name)
    if near:
        assert str(caught.value).endswith(f" (did you mean {near}?).")
    else:
        # What people can use, not what loads or deletes.
        assert str(caught.value).endswith(f"; expected one of {', '.join(explore_names())}.")
        assert "load/" not in str(caught.value)


def test_query_has_defaults_where_its_comment_says_so(few_facts: Graph) -> None:
    assert len(few_facts.query("explore/facts")) == 5
    assert len(few_facts.query("explore/facts", limit=2)) == 2
    assert few_facts.query("// Unless given: {a: [1], b: 'x'}\nRETURN $a AS a, $b AS b", b=2)[0] == {"a": [1], "b": 2}
    with pytest.raises(QueryError, match="explore/around needs the parameter entity"):
        few_facts.query("explore/around")
    with pytest.raises(QueryError, match="is not a value"):
        few_facts.query("// Unless given: {a: France}\nRETURN $a AS a")


def test_every_name_is_found_and_every_text_is_one_statement() -> None:
    assert [find_query(name).name for name in query_names()] == list(query_names())
    assert find_query("RETURN 1; // done").text == "RETURN 1"
    for text, count in (("RETURN 1; RETURN 2", 2), ("", 0), ("// nothing\n", 0)):
        with pytest.raises(QueryError, match=f"contains {count} statements"):
            find_query(text)


def test_what_a_query_answers_is_a_phrase() -> None:
    assert get_query("explore/ready").question == "Does the graph answer?"
    assert get_query("explore/by_relation").question == "Results of a run by relation"
    for name in query_names():
        question = get_query(name).question
        assert question, name
        assert "->" not in question, name


def test_rows_print_as_a_table() -> None:
    rows = Rows(("id", "long"), tuple({"id": i, "long": "x" * 100 if i else None} for i in range(30)))
    lines = repr(rows).splitlines()
    assert lines[:3] == ["id  long", "0", "1   " + "x" * 39 + "…"]
    assert lines[20:] == ["19  " + "x" * 39 + "…", "30 rows, 20 of them shown"]
    assert repr(Rows((), ())) == "0 rows"
    assert repr(Rows(("a",), ({"a": "\x1b[2J"},))) == "a\n\\x1b[2J\n1 row"


@given(st.lists(st.text(max_size=50)), st.lists(st.text(min_size=1, max_size=5), max_size=3, unique=True))
def test_whatever_a_row_holds_a_line_is_a_line(values: list[str], columns: list[str]) -> None:
    rows = Rows(tuple(columns), tuple(dict.fromkeys(columns, value) for value in values))
    assert len(repr(rows).splitlines()) == (min(len(values), 20) + 1 if columns else 0) + 1


@pytest.mark.parametrize("name", explore_names())
def test_query_for_people_shows_parameters_as_written(name: str) -> None:
    query = get_query(name)
    shown = re.findall(r"^For Neo4j Browser: :params (\{.*\})$", query.about, re.MULTILINE)
    parameters = {name: value for text in shown for name, value in parse_map(text).items()}
    assert sorted(parameters) == parameters_in(query.text)
    assert default_parameters(query).items() <= parameters.items()
    assert complete_parameters(query, parameters) == parameters
