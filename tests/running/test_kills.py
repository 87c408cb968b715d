"""Runs that are killed in each of their phases: each answer counts once, as if nothing had happened."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.graph import driver
from kgprobe.graph.client import Graph
from kgprobe.graph.servers.opening import open_graph
from kgprobe.running.rounds import show_run
from kgprobe.running.runs import forget_run, get_run
from tests.beliefs.test_propagation import beliefs_in
from tests.cases import slow_except
from tests.conftest import require_engine
from tests.kills import Moment, ending_at, kill_child, kill_server
from tests.running.held_beliefs import assert_holds
from tests.running.killed_run import begin_or_go_on
from tests.running.test_rounds import answers_of, effects_in, load_graph

pytestmark = pytest.mark.usefixtures("home")

ROUNDS = 14

# In the second round of each process: the first is what it goes on from.
SHARED = [
    Moment("before", "beliefs/begin_run"),
    Moment("committed", "beliefs/begin_run"),
    Moment("unasked", times=2),
    Moment("unwritten", times=2),
    Moment("torn", times=2),
    Moment("written", times=2),
    Moment("before", "beliefs/guard_round", times=2),
    Moment("after", "beliefs/guard_round", times=2),
    Moment("after", "beliefs/apply", times=2),
]
COMMITTED = Moment("committed", "beliefs/apply", times=2)
PHASES = {
    "propagation": [
        *SHARED,
        Moment("after", "beliefs/propagate", times=2),
        Moment("after", "beliefs/hubs", times=2),
        COMMITTED,
    ],
    "hierarchical": [
        *SHARED,
        Moment("after", "beliefs/learned", times=2),
        Moment("after", "beliefs/effects", times=2),
        COMMITTED,
    ],
}


def of_run(graph: Graph, run: str) -> dict[str, Any]:
    """Return all that is kept of a run, in the graph and in its folder."""
    counts = {name: get_run(graph, run)[name] for name in ("round", "rounds", "asked", "unaskable", "unanswered")}
    return {
        "counts": counts,
        "beliefs": beliefs_in(graph, run),
        "effects": effects_in(graph, run),
        "answers": answers_of(graph, run),
    }


@pytest.mark.slow
@pytest.mark.parametrize("learner", PHASES)
@pytest.mark.parametrize("batch", [None, 8])
def test_run_killed_in_any_phase_counts_answers_once(graph: Graph, home: Path, learner: str, batch: int | None) -> None:
    load_graph(graph)
    begin_or_go_on(graph, "undisturbed", ROUNDS, learner=learner)
    reached = []
    for phase in PHASES[learner]:
        killed = partial(begin_or_go_on, run="killed", rounds=ROUNDS, learner=learner, batch=batch)
        kill_child(graph.endpoint, home, killed, phase)
        runs = graph.read("beliefs/run", id="killed")
        reached.append(runs[0]["run"]["round"] if runs else None)
    # One round a process, and two where the second had been committed; or in the background, while the next is asked.
    assert batch or reached == [None, 0, *range(1, 10), 11]
    assert begin_or_go_on(graph, "killed", ROUNDS, learner=learner, batch=batch) == "done"
    assert of_run(graph, "killed") == of_run(graph, "undisturbed")
    assert bool(of_run(graph, "killed")["effects"]) == (learner == "hierarchical")


# The first three were written with the rounds.
LAST_BELIEFS = Moment("before", "beliefs/summarize", times=4)


@pytest.mark.slow
@pytest.mark.parametrize("finish", ["resumed", "shown"])
def test_run_killed_at_last_beliefs_writes_them_later(graph: Graph, home: Path, finish: str) -> None:
    load_graph(graph)
    begin_or_go_on(graph, "undisturbed", 3, learner="hierarchical")
    again = partial(begin_or_go_on, run="killed", rounds=3, learner="hierarchical")
    kill_child(graph.endpoint, home, again, LAST_BELIEFS)
    assert of_run(graph, "killed") != of_run(graph, "undisturbed")
    if finish == "shown":
        show_run(graph, "killed")
        assert_holds(graph, "killed")
    else:
        kill_child(graph.endpoint, home, again, Moment("committed", "beliefs/effects", times=1))
        assert again(graph) == "done"
    assert of_run(graph, "killed") == of_run(graph, "undisturbed")


FORGETTING = [
    Moment("after", "beliefs/forget_run"),
    Moment("committed", "beliefs/forget_run"),
    Moment("after", "beliefs/forget_beliefs"),
    Moment("committed", "beliefs/forget_beliefs"),
    Moment("committed", "beliefs/forget_effects"),
]


@pytest.mark.parametrize("moment", slow_except(FORGETTING, FORGETTING[1:2]), ids=str)
def test_half_deleted_run_leaves_nothing_to_the_next(graph: Graph, home: Path, moment: Moment) -> None:
    load_graph(graph)
    begin_or_go_on(graph, "undisturbed", 2, learner="hierarchical")
    begin_or_go_on(graph, "forgotten", 3, learner="hierarchical")
    kill_child(graph.endpoint, home, partial(forget_run, run="forgotten"), moment)
    if graph.read("beliefs/run", id="forgotten"):
        forget_run(graph, "forgotten")
    begin_or_go_on(graph, "forgotten", 2, learner="hierarchical")
    assert of_run(graph, "forgotten") == of_run(graph, "undisturbed")


SERVER_PHASES = [
    Moment("after", "beliefs/propagate", times=2),
    Moment("committed", "beliefs/apply", times=2),
    Moment("after", "beliefs/guard_round", times=2),
    Moment("written", times=2),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "phases"),
    [
        ("arcadedb", SERVER_PHASES[:1]),
        ("arcadedb", SERVER_PHASES[1:]),
        ("neo4j", SERVER_PHASES[:1]),
    ],
)
def test_run_whose_server_is_killed_counts_each_answer_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, phases: list[Moment]
) -> None:
    require_engine(engine)
    monkeypatch.setattr(driver, "RETRY_SECONDS", 1.0)
    folder = tmp_path / "graph"
    rounds = 2 * len(phases) + 2
    for phase in phases:
        with open_graph(folder, engine=engine, memory=512) as graph:
            if phase is phases[0]:
                load_graph(graph)
                begin_or_go_on(graph, "undisturbed", rounds)
            # What was committed already is told when the next round needs the server.
            with ending_at(phase, partial(kill_server, folder)), pytest.raises(KgprobeError, match="does not answer"):
                begin_or_go_on(graph, "killed", rounds)
    with open_graph(folder) as graph:
        assert begin_or_go_on(graph, "killed", rounds) == "done"
        assert of_run(graph, "killed") == of_run(graph, "undisturbed")
