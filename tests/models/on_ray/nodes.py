"""A Ray cluster of several nodes on this machine, at RAY_ADDRESS."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock


@contextmanager
def ray_nodes(count: int) -> Iterator[Callable[[], None]]:
    """Start nodes with one CPU each; yield a function that kills the last one and its workers."""
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        nodes = [cluster.add_node(num_cpus=1, object_store_memory=80 << 20) for _ in range(count)]
        with mock.patch.dict(os.environ, RAY_ADDRESS=cluster.address):
            yield lambda: cluster.remove_node(nodes[-1], allow_graceful=False)
    finally:
        cluster.shutdown()
