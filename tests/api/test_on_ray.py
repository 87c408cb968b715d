"""Measurements and runs by workers of a Ray cluster: the same answers as in one process, also where workers die."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import psutil
import pytest

import kgprobe
from kgprobe.answers.callbacks import Callbacks
from kgprobe.graph.client import Graph
from kgprobe.graph.runs import read_beliefs
from kgprobe.models.model import Models
from kgprobe.probes.outcome import Outcome
from tests.api.judged_world import write_model

pytest.importorskip("ray")
# Two processes load a model each, on a machine that may be busy.
pytestmark = [pytest.mark.slow]

AS_OF = "2024"


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def on_workers(spec: str) -> Iterator[Models]:
    os.environ.pop("RAY_ADDRESS", None)
    with Models(ray=2) as models:
        models.open_asked(spec).scorer()
        yield models


def processes_of_workers() -> list[int]:
    """Processes of idle and busy workers that this process started."""
    workers = []
    for child in psutil.Process().children(recursive=True):
        # A process can end between being listed and being read.
        with suppress(psutil.NoSuchProcess):
            if "ModelWorker" in " ".join(child.cmdline()):
                workers.append(child.pid)
    return workers


class Killer:
    """Callbacks that kill one of two workers once, when a part of a batch is answered."""

    def __init__(self) -> None:
        # On a busy machine, one worker could answer everything before the other one has started.
        while len(processes_of_workers()) < 2:
            time.sleep(0.1)
        self.killed: list[int] = []
        self.callbacks = Callbacks(on_part=lambda _: self._kill())

    def _kill(self) -> None:
        if not self.killed and len(workers := processes_of_workers()) == 2:
            os.kill(workers[0], signal.SIGKILL)
            self.killed.append(workers[0])


def assert_equal_outcomes(outcomes: list[Outcome], expected: list[Outcome]) -> None:
    """Everything is equal, log-probabilities apart from rounding."""
    assert [outcome.fact for outcome in outcomes] == [outcome.fact for outcome in expected]
    assert [outcome.verdict for outcome in outcomes] == [outcome.verdict for outcome in expected]
    for outcome, other in zip(outcomes, expected, strict=True):
        assert_close(*(msgspec.to_builtins(each, enc_hook=np.ndarray.tolist) for each in (outcome, other)))


def assert_close(value: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert value.keys() == expected.keys()
        for name in expected:
            assert_close(value[name], expected[name])
    elif isinstance(expected, list | tuple):
        assert len(value) == len(expected)
        for one, other in zip(value, expected, strict=True):
            assert_close(one, other)
    elif isinstance(expected, float):
        assert value == pytest.approx(expected, abs=1e-5, rel=1e-6)
    else:
        assert value == expected


@pytest.mark.parametrize(
    ("probe", "options"),
    [
        ("distractors", {"distractors": 4, "sentences": 2}),
        ("distractors", {"distractors": 3, "strategy": "approximate-optimal"}),
        ("questions", {}),
        ("examples", {"examples": 3, "choices": 4}),
    ],
)
def test_measure_on_workers_equals_one_process(
    example_graph: Graph, spec: str, on_workers: Models, probe: str, options: dict[str, Any]
) -> None:
    how = {"limit": 24, "as_of": AS_OF, "batch_size": 8, **options}
    killer = Killer()
    shared = kgprobe.measure(
        example_graph, spec, probe, name="shared", models=on_workers, callbacks=killer.callbacks, **how
    )
    alone = kgprobe.measure(example_graph, spec, probe, name="alone", **how)
    assert killer.killed
    assert shared.complete
    assert shared.progress == alone.progress
    assert_equal_outcomes(list(shared.outcomes), list(alone.outcomes))
    # Workers are no part of the identity: the same call without them returns the same result.
    assert shared.config == alone.config
    again = kgprobe.measure(example_graph, spec, probe, name="shared", **how)
    assert list(map(repr, again.outcomes)) == list(map(repr, shared.outcomes))


def test_run_on_workers_equals_one_process(example_graph: Graph, spec: str, on_workers: Models) -> None:
    how = {"facts_per_round": 8, "distractors": 3, "as_of": AS_OF, "seed": 3}
    alone = kgprobe.run_rounds(example_graph, spec, name="alone", rounds=10, **how)
    killer = Killer()
    # Begun on workers, continued without them, and finished on workers.
    kgprobe.run_rounds(
        example_graph, spec, name="shared", rounds=4, models=on_workers, callbacks=killer.callbacks, **how
    )
    kgprobe.resume_rounds(example_graph, "shared", rounds=5)
    shared = kgprobe.resume_rounds(example_graph, "shared", rounds=10, models=on_workers)
    assert killer.killed
    assert (shared.report.rounds, shared.report.asked) == (10, alone.report.asked)
    assert_equal_outcomes(list(shared.outcomes), list(alone.outcomes))
    facts = sorted({outcome.fact.fact for outcome in alone.outcomes})
    assert read_beliefs(example_graph, "shared", facts) == read_beliefs(example_graph, "alone", facts)
    ours, theirs = (kgprobe.estimate_rates(example_graph, name).rows() for name in ("shared", "alone"))
    assert ours == theirs
    for name in ("shared", "alone"):
        kgprobe.delete(name, example_graph)


@pytest.mark.parametrize("probe", ["examples", "generation"])
def test_probe_dataset_on_workers_equals_one_process(
    example_graph: Graph, spec: str, on_workers: Models, tmp_path: Path, probe: str
) -> None:
    folder = tmp_path / "set"
    kgprobe.build_dataset(example_graph, folder, min_facts=50, train=10, test=30, alternatives=9, relations=["P36"])
    how = {"limit": 20, "batch_size": 8, "examples": 2}
    killer = Killer()
    shared = kgprobe.probe_dataset(
        folder, spec, probe, name="shared", models=on_workers, callbacks=killer.callbacks, **how
    )
    alone = kgprobe.probe_dataset(folder, spec, probe, name="alone", **how)
    assert killer.killed
    assert shared.complete
    assert_equal_outcomes(list(shared.outcomes), list(alone.outcomes))
