"""``kgprobe.toml``: what a team writes once, and who wins over it."""

import json
from pathlib import Path
from typing import Any

import click
import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.base.options import options_of
from kgprobe.cli.config_file import read_config
from kgprobe.graph.servers.folder import Folder
from kgprobe.probes.register import PROBES
from tests.cli.inprocess import succeed
from tests.cli.test_paper import parsed

TEAM = """
[models]
device = "cpu"
batch-tokens = 4096

[api]
max-cost = 5
input_price = 0.15
output-price = 0.6

[rounds]
facts-per-round = 16

[probe.distractors]
distractors = 7
sentences = 1

[probe.questions]
difficulty = "open"
"""


@pytest.fixture
def team(tmp_path: Path) -> Path:
    path = tmp_path / "team.toml"
    path.write_text(TEAM)
    return path


def values(*arguments: str) -> dict[str, Any]:
    return parsed([*arguments, "--model", "demo"]).params


def test_config_sets_options_by_section(team: Path) -> None:
    probe = values("probe", "distractors", "--config", str(team))
    assert (probe["distractors"], probe["sentences"], probe["max_cost"], probe["input_price"]) == (7, 1, 5.0, 0.15)
    assert (probe["device"], probe["batch_tokens"]) == ("cpu", 4096)
    rounds = values("rounds", "run", "distractors", "--config", str(team))
    assert (rounds["facts_per_round"], rounds["distractors"]) == (16, 7)
    assert values("probe", "questions", "--config", str(team))["difficulty"] == "open"


def test_config_loses_to_command_line_and_paper(team: Path) -> None:
    given = values("probe", "distractors", "--config", str(team), "--distractors", "3")
    assert (given["distractors"], given["sentences"]) == (3, 1)
    for order in (
        ("--config", str(team), "--as-paper", "distractors"),
        ("--as-paper", "distractors", "--config", str(team)),
    ):
        paper = values("probe", "distractors", *order)
        assert paper["distractors"] == values("probe", "distractors", "--as-paper", "distractors")["distractors"] != 7
        assert paper["max_cost"] == 5.0


def test_config_next_to_graph_is_found(tmp_path: Path) -> None:
    (tmp_path / "kgprobe.toml").write_text(TEAM)
    Folder(tmp_path).refuse_foreign()
    for graph in (("--graph", str(tmp_path)), (f"--graph={tmp_path}",)):
        assert values("probe", "distractors", *graph)["distractors"] == 7
    # Without arguments, and with --graph as the last word.
    assert parsed(["estimate"]).params["run"] is None
    with pytest.raises(click.UsageError, match="--graph"):
        parsed(["estimate", "--graph"])
    assert values("probe", "distractors", "--graph", str(tmp_path / "other"))["distractors"] == 10
    assert values("probe", "distractors", "--graph", "bolt://localhost:1")["distractors"] == 10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[probe.distractor]\nsentences = 1", r"\[probe\.distractor\]: .*did you mean distractors"),
        ("[api]\nmax-cots = 1", r"\[api\]: max_cots is not an option .*did you mean max_cost"),
        ("[api]\nmax-cost = -1", r"\[api\]: max_cost is -1"),
        ("[models]\ndtype = 'float64'", r"\[models\]: dtype is 'float64'; expected one of"),
        ("[api]\napi-key = 'sk-1'", r"\[api\] has api_key: keep secrets in environment variables"),
        ("[modles]\ndevice = 'cpu'", r"\[modles\] is not a section; .*did you mean models"),
        ("device = 'cpu'", r"device is outside a section"),
        ("[probe]\nsentences = 1", r"\[probe\]: sentences needs the section of a probe"),
        ("[api", r"cannot be read: "),
    ],
)
@pytest.mark.representatives(3)
def test_config_with_error_is_refused_with_place(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "team.toml"
    path.write_text(text)
    with pytest.raises(KgprobeError, match=message) as raised:
        read_config(path)
    assert str(raised.value).startswith(str(path))
    assert "sk-1" not in str(raised.value)
    with pytest.raises(click.UsageError, match=message):
        values("probe", "distractors", "--config", str(path))


def test_config_options_of_every_probe_are_read(tmp_path: Path) -> None:
    for name in PROBES.names():
        numbers = [each for each in options_of(PROBES.get(name).options) if type(each.default) is int]
        lines = [f"[probe.{name}]", *(f"{each.name} = {each.default}" for each in numbers)]
        (tmp_path / "team.toml").write_text("\n".join(lines))
        assert read_config(tmp_path / "team.toml") == {f"probe.{name}": {each.name: each.default for each in numbers}}


def test_config_values_are_stored_with_the_result(home: dict[str, str], model: str, team: Path) -> None:
    command = [
        "probe",
        "distractors",
        "--model",
        model,
        "--limit",
        "5",
        "--config",
        str(team),
        "--as-of",
        "2024",
        "--json",
    ]
    done = succeed(*command, **home)
    config = json.loads((Path(json.loads(done.stdout)["outcomes"]).parent / "config.json").read_text())
    assert (config["options"]["distractors"], config["options"]["sentences"]) == (7, 1)
