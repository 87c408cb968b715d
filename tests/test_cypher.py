"""Habits of the queries that all files of cypher/ share."""

import re

import pytest

from kgprobe.graph.queries import get_query, parameters_in, query_names
from tests.cypher_linter import Linted, lint

# True at a date, and over before it; X is whatever a query calls the fact.
CURRENT = re.compile(
    r"coalesce\((\w+)\.from, \$as_of\) <= \$as_of AND coalesce\(\1\.until, \$as_of\) >= \$as_of(?![\w.])"
)
ENDED = re.compile(r"\b\w+\.until < \$as_of(?![\w.])")


def statement(name: str) -> str:
    """Return a query without its comments and line breaks."""
    lines = (line.split("//")[0] for line in get_query(name).text.splitlines())
    return re.sub(r"\s+", " ", " ".join(lines)).strip()


def test_files_are_found() -> None:
    assert len(query_names()) > 50
    uses = [name for name in query_names() if "$as_of" in statement(name)]
    assert {"sample/askable_triples", "sample/answers", "beliefs/propagate"} <= set(uses)


def test_current_at_a_date_is_written_in_one_way() -> None:
    for name in query_names():
        text = statement(name)
        if "$as_of" in text:
            assert CURRENT.search(text) or ENDED.search(text), name
            rest = ENDED.sub("", CURRENT.sub("", text))
            # A date that is not given is not compared with a bound.
            assert "$as_of" not in rest.replace("$as_of IS NULL OR", ""), f"{name}: {rest}"


def test_kind_of_an_entity_is_compared_in_one_query() -> None:
    """Kinds of large pools and links are compared in Cypher; Python compares the kinds and names of cached entities."""
    same_type = r"any\(type IN coalesce\(\w+\.types, \[\]\) WHERE type IN row\.types\)"
    assert [name for name in query_names() if re.search(same_type, statement(name))] == [
        "sample/entities",
        "sample/links",
    ]


def test_query_says_its_question_its_parameters_and_its_rows() -> None:
    for name in query_names():
        about = get_query(name).about
        assert about, f"{name} does not begin with a comment"
        assert set(re.findall(r"\$(\w+)", statement(name))) <= set(re.findall(r"\$(\w+)", about)), name


def test_subquery_has_a_scope_clause() -> None:
    """Subqueries without one are deprecated since Neo4j 2025; ``CALL () {`` imports nothing."""
    assert [name for name in query_names() if re.search(r"\bCALL\s*\{", statement(name))] == []


@pytest.mark.slow
def test_queries_pass_the_linter_of_neo4j() -> None:
    """Every query under Cypher 5 and 25, in about a minute: no error, no warning, no deprecation."""
    control = Linted("control", "CYPHER 25\nMATCH (known) RETURN unknown", [])
    queries = [
        Linted(f"{name}, Cypher {version}", f"CYPHER {version}\n{get_query(name).text}", parameters_in(statement(name)))
        for name in query_names()
        for version in (5, 25)
    ]
    assert lint([control, *queries]) == ["control, line 2: Variable `unknown` not defined"]
