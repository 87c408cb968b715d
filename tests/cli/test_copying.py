"""``kgprobe graph copy`` as a user types it."""

import json
from pathlib import Path

import pytest

from tests.cli.inprocess import run as kgprobe
from tests.conftest import require_engine


@pytest.mark.usefixtures("example")
def test_a_graph_is_copied_to_neo4j_and_is_there_the_next_time(home: dict[str, str], tmp_path: Path) -> None:
    require_engine("neo4j")
    to = ["--to", str(tmp_path / "neo4j")]
    done = kgprobe("graph", "copy", *to, **home)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Copied: ")
    again = kgprobe("graph", "copy", *to, "--json", **home)
    told = json.loads(again.stdout)
    assert (told["was_there"], told["kinds"]["-FACT->"]["count"]) == (True, 2931)
    shown = kgprobe("graph", "status", "--graph", str(tmp_path / "neo4j"), **home)
    assert "graph of neo4j" in shown.stdout


@pytest.mark.usefixtures("example")
def test_where_nothing_can_be_copied_to_is_said(home: dict[str, str], tmp_path: Path) -> None:
    own = kgprobe("graph", "status", "--json", **home)
    folder = json.loads(own.stdout)["folder"]
    for to, said in (
        ([folder], "--to is the graph itself"),
        (["http://host"], "neither a folder nor an address"),
        (["bolt://user:secret@host"], "KGPROBE_TO_PASSWORD"),
        (["bolt://localhost:1", "--engine", "neo4j"], "--engine is for a folder"),
    ):
        done = kgprobe("graph", "copy", "--to", *to, **home, KGPROBE_TO_PASSWORD="x")
        assert (done.returncode in (1, 2), done.stdout) == (True, "")
        assert said in done.stderr
        assert "secret" not in done.stderr
    assert not (tmp_path / "http:").exists()
