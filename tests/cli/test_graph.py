"""The graph commands as a user types them, each in its own process."""

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.queries import explore_names
from tests.cli.inprocess import printed, succeed
from tests.cli.inprocess import run as kgprobe
from tests.graph.servers.servers import servers_on
from tests.graph.servers.shared import environment_of


@pytest.fixture
def at(endpoint: Endpoint) -> dict[str, str]:
    """The environment of somebody who works on the running server."""
    return environment_of(endpoint)


def test_start_status_stop(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    home = {"KGPROBE_HOME": str(tmp_path)}
    assert "It holds no graph yet" in kgprobe("graph", "status", **home).stdout
    assert not folder.exists()
    started = succeed("graph", "start", "--memory", "512m", **home)
    try:
        assert "bolt://127.0.0.1:" in started.stdout
        again = succeed("graph", "start", "--memory", "1g", **home)
        assert "running already" in again.stderr
        assert "512 MiB" in again.stderr
        status = json.loads(kgprobe("graph", "status", "--json", **home).stdout)
        assert status["running"] is True
        assert status["memory_mib"] == 512
        assert status["users"] == []
        assert status["folder"] == str(folder)
    finally:
        stopped = kgprobe("graph", "stop", **home)
    assert "Stopped." in stopped.stderr
    assert servers_on(folder) == []
    assert json.loads(kgprobe("graph", "status", "--json", **home).stdout)["running"] is False
    assert "No server was running" in kgprobe("graph", "stop", **home).stderr


def test_query_formats(at: dict[str, str]) -> None:
    text = "UNWIND [1, 2, 3] AS i RETURN i, 'a, \"b\" [red]' AS text, [i, null] AS list, null AS nothing"
    lines = kgprobe("graph", "query", "-", "--format", "jsonl", typed=text, **at).stdout.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"i": i, "text": 'a, "b" [red]', "list": [i, None], "nothing": None} for i in (1, 2, 3)
    ]
    printed = kgprobe("graph", "query", "-", "--format", "csv", typed=text, **at).stdout
    assert list(csv.reader(io.StringIO(printed)))[:2] == [
        ["i", "text", "list", "nothing"],
        ["1", 'a, "b" [red]', "[1,null]", ""],
    ]
    table = kgprobe("graph", "query", "-", "--limit", "2", typed=text, **at)
    assert '│ 2 │ a, "b" [red] │ [2, null] │' in table.stdout
    assert "│ 3 │" not in table.stdout
    assert "2 of 3 rows" in table.stderr


