"""Workers of a Ray cluster: tasks, each done once, also where workers die; a model on them."""

import copy
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.models.generating.generator import Request
from kgprobe.models.model import Model, Models, open_in_worker
from kgprobe.models.on_ray.scorer import WorkerScorer, divide
from kgprobe.models.on_ray.workers import ModelPlan, WorkerModel, Workers
from kgprobe.models.scoring.all_trees import build_all_trees
from kgprobe.models.spec import load_scoring_model
from tests.models.tiny import byte_level, random_model, save_base

pytest.importorskip("ray")

PROMPTS = [f"The capital of country {number} is" for number in range(11)]
NAMES = [["Tokyo", "Kyoto", "", "New York City"][: 1 + number % 4] for number in range(11)]
NO_MODEL = ModelPlan("none", ())


def write_model(folder: Path) -> str:
    """Return a model on disk; its spec."""
    save_base(folder, "gpt2")
    return f"hf:{folder}"


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    os.environ.pop("RAY_ADDRESS", None)
    workers = Workers(2, open_in_worker)
    yield workers
    workers.close()


@pytest.fixture
def on_workers(workers: Workers, spec: str) -> WorkerScorer:
    scorer = load_scoring_model(spec, workers=workers)
    assert isinstance(scorer, WorkerScorer)
    return scorer


@pytest.fixture(scope="module")
def here(spec: str) -> Model:
    return kgprobe.load_model(spec)


def double(number: int, _: WorkerModel) -> int:
    return 2 * number


def die_the_first_time(marker: Path, number: int, _: WorkerModel) -> tuple[int, int]:
    """Kill the worker in the middle of its task; then return the number and the worker's process."""
    if not marker.exists():
        marker.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return number, os.getpid()


def die(_: WorkerModel) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@given(some.lists(some.integers(0, 50)), some.integers(1, 9))
def test_divide_ranges_cover_all_items_once(sizes: list[int], count: int) -> None:
    ranges = divide(sizes, count)
    assert [place for each in ranges for place in range(len(sizes))[each]] == list(range(len(sizes)))
    assert len(ranges) <= count
    assert all(each.start < each.stop for each in ranges)
    # A range has at most an equal share, and one item more.
    sizes = [max(size, 1) for size in sizes]
    assert all(sum(sizes[each]) <= sum(sizes) / count + max(sizes) for each in ranges)


def test_argument_error_reduced_is_equal() -> None:
    error = copy.copy(ArgumentError("device", "is 'x'."))
    assert (type(error), str(error), error.argument) == (ArgumentError, "`device` is 'x'.", "device")


def test_model_behind_api_on_workers_is_refused() -> None:
    with pytest.raises(ArgumentError, match="`ray` is 2; openai:some is behind an API"):
        kgprobe.load_model("openai:some", ray=2)
    with Models(ray=2) as models:
        # A grader may be behind an API.
        assert models.open("openai:grader@http://localhost:1/v1").name.startswith("openai:")
        with pytest.raises(ArgumentError, match="`ray` is 2; openai:some@http://localhost:1/v1 is behind an API"):
            models.open_asked("openai:some@http://localhost:1/v1")


def test_model_object_on_workers_is_refused() -> None:
    tokenizer = byte_level(bos=True)
    model = kgprobe.wrap_model(random_model("gpt2", len(tokenizer)), tokenizer, name="mine")
    with Models(ray=2) as models:
        models.add(model)
        for asked in (model, "mine"):
            with pytest.raises(KgprobeError, match="cannot be a model object; pass its spec"):
                models.open_asked(asked)


def test_workers_without_ray_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(KgprobeError, match=r"Ray is not installed: run .*\[ray\]"):
        kgprobe.load_model("demo", ray=2)


def test_workers_with_too_few_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    # As on a machine with two GPUs.
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 4.0, "GPU": 2.0})
    with pytest.raises(ArgumentError, match="`ray` is 3; each worker needs a GPU, and this machine has 2"):
        Workers(3, open_in_worker).run(NO_MODEL, partial(double, 1))


@pytest.mark.slow
def test_run_all_returns_each_result_once(workers: Workers) -> None:
    results = list(workers.run_all(NO_MODEL, [partial(double, number) for number in range(7)]))
    assert sorted(results) == [(number, 2 * number) for number in range(7)]


