"""The other direction as a user types it."""

import json
from pathlib import Path

import pytest

from tests.cli.inprocess import printed, run, succeed


@pytest.mark.slow
def test_graph_is_asked_backwards(home: dict[str, str], model: str) -> None:
    few = ("--relation", "capital", "--as-of", "2024", "--model", model, "--json")
    probe = ("probe", "examples", *few, "--limit", "2", "--examples", "2", "--choices", "2", "--inverse")
    made = succeed(*probe, **home)
    assert "Left out, with more than 1.5 subjects per object on average:" in made.stderr
    [folder] = [str(path) for path in (Path(home["KGPROBE_HOME"]) / "reversed").iterdir() if path.is_dir()]
    assert run("graph", "start", "--graph", folder, "--memory", "512m", **home).returncode == 0
    try:
        asked = succeed(*probe, **home)
        found = json.loads(asked.stdout)
        assert (found["reversed"], found["done"]) == (True, 2)
        assert "-backwards-" in found["page"]
        # It was there already.
        assert "Reversed:" not in asked.stderr
        name = Path(found["page"]).parent.name
        assert f"{name}: 2 asked facts." in succeed("show", name, "--known", "--unknown", **home).stdout
        rounds = ("rounds", "run", "distractors", *few, "--rounds", "1", "--facts-per-round", "2")
        run_found = printed(*rounds, "--inverse", **home)
        assert (run_found["reversed"], run_found["questions"]) == (True, 2)
        assert "-distractors-backwards-" in run_found["run"]
        # Each result is of its own graph.
        forwards = printed(*rounds, "--name", "forwards", **home)
        shown = succeed("show", run_found["run"], "forwards", **home)
        assert "distractors backwards" in shown.stdout
        both = printed("report", run_found["run"], "forwards", "--json", **home)
        assert [len(result["relations"]) > 0 for result in both["results"]] == [True, True], forwards["run"]
    finally:
        run("graph", "stop", "--graph", folder, "--force", **home)
