"""The notebooks of the documents run, and show what stands in them."""

from pathlib import Path

import nbformat
import pytest

from benchmarks.notebooks import FOLDER, execute, shown

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


# The quickest one represents all in the normal run.
RUN = [pytest.param(path, marks=() if path.stem == "your-own-graph" else pytest.mark.slow) for path in NOTEBOOKS]


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_showed(path: Path) -> None:
    before = nbformat.read(path, as_version=4)
    assert sum(map(bool, shown(before))) >= len(shown(before)) / 2, "it was not run before it was kept"
    assert shown(execute(path)) == shown(before)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_nothing_of_the_machine_that_it_ran_on(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [word for word in ("/home/", "/root/", "/tmp/", "/work/", "Traceback") if word in text] == []  # noqa: S108
