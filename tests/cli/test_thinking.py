"""`--thinking` as a user types it: on a model with a switch, on one without, and in a comparison."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inprocess import printed, succeed
from tests.cli.inprocess import run as kgprobe
from tests.models.thinker import QWEN, SHORT, thinker

EASY = ("--relation", "P36", "--as-of", "2024", "--limit", "8", "--difficulty", "easy", "--follow-ups", "0")


@pytest.fixture(scope="module")
def thinking_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that says no at once, and yes after a thought, in a folder."""
    folder = tmp_path_factory.mktemp("thinker")
    scorer = thinker(QWEN, SHORT)
    scorer.model.save_pretrained(folder)
    scorer.tokenizer.save_pretrained(folder)
    return f"hf:{folder}"


def measured(home: dict[str, str], *command: str) -> dict[str, Any]:
    done = succeed("probe", *command, "--json", **home)
    found: dict[str, Any] = json.loads(done.stdout)
    found["lines"] = [json.loads(line) for line in Path(found["outcomes"]).read_text().splitlines()]
    return found


def test_thinking_is_the_only_difference_of_two_results(home: dict[str, str], thinking_model: str) -> None:
    command = ("questions", "--model", thinking_model, *EASY)
    off = measured(home, *command, "--thinking", "off", "--name", "thinking-off")
    on = measured(home, *command, "--thinking", "on", "--name", "thinking-on")
    cut = measured(home, *command, "--thinking", "2")
    says_no = [not row["evidence"]["expected"] for row in off["lines"]]
    assert set(says_no) == {True, False}
    for found, right in ((off, says_no), (on, [not no for no in says_no]), (cut, says_no)):
        assert [row["verdict"] == "right" for row in found["lines"]] == right
    # The thought names the other answer.
    assert {row["evidence"]["answer"] for row in on["lines"]} == {"Yes"}
    assert {row["evidence"]["thought"] for row in on["lines"]} == {"No,Hmm"}
    rows = {found["tables"]["thoughts"]["rows"][0]["thinking"]: found for found in (off, on, cut)}
    assert set(rows) == {"off", "on", "2"}
    for found, mean, cuts in ((off, 0, 0), (on, 4, 0), (cut, 2, 8)):
        row = found["tables"]["thoughts"]["rows"][0]
        assert (row["answers"], row["mean tokens"], row["cut"]) == (8, mean, cuts)

    compared = succeed("compare", "thinking-off", "thinking-on", **home, COLUMNS="200")
    assert "They differ: thinking is 'off' and 'on'." in compared.stderr
    checked = kgprobe("check", "thinking-off", "thinking-on", "--margin", "99%", **home, COLUMNS="200")
    assert checked.returncode in (0, 3), checked.stderr
    assert "Both are of one model: thinking is 'off' and 'on'." in checked.stderr


def test_labels_are_read_behind_thoughts(home: dict[str, str], thinking_model: str) -> None:
    command = ("true-false", "--model", thinking_model, "--relation", "P36", "--as-of", "2024", "--limit", "2")
    found = measured(home, *command, "--repeats", "1", "--thinking", "2")
    assert {answer for row in found["lines"] for answer in row["evidence"]["fact"]["answers"]} == {"No"}
    (row,) = found["tables"]["thoughts"]["rows"]
    assert (row["answers"], row["cut"], row["mean tokens"]) == (4, 4, 2)


def test_run_of_rounds_keeps_the_mode(home: dict[str, str], thinking_model: str) -> None:
    command = ("questions", "--model", thinking_model, "--relation", "P36", "--as-of", "2024", "--difficulty", "easy")
    settings = ("--rounds", "1", "--facts-per-round", "4", "--no-view", "--name", "thinking-run")
    succeed("rounds", "run", *command, *settings, "--thinking", "on", "--json", **home)
    found = printed("rounds", "resume", "thinking-run", "--rounds", "2", "--no-view", "--json", **home)
    assert found["tables"]["thoughts"]["rows"][0]["thinking"] == "on"
    kgprobe("delete", "thinking-run", "--yes", **home)
