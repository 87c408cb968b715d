"""Whole runs: repeatable, resumable, and exact under SIGKILL at any moment."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgprobe.beliefs.rounds import Plan, begin_run, get_run, read_beliefs, run_rounds
from kgprobe.beliefs.trail import read_trail
from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.folder import Folder
from kgprobe.graph.ingest import load
from kgprobe.graph.server import lease
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.facts import askable_facts
from tests.beliefs.graphs import random_graph
from tests.beliefs.killed_run import AS_OF, SEED, HashProbe
from tests.beliefs.test_propagation import beliefs_in
from tests.written_source import WrittenSource

ROUNDS = 12


def load_graph(graph: Graph, entities: int = 40, facts: int = 300) -> None:
    people, edges, relations = random_graph(entities, facts, seed=9)
    load(graph, WrittenSource(people, edges, relations))


def plan_for(run: str, **changes: Any) -> Plan:
    return Plan(run, **{"rounds": ROUNDS, "batch": 8, "seed": SEED, "as_of": AS_OF} | changes)


def whole_run(graph: Graph, run: str, folder: Path, **changes: Any) -> None:
    probe = HashProbe(graph)
    plan = plan_for(run, **changes)
    begin_run(graph, probe, plan)
    run_rounds(graph, probe, plan, folder)


def test_the_same_seed_gives_the_same_run_and_another_does_not(graph: Graph, tmp_path: Path) -> None:
    load_graph(graph)
    whole_run(graph, "one", tmp_path / "one")
    whole_run(graph, "two", tmp_path / "two")
    whole_run(graph, "three", tmp_path / "three", seed=SEED + 1)
    assert beliefs_in(graph, "one") == beliefs_in(graph, "two")
    assert beliefs_in(graph, "one") != beliefs_in(graph, "three")
    assert list(read_trail(tmp_path / "one")) == list(read_trail(tmp_path / "two"))


def test_own_answers_add_up_to_what_was_asked(graph: Graph, tmp_path: Path) -> None:
    load_graph(graph)
    whole_run(graph, "run", tmp_path)
    found = beliefs_in(graph, "run")
    assert sum(right + wrong for _, _, right, wrong in found.values()) == ROUNDS * 8 == get_run(graph, "run")["asked"]
    answers = [(outcome["fact"], outcome["verdict"]) for outcome in read_trail(tmp_path)]
    assert len(answers) == ROUNDS * 8
    for fact, (_, _, right, wrong) in found.items():
        assert (answers.count((fact, "right")), answers.count((fact, "wrong"))) == (right, wrong)


def test_what_is_remembered_in_a_run_is_what_the_graph_holds(graph: Graph, tmp_path: Path) -> None:
    load_graph(graph)
    whole_run(graph, "run", tmp_path)
    keys = askable_facts(graph, ["r0", "r1"], AS_OF)
    read = read_beliefs(graph, "run", keys)
    assert {
        keys[int(position)].fact: (alpha, beta)
        for position, alpha, beta in zip(read.positions, read.alpha, read.beta, strict=True)
    } == {fact: values[:2] for fact, values in beliefs_in(graph, "run").items()}


def test_a_run_in_two_parts_is_a_run_in_one(graph: Graph, tmp_path: Path) -> None:
    load_graph(graph)
    whole_run(graph, "whole", tmp_path / "whole")
    probe = HashProbe(graph)
    plan = plan_for("parts")
    begin_run(graph, probe, plan)
    done = []
    report = run_rounds(
        graph, probe, plan, tmp_path / "parts", on_round=done.append, should_stop=lambda: len(done) == 5
    )
    assert (report.stopped, report.rounds) == ("asked to", 5)
    report = run_rounds(graph, HashProbe(graph), plan, tmp_path / "parts")
    assert (report.stopped, report.rounds) == ("done", ROUNDS)
    assert beliefs_in(graph, "parts") == beliefs_in(graph, "whole")
    assert list(read_trail(tmp_path / "parts")) == list(read_trail(tmp_path / "whole"))


class UnaskableProbe(HashProbe):
    """Cannot ask anything about facts of the relation r0."""

    def ask(self, facts: Any, seed: Any) -> list[Outcome]:
        return [
            Outcome(fact, Verdict.UNASKABLE, reason="r0 is not for asking") if " r0 " in fact.fact else outcome
            for fact, outcome in zip(facts, super().ask(facts, seed), strict=True)
        ]


def test_what_cannot_be_asked_is_neither_right_nor_wrong_and_not_asked_again(graph: Graph, tmp_path: Path) -> None:
    load_graph(graph, facts=60)
    probe = UnaskableProbe(graph)
    plan = plan_for("run", rounds=40)
    begin_run(graph, probe, plan)
    report = run_rounds(graph, probe, plan, tmp_path)
    outcomes = list(read_trail(tmp_path))
    unaskable = [outcome["fact"] for outcome in outcomes if outcome["verdict"] == "unaskable"]
    assert len(unaskable) == len(set(unaskable)) == report.unaskable > 0
    found = beliefs_in(graph, "run")
    assert all(found[fact][2:] == (0, 0) for fact in unaskable)
    assert get_run(graph, "run")["unaskable"] == len(unaskable)


def test_a_run_ends_when_nothing_is_left(graph: Graph, tmp_path: Path) -> None:
    load_graph(graph, facts=20)

    class Nothing(HashProbe):
        def ask(self, facts: Any, seed: Any) -> list[Outcome]:  # noqa: ARG002
            return [Outcome(fact, Verdict.UNASKABLE, reason="nothing to say") for fact in facts]

    probe = Nothing(graph)
    plan = plan_for("run", rounds=1000)
    begin_run(graph, probe, plan)
    report = run_rounds(graph, probe, plan, tmp_path)
    assert report.stopped == "nothing left to ask"
    assert (report.asked, report.unaskable) == (0, report.facts)


def test_mistakes_are_told(graph: Graph, tmp_path: Path) -> None:
    load_graph(graph, facts=20)
    probe = HashProbe(graph)
    begin_run(graph, probe, plan_for("run"))
    with pytest.raises(KgprobeError, match="There is a run 'run' already"):
        begin_run(graph, probe, plan_for("run"))
    with pytest.raises(UnknownNameError, match="There is no run 'other' in this graph; there are: run"):
        get_run(graph, "other")

    class Another(HashProbe):
        def describe(self) -> dict[str, Any]:
            return {"model": "another", "chance": None}

    with pytest.raises(KgprobeError, match="was begun with"):
        run_rounds(graph, Another(graph), plan_for("run"), tmp_path)


@pytest.fixture
def own_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Graph, str]]:
    """An embedded graph that other processes can open, which runs as long as the test."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "graph"
    with lease(Folder(folder)) as endpoint, Graph(endpoint) as graph:
        load_graph(graph)
        yield graph, str(folder)


