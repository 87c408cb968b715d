"""Shards are read as they were written: all rows, in order, whatever the size of a batch."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.judge.judged_facts import SCHEMA, read_judged_graph, stream_judged_facts
from kgprobe.judge.judged_shards import missing_shards, shard_path
from tests.judge.judged_files import judged, write_judged_graph


def rows_of(count: int) -> list[dict[str, Any]]:
    return [judged(f"f{number}", number % 3, [(number + 1) % 3, 1][: number % 3]) for number in range(count)]


@pytest.mark.parametrize("batch", [1, 3, 7, 100])
def test_rows_come_as_they_were_written(tmp_path: Path, batch: int) -> None:
    rows = rows_of(20)
    write_judged_graph(tmp_path, rows, shards=3)
    config = read_judged_graph(tmp_path)
    assert (config.facts, config.shards, missing_shards(tmp_path, range(config.shards))) == (20, 3, [])
    read = [batch.to_pylist() for batch in stream_judged_facts(tmp_path, range(3), SCHEMA.names, rows=batch)]
    assert [row for part in read for row in part] == rows
    assert max(map(len, read)) <= batch
    some = list(stream_judged_facts(tmp_path, range(3), ["judgement", "fact"], rows=batch))
    assert {tuple(batch.schema.names) for batch in some} == {("judgement", "fact")}


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    write_judged_graph(tmp_path, rows_of(10), shards=4)
    shard_path(tmp_path, 1).unlink()
    shard_path(tmp_path, 3).unlink()
    assert missing_shards(tmp_path, range(4)) == [1, 3]


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(KgprobeError, match="There is no judged graph"):
        read_judged_graph(tmp_path)
    write_judged_graph(tmp_path, rows_of(4), shards=2)
    shard_path(tmp_path, 0).write_bytes(b"PAR1 and no more")
    with pytest.raises(KgprobeError, match=r"00000\.parquet cannot be read"):
        list(stream_judged_facts(tmp_path, [0], ["fact"]))
    pq.write_table(pa.table({"fact": ["f"], "judgement": pa.array([0], pa.int64())}), shard_path(tmp_path, 1))
    with pytest.raises(KgprobeError, match="judgement is int64, expected int8"):
        list(stream_judged_facts(tmp_path, [1], ["fact", "judgement"]))
    with pytest.raises(KgprobeError, match="text is missing, expected string"):
        list(stream_judged_facts(tmp_path, [1], ["text"]))
