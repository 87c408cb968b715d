"""`kgprobe probe statements` and its rounds, as a user types them: a small model on the example graph."""

import json
from pathlib import Path

from tests.cli.inprocess import printed
from tests.cli.inprocess import run as kgprobe

AS_OF = ("--as-of", "2025-12")


def test_statements_are_measured_and_asked_in_rounds(home: dict[str, str], talker: str) -> None:
    command = ["probe", "statements", "--model", talker, "--relation", "P36", *AS_OF, "--json"]
    options = ["--limit", "4", "--negatives", "2", "--replace", "subject"]
    found = printed(*command, *options, **home)
    assert (found["probe"], found["facts"], found["done"]) == ("statements", 4, 4)
    assert list(found["tables"])[-3:] == ["relations", "confusion", "answers"]
    (row,) = found["tables"]["relations"]["rows"]
    assert (row["relation"], row["facts"], row["negatives"]) == ("P36", 4, 8)
    assert row["correct_low"] <= row["correct"] <= row["correct_high"]
    lines = [json.loads(line) for line in Path(found["outcomes"]).read_text().splitlines()]
    for line in lines:
        evidence = line["evidence"]
        assert evidence["answers"] == ["True", "False", "Unknown"]
        assert line["prompt"].endswith(f"Statement: {evidence['fact']['text']}\nAnswer:")
        assert [negative["replaced"] for negative in evidence["negatives"]] == ["subject"] * 2
    assert f"Statement: {lines[0]['evidence']['fact']['text']}" in lines[0]["prompt"]

    rounds = ["--relation", "P36", "--rounds", "1", "--facts-per-round", "2", *AS_OF]
    told = printed(
        "rounds", "run", "statements", "--model", talker, *rounds, "--answers", "Yes/No/Perhaps", "--json", **home
    )
    assert (told["probe"], told["questions"]) == ("statements", 2)
    page = Path(told["page"]).read_text(encoding="utf-8")
    assert "Correct, truthful and informative by relation" in page
    assert "is the capital of" in page
    results = json.loads(Path(told["page"]).with_name("results.json").read_text())
    assert results["headline_measure"]["name"] == "correct"
    assert f"{results['headline_measure']['name']} [" in page
    viewed = kgprobe("results", "--json", **home)
    assert f"{results['headline']}; {results['headline_details']}" in viewed.stdout

    wrong = kgprobe(*command, "--answers", "Yes/No", **home)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--answers is 'Yes/No'; three different words" in wrong.stderr
