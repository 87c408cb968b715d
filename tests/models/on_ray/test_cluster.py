"""The cluster of Ray: a start that fails, and an address without a cluster."""

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.models.on_ray.workers import check_ray, ray_cluster

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
