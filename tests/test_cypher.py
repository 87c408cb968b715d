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
# What there is of a fact's bounds and of the date, in whatever way they are compared.
COMPARED = re.compile(r"\$as_of")


def statement(name: str) -> str:
    """Return a query without its comments and line breaks."""
    lines = (line.split("//")[0] for line in get_query(name).text.splitlines())
    return re.sub(r"\s+", " ", " ".join(lines)).strip()


def test_files_are_found() -> None:
    assert len(query_names()) > 50
    uses = [name for name in query_names() if "$as_of" in statement(name)]
    assert {"sample/askable", "sample/answers", "beliefs/propagate"} <= set(uses)


@pytest.mark.parametrize("name", [name for name in query_names() if "$as_of" in statement(name)])
def test_current_at_a_date_is_written_in_one_way(name: str) -> None:
    text = statement(name)
    assert CURRENT.search(text) or ENDED.search(text)
    rest = ENDED.sub("", CURRENT.sub("", text))
    # A date that was not given has a say in nothing, which is not a comparison with a bound.
    rest = rest.replace("$as_of IS NULL OR", "")
    assert not COMPARED.search(rest), rest


def test_kind_of_an_entity_is_compared_in_one_query() -> None:
    """Ω(f) and negatives share a type, or are objects of the relation; Python compares names, as Cypher cannot."""
    same_type = r"any\(type IN coalesce\(\w+\.types, \[\]\) WHERE type IN row\.types\)"
    assert [name for name in query_names() if re.search(same_type, statement(name))] == [
        "sample/candidates",
        "sample/links",
    ]


@pytest.mark.parametrize("name", query_names())
def test_query_says_its_question_its_parameters_and_its_rows(name: str) -> None:
    query = get_query(name)
    assert query.about, "it begins with a comment"
    said = set(re.findall(r"\$(\w+)", query.about))
    assert set(re.findall(r"\$(\w+)", statement(name))) <= said


@pytest.mark.parametrize("name", query_names())
def test_subquery_has_a_scope_clause(name: str) -> None:
    """Subqueries without one are deprecated since Neo4j 2025; ``CALL () {`` imports nothing."""
    assert not re.search(r"\bCALL\s*\{", statement(name))


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
