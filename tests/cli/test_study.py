"""The study commands as a user types them; what studies say is a matter of the library's tests."""

import inspect
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import kgprobe as library
from kgprobe.api.options import ApiLimits
from kgprobe.base.options import options_of
from kgprobe.cli.study import study
from kgprobe.papers.baselines.human_data import read_human_scores
from kgprobe.papers.baselines.options import MeasuresOptions
from kgprobe.papers.studies.options import (
    CalibrationOptions,
    ExampleCountsOptions,
    NoisyExamplesOptions,
    PromptingOptions,
    ReplayOptions,
    RobustnessOptions,
    StrategiesOptions,
    TemplatesOptions,
)
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.sampling.drawing import Draw
from kgprobe.verbalize.corrections import pair_up, read_verbalizations
from tests.cli.inprocess import printed
from tests.cli.inprocess import run as kgprobe

COMMON = ["--limit", "6", "--distractors", "3", "--relation", "P35", "--json"]
SCORES = [("Q17", "Q1490"), ("Q142", "Q90"), ("Q183", "Q64"), ("Q38", "Q220"), ("Q29", "Q2807"), ("Q96", "Q1489")]
# What a call takes by `**options`.
OPTIONS = {
    "robustness": (RobustnessOptions, MeasuresOptions),
    "calibration": (CalibrationOptions, MeasuresOptions),
    "sampling": (ReplayOptions,),
    "examples": (ExampleCountsOptions, Draw),
    "prompting": (PromptingOptions, Draw),
    "templates": (TemplatesOptions, Draw),
    "strategies": (StrategiesOptions, DistractorOptions, Draw),
    "distractor-count": (DistractorOptions, Draw),
    "sentences": (DistractorOptions, Draw),
    "scaling": (DistractorOptions, Draw),
    "noisy-examples": (NoisyExamplesOptions,),
}
# Arguments that the command line has no flag for, and those that a user has to give or that stand for something else.
NO_FLAGS = {"models", "open_model", "callbacks", "options", "measuring"}
OTHERWISE = {"graph", "model", "models", "facts", "table", "tables", "scores", "as_of"}


@pytest.mark.parametrize("name", sorted(study.commands))
def test_command_has_the_arguments_and_defaults_of_its_call(name: str, tmp_path: Path) -> None:
    command, call = study.commands[name], getattr(library, f"study_{name.replace('-', '_')}")
    file = tmp_path / "file"
    file.touch()
    given = [str(file)] if name in ("robustness", "calibration", "verbalizations") else []
    given += [] if name in ("sampling", "verbalizations") else ["--model", "demo"]
    context = command.make_context(name, given)
    parameters = inspect.signature(call).parameters
    wanted = {argument: parameter.default for argument, parameter in parameters.items()}
    wanted |= {one.name: one.default for kind in OPTIONS.get(name, ()) for one in options_of(kind)}
    if name == "strategies":
        del wanted["strategy"]
    flags = set(wanted) - (NO_FLAGS - ({"models"} if name == "scaling" else set()))
    local = {"device", "dtype", "batch_tokens", "revision"}
    if name in ("robustness", "calibration"):
        # A grader can be behind an API.
        local |= {one.name for one in options_of(ApiLimits)}
    assert flags | {"as_json", "as_paper", "debug", "explain", "help", "full"} | local >= _names(command) >= flags
    for argument in flags - OTHERWISE:
        assert context.params[argument] == wanted[argument], argument


def _names(command: click.Command) -> set[str]:
    return {str(parameter.name) for parameter in command.params}


def test_study_is_json_or_a_table_and_goes_on(home: dict[str, str], model: str) -> None:
    command = ["study", "strategies", "--model", model, "--strategy", "random", "--strategy", "temporal-semantic"]
    found = printed(*command, *COMMON, **home)
    assert [(row["strategy"], row["n"]) for row in found["data"]] == [
        (name, n) for name in ("random", "temporal-semantic") for n in (1, 2, 3)
    ]
    (data,) = found["files"]
    assert Path(data).read_text().startswith("strategy,n,mean,mean_low,mean_high,former\nrandom,1,")
    assert "Plotly" in Path(found["page"]).read_text()
    assert found["verdict"].startswith("The hardest distractors are those of ")
    short = kgprobe(*command, *COMMON[:-1], **home)
    lines = short.stdout.splitlines()
    assert len(lines) <= 10
    assert lines[-1] == f"Page: {Path(found['page']).as_uri()}"
    assert found["verdict"] in " ".join(short.stdout.split())
    assert "--full" in lines[0]
    assert found["notes"][0] not in " ".join(lines)
    shown = kgprobe(*command, *COMMON[:-1], "--full", **home)
    assert f"Measuring {model} · random: 6 facts, 6 of them measured before." in shown.stderr
    assert "Mean Min@n by strategy" in shown.stdout
    assert found["notes"][0] in " ".join(shown.stderr.split())
    assert f"Page: {Path(found['page']).as_uri()}" in shown.stdout
    assert f"Data: {data}" in shown.stdout


def test_errors_name_the_options_of_the_command(home: dict[str, str], model: str, tmp_path: Path) -> None:
    one = kgprobe("study", "scaling", "--model", model, *COMMON, **home)
    assert (one.returncode, "--model has 1; expected at least two" in one.stderr) == (2, True), one.stderr
    scores = tmp_path / "scores.json"
    scores.write_text("[]")
    none = kgprobe("study", "calibration", str(scores), "--model", model, **home)
    assert (none.returncode, "SCORES have no fact of this graph" in none.stderr) == (2, True), none.stderr


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("calibration", lambda path: len(read_human_scores(path)) == 2),
        ("robustness", lambda path: len(pair_up(read_verbalizations(path)[0])[0]) == 1),
    ],
)
def test_example_in_the_help_can_be_read(name: str, read: Callable[[Path], bool], tmp_path: Path) -> None:
    said = inspect.cleandoc(study.commands[name].help or "").partition("\b\n")[2].partition("\n\n")[0]
    example = tmp_path / "example.csv"
    example.write_text(said.strip())
    assert "," in said
    assert read(example)


def test_sampling_needs_no_graph(home: dict[str, str]) -> None:
    few = ["--requests", "128", "--hardest", "5", "--repeats", "2"]
    found = printed("study", "sampling", *few, "--seed", "3", "--json", **home)
    assert found["name"] == "sampling"
    assert "2 repetitions" in found["title"]
