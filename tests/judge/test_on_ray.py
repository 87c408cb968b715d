"""A judged graph by workers of a Ray cluster on this machine: the same shards, also where a worker is killed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import kgprobe
from kgprobe.answers.callbacks import Callbacks
from kgprobe.base.errors import KgprobeError
from kgprobe.graph.ingest import load
from kgprobe.graph.servers.opening import open_graph
from kgprobe.judge import judged_shards
from kgprobe.models.model import wrap_model
from tests.api.judged_world import judge_world, rows_of, small_shards, world, write_judge, write_model

pytest.importorskip("ray")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with small_shards():
        yield


@pytest.mark.slow
def test_workers_make_the_same_shards(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_a_worker() -> None:
        workers = [
            one for one in psutil.process_iter(["cmdline"]) if "ModelWorker" in " ".join(one.info["cmdline"] or [])
        ]
        if workers and not killed:
            killed.append(workers[0].pid)
            os.kill(workers[0].pid, signal.SIGKILL)

    with open_graph(tmp_path / "graph") as graph:
        load(graph, world())
        judge = write_judge(graph, write_model(tmp_path / "model"), tmp_path / "judge")
        whole, shards = judge_world(graph, judge, name="whole")
        callbacks = Callbacks(on_batch=lambda _: kill_a_worker())
        folder, by_workers = judge_world(graph, judge, name="workers", ray=2, callbacks=callbacks)
        assert killed
        assert by_workers == shards
        assert rows_of(folder).equals(rows_of(whole))
        # Nothing is left: no cluster is begun.
        assert judge_world(graph, judge, name="workers", ray=2)[1].complete
        handed = wrap_model(*_opened(judge.answers_of))
        with pytest.raises(KgprobeError, match="cannot be a model object"):
            kgprobe.judge_graph(graph, judge, name="other", model=handed, ray=2)
    assert judged_shards.shard_path(folder, 0).exists()


def _opened(spec: str):  # type: ignore[no-untyped-def]
    scorer = kgprobe.load_model(spec).local_scorer()
    return scorer.model, scorer.tokenizer
