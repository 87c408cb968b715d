"""The cluster of Ray: a start that fails, an address without a cluster, and a cluster with too few CPUs."""

import importlib.util
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.models.model import open_in_worker
from kgprobe.models.on_ray import workers as on_ray
from kgprobe.models.on_ray.workers import ModelPlan, WorkerModel, Workers, check_ray, ray_cluster
from tests.models.on_ray.nodes import ray_nodes

pytest.importorskip("ray")


@pytest.fixture(autouse=True)
def no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


# The end of what Ray reports of a `runtime_env` that pip cannot install.
PIP = "Run cmd[9] failed with the following details.\nERROR: No matching distribution found for odd\n\nUse logs."


@pytest.mark.parametrize(
    ("address", "fault", "message"),
    [
        (None, "no answer within 30 s", "Ray does not start on this machine: TimeoutError: no answer within 30 s"),
        ("ray://nowhere:1", "no answer", "with RAY_ADDRESS=ray://nowhere:1.*is usually 6379, and of ray:// 10001"),
        ("nowhere:1", PIP, "with RAY_ADDRESS=nowhere:1: TimeoutError: ERROR: No matching distribution found for odd"),
    ],
)
def test_cluster_failing_start_is_named(
    address: str | None, fault: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    def fail(**_: object) -> None:
        raise TimeoutError(fault)

    monkeypatch.setattr(ray, "init", fail)
    if address is not None:
        monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(KgprobeError, match=message), ray_cluster(2):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://[::1]:1", "127.0.0.1:99999", "nowhere.invalid:1"])
def test_check_ray_without_a_cluster_is_named_at_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(KgprobeError, match=r"No Ray cluster answers at RAY_ADDRESS=.* unset RAY_ADDRESS"):
        check_ray()


def test_check_ray_client_without_grpc_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "grpc" else object())
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        check_ray()
        monkeypatch.setenv("RAY_ADDRESS", f"ray://{address}")
        message = rf'RAY_ADDRESS=ray://{address} needs .* "ray\[client\]".*RAY_ADDRESS=HOST:6379'
        with pytest.raises(KgprobeError, match=message):
            check_ray()


@pytest.mark.parametrize("address", ["auto", "local"])
def test_check_ray_other_addresses_are_left_to_ray(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    check_ray()


def test_workers_losing_the_connection_name_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def lose(**_: object) -> None:
        raise ConnectionError('Request failed: details = "the session has already been cleaned up"')

    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "cluster_resources", lose)
    monkeypatch.setattr(on_ray, "check_ray", lambda: None)
    monkeypatch.setenv("RAY_ADDRESS", "ray://head:10001")
    message = (
        r"ray://head:10001 ended the connection: the session has already been cleaned up\. Complete batches are kept"
    )
    with closing(Workers(1, open_in_worker)) as workers, pytest.raises(KgprobeError, match=message):
        workers.run(ModelPlan("none", ()), partial(number_of, 1))


@pytest.fixture
def one_cpu() -> Iterator[None]:
    with ray_nodes(1):
        yield


def number_of(number: int, _: WorkerModel) -> int:
    return number


def sleep(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.slow
@pytest.mark.usefixtures("one_cpu")
def test_workers_without_free_cpus_say_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(on_ray, "_START_SECONDS", 1.0)
    with ray_cluster(2) as ray, closing(Workers(2, open_in_worker)) as workers:
        # Another program's task, for some seconds.
        holder = ray.remote(num_cpus=1)(sleep).remote(4.0)
        while ray.available_resources().get("CPU", 0):
            time.sleep(0.05)
        results = workers.run_all(ModelPlan("none", ()), [partial(number_of, number) for number in range(3)])
        assert sorted(results) == [(0, 0), (1, 1), (2, 2)]
        ray.get(holder)
    printed = capsys.readouterr().err
    needed = "each needs a CPU, and the cluster has 0 of 1 CPUs free. Others wait for more"
    assert f"0 of 2 Ray workers can start now: {needed}" in printed
    assert f"No Ray worker has started for 1 seconds: {needed}" in printed


@pytest.mark.slow
@pytest.mark.usefixtures("one_cpu")
def test_workers_of_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_ray, "__version__", "0.0.0")
    message = r"the last on .* has kgprobe .*, this command's process 0\.0\.0\."
    with closing(Workers(1, open_in_worker)) as workers, pytest.raises(KgprobeError, match=message):
        workers.run(ModelPlan("none", ()), partial(number_of, 1))
