"""Judging a graph on many GPUs or machines: workers of a Ray cluster make shards, each with its own copy of the model.

Ray Data's ``map_batches`` distributes the shards. Each worker writes its shards to the folder of the judged graph, on
a shared disk. If a worker dies, another one makes its shard.
"""

import logging
import time
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.judge.whole_graph import JudgingPlan, PreparedJudging
from kgprobe.models.on_ray.cluster import check_ray, original_error, ray_cluster, resources_of_a_worker
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.running.judged_shards import (
    LOOK_SECONDS,
    JudgedShards,
    Shards,
    ShardShare,
    finish_shards,
    make_shard,
)


class ShardWorker:
    """A worker that loads the plan once, and then makes one shard after the other."""

    def __init__(self, plan: JudgingPlan, folder: Path, shards: Shards) -> None:
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


def judge_on_ray(
    prepared: PreparedJudging,
    folder: Path,
    workers: int,
    share: ShardShare,
    callbacks: Callbacks = NO_CALLBACKS,
) -> JudgedShards:
    """Make the missing shards of a share in a folder, on the Ray cluster of ``RAY_ADDRESS``, or on this machine.

    Each worker has one CPU, and one GPU if the cluster has any.
    """
    check_ray()
    plan, shards = prepared.plan, prepared.shards
    if plan.local is None:
        raise KgprobeError("Workers load the model by its name, so it cannot be a model object; pass its spec.")
    make = partial(_predict, workers, (plan, folder, shards))
    judged = finish_shards(folder, prepared.config, shards, make, share, callbacks)
    prepared.write_names(folder)
    return judged


def _predict(workers: int, arguments: tuple[Any, ...], missing: list[int]) -> Generator[int]:
    """Yield the numbers of shards as workers finish them."""
    if not missing:
        return
    with ray_cluster(workers) as ray:
        import ray.data

        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.verbose_progress = False
        try:
            shards = ray.data.from_items([{"shard": number} for number in missing], override_num_blocks=len(missing))
            finished = shards.map_batches(
                ShardWorker,
                fn_constructor_args=arguments,
                batch_size=1,
                compute=ray.data.ActorPoolStrategy(size=min(workers, len(missing))),
                **resources_of_a_worker(ray),
            )
            for row in finished.iter_rows():
                yield int(row["shard"])
        except ray.exceptions.RayError as error:
            raise KgprobeError(f"A worker failed: {original_error(error)}") from error
