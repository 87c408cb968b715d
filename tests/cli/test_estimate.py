"""``kgprobe estimate`` as a user types it."""

import json

import pytest

from kgprobe.answers.callbacks import Start
from kgprobe.cli.running import running
from tests.cli.inprocess import run as kgprobe
from tests.cli.inprocess import succeed

ROUNDS = [
    "--facts-per-round",
    "32",
    "--relation",
    "P36",
    "--relation",
    "P37",
    "--distractors",
    "1",
    "--as-of",
    "2024",
    "--aim",
    "estimate",
    "--json",
]


def test_run_is_estimated_and_asks_on(home: dict[str, str], model: str) -> None:
    succeed("rounds", "run", "distractors", "--model", model, "--rounds", "2", "--name", "of-all", *ROUNDS, **home)
    shown = succeed("estimate", **home)
    assert "By relation" in shown.stdout
    said = " ".join(shown.stdout.split())
    assert "of the graph's" in said
    assert "estimated from 64 answers" in said
    whole = json.loads(kgprobe("estimate", "of-all", "--json", **home).stdout)
    assert whole["rates"][0]["drawn"] == 64
    assert (whole["run"], whole["sampling"], whole["stopped"]) == ("of-all", "uniform", None)
    row = whole["rates"][0]
    width = row["right_high"] - row["right_low"]

    more = succeed("estimate", "of-all", "--precision", f"{0.375 * width:.3f}", "--json", **home)
    assert "more questions of this run." in more.stderr
    assert json.loads(more.stdout)["stopped"] == "sure enough"


def test_forecast_says_when_a_new_run_is_cheaper(home: dict[str, str], model: str) -> None:
    seeking = ["--sampling", "hardest", "--rounds", "1", "--name", "seeking"]
    succeed("rounds", "run", "distractors", "--model", model, *ROUNDS, *seeking, **home)
    # All of its rounds are done, so nothing is asked.
    told = succeed("estimate", "seeking", "--precision", "2%", "--rounds", "1", "--json", **home)
    assert json.loads(told.stdout)["rates"][0]["drawn"] == 32
    said = " ".join(told.stderr.split())
    assert "±0.02 probably takes about" in said
    assert "A new run with --aim estimate takes about" in said
    # A precision that is there already needs no forecast.
    enough = kgprobe("estimate", "seeking", "--precision", "0.49", "--rounds", "1", "--json", **home)
    assert "probably takes" not in enough.stderr


def test_run_warns_where_it_has_more_questions_than_facts(capsys: pytest.CaptureFixture[str]) -> None:
    for total, warned in ((3, False), (4, True)):
        with running("run") as callbacks:
            callbacks.on_start(Start(facts=192, done=0, total=total, changed=False, batch=64))
        said = " ".join(capsys.readouterr().err.split())
        assert "192 facts can be asked" in said
        assert ("4 rounds of 64 are 256 questions, more than one per fact; --rounds 3 asks" in said) == warned
