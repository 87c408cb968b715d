"""``kgprobe label`` and ``kgprobe labels``, as a user types them."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.inprocess import run, succeed


@pytest.fixture(scope="module")
def own(home: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A user's own folder for this module's labels."""
    return {**home, "KGPROBE_HOME": str(tmp_path_factory.mktemp("labelled"))}


def test_label_makes_a_table_that_is_shown(own: dict[str, str], talker: str, tmp_path: Path) -> None:
    table = str(tmp_path / "labels.csv")
    common = ("--ways", "distractors", "--limit", "10", "--as-of", "2024", "--name", "mine")
    made = succeed("label", "--model", talker, *common, "--output", table, **own)
    assert "distractors 3 of 3" in made.stderr
    assert "Right answers by way of asking" in made.stdout
    assert "10 asked facts" in made.stdout
    assert f"Data: {table}" in made.stdout
    rows = pd.read_csv(table)
    assert rows["distractors_answers"].tolist() == [3] * 10
    shown = run("show", "mine", "--json", **own)
    content = json.loads(shown.stdout)
    assert (content["name"], content["asked_facts"], content["predicted_facts"]) == ("mine", 10, 0)
    words = rows["belief"].value_counts().to_dict()
    assert {row["label"]: row["facts"] for row in content["classes"] if row["facts"]} == words
    other = run("label", "--model", talker, *common, "--seed", "1", **own)
    assert other.returncode == 1
    assert "--name" in other.stderr
    assert "seed was 0, is 1" in other.stderr


def test_unknown_facts_are_named(own: dict[str, str], talker: str) -> None:
    facts = "France | capital | Paris\nAtlantis | capital | Paris\n"
    made = succeed("label", "--model", talker, "--ways", "distractors", "--facts", "-", typed=facts, **own)
    assert "line 2" in made.stderr
    assert "Atlantis" in made.stderr
    assert "1 asked fact." in made.stdout
