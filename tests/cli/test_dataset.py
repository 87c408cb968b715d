"""`kgprobe dataset` as a user types it; what it computes is tested in tests/datasets."""

import dataclasses
import inspect
import json
from pathlib import Path

import pytest

import kgprobe
from kgprobe.cli.dataset import dataset
from kgprobe.probes.examples import ExampleOptions
from tests.cli.inprocess import printed, run, succeed

RULES = ("--min-facts", "50", "--min-objects", "20", "--train", "10", "--test", "12", "--alternatives", "4")


def test_from_the_graph_to_a_task(home: dict[str, str], talker: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "mc")
    built = succeed("dataset", "build", folder, *RULES, "--relation", "P36", "--as-of", "2025-12", **home)
    assert "1 relation of 1 qualified: 10 facts to show and 12 to ask" in " ".join(built.stdout.split())
    again = run("dataset", "build", folder, *RULES, **home)
    assert (again.returncode, "Error: FOLDER is" in again.stderr) == (2, True), again.stderr
    shown = run("show", folder, "--json", **home)
    (relation,) = json.loads(shown.stdout)["relations"]
    assert (relation["relation"], relation["train"], relation["test"], relation["most_choices"]) == ("P36", 10, 12, 5)
    options = ("--examples", "3", "--per-relation", "5")
    answers = str(tmp_path / "answers.jsonl")
    found = printed("dataset", "probe", folder, "--model", talker, *options, "-o", answers, "--json", **home)
    lines = [json.loads(line) for line in Path(answers).read_text(encoding="utf-8").splitlines()]
    assert len(lines) == found["facts"] == 5
    assert found["win_rate"] == sum(line["right"] for line in lines) / 5
    limited = run("dataset", "probe", folder, "--model", talker, "--examples", "3", "--limit", "4", "--json", **home)
    assert json.loads(limited.stdout)["facts"] == 4, limited.stderr
    exported = succeed("dataset", "export", folder, str(tmp_path / "tasks"), *options, **home)
    assert "--model fits the prompts to a model" in " ".join(exported.stderr.split())
    assert "5 facts in" in exported.stdout
    assert {path.name for path in (tmp_path / "tasks" / "mc").iterdir()} == {"mc.yaml", "facts.jsonl", "facts.py"}


@pytest.mark.slow
def test_relations_left_out_are_counted_by_reason(home: dict[str, str], tmp_path: Path) -> None:
    built = succeed("dataset", "build", str(tmp_path / "mc"), *RULES, **home)
    said = " ".join(built.stdout.split())
    assert "; 1 with fewer than 50 facts and fewer than 20 objects." in said
    assert said.endswith("--full lists them.")
    assert "Left out: " in said
    assert " objects of 20" not in said
    full = run("dataset", "build", str(tmp_path / "full"), *RULES, "--full", **home)
    assert " objects of 20" in " ".join(full.stdout.split())


def test_export_command_has_only_options_of_its_function() -> None:
    shown = {parameter.name for parameter in dataset.commands["export"].params}
    # An option that the function lacks would end in a TypeError.
    of_probe = {field.name for field in dataclasses.fields(ExampleOptions)} & shown
    assert of_probe == {"examples", "separator", "between"}
    assert of_probe <= set(inspect.signature(kgprobe.export_dataset).parameters)
