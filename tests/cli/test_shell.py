"""The Cypher prompt, from a pipe and at a terminal."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError
from kgprobe.cli.shell import completions, is_complete, pieces
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.parameters import parse_assignment, parse_literal, parse_map, parse_parameters
from kgprobe.graph.queries import QueryError, explore_names, parameters_in, split_statements
from tests.cli.inprocess import run as kgprobe
from tests.cli.inprocess import succeed
from tests.graph.servers.servers import clean_environment
from tests.graph.servers.shared import environment_of

# Writes, and then goes on for seconds: the embedded engine carries on with a statement that was interrupted.
LONG = "CREATE (n:Never) WITH n UNWIND range(1, 3000) AS a UNWIND range(1, 10000) AS b RETURN count(b);\r"


@pytest.mark.parametrize(
    ("text", "ended", "rest"),
    [
        ("RETURN 1;", ["RETURN 1"], ""),
        ("RETURN 1; RETURN\n2", ["RETURN 1"], "RETURN\n2"),
        ('RETURN \';\' AS a; RETURN "\\";" ;', ["RETURN ';' AS a", 'RETURN "\\";"'], ""),
        ("RETURN 1 AS `a;b`; // done; really", ["RETURN 1 AS `a;b`"], ""),
        ("RETURN 'half; ", [], "RETURN 'half;"),
        ("/* not; yet */ RETURN 1;;", ["/* not; yet */ RETURN 1"], ""),
        ("// only a comment;\n", [], ""),
        ("RETURN /* open; ", [], "RETURN /* open;"),
    ],
)
def test_statements_end_at_semicolons_that_mean_it(text: str, ended: list[str], rest: str) -> None:
    assert split_statements(text) == (ended, rest)


@given(
    st.lists(
        st.text("ab'\"`;/*\\\n $", max_size=8).map(lambda text: "'" + text.replace("\\", "").replace("'", "") + "'")
    )
)
def test_strings_never_end_a_statement(strings: list[str]) -> None:
    statement = "RETURN [" + ", ".join(strings) + "]"
    assert split_statements(statement + ";") == ([statement], "")
    assert parameters_in(statement) == []


def test_parameters_are_found_outside_of_strings_and_comments() -> None:
    assert parameters_in("// $no\nMATCH (a {id: $id}) WHERE a.x = '$no' AND a.`$no` = $`odd name` RETURN $id, $x1") == [
        "id",
        "odd name",
        "x1",
    ]
    # Dynamic labels and types of Neo4j.
    assert parameters_in("MATCH (a:$any($labels)) MATCH (b:$all($any)) RETURN a, b, $any") == ["any", "labels"]


def test_parameters_are_json_or_text() -> None:
    typed = ["a=1", "b=x y", 'c="1"', 'd=[1, "é"]', "e=", "f=true", "g=a=b", "a=2"]
    assert parse_parameters(typed) == {"a": 2, "b": "x y", "c": "1", "d": [1, "é"], "e": "", "f": True, "g": "a=b"}
    with pytest.raises(QueryError, match="name=value"):
        parse_parameters(["=1"])


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("1", 1),
        ("-.5", -0.5),
        ("1e3", 1000.0),
        ("TRUE", True),
        ("null", None),
        (r"'it\'s \u00eb'", "it's ë"),
        ('"a\\nb"', "a\nb"),
        ("[1, 'x', []]", [1, "x", []]),
        ("{x: 1, `odd name`: {y: 'a'}, 'z': null}", {"x": 1, "odd name": {"y": "a"}, "z": None}),
        ('{"x": [1, {"y": "a"}]}', {"x": [1, {"y": "a"}]}),
    ],
)
def test_values_are_cypher_or_json(typed: str, value: object) -> None:
    assert parse_assignment(f"name  =>{typed}") == {"name": value}
    assert parse_map(f"{{name: {typed}, other: 2}}") == {"name": value, "other": 2}


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "France",
        "1 2",
        "[1,]",
        "[1,,2]",
        "{a 1}",
        "{1: 2}",
        "'a",
        "date()",
        "[" * 10_000,
        "9" * 5000,
        r"'\U99999999'",
    ],
)
def test_what_is_no_value_is_refused(typed: str) -> None:
    with pytest.raises(QueryError, match="is not a value"):
        parse_assignment(f"name => {typed}")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_json_is_read_as_it_is(value: object) -> None:
    assert parse_literal(json.dumps(value)) == value
    # In a map as Cypher writes it, what JSON writes is a value, too.
    assert parse_map(f"{{name: {json.dumps(value, ensure_ascii=False)}}}") == {"name": value}


@given(st.text("[]{}'\"\\:,1ae.-` ", max_size=20))
def test_any_text_is_a_value_or_refused(text: str) -> None:
    with suppress(QueryError):
        parse_literal(text)


def test_pieces_of_lines_are_commands_and_statements() -> None:
    lines = [
        ":param a => 1\n",
        "exit\n",
        "RETURN\n",
        "quit\n",
        ";\n",
        "RETURN\n",
        "  $a;\n",
        "explore/ready\n",
        "RETURN 2; RETURN 3\n",
        ":is no command here\n",
    ]
    assert list(pieces(lines)) == [
        ":param a => 1",
        "exit",
        "RETURN\nquit",
        "RETURN\n  $a",
        "explore/ready",
        "RETURN 2",
        "RETURN 3\n:is no command here",
    ]
    assert is_complete(":param")
    assert is_complete("explore/ready")
    assert is_complete("RETURN 1;")
    assert not is_complete("RETURN\n1")


def test_shell_piped_statements_prints_tables(endpoint: Endpoint) -> None:
    typed = (
        ":param name => \"Zo\\u00eb\"\n:param b => ['x']\n:param\n:param a=1\n"
        "RETURN\n  'hi; ' + $name AS greeting;\nRETURN nonsense(;\n"
        "RETURN $nobody AS x;\n"
        "explore/ready\nexplore/nothing\n:nothing\nUNWIND range(1, 250) AS i RETURN i;\n"
        "RETURN 'last' AS without_semicolon"
    )
    done = kgprobe("graph", "shell", typed=typed, **environment_of(endpoint))
    assert 'name = Zoë\nb = ["x"]\n' in done.stdout
    assert "'a=1' is not of the form name => value" in done.stderr
    assert "│ hi; Zoë  │" in done.stdout
    assert "│ true   │" in done.stdout
    assert "│ 200 │" in done.stdout
    assert "│ 201 │" not in done.stdout
    assert "250 rows, 50 of them not shown" in done.stderr
    assert "│ last" in done.stdout
    assert "needs the parameter nobody" in done.stderr
    assert "Unknown query 'explore/nothing'; expected one of explore/around" in done.stderr
    assert "Unknown command :nothing" in done.stderr
    assert done.stderr.count("Error: ") == 5
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("word", ["exit", "QUIT;", " quit "])
def test_shell_exit_leaves_at_once(endpoint: Endpoint, word: str) -> None:
    assert is_complete(word)
    done = succeed("graph", "shell", typed=f"{word}\nRETURN 'never' AS word;\n", **environment_of(endpoint))
    assert "never" not in done.stdout


def test_completions_have_queries_and_names_of_the_graph(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with Graph(endpoint) as graph:
        graph.query("MERGE (a:Completed)-[r:COMPLETES]->(a)")
        names = completions(graph)
        assert {"Completed", "COMPLETES", "explore/unknown"} <= set(names)
        assert "load/facts" not in names
        graph.query("MATCH (n:Completed) DETACH DELETE n")

        def fail(_: str) -> list[dict[str, str]]:
            raise KgprobeError("nobody there")

        monkeypatch.setattr(graph, "read", fail)
        assert completions(graph) == list(explore_names())


def test_failing_statement_changes_nothing(endpoint: Endpoint) -> None:
    typed = (
        "MATCH (n:Shelled) DETACH DELETE n;\n"
        "UNWIND [1, 2, 0] AS i CREATE (:Shelled {share: 6 / i});\nMATCH (n:Shelled) RETURN count(n) AS left_behind;"
    )
    done = kgprobe("graph", "shell", typed=typed, **environment_of(endpoint))
    assert "Error: " in done.stderr
    assert "│           0 │" in done.stdout


def test_at_a_terminal(endpoint: Endpoint, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "kgprobe", "graph", "shell"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=clean_environment()
        | environment_of(endpoint)
        | {"KGPROBE_HOME": str(tmp_path), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
        start_new_session=True,
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    shown = ""

    def until(text: str) -> None:
        nonlocal shown
        deadline = time.monotonic() + 300
        while text not in shown:
            assert time.monotonic() < deadline, repr(shown)
            try:
                shown += os.read(ours, 4096).decode(errors="replace")
            except BlockingIOError:
                time.sleep(0.05)
        shown = shown.partition(text)[2]

    try:
        until("kgprobe>")
        os.write(ours, b"RETURN 'dropped'\x03")  # Ctrl-C drops the line
        until("kgprobe>")
        os.write(ours, b"RETURN\r40 + 2\rAS answer;\r")
        until(" 42 ")
        until("1 row")
        until("kgprobe>")
        os.write(ours, b"explore/rea\t")  # Tab completes the name of a query
        until("dy")
        os.write(ours, b"\r")
        until("1 row")
        until("kgprobe>")
        os.write(ours, LONG.encode())
        until("count(b)")
        time.sleep(1)
        process.send_signal(signal.SIGINT)  # Ctrl-C stops what runs
        until("Stopped; the statement was rolled back.")
        until("kgprobe>")
        os.write(ours, b"MATCH (n:Never) RETURN 'none: ' + toString(count(n)) AS made;\r")
        until("none: 0")
        os.write(ours, b"\x04")
        assert process.wait(300) == 0
    finally:
        process.kill()
        os.close(ours)
    history = tmp_path / "shell_history"
    assert "+AS answer;" in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600
