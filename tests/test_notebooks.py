"""The notebooks of the documents run, and show what stands in them."""

from pathlib import Path

import nbformat
import pytest

from benchmarks.notebooks import FOLDER, execute, shown

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


# The quickest one represents all in the normal run, on a tiny model.
RUN = [pytest.param(path, "gemma", id=path.stem, marks=pytest.mark.slow) for path in NOTEBOOKS]
RUN.append(pytest.param(FOLDER / "your-own-graph.ipynb", "tiny", id="tiny"))


@pytest.mark.parametrize(("path", "demo_models"), RUN, indirect=["demo_models"])
def test_notebook_shows_what_it_showed(
    path: Path, demo_models: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(demo_models.parent))
    before = nbformat.read(path, as_version=4)
    assert sum(map(bool, shown(before))) >= len(shown(before)) / 2, "it was not run before it was kept"
    now = shown(execute(path))
    # A tiny model says something else, at the same places.
    compared = (lambda cells: list(map(len, cells))) if request.node.callspec.id == "tiny" else list
    assert compared(now) == compared(shown(before))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_keeps_nothing_of_the_machine_that_it_ran_on(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [word for word in ("/home/", "/root/", "/tmp/", "/work/", "Traceback") if word in text] == []  # noqa: S108
