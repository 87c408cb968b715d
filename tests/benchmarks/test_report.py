"""The shared shape of benchmark results."""

import json
import math
import platform
from pathlib import Path

import pytest

from benchmarks.report import Report, Row, describe_machine, show, to_json, versions_of, write_table

RATE = Row("plain", "rate", 200.0, "entities/s", peer="json", peer_value=50.0)
TIME = Row("draw", "time", 200.0, "ms", peer="loop", peer_value=50.0, less_is_better=True, max_difference=0.0)
ALONE = Row("memory", "peak", 1.5, "GiB")


def test_ratio_above_one_is_better_than_the_peer() -> None:
    assert RATE.ratio == 4.0
    assert TIME.ratio == 0.25
    assert ALONE.ratio is None


def test_json_has_the_agreed_keys(capsys: pytest.CaptureFixture[str]) -> None:
    show(Report("demo", [RATE, TIME, ALONE], seed=3, versions=versions_of("msgspec")), as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["benchmark", "machine", "versions", "seed", "rows"]
    assert set(printed["rows"][0]) == {"case", "measure", "value", "unit", "peer", "peer_value", "ratio"}
    assert printed["rows"][1]["max_difference"] == 0.0
    assert set(printed["rows"][2]) == {"case", "measure", "value", "unit"}
    assert set(printed["versions"]) == {"python", "kgprobe", "msgspec"}


def test_json_is_json_even_for_infinite_values() -> None:
    row = Row("empty", "rate", float("inf"), "1/s")
    plain = to_json(Report("demo", [row], seed=0, versions={}))
    assert json.loads(json.dumps(plain, allow_nan=False))["rows"][0]["value"] is None


def test_table_shows_labels_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    show(Report("demo", [RATE, Row("[bold]x[/bold]", "rate", 1234567.0, "1/s")], seed=0, versions={}), as_json=False)
    printed = capsys.readouterr().out
    assert "[bold]x[/bold]" in printed
    assert "1,234,567" in printed


def test_markdown_table_has_the_cells_of_every_row(tmp_path: Path) -> None:
    rows = [RATE, ALONE, Row("a|b", "failed", math.nan, "")]
    write_table(Report("demo", rows, seed=3, versions={"torch": "2"}, machine={"gpu": "H200"}), tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text(encoding="utf-8").splitlines() == [
        "demo, seed 3",
        "",
        "| case | measure | value | unit | peer | its value | ratio | max. difference |",
        "| --- | --- | --: | --- | --- | --: | --: | --- |",
        "| plain | rate | 200 | entities/s | json | 50 | 4 |  |",
        "| memory | peak | 1.5 | GiB |  |  |  |  |",
        "| a\\|b | failed |  |  |  |  |  |  |",
        "",
        "gpu H200, torch 2",
    ]


def test_machine_is_described_and_not_named() -> None:
    described = describe_machine()
    assert set(described) == {"processor", "cores", "memory_gib"}
    assert platform.node() not in described.values()
