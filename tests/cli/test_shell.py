"""The Cypher prompt, from a pipe and at a terminal."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.cli.shell import is_complete, pieces
from kgprobe.graph.client import Endpoint
from kgprobe.graph.parameters import parse_parameters
from kgprobe.graph.queries import QueryError
from kgprobe.graph.statements import parameters_in, split_statements
from tests.servers.servers import clean_environment, kgprobe

# Writes, and then goes on for minutes.
LONG = "CREATE (n:Never) WITH n UNWIND range(1, 30000) AS a UNWIND range(1, 100000) AS b RETURN count(b);\r"


def at(endpoint: Endpoint) -> dict[str, str]:
    return {
        "KGPROBE_GRAPH": endpoint.address,
        "KGPROBE_GRAPH_USER": endpoint.user,
        "KGPROBE_GRAPH_PASSWORD": endpoint.password,
        "KGPROBE_GRAPH_DATABASE": endpoint.database or "",
    }


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


def test_parameters_are_json_or_text() -> None:
    typed = ["a=1", "b=x y", 'c="1"', 'd=[1, "é"]', "e=", "f=true", "g=a=b", "a=2"]
    assert parse_parameters(typed) == {"a": 2, "b": "x y", "c": "1", "d": [1, "é"], "e": "", "f": True, "g": "a=b"}
    with pytest.raises(QueryError, match="name=value"):
        parse_parameters(["=1"])


def test_pieces_are_commands_and_statements() -> None:
    lines = [":param a=1\n", "RETURN\n", "  $a;\n", ":help\n", "RETURN 2; RETURN 3\n", ":is no command here\n"]
    assert list(pieces(lines)) == [
        ":param a=1",
        "RETURN\n$a".replace("\n", "\n  "),
        ":help",
        "RETURN 2",
        "RETURN 3\n:is no command here",
    ]
    assert is_complete(":help")
    assert is_complete("RETURN 1;")
    assert not is_complete("RETURN\n1")


def test_a_pipe_of_statements(endpoint: Endpoint) -> None:
    typed = (
        ":param name=\"Zo\\u00eb\"\n:params\nRETURN\n  'hi; ' + $name AS greeting;\nRETURN nonsense(;\n"
        "RETURN $nobody AS x;\n"
        ":run explore/ready\n:run explore/nothing\n:nothing\n:queries\n:help\nUNWIND range(1, 250) AS i RETURN i;\n"
        "RETURN 'last' AS without_semicolon"
    )
    done = kgprobe("graph", "shell", typed=typed, **at(endpoint))
    assert "name = Zoë" in done.stdout
    assert "│ hi; Zoë  │" in done.stdout
    assert "│ true   │" in done.stdout
    assert "explore/neighbours" in done.stdout
    assert ":run NAME" in done.stdout
    assert "│ 200 │" in done.stdout
    assert "│ 201 │" not in done.stdout
    assert "250 rows, 50 of them not shown" in done.stderr
    assert "│ last" in done.stdout
    assert "needs the parameter nobody" in done.stderr
    assert "There is no query 'explore/nothing'" in done.stderr
    assert "There is no command :nothing" in done.stderr
    assert done.stderr.count("Error: ") == 4
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_exit_leaves_at_once(endpoint: Endpoint) -> None:
    done = kgprobe("graph", "shell", typed=":exit\nRETURN 'never' AS word;\n", **at(endpoint))
    assert done.returncode == 0
    assert "never" not in done.stdout


def test_a_failing_statement_changes_nothing(endpoint: Endpoint) -> None:
    typed = (
        "MATCH (n:Shelled) DETACH DELETE n;\n"
        "UNWIND [1, 2, 0] AS i CREATE (:Shelled {share: 6 / i});\nMATCH (n:Shelled) RETURN count(n) AS left_behind;"
    )
    done = kgprobe("graph", "shell", typed=typed, **at(endpoint))
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
        | at(endpoint)
        | {"KGPROBE_HOME": str(tmp_path), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
        start_new_session=True,
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    shown = ""

    def until(text: str) -> None:
        nonlocal shown
        deadline = time.monotonic() + 30
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
        until("1 row, ")
        until("kgprobe>")
        os.write(ours, LONG.encode())
        until("count(b)")
        time.sleep(1)
        process.send_signal(signal.SIGINT)  # Ctrl-C stops what runs
        until("Stopped; nothing of this statement was kept.")
        until("kgprobe>")
        os.write(ours, b"MATCH (n:Never) RETURN 'none: ' + toString(count(n)) AS made;\r")
        until("none: 0")
        os.write(ours, b"\x04")
        assert process.wait(60) == 0
    finally:
        process.kill()
        os.close(ours)
    history = tmp_path / "shell_history"
    assert "+AS answer;" in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600
