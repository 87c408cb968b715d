"""Mistakes in Cypher are shown where they are: on both engines, in the library, the command, the shell."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.driver import with_place
from tests.cli.inprocess import run as kgprobe

# A statement with a mistake, the part of it that is shown, and the line and column of the mistake.
MISTAKES = [
    ("MATCH (e:Entity) RETUN e", "MATCH (e:Entity) RETUN e", 1, 18),
    ("MATCH (e:Entity)\nWHERE e.id =\n\tRETURN e", " RETURN e", 3, 9),
    ("MATCH (e RETURN e", "MATCH (e RETURN e", 1, 10),
    ("RETURN '日本', 1 RETUN", "RETURN '日本', 1 RETUN", 1, 16),
    ("RETURN 'a\nRETURN 1", "RETURN 'a", 1, 8),
    (f"RETURN {'1 + ' * 50}1 RETUN 2", None, 1, 210),
]


@pytest.mark.parametrize(("text", "shown", "line", "column"), MISTAKES)
def test_mistake_is_shown_where_it_is(graph: Graph, text: str, shown: str | None, line: int, column: int) -> None:
    with pytest.raises(KgprobeError) as caught:
        graph.query(text)
    said, source, caret = str(caught.value).split("\n")
    assert said.endswith(f"(line {line}, column {column})")
    assert "log" not in said
    assert shown is None or source == f"  {shown}"
    # Two cells for each of two letters that stand before the place, in one of these.
    place = len(caret) - 1 - 2 * text.count("日本")
    assert caret == " " * (len(caret) - 1) + "^"
    assert source[place] == text.split("\n")[line - 1][column - 1]
    assert max(len(source), len(caret)) < 80


def test_mistake_without_a_place_is_told(graph: Graph) -> None:
    mistakes = {"RETURN foo": "foo.* not defined", "RETURN 1/0": "/ by zero", "RETURN f(1)": "function 'f'"}
    for text, told in mistakes.items():
        with pytest.raises(KgprobeError, match=told):
            graph.query(text)


def test_command_and_the_shell_show_it_too(graph: Graph) -> None:
    for command in (("query", "-"), ("shell",)):
        done = kgprobe("graph", *command, "--graph", str(graph.endpoint.folder), typed="MATCH (e:Entity) RETUN e;")
        assert done.returncode == 1
        lines = done.stderr.rstrip().split("\n")
        assert lines[-2:] == ["  MATCH (e:Entity) RETUN e", f"{' ' * 19}^"]
        assert "(line 1, column 18)" in done.stderr.replace("\n", " ")


def test_no_file_of_this_machine_is_read_by_cypher(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("secret\n")
    with pytest.raises(KgprobeError) as caught:
        graph.query(f"LOAD CSV FROM 'file://{tmp_path}/secret.csv' AS row RETURN row")
    assert "secret'" not in str(caught.value)


@given(
    message=st.text() | st.from_regex(r"x at line [0-9]{1,4}, column [0-9]{1,4}|x \(line [0-9]+, column [0-9]+\)"),
    text=st.text(),
)
def test_whatever_an_engine_says_is_shown(message: str, text: str) -> None:
    shown = with_place(message, text)
    assert shown
    assert len(re.split("\n", shown)) <= 3 + message.count("\n")
