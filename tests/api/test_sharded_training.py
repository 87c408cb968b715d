"""``kgprobe.TrainerCallback`` on a model that is sharded over two real processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import home
from tests.conftest import REPOSITORY

__all__ = ["home"]

PROGRAM = Path(__file__).with_name("sharded_training.py")


@pytest.mark.slow
def test_callback_on_a_sharded_model_logs_as_on_a_plain_one(home: dict[str, str], tmp_path: Path) -> None:
    variables = os.environ | home | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    processes = []
    for rank in (0, 1):
        command = [sys.executable, str(PROGRAM), str(rank), str(tmp_path), home["KGPROBE_GRAPH"]]
        processes.append(subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True))
    errors = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    main, other = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert [log["step"] for log in main["sharded"]] == [0, 3, 6]
    assert main["sharded"] == main["plain"]
    assert all(log["kgprobe/asked"] == 8 for log in main["sharded"])
    assert other["sharded"] == []
    assert "a Linear cannot be copied into one process. Save checkpoints, and measure each" in main["refusal"]
