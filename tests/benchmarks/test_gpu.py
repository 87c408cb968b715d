"""The command for GPUs runs from end to end, here at a tiny size: on the processor and on a simulated GPU."""

import json
from contextlib import nullcontext

import pytest
import torch
from click.testing import CliRunner

from benchmarks.gpu import main
from tests.models.cards import simulated_cards

GIB = 1 << 30


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_gpu_benchmark_reports_every_aim(device: str) -> None:
    if not hasattr(torch._C, "_ensureCUDADeviceGuardSet"):
        pytest.skip("simulated GPUs need a newer torch")
    with simulated_cards(4 * GIB) if device == "cuda" else nullcontext():
        result = CliRunner().invoke(main, ["--tiny", "--device", device, "--json"])
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
        ("statements", 60.0),
        ("statements", 10_000.0),
    }
    for case in ("names", "items of 20 tokens", "statements"):
        assert rows[case, f"{case} a second"]["value"] * rows[case, "time"]["value"] == pytest.approx(
            rows[case, case]["value"]
        )
