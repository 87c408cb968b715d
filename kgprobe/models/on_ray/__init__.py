"""Models on many GPUs or machines: workers of a Ray cluster, each with its own copy of the model.

:mod:`.workers` starts or finds the cluster and divides work among its workers, and :mod:`.scorer` is a model on them.
Graph, probe and learner stay in one process.
"""

from dataclasses import dataclass

from kgprobe.base.options import option


@dataclass(frozen=True, slots=True)
class RayOptions:
    """Options of computing on a Ray cluster."""

    ray: int | None = option(
        None,
        "Number of Ray workers, on the cluster at RAY_ADDRESS or on this machine.",
        metavar="N",
        minimum=1,
    )
