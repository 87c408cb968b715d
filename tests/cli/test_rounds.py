"""The rounds commands and the demo as a user types them, with real models."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgprobe.answers.callbacks import Callbacks
from kgprobe.api.demo import run_demo
from kgprobe.graph.client import Graph
from kgprobe.graph.servers.opening import open_graph
from tests.cli.inprocess import printed, succeed
from tests.cli.inprocess import run as kgprobe
from tests.graph.servers.servers import clean_environment
from tests.graph.servers.shared import environment_of


def test_run_is_begun_shown_extended_and_forgotten(home: dict[str, str], model: str, tmp_path: Path) -> None:
    options = ["--facts-per-round", "4", "--relation", "P36", "--distractors", "3", "--as-of", "2024"]
    found = printed(
        "rounds", "run", "distractors", "--model", model, "--rounds", "2", "--name", "first", *options, "--json", **home
    )
    assert {"facts", "facts_asked", "win_rate", "zero_sense_rate", "seconds", "page", "chance"} <= found.keys()
    assert (found["run"], found["rounds"], found["questions"], found["stopped"]) == ("first", 2, 8, "done")
    assert Path(found["page"]).read_text().startswith("<!doctype html>")
    assert len(Path(found["outcomes"]).read_text().splitlines()) == 8
    assert found["chance"] == 0.25

    rows = map(json.loads, kgprobe("results", "--kind", "run", "--json", **home).stdout.splitlines())
    (row,) = [row for row in rows if row["name"] == "first"]
    assert (row["rounds"], row["asked"], row["headline"].partition(";")[0]) == (2, 8, "2 of 2 rounds, 8 asked")

    fewer = kgprobe("rounds", "resume", "first", "--rounds", "1", **home)
    assert (fewer.returncode, "2 rounds are finished already" in fewer.stderr) == (2, True), fewer.stderr

    more = succeed("rounds", "resume", "first", "--rounds", "3", "--explain", **home)
    assert "agrees with plain forward passes" in more.stderr
    assert "s of asking, waited" in more.stderr
    assert "12 questions" in " ".join(more.stdout.split())
    lines = more.stdout.splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines[:-1])) <= 80
    assert " of the " in " ".join(lines[-3:])
    assert lines[-1] == f"Page: {Path(found['page']).as_uri()}"
    assert "probability that the model knows" not in " ".join(more.stdout.split())

    # Again, and without the model: its folder is out of reach.
    moved = Path(model.removeprefix("hf:"))
    moved.rename(moved.with_name("moved"))
    browser = tmp_path / "browser.sh"
    browser.write_text(f'#!/bin/sh\necho "$1" > {browser.with_suffix(".seen")}\n')
    browser.chmod(0o700)
    for named in (["first"], []):
        shown = kgprobe("show", *named, "--open", **home, BROWSER=f"{browser} %s")
        assert (shown.returncode, shown.stdout) == (0, more.stdout), shown.stderr
    assert browser.with_suffix(".seen").read_text().strip() == Path(found["page"]).as_uri()
    full = kgprobe("show", "first", "--full", **home)
    assert full.stdout.endswith(more.stdout)
    assert "probability that the model knows" in " ".join(full.stdout.split())
    assert "By relation" in full.stdout
    results = json.loads((Path(found["page"]).parent / "results.json").read_text())
    assert results["model"] == f"hf:{moved}"
    facts = (Path(found["page"]).parent / "facts.csv").read_text().splitlines()
    assert len(facts) == 1 + results["facts_asked"]
    twice = kgprobe("show", "first", "first", **home)
    assert twice.stdout == more.stdout
    unknown = kgprobe("show", "never", **home)
    assert (unknown.returncode, "No result is named 'never'" in unknown.stderr) == (2, True), unknown.stderr
    moved.with_name("moved").rename(moved)

    # Its name is looked up before its model, which is none, is loaded.
    unreadable = f"hf:{Path(found['page']).parent}"
    again = kgprobe("rounds", "run", "distractors", "--model", unreadable, "--name", "first", **home)
    assert again.returncode == 1
    assert "There is a run 'first' already" in again.stderr

    assert kgprobe("delete", "first", "--yes", **home).returncode == 0
    assert kgprobe("show", "first", **home).returncode == 2
    assert not Path(found["outcomes"]).exists()


@pytest.mark.slow
def test_ctrl_c_keeps_the_round_and_says_how_to_go_on(home: dict[str, str], model: str) -> None:
    size = ["--rounds", "400", "--facts-per-round", "4"]
    command = ["rounds", "run", "distractors", "--model", model, *size, "--name", "long", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kgprobe", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment() | home,
    )
    runs = Path(home["KGPROBE_HOME"]) / "runs"
    deadline = time.monotonic() + 600
    while not any(file.stat().st_size for file in runs.glob("long-*/outcomes.jsonl")) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "Finishing this round" in err
    assert "Go on with: kgprobe rounds resume long" in err
    found = json.loads(out)
    assert found["stopped"] == "asked to"
    assert 0 < found["rounds"] < 400
    assert (
        len(Path(found["outcomes"]).read_text().splitlines())
        == found["questions"] + sum(found["unaskable"].values())
        == 4 * found["rounds"]
    )
    assert kgprobe("delete", "long", "--yes", **home).returncode == 0


def test_graph_without_facts_is_told_and_keeps_no_run(
    tmp_path: Path, graph: Graph, model: str, home: dict[str, str]
) -> None:
    relations = tmp_path / "relations.jsonl"
    relations.write_text('{"id": "P36", "clozes": ["The capital of [X] is [Y]"]}')
    at = home | environment_of(graph.endpoint) | {"KGPROBE_HOME": str(tmp_path / "home")}
    assert kgprobe("load", "table", "--relations", str(relations), **at).returncode == 0
    done = kgprobe("rounds", "run", "distractors", "--model", model, "--name", "empty", **at)
    assert (done.returncode, "The graph has no facts to ask" in done.stderr) == (1, True), done.stderr
    assert kgprobe("results", "--kind", "run", "--json", **at).stdout == ""


@pytest.mark.slow
@pytest.mark.usefixtures("shared_demo")
def test_demo_goes_on_shows_what_it_found_and_asks_again(
    tmp_path: Path, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").symlink_to(demo_folder.parent)
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    begun = run_demo(rounds=2, facts_per_round=6, callbacks=Callbacks(should_stop=lambda: True))
    begun.graph.close()
    assert begun.report.rounds == 1
    found, said = [], []
    for options in ([], [], ["--again"]):
        # Where a person works, which nothing answers here, has no say.
        where = {"KGPROBE_HOME": str(tmp_path), "KGPROBE_GRAPH": "bolt://127.0.0.1:1"}
        done = succeed("demo", "--rounds", "2", "--facts-per-round", "6", "--json", *options, **where)
        found.append(json.loads(done.stdout.splitlines()[-1]))
        said.append(done.stderr)
    assert "Resuming the demo after round 1" in said[0]
    assert "The demo finished on" in said[1]
    assert "--again starts a new run" in said[1]
    # Shown again, nobody looks how many could be asked; nor is a model loaded.
    assert (found[0]["facts"], found[1]["facts"], found[1]["seconds"]) == (2_554, None, 0.0)
    assert "Loading" not in said[1]
    parts = [re.findall(r"(\w+) \d+\.\d s", text.splitlines()[-1]) for text in said]
    assert parts == [["graph", "model", "asking", "page"], ["graph", "page"], ["graph", "model", "asking", "page"]]
    varying = ("seconds", "facts", "device_waited")
    first, second, third = ({key: value for key, value in each.items() if key not in varying} for each in found)
    assert first == second
    assert {**first, "page": None, "outcomes": None} == {**third, "page": None, "outcomes": None}
    assert (first["questions"], first["rounds"]) == (12, 2)
    assert 0 <= first["win_rate"] <= 1
    assert first["headline"].startswith("Gemma 3 270M is right on ")
    assert [Path(each["page"]).is_file() for each in found] == [False, False, True], (
        "the first run made way for the last"
    )
    # As an earlier version left it, whose beliefs nobody finds now.
    with open_graph(tmp_path / "demo") as graph:
        list(graph.run_text("MATCH (run:Run {id: 'demo'}) REMOVE run.form", {})[1])
        list(graph.run_text("MATCH (belief:Belief) DETACH DELETE belief", {})[1])
    anew = succeed("demo", "--rounds", "2", "--facts-per-round", "6", "--json", KGPROBE_HOME=str(tmp_path))
    assert json.loads(anew.stdout.splitlines()[-1])["headline"] == first["headline"]
    # The demo's graph has a folder of its own, in which its run is found.
    assert printed("show", "demo", "--json", KGPROBE_HOME=str(tmp_path))["headline"] == first["headline"]
