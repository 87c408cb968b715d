"""The graph commands as a user types them, each in its own process."""

import csv
import io
import json
from pathlib import Path

import pytest

from kgprobe.graph.client import Endpoint
from kgprobe.graph.queries import query_names
from tests.cli.inprocess import run as kgprobe
from tests.servers.servers import servers_on


@pytest.fixture
def at(endpoint: Endpoint) -> dict[str, str]:
    """The environment of somebody who works on the running server."""
    return {
        "KGPROBE_GRAPH": endpoint.address,
        "KGPROBE_GRAPH_USER": endpoint.user,
        "KGPROBE_GRAPH_PASSWORD": endpoint.password,
        "KGPROBE_GRAPH_DATABASE": endpoint.database or "",
    }


def test_start_status_stop(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    home = {"KGPROBE_HOME": str(tmp_path)}
    assert "There is no graph yet" in kgprobe("graph", "status", **home).stdout
    assert not folder.exists()
    started = kgprobe("graph", "start", "--memory", "512m", **home)
    assert started.returncode == 0, started.stderr
    try:
        assert "bolt://127.0.0.1:" in started.stdout
        again = kgprobe("graph", "start", "--memory", "1g", **home)
        assert again.returncode == 0
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


@pytest.mark.parametrize("memory", ["2", "lots", "8m", "-1g"])
def test_memory_is_an_amount(memory: str) -> None:
    done = kgprobe("graph", "start", "--memory", memory)
    assert done.returncode == 2
    assert "--memory" in done.stderr


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


def test_wrong_parameters_are_named(tmp_path: Path) -> None:
    missing = kgprobe("graph", "query", "explore/neighbours", "--graph", str(tmp_path / "never made"))
    assert missing.returncode == 2
    assert "explore/neighbours needs the parameter id" in missing.stderr
    assert "The facts around an entity" in missing.stderr
    unknown = kgprobe("graph", "query", "explore/neighbours", "--param", "id=Q1", "--param", "ide=Q1")
    assert unknown.returncode == 2
    assert "no parameter ide; it takes id" in unknown.stderr
    shapeless = kgprobe("graph", "query", "explore/neighbours", "--param", "id")
    assert shapeless.returncode == 2
    assert "'id' is not of the form name=value" in shapeless.stderr
    assert not (tmp_path / "never made").exists()


def test_an_unknown_query_is_wrong_usage() -> None:
    done = kgprobe("graph", "query", "explore/nieghbours")
    assert done.returncode == 2
    assert "explore/neighbours" in done.stderr
    assert "Traceback" not in done.stderr


def test_query_without_a_name_lists_all() -> None:
    done = kgprobe("graph", "query", "--format", "jsonl")
    listed = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["query"] for each in listed] == list(query_names())
    assert all(each["question"] for each in listed)


def test_a_wrong_password_is_a_message(at: dict[str, str]) -> None:
    done = kgprobe("graph", "query", "explore/ready", **(at | {"KGPROBE_GRAPH_PASSWORD": "wrong"}))
    assert done.returncode == 1
    assert f"{at['KGPROBE_GRAPH']} refuses user '{at['KGPROBE_GRAPH_USER']}'" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_password_and_no_terminal_is_a_message() -> None:
    done = kgprobe("graph", "query", "explore/ready", "--graph", "bolt://127.0.0.1:1")
    assert done.returncode == 1
    assert "Set KGPROBE_GRAPH_PASSWORD" in done.stderr


def test_nobody_at_the_address_is_a_message() -> None:
    address = "bolt://127.0.0.1:1"
    done = kgprobe("graph", "query", "explore/ready", KGPROBE_GRAPH=address, KGPROBE_GRAPH_PASSWORD="x")
    assert done.returncode == 1
    assert f"{address} does not answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_start_of_an_address_is_refused() -> None:
    done = kgprobe("graph", "start", "--graph", "bolt://somewhere:7687")
    assert done.returncode == 1
    assert "somebody else runs" in done.stderr
