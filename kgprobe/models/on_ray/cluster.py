"""The Ray cluster: at ``RAY_ADDRESS``, or on this machine for as long as it is needed."""

import importlib.util
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kgprobe.base.errors import KgprobeError, how_to_install

# Seconds for a cluster to answer.
_PATIENCE = 10.0


def check_ray() -> None:
    """Raise if Ray is not installed, or no cluster answers at the host and port of ``RAY_ADDRESS``."""
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


@contextmanager
def ray_cluster(workers: int) -> Iterator[Any]:
    """Yield ``ray``, connected to a cluster; one on this machine has CPUs for the workers, and ends after it."""
    # Hide Ray's message about restarted actors, which are intended.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    # Hide its message about a dead worker, which it would print on stdout: another worker takes over.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died or was killed")
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
            where, remedy = "on this machine", "Try again with fewer workers, or without Ray."
            if not here:
                where, remedy = f"with RAY_ADDRESS={address}", "Correct RAY_ADDRESS, or unset it."
            raise KgprobeError(f"Ray does not start {where}: {type(error).__name__}: {error}. {remedy}") from error
    try:
        yield ray
    finally:
        if mine:
            ray.shutdown()


def resources_of_a_worker(ray: Any) -> dict[str, int]:
    """Return the options of an actor for its resources: one CPU, and one GPU if the cluster has any."""
    return {"num_cpus": 1, "num_gpus": 1 if ray.cluster_resources().get("GPU", 0) > 0 else 0}


def original_error(error: BaseException) -> BaseException:
    """Return the original error of a worker, without Ray's wrappers."""
    while (inner := getattr(error, "cause", None) or error.__cause__) is not None and inner is not error:
        if isinstance(inner, KgprobeError):
            return inner
        error = inner
    return error
