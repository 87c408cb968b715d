"""Comparisons of logs that lm-evaluation-harness or Inspect wrote."""

from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.api.comparing import check_margin
from kgprobe.arguments import several, whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgprobe.results.task_comparison import TaskComparison
    from kgprobe.results.task_losses import TaskLosses


def compare_logs(
    first: str | Path, second: str | Path, *, metrics: "Sequence[str]" = (), seed: int = 0
) -> "TaskComparison":
    """Compare two models on the documents that both have answered, in logs of another evaluation tool.

    Logs are ``samples_*.jsonl`` of lm-evaluation-harness, ``.eval`` or ``.json`` of Inspect, or a folder of one model.
    Documents are paired by hash. Each task and metric has accuracies, McNemar's test, Tango's interval and the minimum
    detectable difference.

    >>> import json, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, values in (("before", [1, 1, 0]), ("after", [1, 0, 0])):
    ...     with open(folder / f"{name}.jsonl", "w") as log:
    ...         for n, value in enumerate(values):
    ...             line = {"doc_id": n, "doc_hash": f"hash {n}", "metrics": ["acc"], "acc": value}
    ...             print(json.dumps(line), file=log)
    >>> compared = kgprobe.compare_logs(folder / "before.jsonl", folder / "after.jsonl")
    >>> compared.to_frame()[["metric", "documents", "lost", "gained"]].values.tolist()
    [['acc', 3, 1, 0]]

    Cost: reading the logs.

    Args:
        metrics: names of the metrics to compare; empty for all.
        seed: seed of the bootstrap of values between 0 and 1.

    Raises:
        ArgumentError: no such metric.
        KgprobeError: not a log, logs of different tools or tasks, without common documents, unfinished or damaged.
    """
    from kgprobe.results.task_comparison import compare_task_logs
    from kgprobe.task_logs.opening import open_task_log

    chosen, seed = several("metrics", metrics), whole_number("seed", seed, 0)
    return compare_task_logs(open_task_log(Path(first)), open_task_log(Path(second)), chosen, seed)


def check_logs(
    base: str | Path, tuned: str | Path, *, margin: float = 0.02, metrics: "Sequence[str]" = ()
) -> "TaskLosses":
    """Test if a changed model lost more accuracy than a margin, in logs of another evaluation tool.

    Each task and metric with the values 0 and 1 is tested. The verdict is *lost* if any of them is lost, *kept* if all
    are kept, else *undecided*. See :func:`compare_logs` for the logs, and :func:`kgprobe.check_forgetting`.

    Cost: reading the logs.

    Args:
        margin: allowed loss, a share in [0, 1): 0.02 is two percentage points.
        metrics: names of the metrics to test; empty for all.

    Raises:
        ArgumentError: the margin is out of range, or no such metric.
        KgprobeError: as in :func:`compare_logs`, or all metrics have values between 0 and 1.
    """
    from kgprobe.results.task_losses import find_task_losses
    from kgprobe.task_logs.opening import open_task_log

    margin, chosen = check_margin(margin), several("metrics", metrics)
    return find_task_losses(open_task_log(Path(base)), open_task_log(Path(tuned)), margin, chosen)
