"""Open the log of an evaluation tool by its file or folder."""

import os
from pathlib import Path

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.task_logs.harness_log import read_harness_log, sample_files
from kgprobe.task_logs.inspect_log import log_files, read_inspect_log
from kgprobe.task_logs.log import ModelLog


def is_task_log(path: Path) -> bool:
    """Return True for a file or folder of lm-evaluation-harness or Inspect; logs are not read."""
    return os.path.exists(path) and bool(sample_files(path) or log_files(path) or _results_alone(path))


def open_task_log(path: Path) -> ModelLog:
    """Read the log of one model."""
    by_harness, by_inspect = sample_files(path), log_files(path)
    if by_harness and by_inspect:
        raise KgprobeError(f"{path} has logs of lm-evaluation-harness and of Inspect. Give a folder of one tool.")
    if by_harness:
        return read_harness_log(path)
    if by_inspect:
        return read_inspect_log(path)
    if _results_alone(path):
        raise UnknownNameError(
            f"{path} has results of lm-evaluation-harness without documents. Run it with --log_samples, and give the"
            " folder or a file samples_*.jsonl."
        )
    raise UnknownNameError(f"{path} is not a log of lm-evaluation-harness (samples_*.jsonl) or Inspect (.eval, .json).")


def _results_alone(path: Path) -> bool:
    """Return True for lm-evaluation-harness's results, which have no documents."""
    if path.is_dir():
        return any([*path.glob("results_*.json"), *path.glob("*/results_*.json")])
    return path.name.startswith("results_") and path.suffix == ".json"
