"""The GitHub Action: its steps in their order, as a runner executes them, without a container.

What a runner does between steps (files of variables and outputs, expressions) is done here. Steps of other actions, the
installation, and GitHub itself are left out; ``gh`` is a script that records its arguments.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml

from tests.cli.conftest import home
from tests.conftest import REPOSITORY
from tests.graph.servers.servers import clean_environment
from tests.models.tiny import save_base

__all__ = ["home"]

FOLDER = REPOSITORY / "action"
ACTION: Mapping[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
SCRIPTS = sorted(FOLDER.glob("*.sh"))
QUICK = "--strategy random --distractors 1 --sentences 1"


class Runner:
    """The parts of a runner that the steps use."""

    def __init__(self, folder: Path, variables: Mapping[str, str], inputs: Mapping[str, str]) -> None:
        self.folder = folder
        self.inputs = {name: str(value.get("default", "")) for name, value in ACTION["inputs"].items()} | dict(inputs)
        self.outputs: dict[str, dict[str, str]] = {}
        self.files = {name: folder / name for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        paths = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {"PATH": paths, "RUNNER_TEMP": str(folder / "temp"), "GITHUB_REPOSITORY": "me/mine", "COLUMNS": "150"}
        own["GITHUB_ACTION_PATH"] = str(FOLDER)
        self.variables = (
            clean_environment() | dict(variables) | own | {key: str(path) for key, path in self.files.items()}
        )

    def run(self, *, pull_request: str = "") -> dict[str, int]:
        """Run the steps until one fails; return their exit codes by script."""
        codes: dict[str, int] = {}
        for step in ACTION["runs"]["steps"]:
            script = re.search(r"(\w+)\.sh", step.get("run", ""))
            if (
                script is None
                or script[1] == "install"
                or ("if" in step and not (self.inputs["token"] and pull_request))
            ):
                continue
            for path in self.files.values():
                path.touch()
            own = {name: self._value(str(text), pull_request) for name, text in step.get("env", {}).items()}
            done = subprocess.run(
                ["bash", "-c", step["run"]], env=self.variables | own, cwd=self.folder, capture_output=True, text=True
            )
            codes[script[1]] = done.returncode
            self.outputs[step.get("id", "")] = _assigned(self.files["GITHUB_OUTPUT"])
            self.variables |= _assigned(self.files["GITHUB_ENV"])
            if done.returncode:
                self.said = done.stdout + done.stderr
                break
        return codes

    def _value(self, text: str, pull_request: str) -> str:
        """Return the value of an expression of action.yml."""
        known = {"github.event.pull_request.number": pull_request}
        known |= {f"inputs.{name}": value for name, value in self.inputs.items()}
        for step, outputs in self.outputs.items():
            known |= {f"steps.{step}.outputs.{name}": value for name, value in outputs.items()}
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: known[found[1]], text)


def _assigned(file: Path) -> dict[str, str]:
    """Return the variables in a file that a step wrote, and empty it."""
    text = file.read_text(encoding="utf-8")
    file.write_text("", encoding="utf-8")
    assigned = {found[1]: found[3] for found in re.finditer(r"^([\w-]+)<<(\S+)\n(.*?)\n\2$", text, re.M | re.S)}
    rest = re.sub(r"^[\w-]+<<(\S+)\n.*?\n\1$", "", text, flags=re.M | re.S)
    return assigned | dict(line.split("=", 1) for line in rest.splitlines() if "=" in line)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a gh that records what it is given."""
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text('#!/bin/sh\necho "$@" >> gh.log\n', encoding="utf-8")
    gh.chmod(0o755)
    return tmp_path


@pytest.mark.slow
def test_action_of_equal_models_is_kept_and_commented(home: dict[str, str], folder: Path) -> None:
    save_base(folder / "base")
    shutil.copytree(folder / "base", folder / "tuned")
    inputs = {"base": "hf:./base", "tuned": "hf:./tuned", "graph": "", "margin": "5%", "limit": "300", "options": QUICK}
    runner = Runner(folder, home | {"KGPROBE_HOME": str(folder / "home")}, inputs | {"token": "secret"})
    codes = runner.run(pull_request="7")
    assert set(codes.values()) == {0}, runner.said
    assert list(codes) == ["settings", "load", "measure", "compare", "comment", "finish"]
    outputs = runner.outputs["compare"]
    assert (outputs["verdict"], outputs["exit-code"]) == ("kept", "0")
    suite = Xml.parse(outputs["junit"]).getroot()[0]  # noqa: S314
    assert suite.attrib["failures"] == "0"
    summary = Path(outputs["markdown"]).read_text(encoding="utf-8")
    assert "**Kept: 0.0 points lost on" in summary
    assert runner.files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8") == summary
    log = (folder / "gh.log").read_text(encoding="utf-8").splitlines()
    assert log[0].startswith("api --paginate repos/me/mine/issues/7/comments --jq")
    assert log[1].startswith("api --method POST repos/me/mine/issues/7/comments --field body=@")
    comment = (Path(outputs["markdown"]).parent / "comment.md").read_text(encoding="utf-8")
    assert comment == f"<!-- kgprobe -->\n{summary}"


@pytest.mark.slow
def test_action_with_a_missing_model_ends_before_the_comparison(home: dict[str, str], folder: Path) -> None:
    inputs = {"base": "hf:./nothing", "tuned": "hf:./tuned", "graph": "", "limit": "10"}
    runner = Runner(folder, home | {"KGPROBE_HOME": str(folder / "home")}, inputs)
    codes = runner.run()
    assert list(codes) == ["settings", "load", "measure"]
    assert codes["measure"] != 0
    assert "nothing" in runner.said


@pytest.mark.parametrize(
    ("code", "strict", "ends"), [("0", "false", 0), ("3", "false", 0), ("3", "true", 3), ("1", "false", 1)]
)
def test_action_ends_with_the_verdict(code: str, strict: str, ends: int) -> None:
    variables = os.environ | {"EXIT_CODE": code, "KGPROBE_ACTION_FAIL_IF_UNDECIDED": strict}
    assert subprocess.run(["bash", FOLDER / "finish.sh"], env=variables, capture_output=True).returncode == ends


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_action_scripts_are_steps_and_executable(script: Path) -> None:
    steps = [step for step in ACTION["runs"]["steps"] if f"/{script.name}" in step.get("run", "")]
    assert len(steps) == 1
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    # Inputs reach scripts as variables only: an expression in a script would be code.
    assert "${{" not in script.read_text(encoding="utf-8") + steps[0]["run"]


def test_action_inputs_are_in_its_readme() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    named = {*ACTION["inputs"], *ACTION["outputs"]}
    assert {name for name in named if f"`{name}`" not in readme} == set()
