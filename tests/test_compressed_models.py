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
ASKING = ("--strategy", "random", "--distractors", "5", "--sentences", "1", "--limit", "200", "--as-of", "2025-12-31")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_compressed_models_of_the_guide_get_verdicts(
    home: dict[str, str], demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("bitsandbytes")
    monkeypatch.chdir(tmp_path)
    os.symlink(demo_folder, "base")
    quantize, prune, merge = [block.text for block in blocks_of(GUIDE, "python")]
    names: dict[str, object] = {}
    for code in (quantize, prune, merge.replace("./tuned", "./base")):
        exec(code, names)  # noqa: S102
    variables = home | {"KGPROBE_HOME": str(tmp_path / "home"), "COLUMNS": "150"}
    for name in ("base", "int8", "pruned", "merged"):
        done = run("probe", "distractors", "--model", f"hf:./{name}", *ASKING, **variables)
        assert done.returncode == 0, done.stderr
    codes = {}
    for name in ("int8", "pruned", "merged"):
        done = run("compare", "hf:./base", f"hf:./{name}", "--fail-if-lost", "4%", **variables)
        codes[name] = done.returncode
    # The mean of a model and itself is the model.
    assert codes["merged"] == 0
    assert codes["int8"] in (0, 3)
    assert codes["pruned"] == 1
    shutil.rmtree(tmp_path / "merged")

    inputs = {"base": "hf:./base", "tuned": "hf:./pruned", "graph": "", "limit": "200", "as-of": "2025-12-31"}
    runner = Runner(tmp_path, variables, inputs | {"options": " ".join(ASKING[:6])})
    assert runner.run() == {"settings": 0, "load": 0, "measure": 0, "compare": 0, "finish": 1}
    assert runner.outputs["compare"]["verdict"] == "lost"
