"""``kgprobe graph copy`` as a user types it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgprobe.cli.graph import _show_copy
from kgprobe.graph.copying import Copied
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.state import Digest, KindDigest
from tests.cli.inprocess import run as kgprobe
from tests.cli.inprocess import succeed
from tests.conftest import require_engine


def test_copy_to_a_server_is_found_there_the_next_time(home: dict[str, str], add_graph: Callable[[], Endpoint]) -> None:
    target = add_graph()
    to = ["--output", target.address]
    at = home | {f"KGPROBE_OUTPUT_{name}": home[f"KGPROBE_GRAPH_{name}"] for name in ("USER", "PASSWORD")}
    at["KGPROBE_OUTPUT_DATABASE"] = str(target.database)
    done = succeed("graph", "copy", *to, **at)
    assert done.stdout.startswith("Copied: ")
    again = kgprobe("graph", "copy", *to, "--json", **at)
    told = json.loads(again.stdout)
    assert (told["was_there"], told["kinds"]["-FACT->"]["count"]) == (True, 2931)


@pytest.mark.parametrize("as_json", [False, True])
def test_copy_that_left_kinds_out_says_how_many(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    digest = Digest({":Entity": KindDigest(3, 1)}, {"-BELIEF->": 1_024, ":Person": 1})
    _show_copy(Copied(digest, resumed=False, was_there=False), "there", as_json)
    shown = capsys.readouterr().out
    if as_json:
        assert json.loads(shown)["left_out"] == digest.left_out
    else:
        assert "Left out, unknown to kgprobe: 1,024 -BELIEF->, 1 :Person." in shown


@pytest.mark.slow
def test_copy_to_a_folder_starts_neo4j_on_it(home: dict[str, str], tmp_path: Path) -> None:
    require_engine("neo4j")
    succeed("graph", "copy", "--engine", "neo4j", "--output", str(tmp_path / "neo4j"), **home)
    shown = kgprobe("graph", "status", "--graph", str(tmp_path / "neo4j"), **home)
    assert "graph of neo4j" in shown.stdout


def test_where_nothing_can_be_copied_to_is_said(
    home: dict[str, str], tmp_path: Path, example_endpoint: Endpoint
) -> None:
    folder = str(example_endpoint.folder)
    home = home | {"KGPROBE_GRAPH": folder}
    for to, said in (
        ([folder], "--output is the graph itself"),
        (["http://host"], "neither a folder nor an address"),
        (["bolt://user:secret@host"], "KGPROBE_OUTPUT_PASSWORD"),
        (["bolt://localhost:1", "--engine", "neo4j"], "--engine is for folders only"),
        ([str(tmp_path / "new")], "not on this machine. --engine neo4j downloads it (about 140 MB"),
    ):
        done = kgprobe("graph", "copy", "--output", *to, **home, KGPROBE_OUTPUT_PASSWORD="x")
        assert (done.returncode in (1, 2), done.stdout) == (True, "")
        assert said in done.stderr
        assert "secret" not in done.stderr
    assert not (tmp_path / "http:").exists()
