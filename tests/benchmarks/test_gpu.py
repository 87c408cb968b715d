"""The command for GPUs runs from end to end, here at a tiny size: on the processor and on a simulated GPU."""

import json
import math
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from benchmarks import gpu
from benchmarks.gpu import CASES, fit, main
from benchmarks.report import Row
from tests.models.cards import simulated_cards

GIB = 1 << 30


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_gpu_benchmark_reports_every_aim(device: str, tmp_path: Path) -> None:
    if not hasattr(torch._C, "_ensureCUDADeviceGuardSet"):
        pytest.skip("simulated GPUs need a newer torch")
    with simulated_cards(4 * GIB) if device == "cuda" else nullcontext():
        result = CliRunner().invoke(main, ["--tiny", "--device", device, "--json", "--table", str(tmp_path / "gpu.md")])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["machine"].get("gpu") == ("simulated" if device == "cuda" else None)
    rows = {(row["case"], row["measure"]): row for row in report["rows"]}
    error = rows["exactness", "float32 (packed), largest of 6"]
    assert 0 < error["value"] < error["peer_value"] == 1e-4
    assert error["value"] < rows["exactness", "bfloat16 (packed), largest of 6"]["value"]
    aims = {(case, row["peer_value"]) for (case, _), row in rows.items() if row.get("peer") == "aim"}
    assert aims == {
        ("exactness", 1e-4),
        ("names", 60.0),
        ("items of 20 tokens", 60.0),
        ("items of 20 tokens", 2200.0),
        ("probe", 10.0),
        ("label", 10.0),
        ("statements", 60.0),
        ("statements", 10_000.0),
    }
    amounts = {"names": "names", "items of 20 tokens": "items of 20 tokens", "statements": "statements"}
    for case, unit in {**amounts, "generation": "new tokens", "probe": "facts", "label": "facts"}.items():
        done = rows[case, f"{unit} a second"]["value"] * rows[case, "time"]["value"]
        assert done == pytest.approx(rows[case, unit]["value"])
    assert rows["generation", "new tokens"]["value"] == 12
    assert all(0 < rows[case, "device waited"]["value"] < 100 for case in ("probe", "label"))
    assert rows["probe", "facts"]["value"] == rows["label", "facts"]["value"] == 16
    peaks = {case: row["value"] for (case, measure), row in rows.items() if measure == "peak memory of the device"}
    assert len(peaks) == (len(CASES) if device == "cuda" else 0)
    # The weights of two layers alone: 0.4 million numbers of two bytes.
    assert all(700_000 / GIB < peak < 1 for peak in peaks.values())
    assert sum(row["value"] for (_, measure), row in rows.items() if measure == "time of the whole case") < 8 * 60
    table = (tmp_path / "gpu.md").read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("| ") for line in table) == len(rows) + 2


def test_gpu_benchmark_failing_case_keeps_other_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[Row]:
        raise torch.OutOfMemoryError("CUDA out of memory | 9 GiB\nsecond line")

    monkeypatch.setattr(gpu, "CASES", {**CASES, "names": fail})
    options = ["--tiny", "--device", "cpu", "--case", "names", "--case", "items", "--table", str(tmp_path / "gpu.md")]
    result = CliRunner().invoke(main, [*options, "--json"])
    assert result.exit_code == 1
    rows = json.loads(result.stdout)["rows"]
    assert rows[0]["measure"] == "failed: OutOfMemoryError: CUDA out of memory | 9 GiB"
    assert rows[0]["value"] is None
    assert any(row["measure"] == "items of 20 tokens a second" and row["value"] > 0 for row in rows)
    table = (tmp_path / "gpu.md").read_text(encoding="utf-8")
    assert "| names | failed: OutOfMemoryError: CUDA out of memory \\| 9 GiB |  |  |" in table
    assert "| items of 20 tokens |" in table


def test_gpu_benchmark_refuses_what_it_cannot_use_at_once(tmp_path: Path) -> None:
    for wrong, said in (
        (["--device", "abacus"], "'abacus' cannot be used"),
        (["--device", "cpu", "--table", str(tmp_path / "none" / "gpu.md")], "gpu.md cannot be written"),
    ):
        result = CliRunner().invoke(main, ["--tiny", *wrong])
        assert result.exit_code == 1
        assert re.match(f"Error: .*{said}", result.output), result.output


@pytest.mark.parametrize("seconds_each", [0.001, 0.1, 1.0, 30.0])
def test_gpu_benchmark_work_fits_its_limit(seconds_each: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now, done = 0.0, []

    def run(amount: int) -> float:
        nonlocal now
        now += amount * seconds_each
        done.append(amount)
        return amount * seconds_each

    monkeypatch.setattr("benchmarks.gpu.time.perf_counter", lambda: now)
    amount = fit(64, 60.0, 4, run)
    assert set(done) == {4}
    # Halved until it fits, and no further; at least the part that was tried.
    whole = math.log2(64 / amount)
    assert whole == int(whole)
    assert amount == 4 or now + 4 * amount * seconds_each <= 60.0
    assert amount == 64 or now + 4 * 2 * amount * seconds_each > 60.0
