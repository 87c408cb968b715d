"""`kgprobe probe choices` and rounds of choices, as a user types them."""

import json
from pathlib import Path

from tests.cli.inprocess import run as kgprobe

AS_OF = ("--as-of", "2024")


def test_choices_are_measured_and_asked_in_rounds(home: dict[str, str], model: str) -> None:
    command = ["probe", "choices", "--model", model, "--relation", "P36", "--limit", "3", *AS_OF, "--json"]
    done = kgprobe(*command, "--template", "all", "--reduction", "mean", **home)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["probe"], found["facts"], found["done"]) == ("choices", 3, 3)
    assert found["tables"].keys() >= {"relations", "confidence"}
    (row,) = found["tables"]["relations"]["rows"]
    assert (row["relation"], row["facts"]) == ("P36", 3)
    assert row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]
    line = json.loads(Path(found["outcomes"]).read_text().splitlines()[0])
    evidence = line["evidence"]
    assert len(evidence["choices"]) == len(evidence["sentences"][0]["scores"])
    assert 2 <= row["most choices"] <= len(evidence["choices"])

    few = kgprobe(*command, "--max-choices", "2", **home)
    assert "has more than 2 objects" in few.stdout + few.stderr

    rounds = ["--relation", "P36", "--rounds", "1", "--facts-per-round", "2", *AS_OF, "--json"]
    ran = kgprobe("rounds", "run", "choices", "--model", model, *rounds, "--conditional", **home)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["probe"], told["questions"]) == ("choices", 2)
