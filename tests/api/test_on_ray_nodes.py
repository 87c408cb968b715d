"""Measurements, runs and judged graphs on a Ray cluster of two nodes, one of which is killed: the same answers."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kgprobe
from kgprobe.answers.callbacks import Callbacks
from kgprobe.base.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.runs import read_beliefs
from kgprobe.graph.servers.opening import open_graph
from kgprobe.models.model import Models
from tests.api.judged_world import judge_world, rows_of, small_shards, world, write_judge, write_model
from tests.api.test_on_ray import AS_OF, assert_equal_outcomes
from tests.models.on_ray.nodes import ray_nodes

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def kill_node() -> Iterator[Callable[[], None]]:
    with ray_nodes(2) as kill:
        yield kill


def at_call(number: int, kill: Callable[[], None]) -> tuple[Callable[[object], None], list[bool]]:
    """Return a callback that kills at one of its calls, and a list with an item after that."""
    calls: list[object] = []
    killed: list[bool] = []

    def count(call: object) -> None:
        calls.append(call)
        if len(calls) == number:
            kill()
            killed.append(True)

    return count, killed


def test_measure_with_a_killed_node_equals_one_process(
    example_graph: Graph, spec: str, kill_node: Callable[[], None]
) -> None:
    how = {"limit": 24, "as_of": AS_OF, "batch_size": 6, "distractors": 4, "sentences": 2}
    on_part, killed = at_call(3, kill_node)
    with Models(ray=2) as models:
        shared = kgprobe.measure(
            example_graph,
            spec,
            "distractors",
            name="shared",
            models=models,
            callbacks=Callbacks(on_part=on_part),
            **how,
        )
    alone = kgprobe.measure(example_graph, spec, "distractors", name="alone", **how)
    assert killed
    assert_equal_outcomes(list(shared.outcomes), list(alone.outcomes))
    assert len({outcome.fact for outcome in shared.outcomes}) == 24


def test_run_with_a_killed_node_equals_one_process(
    example_graph: Graph, spec: str, kill_node: Callable[[], None]
) -> None:
    how = {"facts_per_round": 8, "distractors": 3, "as_of": AS_OF, "seed": 3, "rounds": 5}
    on_part, killed = at_call(5, kill_node)
    with Models(ray=2) as models:
        shared = kgprobe.run_rounds(
            example_graph, spec, name="shared", models=models, callbacks=Callbacks(on_part=on_part), **how
        )
    alone = kgprobe.run_rounds(example_graph, spec, name="alone", **how)
    assert killed
    assert_equal_outcomes(list(shared.outcomes), list(alone.outcomes))
    facts = sorted({outcome.fact.fact for outcome in alone.outcomes})
    assert read_beliefs(example_graph, "shared", facts) == read_beliefs(example_graph, "alone", facts)
    for name in ("shared", "alone"):
        kgprobe.delete(name, example_graph)


def test_judge_with_a_killed_node_equals_one_process(
    home: Path, tmp_path: Path, spec: str, kill_node: Callable[[], None]
) -> None:
    on_batch, killed = at_call(1, kill_node)
    with small_shards(), open_graph(tmp_path / "graph") as graph:
        load(graph, world())
        judge = write_judge(graph, spec, tmp_path / "judge")
        whole, shards = judge_world(graph, judge, name="whole")
        # As on a machine that does not share the disk.
        hide = Callbacks(on_start=lambda _: shutil.rmtree(home / "columns"))
        with pytest.raises(
            KgprobeError, match=r"On .* of the Ray cluster.* does not exist\. Put KGPROBE_HOME on a disk"
        ):
            judge_world(graph, judge, name="hidden", ray=2, callbacks=hide)
        folder, by_nodes = judge_world(graph, judge, name="nodes", ray=2, callbacks=Callbacks(on_batch=on_batch))
    assert killed
    assert by_nodes == shards
    assert rows_of(folder).equals(rows_of(whole))
