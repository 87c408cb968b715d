"""The cluster of Ray: a start that fails, an address without a cluster, and a cluster with too few CPUs."""

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


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (None, "Ray does not start on this machine"),
        ("ray://nowhere:1", "does not start with RAY_ADDRESS=ray://nowhere:1"),
    ],
)
def test_cluster_failing_start_is_named(address: str | None, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def fail(**_: object) -> None:
        raise TimeoutError("no answer within 30 s")

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


@pytest.mark.parametrize("address", ["auto", "local"])
def test_check_ray_other_addresses_are_left_to_ray(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    check_ray()


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