def test_killed_twenty_times_each_answer_counts_once(own_graph: tuple[Graph, str], tmp_path: Path) -> None:
    graph, folder = own_graph
    rounds = 60
    whole_run(graph, "undisturbed", tmp_path / "undisturbed", rounds=rounds)
    script = Path(__file__).parent / "killed_run.py"
    generator = random.Random(4)
    kills = 0
    reached = []
    while kills < 20:
        process = subprocess.Popen(
            [sys.executable, str(script), folder, "killed", str(rounds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert process.stdout is not None
        # Killed at a random point of the first rounds after it has got to work, transactions and file writes included.
        first = process.stdout.readline()
        for _ in range(generator.randrange(2)):
            process.stdout.readline()
        time.sleep(generator.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        kills += 1
        reached.append(int(first) if first.strip().isdigit() else rounds)
    assert np.ptp(reached) > 0
    finished = subprocess.run(
        [sys.executable, str(script), folder, "killed", str(rounds)], capture_output=True, text=True, check=True
    )
    assert finished.stdout.splitlines()[-1] == "done"
    assert beliefs_in(graph, "killed") == beliefs_in(graph, "undisturbed")
    home = tmp_path / "home" / "runs" / "killed"
    assert list(read_trail(home)) == list(read_trail(tmp_path / "undisturbed"))
    run = get_run(graph, "killed")
    assert (run["round"], run["asked"]) == (rounds, rounds * 8)