def test_query_takes_a_file_and_parameters(at: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "sum.cypher"
    file.write_text("// A sum; of $c nobody speaks.\n// $a, $b -> sum\nRETURN $a + $b AS sum;\n")
    given = kgprobe("graph", "query", str(file), "--param", "a=1", "--param", "b=2", "--format", "csv", **at)
    assert given.stdout == "sum\n3\n"
    texts = kgprobe("graph", "query", str(file), "--param", "a=x=", "--param", 'b="2"', "--format", "csv", **at)
    assert texts.stdout == "sum\nx=2\n"


@pytest.mark.parametrize("form", ["table", "jsonl", "csv"])
def test_query_without_rows_says_why_on_stderr(graph: Graph, at: dict[str, str], form: str) -> None:
    graph.query("CREATE (:Entity {id: 'Q0', label: 'Lonely'})")
    done = kgprobe("graph", "query", "explore/around", "--param", "entity=LONELY", "--format", form, **at)
    assert (done.returncode, "nothing" in done.stdout) == (0, False)
    assert "The graph has nothing of that kind at Q0." in done.stderr
    obsolete = kgprobe("graph", "query", "explore/obsolete", "--format", form, **at)
    assert "The graph has no runs yet; `kgprobe rounds run distractors --model demo` starts one." in obsolete.stderr
    misspelt = kgprobe("graph", "query", "explore/around", "--param", "entity=Lonly", "--format", form, **at)
    assert (misspelt.returncode, misspelt.stdout) == (2, "")
    assert "No entity is called 'Lonly'; close to it: Lonely (Q0)" in misspelt.stderr


BELIEVED = """
UNWIND [['a', 'b', 0.1], ['b', 'c', 0.2], ['a', 'c', 0.9]] AS row
MERGE (s:Entity {id: row[0]}) SET s.label = toUpper(row[0])
MERGE (o:Entity {id: row[1]}) SET o.label = toUpper(row[1])
CREATE (s)-[f:FACT {id: row[0] + row[1], relation: 'r', relation_label: 'likes'}]->(o)
SET f.theta = row[2], f.belief = 'leans known'
MERGE (run:Run {id: 'walked'}) SET run.inView = true, run.round = 1, run.started = '2026-01-01'
CREATE (:Belief {id: 'walked/' + row[0] + row[1], run: 'walked', subject: row[0], object: row[1], relation: 'r',
                 right: 0, wrong: 1, believed: 'leans unknown'})
"""


def test_path_and_communities_as_table_and_json(graph: Graph, at: dict[str, str]) -> None:
    graph.query(BELIEVED)
    shown = kgprobe("graph", "path", "a", "C", **at)
    assert ["A", "likes", "B", "90%", "leans", "known"] in [line.split() for line in shown.stdout.splitlines()]
    assert "2 facts by run walked; the least known one is known with 80.0%: B | likes | C." in shown.stdout
    path = json.loads(kgprobe("graph", "path", "a", "c", "--max-facts", "1", "--json", **at).stdout)
    assert [fact["fact"] for fact in path.pop("facts")] == ["ac"]
    assert (path["run"], path["most_facts"], path["known"]) == ("walked", 1, pytest.approx(0.1))
    communities = kgprobe("graph", "communities", "--method", "components", **at)
    assert "Run walked: 3 unknown facts of 3 entities, 1 community (components)." in communities.stdout
    result = json.loads(kgprobe("graph", "communities", "--run", "walked", "--json", **at).stdout)
    assert (result["facts"], result["communities"][0]["unknown"], result["method"]) == (3, 3, "louvain")
    none = kgprobe("graph", "communities", "--sure", **at)
    assert (none.returncode, none.stdout.strip()) == (0, "Run walked has no surely unknown facts.")
    same = kgprobe("graph", "path", "a", "A", **at)
    assert (same.returncode, "the same entity" in same.stderr) == (2, True)
    graph.query("MATCH (run:Run) REMOVE run.inView")
    hidden = kgprobe("graph", "path", "a", "c", **at)
    assert (hidden.returncode, hidden.stdout) == (1, "")
    assert "No run is in view; `kgprobe beliefs apply RUN` brings one." in hidden.stderr


def test_query_json_is_one_list_of_rows(at: dict[str, str]) -> None:
    text = "UNWIND range(1, $n) AS i RETURN i, 'a, \"b\"' AS text, [i, null] AS list, null AS nothing"
    done = kgprobe("graph", "query", text, "--param", "n=150", "--json", **at)
    rows = json.loads(done.stdout)
    assert (len(rows), done.stderr) == (150, "")
    assert rows[1] == {"i": 2, "text": 'a, "b"', "list": [2, None], "nothing": None}
    few = kgprobe("graph", "query", text, "--param", "n=3", "--json", "--limit", "2", **at)
    assert len(json.loads(few.stdout)) == 2
    assert "2 of 3 rows" in few.stderr
    none = kgprobe("graph", "query", text, "--param", "n=0", "--json", **at)
    assert json.loads(none.stdout) == []


def test_unknown_query_is_wrong_usage() -> None:
    done = kgprobe("graph", "query", "explore/nieghbours")
    assert done.returncode == 2
    assert "no query or file 'explore/nieghbours'; expected one of " in done.stderr
    assert "(did you mean explore/neighbours?)" in done.stderr
    assert "load/" not in done.stderr
    assert "Traceback" not in done.stderr


def test_statement_on_the_command_line(at: dict[str, str]) -> None:
    done = kgprobe("graph", "query", "UNWIND [1, 2, 3] AS n RETURN n * $by AS n;", "--param", "by=2", **at)
    assert "│ 6 │" in done.stdout
    none = kgprobe("graph", "query", "RETURN(1)AS n", "--format", "csv", **at)
    assert none.stdout == "n\n1\n"
    # Longer than names of files may be.
    long = kgprobe("graph", "query", f"RETURN size('{'x' * 5000}') AS n", "--format", "csv", **at)
    assert long.stdout == "n\n5000\n"
    wrong = kgprobe("graph", "query", "MATCH (n) RETUN n", **at)
    assert wrong.returncode == 1
    assert "line 1, column 11" in wrong.stderr
    two = kgprobe("graph", "query", "RETURN 1; RETURN 2", **at)
    assert two.returncode == 2
    assert "The statement contains 2 statements instead of one" in two.stderr
    missing = kgprobe("graph", "query", "RETURN $x AS x", **at)
    assert missing.returncode == 2
    assert "The statement needs the parameter x" in missing.stderr


@pytest.mark.parametrize(("form", "lines"), [("jsonl", 2), ("csv", 3), ("table", 6)])
def test_no_more_rows_are_printed_than_asked_for_and_all_is_done(at: dict[str, str], form: str, lines: int) -> None:
    kgprobe("graph", "query", "MATCH (n:Limited) DETACH DELETE n", **at)
    statement = "UNWIND range(1, 1500) AS n CREATE (:Limited {n: n}) RETURN n"
    done = kgprobe("graph", "query", statement, "--format", form, "--limit", "2", **at)
    assert len(done.stdout.splitlines()) == lines
    assert "2 of 1500 rows" in done.stderr
    count = kgprobe("graph", "query", "MATCH (n:Limited) RETURN count(n) AS n", "--format", "csv", **at)
    assert count.stdout == "n\n1500\n"


def test_query_without_a_name_lists_those_for_people() -> None:
    done = kgprobe("graph", "query", "--format", "jsonl")
    listed = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["query"] for each in listed] == list(explore_names())
    assert all(each["question"] for each in listed)


