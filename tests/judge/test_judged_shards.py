"""Several processes that make the same shards; their content is tested in tests/api/test_judge_graph.py."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgprobe.judge.judged_shards import SHARDS, Shards, ShardShare, judge_shards


@pytest.mark.slow
def test_judge_shards_overlapping_shares_make_each_shard_once(tmp_path: Path) -> None:
    shards = Shards(facts=12, size=2)
    made: list[range] = []
    begun, overtaken = Event(), Event()

    def maker(of_all: bool) -> Callable[[range], pa.Table]:
        def make(places: range) -> pa.Table:
            made.append(places)
            if of_all and places.start == 0:
                begun.set()
                # Held until the other process has gone on to its next shard.
                assert overtaken.wait(300)
            elif not of_all:
                overtaken.set()
            return pa.table({"place": list(places)})

        return make

    with ThreadPoolExecutor() as pool:
        whole = pool.submit(judge_shards, tmp_path, {"seed": 0}, shards, maker(True))
        assert begun.wait(300)
        half = judge_shards(tmp_path, {"seed": 0}, shards, maker(False), share=ShardShare(1, 2))
        assert whole.result().complete
    assert half.shards_done >= 3
    assert sorted(places.start for places in made) == [0, 2, 4, 6, 8, 10]
    files = sorted((tmp_path / SHARDS).iterdir())
    assert [pq.read_table(file)["place"].to_pylist() for file in files] == [[n, n + 1] for n in range(0, 12, 2)]
