"""The notebooks of the documents run, and show what stands in them."""

from pathlib import Path

import nbformat
import pytest

from benchmarks.notebooks import FOLDER, execute, shown

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("demo_models", ["gemma"], indirect=True)
def test_notebook_shows_what_it_showed(path: Path, demo_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(demo_models.parent))
    before = nbformat.read(path, as_version=4)
    assert sum(map(bool, shown(before))) >= len(shown(before)) / 2, "it was not run before it was kept"
    assert shown(execute(path)) == shown(before)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_keeps_nothing_of_the_machine_that_it_ran_on(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [word for word in ("/home/", "/root/", "/tmp/", "/work/", "Traceback") if word in text] == []  # noqa: S108