def test_wrong_password_is_a_message(at: dict[str, str]) -> None:
    done = kgprobe("graph", "query", "explore/ready", **(at | {"KGPROBE_GRAPH_PASSWORD": "wrong"}))
    assert done.returncode == 1
    assert f"{at['KGPROBE_GRAPH']} refuses user '{at['KGPROBE_GRAPH_USER']}'" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_password_and_no_terminal_is_a_message() -> None:
    done = kgprobe("graph", "query", "explore/ready", "--graph", "bolt://127.0.0.1:1")
    assert done.returncode == 1
    assert "Set KGPROBE_GRAPH_PASSWORD" in done.stderr


def test_describe_equals_naive_counts(home: dict[str, str]) -> None:
    def rows_of(query: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(kgprobe("graph", "query", query, "--json", **home).stdout)
        return rows

    rows = rows_of("MATCH (s)-[f:FACT]->(o) RETURN s.id AS subject, o.id AS object, f.relation AS relation")
    active = {row["id"]: row["active"] for row in rows_of("MATCH (r:Relation) RETURN r.id AS id, r.active AS active")}
    size = printed("graph", "status", "--size", "--json", **home)
    degrees: Counter[str] = Counter()
    for row in rows:
        degrees.update({row["subject"], row["object"]})
    for name, is_active in (("active", True), ("inactive", False)):
        own = [row for row in rows if active[row["relation"]] is is_active]
        assert (size[f"{name}_facts"], size[f"{name}_relations"]) == (len(own), len({row["relation"] for row in own}))
    assert (size["linked"], size["mean_degree"]) == (len(degrees), degrees.total() / len(degrees))
    assert size["density"] == len(rows) / (len(degrees) * (len(degrees) - 1))
    shown = kgprobe("graph", "status", "--size", **home, COLUMNS="80").stdout
    assert "mean degree" in shown
    assert f"{size['active_facts']:,} of {len(rows):,} facts are of {size['active_relations']} relations" in shown


def test_mistyped_folder_is_not_made_into_a_graph(tmp_path: Path, model: str) -> None:
    folder = tmp_path / "typo"
    for command in (("graph", "status", "--size"), ("probe", "distractors", "--model", model)):
        done = kgprobe(*command, "--graph", str(folder))
        assert done.returncode == 2
        assert f"There is no graph in {folder}. `kgprobe load` makes one" in done.stderr
        assert not folder.exists()
