"""The guide of compressed models: its Python code, on the demo model, and the verdicts of its commands."""

import os
import shutil
from pathlib import Path

import pytest

from tests.action.test_action import Runner
from tests.cli.conftest import home
from tests.cli.inprocess import run
from tests.test_documents import ROOT, blocks_of

__all__ = ["home"]

GUIDE = ROOT / "docs" / "guides" / "compressed-models.md"
ASKING = ("--strategy", "random", "--distractors", "5", "--sentences", "1", "--as-of", "2025-12-31")


@pytest.fixture
def variables(
    home: dict[str, str], demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The variables of commands, in a folder with the demo model as ``base``."""
    monkeypatch.chdir(tmp_path)
    os.symlink(demo_folder, "base")
    return home | {"KGPROBE_HOME": str(tmp_path / "home"), "COLUMNS": "150"}


def run_guide(variables: dict[str, str], asking: tuple[str, ...], *names: str) -> dict[str, int]:
    """Run blocks of the guide, and return the exit code of the comparison of each model with the base."""
    blocks = dict(zip(("int8", "pruned", "merged"), [block.text for block in blocks_of(GUIDE, "python")], strict=True))
    namespace: dict[str, object] = {}
    exec(blocks["int8"].partition("int8 =")[0], namespace)  # noqa: S102 (its imports and the tokenizer)
    for name in names:
        exec(blocks[name].replace("./tuned", "./base"), namespace)  # noqa: S102
    codes = {}
    for name in ("base", *names):
        done = run("probe", "distractors", "--model", f"hf:./{name}", *asking, **variables)
        assert done.returncode == 0, done.stderr
    for name in names:
        codes[name] = run("check", "hf:./base", f"hf:./{name}", "--margin", "4%", **variables).returncode
    return codes


@pytest.mark.slow
def test_quantized_model_of_the_guide_is_asked(variables: dict[str, str]) -> None:
    pytest.importorskip("bitsandbytes")
    # On a CPU, bitsandbytes takes about a minute per fact: three facts decide nothing.
    assert run_guide(variables, (*ASKING, "--limit", "3"), "int8") == {"int8": 3}


@pytest.mark.slow
def test_pruned_and_merged_models_of_the_guide_get_verdicts(variables: dict[str, str], tmp_path: Path) -> None:
    codes = run_guide(variables, (*ASKING, "--limit", "200"), "pruned", "merged")
    # The mean of a model and itself is the model.
    assert codes["merged"] == 0
    # One of 18 layers of the demo model can be removed without a loss of 4 points, if 200 facts decide it.
    assert codes["pruned"] in (0, 3)
    shutil.rmtree(tmp_path / "merged")

    inputs = {"base": "hf:./base", "tuned": "hf:./pruned", "graph": "", "limit": "200", "as-of": "2025-12-31"}
    runner = Runner(tmp_path, variables, inputs | {"options": " ".join(ASKING[:6])})
    runner.run()
    assert runner.outputs["compare"]["verdict"] in ("kept", "undecided")