@pytest.mark.slow
def test_run_all_worker_killed_in_a_task_is_replaced(workers: Workers, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    tasks = [partial(die_the_first_time, marker, number) for number in range(6)]
    results = dict(workers.run_all(NO_MODEL, tasks))
    assert {task: number for task, (number, _) in results.items()} == {number: number for number in range(6)}
    assert int(marker.read_text()) not in {process for _, process in results.values()}


@pytest.mark.slow
def test_run_task_that_kills_every_worker_is_an_error(workers: Workers) -> None:
    with pytest.raises(KgprobeError, match=r"3 Ray workers in succession died of the same task.*`batch_tokens`"):
        workers.run(NO_MODEL, die)
    assert workers.run(NO_MODEL, partial(double, 4)) == 8


@pytest.mark.slow
def test_score_on_workers_equals_one_process(on_workers: WorkerScorer, here: Model) -> None:
    scorer = here.scorer()
    assert on_workers.describe() == scorer.describe()
    done: list[int] = []
    for options in ({"eos": True}, {"separator": ""}, {"beginnings": [prompt[:9] for prompt in PROMPTS]}):
        shared = on_workers.score(PROMPTS, NAMES, progress=done.append, **options)  # type: ignore[arg-type]
        alone = scorer.score(PROMPTS, NAMES, **options)  # type: ignore[arg-type]
        assert [each.reasons for each in shared] == [each.reasons for each in alone]
        for ours, theirs in zip(shared, alone, strict=True):
            np.testing.assert_allclose(ours.values, theirs.values, atol=1e-5)
    assert sum(done) == 3 * sum(map(len, NAMES))
    assert on_workers.score([], []) == []


@pytest.mark.slow
def test_edges_on_workers_equal_one_process(on_workers: WorkerScorer, here: Model) -> None:
    scorer = here.scorer()
    trees = build_all_trees(scorer.tokenize(PROMPTS, [["Tokyo", "Kyoto"]] * len(PROMPTS)), 256)
    expected = {id(tree): values for tree, values in scorer.edge_log_probabilities(trees)}
    growing = on_workers.growing()
    answers = [
        list(on_workers.edge_log_probabilities(trees)),
        list(growing.edge_log_probabilities(trees[:4])),
        list(growing.edge_log_probabilities(trees)),
    ]
    assert list(map(len, answers)) == [len(trees), 4, len(trees)]
    for tree, values in [*answers[0], *answers[1], *answers[2]]:
        np.testing.assert_allclose(values, expected[id(tree)], atol=1e-5)
    for tree, bounds, _ in on_workers.growing().edge_bounds(trees):
        assert (bounds >= expected[id(tree)] - 1e-4).all()


@pytest.mark.slow
def test_answers_on_workers_equal_one_process(workers: Workers, spec: str, here: Model) -> None:
    model = Model(spec, open_scorer=partial(load_scoring_model, spec, workers=workers))
    assert model.generator().describe() == here.generator().describe()
    requests = [
        Request(prompt, 5, temperature=0.7 * (number % 2), seed=number) for number, prompt in enumerate(PROMPTS)
    ]
    requests.append(Request("word " * 5_000, 5))
    assert model.generator().answer(requests) == here.generator().answer(requests)
    with pytest.raises(KgprobeError, match="in this process; open the model without `ray`"):
        model.local_scorer()


@pytest.mark.slow
def test_load_on_workers_errors_are_those_of_one_process(workers: Workers, tmp_path: Path, spec: str) -> None:
    load = partial(load_scoring_model, workers=workers)
    with pytest.raises(KgprobeError, match=r"absent does not exist"):
        load(f"hf:{tmp_path}/absent")
    with pytest.raises(ArgumentError, match="`device` 'cuda:77' cannot be used") as error:
        load(spec, device="cuda:77")
    assert error.value.argument == "device"


@pytest.mark.slow
def test_load_other_weights_than_elsewhere_is_an_error(workers: Workers, tmp_path: Path) -> None:
    plan = ModelPlan(write_model(tmp_path), (), {"weights": "those of another machine"})
    with pytest.raises(KgprobeError, match=r"on .*, weights is '.*', elsewhere 'those of another machine'"):
        workers.run(plan, partial(double, 1))
