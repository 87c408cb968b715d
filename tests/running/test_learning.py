"""The learning that a run keeps, against a replay of its answers: exactly the same figures."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgprobe.answers.store import FILE, StoredDraw
from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Fact
from kgprobe.beliefs.register import LEARNERS, SAMPLING_RULES
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.runs import run_folder
from kgprobe.probes.outcome import Verdict
from kgprobe.results.graph_rates import GraphRates, estimate_run
from kgprobe.running import learning
from kgprobe.running.runs import get_run
from tests.beliefs.test_propagation import beliefs_in
from tests.cases import slow_except
from tests.results.test_graph_rates import PEOPLE, RELATIONS, always, ask, load_facts
from tests.running.test_rounds import answers_of, effects_in
from tests.written_source import WrittenSource

pytestmark = pytest.mark.usefixtures("home")


def knows(fact: str) -> Verdict:
    """Facts that cannot be asked and questions without an answer, too; the same for a fact in every run."""
    number = zlib.crc32(fact[::-1].encode()) % 10
    return {0: Verdict.UNASKABLE, 1: Verdict.UNANSWERED}.get(number) or always(fact)


def kept_file(graph: Graph, run: str) -> Path:
    return run_folder(get_run(graph, run)) / learning.LEARNING


def without_replay(graph: Graph, run: str, **options: Any) -> GraphRates | None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(learning, "read_rounds", lambda *_: pytest.fail("rounds were replayed"))
        return estimate_run(graph, run, **options)


def with_replay(graph: Graph, run: str, **options: Any) -> GraphRates | None:
    kept_file(graph, run).unlink(missing_ok=True)
    return estimate_run(graph, run, **options)


def of_run(graph: Graph, run: str) -> Any:
    return beliefs_in(graph, run), effects_in(graph, run), answers_of(graph, run)


@pytest.mark.parametrize("sampling", slow_except(SAMPLING_RULES, ["information"]))
def test_kept_learning_equals_replay_also_after_resume(graph: Graph, sampling: str) -> None:
    load_facts(graph)
    ask(graph, "run", knows, sampling=sampling, rounds=5)
    with pytest.MonkeyPatch.context() as patched:
        # Rounds are read again only by a run that lost its learning.
        patched.setattr(learning, "read_rounds", lambda *_: pytest.fail("rounds were replayed"))
        ask(graph, "run", knows, sampling=sampling, rounds=9)
    ask(graph, "at-once", knows, sampling=sampling, rounds=9)
    kept = without_replay(graph, "run")
    assert kept == with_replay(graph, "run")
    at_once = without_replay(graph, "at-once")
    # Sequential sampling has no inclusion probabilities.
    assert (kept is None) == (at_once is None) == (sampling == "sequential")
    if kept is not None and at_once is not None:
        assert (at_once.overall, at_once.groupings) == (kept.overall, kept.groupings)
    assert of_run(graph, "run") == of_run(graph, "at-once")


def test_killed_run_learns_only_what_was_not_kept(graph: Graph) -> None:
    load_facts(graph)
    ask(graph, "whole", knows, rounds=10)
    ask(graph, "run", knows, rounds=4)
    older = kept_file(graph, "run").read_bytes()
    ask(graph, "run", knows, rounds=7)
    # A killed process keeps nothing; its answers are on disk.
    kept_file(graph, "run").write_bytes(older)
    starts, read = set(), learning.read_rounds

    def heard(path: Path, count: int, start: int) -> Iterator[list[StoredDraw]]:
        starts.add(start)
        return read(path, count, start)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(learning, "read_rounds", heard)
        ask(graph, "run", knows, rounds=10)
    assert starts == {4 * 32}
    assert of_run(graph, "run") == of_run(graph, "whole")
    assert without_replay(graph, "run") == with_replay(graph, "run")


@pytest.mark.parametrize(
    "fault", slow_except(["cut", "other answers", "another version", "other facts"], ["other answers"])
)
def test_learning_of_another_state_is_not_used(graph: Graph, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load_facts(graph)
    ask(graph, "run", knows, rounds=4)
    file = kept_file(graph, "run")
    if fault == "cut":
        file.write_bytes(file.read_bytes()[:-500])
    elif fault == "other answers":
        answers = file.with_name(FILE)
        answers.write_text(answers.read_text().replace('"wrong"', '"right"', 3))
    elif fault == "another version":
        monkeypatch.setattr(learning, "__version__", "0.0")
    else:
        load(graph, WrittenSource(PEOPLE, [Fact("one more", "e1", "r0", "e2")], RELATIONS))
    found = estimate_run(graph, "run")
    assert found == with_replay(graph, "run")
    # The replay was kept.
    assert found == without_replay(graph, "run")


@pytest.mark.parametrize("learner", slow_except(LEARNERS, ["hierarchical"]))
def test_estimate_keeps_what_another_learner_did_not(graph: Graph, learner: str) -> None:
    load_facts(graph)
    ask(graph, "run", sampling="uniform", learner=learner, rounds=4)
    found = estimate_run(graph, "run")
    assert found == without_replay(graph, "run") == with_replay(graph, "run")


@pytest.mark.slow
def test_predictor_is_read_from_its_kept_learning(graph: Graph) -> None:
    load_facts(graph)
    ask(graph, "alike", knows, rounds=6, sampling="uniform", seed=6)
    ask(graph, "run", knows, rounds=4)
    found = estimate_run(graph, "run", predictors=["alike"])
    kept_file(graph, "alike").unlink()
    assert found == estimate_run(graph, "run", predictors=["alike"])


def test_folder_that_cannot_be_written_gives_the_estimate(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    load_facts(graph)
    ask(graph, "run", knows, rounds=2)
    found = with_replay(graph, "run")
    kept_file(graph, "run").unlink()

    def refuse(*_: object) -> None:
        raise KgprobeError("read-only")

    monkeypatch.setattr(learning, "replacing", refuse)
    assert estimate_run(graph, "run") == found
