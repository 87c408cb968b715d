"""Predictions on many GPUs or machines: workers of a Ray cluster make shards, each with its own copy of the model.

Ray Data's ``map_batches`` distributes the shards. Each worker writes its shards to the folder of the predictions, on a
shared disk. If a worker dies, another one makes its shard.
"""

import importlib.util
import logging
import os
import socket
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError, how_to_install
from kgprobe.judge.whole_graph import PredictionPlan
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.running.predictions import (
    LOOK_SECONDS,
    WHOLE,
    PredictedShards,
    Shards,
    ShardShare,
    finish_shards,
    make_shard,
)

# Seconds for a cluster to answer.
_PATIENCE = 10.0


class ShardWorker:
    """A worker that loads the plan once, and then makes one shard after the other."""

    def __init__(self, plan: PredictionPlan, folder: Path, shards: Shards) -> None:
        """Load the model and map the columns."""
        self._graph_judge = plan.open()
        if len(self._graph_judge.facts) != shards.facts:
            raise KgprobeError(
                f"{plan.columns} has other facts on this machine than on the first one; share the folder between"
                " machines."
            )
        self._folder, self._shards = folder, shards

    def __call__(self, batch: dict[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
        """Make the shards of these numbers."""
        for number in batch["shard"].tolist():
            places = self._shards.places(number)
            while not make_shard(self._folder, number, partial(self._graph_judge.predict, places)):
                time.sleep(LOOK_SECONDS)
        return batch


def check_ray() -> None:
    """Raise if Ray is not installed, or no cluster answers at the host and port of ``RAY_ADDRESS``.

    Raises:
        KgprobeError: Ray is not installed, or the cluster does not answer.
    """
    if importlib.util.find_spec("ray") is None:
        raise KgprobeError(f"Ray is not installed: {how_to_install('ray')}.")
    address = os.environ.get("RAY_ADDRESS", "")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    # Ray itself would try for more than three minutes.
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError, ValueError) as error:
        raise KgprobeError(
            f"No Ray cluster answers at RAY_ADDRESS={address}: {error}. Start it, or unset RAY_ADDRESS."
        ) from error


def predict_on_ray(
    folder: Path,
    config: Mapping[str, Any],
    shards: Shards,
    plan: PredictionPlan,
    workers: int,
    *,
    share: ShardShare = WHOLE,
    callbacks: Callbacks = NO_CALLBACKS,
) -> PredictedShards:
    """Run :func:`kgprobe.running.predictions.predict_shards` on the Ray cluster of ``RAY_ADDRESS``, or on this machine.

    Each worker has one CPU, and one GPU if the cluster has any.

    Args:
        workers: number of simultaneous workers.

    Raises:
        KgprobeError: Ray is not installed, or workers cannot load the model; or see ``predict_shards``.
    """
    check_ray()
    if plan.local is None:
        raise KgprobeError("Workers load the model by its name, so it cannot be a model object; pass its spec.")
    return finish_shards(folder, config, shards, partial(_predict, workers, (plan, folder, shards)), share, callbacks)


def _predict(workers: int, arguments: tuple[Any, ...], missing: list[int]) -> Generator[int]:
    """Yield the numbers of shards as workers finish them."""
    if not missing:
        return
    with _cluster(workers) as ray:
        import ray.data

        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.verbose_progress = False
        try:
            on_gpu = ray.cluster_resources().get("GPU", 0) > 0
            shards = ray.data.from_items([{"shard": number} for number in missing], override_num_blocks=len(missing))
            finished = shards.map_batches(
                ShardWorker,
                fn_constructor_args=arguments,
                batch_size=1,
                compute=ray.data.ActorPoolStrategy(size=min(workers, len(missing))),
                num_cpus=1,
                num_gpus=1 if on_gpu else 0,
            )
            for row in finished.iter_rows():
                yield int(row["shard"])
        except ray.exceptions.RayError as error:
            raise KgprobeError(f"A worker failed: {_reason(error)}") from error


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    # Hide Ray's message about restarted actors, which are intended.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    # Send no usage statistics.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    mine = not ray.is_initialized()
    if mine:
        # An existing cluster has its own CPUs.
        address = os.environ.get("RAY_ADDRESS")
        here = not address
        try:
            ray.init(
                num_cpus=workers + 1 if here else None,
                include_dashboard=False if here else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        # Ray has no error class for a cluster that does not start or answer.
        except Exception as error:
            ray.shutdown()
            where, remedy = "on this machine", "Try again with fewer workers, or judge without Ray."
            if not here:
                where, remedy = f"with RAY_ADDRESS={address}", "Correct RAY_ADDRESS, or unset it."
            raise KgprobeError(f"Ray does not start {where}: {type(error).__name__}: {error}. {remedy}") from error
    try:
        yield ray
    finally:
        if mine:
            ray.shutdown()


def _reason(error: BaseException) -> BaseException:
    """Return the original error of a worker, without Ray's wrappers."""
    while (inner := getattr(error, "cause", None) or error.__cause__) is not None and inner is not error:
        if isinstance(inner, KgprobeError):
            return inner
        error = inner
    return error
