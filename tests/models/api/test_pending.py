"""Pending batches on disk."""

import time
from pathlib import Path

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.models.api.pending import PendingBatch, PendingBatches


def batch(token: str, keys: list[str], age: float = 0.0) -> PendingBatch:
    return PendingBatch(token, "http://127.0.0.1:9/v1", "m", keys, time.time() - age, id=f"batch_{token}")


def test_batches_are_found_by_their_requests(tmp_path: Path) -> None:
    pending = PendingBatches(tmp_path / "batches")
    assert pending.with_any({"a"}) == []
    late, early = batch("late", ["a", "b"]), batch("early", ["b", "c"], age=60)
    for each in (late, early):
        pending.put(each)
    assert pending.with_any({"b"}) == [early, late]
    assert pending.with_any({"c", "x"}) == [early]
    assert pending.path(late).stat().st_mode & 0o777 == 0o600


def test_batches_older_than_their_answers_are_forgotten(tmp_path: Path) -> None:
    pending = PendingBatches(tmp_path / "batches")
    old = batch("old", ["a"], age=31 * 24 * 3600)
    pending.put(old)
    assert pending.with_any({"a"}) == []
    assert not pending.path(old).exists()


def test_damaged_file_is_named(tmp_path: Path) -> None:
    pending = PendingBatches(tmp_path / "batches")
    one = batch("one", ["a"])
    pending.put(one)
    pending.path(one).write_bytes(b'{"token": ')
    with pytest.raises(KgprobeError, match=r"one\.json is damaged.*Delete it"):
        pending.with_any({"a"})
