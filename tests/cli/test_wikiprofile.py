"""``kgprobe dataset profile``: answers of the demo model on a made-up file, and bad input."""

import json
from pathlib import Path

import pytest

from tests.cli.inprocess import run
from tests.datasets.test_wikiprofile import row, write


@pytest.mark.usefixtures("shared_demo")
def test_demo_profiles_the_facts_of_a_file(tmp_path: Path) -> None:
    known = row(
        completion="Tokyo is a city in Asia. It is the capital of",
        direct_answer="Japan",
        object="Japan",
        direct="Of which country is Tokyo the capital?",
    )
    path = write(tmp_path / "wikiprofile.csv", [known, row(2)])
    command = ["dataset", "profile", str(path), "--model", "demo", "--samples", "2", "--answer-tokens", "6"]
    done = run(*command, "--temperature", "0.1", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    first, second = result["facts"]
    assert first["encoded"] == 1.0
    assert first["profile"] in ("recalled", "encoded, not recalled")
    assert second["profile"] == "not encoded"


def test_bad_files_end_with_the_reason(tmp_path: Path) -> None:
    missing = run("dataset", "profile", str(tmp_path / "none.csv"), "--model", "demo")
    assert missing.returncode == 2
    assert "cannot be read" in missing.stderr
    path = write(tmp_path / "other.csv", [row()], ("fact_id", "subject"))
    other = run("dataset", "profile", str(path), "--model", "demo")
    assert other.returncode == 2
    assert "no column object" in other.stderr
