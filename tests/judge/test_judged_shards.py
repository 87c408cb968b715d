"""Several processes that make the same shards; their content is tested in tests/api/test_judge_graph.py."""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event, get_ident
from typing import Any

import filelock
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgprobe.answers.callbacks import Callbacks, Stop
from kgprobe.judge import judged_shards
from kgprobe.judge.judged_shards import SHARDS, JudgedShards, Shards, ShardShare, judge_shards
from kgprobe.models.computing import in_turn

SHARDS_OF_TWO = Shards(facts=6, size=2)
ROWS = [[0, 1], [2, 3], [4, 5]]
SECONDS = 10.0
AHEAD = {"ahead": True}


def table(places: range) -> pa.Table:
    return pa.table({"place": list(places)})


def rows(folder: Path) -> list[list[int]]:
    """Return the rows of each shard."""
    return [pq.read_table(file)["place"].to_pylist() for file in sorted((folder / SHARDS).glob("*.parquet"))]


class Maker:
    """One that draws a shard, computes it in the thread that computes, and makes its table."""

    def __init__(self, step: Callable[[str, int], None] = lambda *_: None) -> None:
        self.step = step

    def judge(self, places: range) -> Callable[[], pa.Table]:
        self.step("draw", places.start)
        self._compute(places.start)
        return partial(self._table, places)

    @in_turn
    def _compute(self, first: int) -> None:
        self.step("compute", first)

    def _table(self, places: range) -> pa.Table:
        self.step("write", places.start)
        return table(places)


def judge_in(folder: Path, maker: Maker, *, ahead: bool, **options: Any) -> JudgedShards:
    return judge_shards(folder, {"seed": 0}, SHARDS_OF_TWO, maker.judge, ahead=ahead, **options)


def test_judge_shards_ahead_draws_and_writes_during_computation(tmp_path: Path) -> None:
    begun = {(step, first): Event() for step in ("draw", "write") for first in (0, 2, 4)}
    computed: list[int] = []

    def wait(step: str, first: int) -> None:
        if step == "compute":
            assert get_ident() == main
            assert begun.get(("draw", first + 2), begun["draw", 0]).wait(SECONDS)
            assert begun.get(("write", first - 2), begun["draw", 0]).wait(SECONDS)
            computed.append(first)
        else:
            begun[step, first].set()

    main, done = get_ident(), list[int]()
    judged = judge_in(tmp_path, Maker(wait), ahead=True, callbacks=Callbacks(on_batch=lambda at: done.append(at.done)))
    assert (judged.complete, done, computed) == (True, [2, 4, 6], [0, 2, 4])
    assert rows(tmp_path) == ROWS


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("fault", [("draw", 2), ("compute", 2), ("write", 2), ("write", 4)])
def test_judge_shards_error_keeps_the_shards_before(tmp_path: Path, ahead: bool, fault: tuple[str, int]) -> None:
    def fail(*at: Any) -> None:
        if at == fault:
            raise OSError(*map(str, at))

    with pytest.raises(OSError, match=fault[0]):
        judge_in(tmp_path, Maker(fail), ahead=ahead)
    # The shard that was computed while the one before could not be written, is written.
    ahead_of_it = ROWS[2:] if ahead and fault == ("write", 2) else []
    assert rows(tmp_path) == ROWS[: fault[1] // 2] + ahead_of_it
    assert judge_in(tmp_path, Maker(), ahead=ahead).complete
    assert rows(tmp_path) == ROWS


@pytest.mark.parametrize("ahead", [False, True])
def test_judge_shards_stopped_judging_goes_on(tmp_path: Path, ahead: bool) -> None:
    stop = Callbacks(should_stop=lambda: True)
    for number in range(2):
        assert judge_in(tmp_path, Maker(), ahead=ahead, callbacks=stop).stopped is Stop.ASKED_TO
        assert rows(tmp_path) == ROWS[: number + 1]
        assert not list((tmp_path / SHARDS).glob("*.lock"))
    assert judge_in(tmp_path, Maker(), ahead=ahead, callbacks=stop).complete
    assert rows(tmp_path) == ROWS


@pytest.mark.parametrize("at", [("draw", 2), ("compute", 2), ("write", 0), ("draw", 4)])
def test_judge_shards_killed_process_goes_on(tmp_path: Path, at: tuple[str, int]) -> None:
    def kill(*step: Any) -> None:
        if step == at:
            os._exit(9)

    child = multiprocessing.get_context("fork").Process(target=judge_in, args=(tmp_path, Maker(kill)), kwargs=AHEAD)
    child.start()
    child.join(SECONDS)
    assert child.exitcode == 9
    assert judge_in(tmp_path, Maker(), ahead=True).complete
    assert rows(tmp_path) == ROWS


@pytest.mark.parametrize("ahead", [True, False])
def test_judge_shards_another_process_stopped_before_its_end(
    tmp_path: Path, ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judged_shards, "LOOK_SECONDS", 0.01)
    lock = filelock.FileLock(judged_shards.shard_path(tmp_path, 0).with_suffix(".lock"))
    (tmp_path / SHARDS).mkdir()
    with lock:
        release = Callbacks(on_batch=lambda batch: lock.release() if batch.done == 4 else None)
        assert judge_in(tmp_path, Maker(), ahead=ahead, callbacks=release).complete
    assert rows(tmp_path) == ROWS


@pytest.mark.slow
def test_judge_shards_overlapping_shares_make_each_shard_once(tmp_path: Path) -> None:
    shards = Shards(facts=12, size=2)
    made: list[range] = []
    begun, overtaken = Event(), Event()

    def maker(of_all: bool) -> Callable[[range], pa.Table]:
        def make(places: range) -> Callable[[], pa.Table]:
            made.append(places)
            if of_all and places.start == 0:
                begun.set()
                # Held until the other process has gone on to its next shard.
                assert overtaken.wait(300)
            elif not of_all:
                overtaken.set()
            return partial(table, places)

        return make

    with ThreadPoolExecutor() as pool:
        whole = pool.submit(judge_shards, tmp_path, {"seed": 0}, shards, maker(True))
        assert begun.wait(300)
        half = judge_shards(tmp_path, {"seed": 0}, shards, maker(False), share=ShardShare(1, 2))
        assert whole.result().complete
    assert half.shards_done >= 3
    assert sorted(places.start for places in made) == [0, 2, 4, 6, 8, 10]
    assert rows(tmp_path) == [[n, n + 1] for n in range(0, 12, 2)]
