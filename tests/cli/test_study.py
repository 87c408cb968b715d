"""The study commands as a user types them."""

import json
from pathlib import Path

import pytest

from tests.graph.servers import kgprobe

COMMON = ["--sample", "6", "-n", "3", "--relation", "P35", "--json"]


@pytest.mark.usefixtures("sample")
def test_strategies_are_studied_and_kept(home: dict[str, str], model: str) -> None:
    command = ["study", "strategies", "--model", model, "--strategy", "random", "--strategy", "temporal-semantic"]
    done = kgprobe(*command, *COMMON, **home)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [set(row) for row in found["table"]] == [{"n", "random", "temporal-semantic"}] * 3
    assert Path(found["data"]).read_text().startswith("strategy,n,mean,low,high\nrandom,1,")
    assert "Plotly" in Path(found["plot"]).read_text()
    again = kgprobe(*command, *COMMON, **home)
    assert again.stdout == done.stdout
    assert again.stderr.count("6 of them measured before") == 2
    shown = kgprobe(*command, *COMMON[:-1], **home)
    assert "Mean Min@n by strategy" in shown.stdout
    assert "plot.html" in shown.stdout


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(("name", "column"), [("distractors", "τ Min@n"), ("sentences", "τ Avg")])
def test_numbers_are_studied(home: dict[str, str], model: str, name: str, column: str) -> None:
    done = kgprobe("study", name, "--model", model, *COMMON, **home)
    assert done.returncode == 0, done.stderr
    assert column in json.loads(done.stdout)["table"][0]


@pytest.mark.usefixtures("sample")
def test_one_model_has_no_line(home: dict[str, str], model: str) -> None:
    done = kgprobe("study", "sizes", "--model", model, *COMMON, **home)
    assert (done.returncode, "two models at least" in done.stderr) == (2, True)
