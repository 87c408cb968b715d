"""Whole runs: repeatable, resumable, and exact under SIGKILL at any moment."""

import json
import re
import stat
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from kgprobe.answers.callbacks import Callbacks, Stop
from kgprobe.answers.store import FILE
from kgprobe.api import rounds as library
from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.beliefs.register import LEARNERS, SAMPLING_RULES, learners_for
from kgprobe.beliefs.summary import summarize
from kgprobe.graph.client import Graph, Transaction
from kgprobe.graph.ingest import load
from kgprobe.graph.runs import list_runs, run_folder
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.running.count_learner import read_beliefs
from kgprobe.running.plan import Plan, plan_of
from kgprobe.running.rounds import RunReport, continue_run
from kgprobe.running.runs import begin_run, forget_run, get_run
from kgprobe.sampling.columns.graph_columns import AskableFacts, FactsById, open_columns
from kgprobe.sampling.keys import FactKey
from tests.beliefs.graphs import random_graph
from tests.beliefs.test_propagation import beliefs_in
from tests.cases import slow_except
from tests.results.found import find_in_run
from tests.running.killed_run import AS_OF, SEED, HashProbe, make_plan
from tests.written_source import WrittenSource

pytestmark = pytest.mark.usefixtures("home")

ROUNDS = 6


def load_graph(graph: Graph, entities: int = 40, facts: int = 300) -> None:
    people, edges, relations = random_graph(entities, facts, seed=9)
    load(graph, WrittenSource(people, edges, relations))


def plan_for(run: str, **changes: Any) -> Plan:
    return make_plan(run, **{"rounds": ROUNDS, "facts_per_round": 8} | changes)


def lines_in(folder: Path) -> list[dict[str, Any]]:
    """Return what stands in a run's file, as it stands there."""
    return [json.loads(line) for line in (folder / FILE).read_text(encoding="utf-8").splitlines()]


def answers_of(graph: Graph, run: str) -> list[dict[str, Any]]:
    return lines_in(run_folder(get_run(graph, run)))


def effects_in(graph: Graph, run: str) -> dict[str, tuple[float, float]]:
    """Return what the parts of facts have heard of a run's answers, by kind and id."""
    text = """
    MATCH (e:KgprobeEffect {run: $run})
    RETURN e.kind + ' ' + e.of AS of, e.precision AS precision, e.shift AS shift
    """
    return {row["of"]: (row["precision"], row["shift"]) for row in graph.run_text(text, {"run": run})[1]}


def run_rounds(graph: Graph, probe: HashProbe, plan: Plan, **callbacks: Any) -> RunReport:
    return continue_run(graph, probe, plan, Callbacks(**callbacks))


def whole_run(graph: Graph, run: str, **changes: Any) -> None:
    probe = HashProbe(graph)
    plan = plan_for(run, **changes)
    begin_run(graph, probe, plan, "hash")
    run_rounds(graph, probe, plan)


@pytest.mark.parametrize("learner", slow_except(LEARNERS, ["hierarchical"]))
def test_same_seed_gives_the_same_run_and_another_does_not(graph: Graph, learner: str) -> None:
    load_graph(graph)
    whole_run(graph, "one", learner=learner)
    whole_run(graph, "two", learner=learner)
    whole_run(graph, "three", learner=learner, seed=SEED + 1)
    assert beliefs_in(graph, "one") == beliefs_in(graph, "two")
    assert effects_in(graph, "one") == effects_in(graph, "two")
    assert beliefs_in(graph, "one") != beliefs_in(graph, "three")
    assert (answers_of(graph, "one")) == (answers_of(graph, "two"))


@pytest.mark.parametrize("learner", slow_except(LEARNERS, ["hierarchical"]))
def test_batches_ahead_leave_a_run_as_it_is(graph: Graph, learner: str) -> None:
    load_graph(graph)
    whole_run(graph, "whole", learner=learner)
    parts: list[list[float]] = [[]]
    probe, plan = HashProbe(graph), plan_for("ahead", learner=learner)
    begin_run(graph, probe, plan, "hash")
    callbacks = Callbacks(on_part=lambda facts: parts[-1].append(facts), on_batch=lambda _: parts.append([]))
    continue_run(graph, probe, plan, callbacks, batch=3)
    assert answers_of(graph, "ahead") == answers_of(graph, "whole")
    assert beliefs_in(graph, "ahead") == beliefs_in(graph, "whole")
    assert effects_in(graph, "ahead") == effects_in(graph, "whole")
    # A round has progress once the one before it is written.
    assert parts[0] == [*range(1, 9)]
    assert [len(part) for part in parts if part != [*range(9 - len(part), 9)]] == []
    assert len(parts) == ROUNDS + 1


class ThirdRoundProbe(HashProbe):
    """One that notes when it is asked the third round, and can fail then."""

    def __init__(self, graph: Graph, *, fails: bool) -> None:
        super().__init__(graph)
        self.asked, self.fails = Event(), fails

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        if seed[1] == 3:
            self.asked.set()
            if self.fails:
                raise ValueError("round 3")
        return super().ask(facts, seed)


@pytest.mark.parametrize(("end", "learner"), [("stop", "propagation"), ("fault", "hierarchical")])
def test_round_is_written_while_the_next_is_asked(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, end: str, learner: str
) -> None:
    load_graph(graph)
    whole_run(graph, "whole", learner=learner)
    probe, plan = ThirdRoundProbe(graph, fails=end == "fault"), plan_for("run", learner=learner)
    run, rounds = Transaction.run, count(1)

    def run_later(transaction: Transaction, query: str, **parameters: Any) -> Any:
        if query == "beliefs/summarize" and next(rounds) == 2:
            assert probe.asked.wait(10)
        return run(transaction, query, **parameters)

    monkeypatch.setattr(Transaction, "run", run_later)
    begin_run(graph, probe, plan, "hash")
    reported: list[int] = []
    callbacks = Callbacks(
        on_batch=lambda batch: reported.append(batch.done), should_stop=lambda: end == "stop" and reported[-1] == 2
    )
    if end == "stop":
        report = continue_run(graph, probe, plan, callbacks, batch=3)
        assert (report.stopped, report.rounds, report.asked) == (Stop.ASKED_TO, 2, 16)
    else:
        with pytest.raises(ValueError, match="round 3"):
            continue_run(graph, probe, plan, callbacks, batch=3)
    # The second round was written after the third had been asked, which does not count.
    assert reported == [1, 2]
    assert probe.asked.is_set()
    assert (get_run(graph, "run")["round"], len(answers_of(graph, "run"))) == (2, 16)
    assert run_rounds(graph, HashProbe(graph), plan).stopped is Stop.DONE
    assert answers_of(graph, "run") == answers_of(graph, "whole")
    assert beliefs_in(graph, "run") == beliefs_in(graph, "whole")
    assert effects_in(graph, "run") == effects_in(graph, "whole")


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.representatives(2)
def test_own_answers_add_up_to_what_was_asked(graph: Graph, learner: str) -> None:
    load_graph(graph)
    whole_run(graph, "run", learner=learner)
    found = beliefs_in(graph, "run")
    assert sum(right + wrong for _, _, right, wrong in found.values()) == ROUNDS * 8 == get_run(graph, "run")["asked"]
    answers = [(outcome["fact"], outcome["verdict"]) for outcome in answers_of(graph, "run")]
    assert len(answers) == ROUNDS * 8
    for fact, (_, _, right, wrong) in found.items():
        assert (answers.count((fact, "right")), answers.count((fact, "wrong"))) == (right, wrong)
    # Also after the last round, when beliefs of earlier ones are written again.
    text = "MATCH (b:Belief {run: 'run'}) RETURN properties(b) AS belief"
    beliefs = [row["belief"] for row in graph.run_text(text, {})[1]]
    assert [belief["believed"] for belief in beliefs] == [word.value for word in summarize(beliefs).words]


def test_what_is_remembered_in_a_run_is_what_the_graph_holds(graph: Graph) -> None:
    load_graph(graph)
    whole_run(graph, "run", learner="propagation")
    keys = FactsById(AskableFacts(open_columns(graph), ["r0", "r1"], AS_OF))
    read = read_beliefs(graph, "run", keys)
    assert {
        keys[int(position)].fact: (alpha, beta)
        for position, alpha, beta in zip(read.positions, read.alpha, read.beta, strict=True)
    } == {fact: values[:2] for fact, values in beliefs_in(graph, "run").items()}


class UnaskableProbe(HashProbe):
    """Cannot ask anything about facts of the relation r0."""

    def ask(self, facts: Any, seed: Any) -> list[Outcome]:
        return [
            Outcome(fact, Verdict.UNASKABLE, "r0", reason="r0 is not for asking") if " r0 " in fact.fact else outcome
            for fact, outcome in zip(facts, super().ask(facts, seed), strict=True)
        ]


@pytest.mark.parametrize("learner", slow_except(["hierarchical", "independent"], ["independent"]))
def test_unaskable_fact_has_no_verdict_and_is_not_repeated(graph: Graph, learner: str) -> None:
    load_graph(graph, facts=60)
    probe = UnaskableProbe(graph)
    plan = plan_for("run", rounds=40, learner=learner)
    begin_run(graph, probe, plan, "hash")
    report = run_rounds(graph, probe, plan)
    outcomes = answers_of(graph, "run")
    unaskable = [outcome["fact"] for outcome in outcomes if outcome["verdict"] == "unaskable"]
    assert len(unaskable) == len(set(unaskable)) == report.unaskable > 0
    found = beliefs_in(graph, "run")
    assert all(found[fact][2:] == (0, 0) for fact in unaskable)
    assert get_run(graph, "run")["unaskable"] == len(unaskable)


class FailingProbe(HashProbe):
    """Gets no answer about the first facts of each round."""

    def __init__(self, graph: Graph, failing: int) -> None:
        super().__init__(graph)
        self.failing = failing

    def ask(self, facts: Any, seed: Any) -> list[Outcome]:
        outcomes = super().ask(facts, seed)
        lost = [Outcome(fact, Verdict.UNANSWERED, "r", reason="the server hung up") for fact in facts[: self.failing]]
        return [*lost, *outcomes[self.failing :]]


@pytest.mark.parametrize("learner", ["hierarchical", "independent"])
def test_unanswered_fact_has_no_verdict_and_is_repeated(graph: Graph, learner: str) -> None:
    load_graph(graph, facts=12)
    changes = {"rounds": 4, "sampling": "sequential", "facts_per_round": 100, "learner": learner}
    probe, plan = FailingProbe(graph, failing=3), plan_for("run", **changes)
    begin_run(graph, probe, plan, "hash")
    report = run_rounds(graph, probe, plan)
    lost = [outcome["fact"] for outcome in answers_of(graph, "run") if outcome["verdict"] == "unanswered"]
    assert len(lost) == 12 == report.unanswered
    assert len(set(lost)) == 3
    found = beliefs_in(graph, "run")
    assert all(found[fact][2:] == (0, 0) for fact in lost)
    assert report.asked == 4 * (report.facts - 3) == sum(right + wrong for _, _, right, wrong in found.values())


@pytest.mark.parametrize("learner", ["hierarchical", "independent"])
def test_round_without_any_answer_does_not_take_place(graph: Graph, learner: str) -> None:
    load_graph(graph, facts=12)
    probe, plan = FailingProbe(graph, failing=8), plan_for("run", learner=learner)
    begin_run(graph, probe, plan, "hash")
    report = run_rounds(graph, probe, plan)
    assert (report.stopped, report.rounds) == (Stop.NO_ANSWERS, 0)
    assert "times because: the server hung up. The round was not counted." in str(report.reason)
    assert (get_run(graph, "run")["round"], answers_of(graph, "run")) == (0, [])
    probe.failing = 0
    assert run_rounds(graph, probe, plan).rounds == ROUNDS


@pytest.mark.parametrize("learner", slow_except(["hierarchical", "propagation"], ["hierarchical"]))
def test_run_ends_when_it_is_sure_enough(graph: Graph, learner: str) -> None:
    load_graph(graph, facts=40)
    probe, plan = HashProbe(graph), plan_for("run", rounds=100, stop_at_width=0.3, learner=learner)
    begin_run(graph, probe, plan, "hash")
    widths: list[float] = []
    report = run_rounds(graph, probe, plan, on_batch=lambda round_: widths.append(round_.width))
    assert report.stopped == Stop.SURE_ENOUGH
    assert widths[-1] <= 0.3 < widths[-2]
    assert report.rounds == len(widths) < 100
    # It would be so again.
    assert run_rounds(graph, probe, plan).rounds == report.rounds
    if learner == "propagation":
        keys = FactsById(AskableFacts(open_columns(graph), ["r0", "r1"], AS_OF))
        assert read_beliefs(graph, "run", keys).width() == pytest.approx(widths[-1])


def test_run_ends_when_its_rates_have_converged(graph: Graph) -> None:
    load_graph(graph, facts=40)
    chosen = {"stop_at_change": 0.03, "sampling": "uniform", "learner": "independent"}
    probe, plan = HashProbe(graph), plan_for("run", rounds=100, facts_per_round=10, **chosen)
    begin_run(graph, probe, plan, "hash")
    rounds: list[list[Outcome]] = []
    # Interrupted in between: what is stored counts, too.
    first = replace(plan, options=replace(plan.options, rounds=3))
    for each in (first, plan):
        report = run_rounds(graph, probe, each, on_batch=lambda round_: rounds.append(list(round_.outcomes)))
    assert (report.stopped, report.rounds) == (Stop.CONVERGED, len(rounds))
    rates = []
    for number in range(1, len(rounds) + 1):
        verdicts: dict[str, list[bool]] = {}
        for outcome in chain.from_iterable(rounds[:number]):
            if outcome.verdict.counts:
                verdicts.setdefault(outcome.fact.fact, []).append(outcome.verdict is Verdict.RIGHT)
        won = [2 * sum(own) > len(own) for own in verdicts.values()]
        rates.append((np.mean(won), np.mean([not any(own) for own in verdicts.values()])))
    spans = [np.ptp(rates[at - 6 : at], axis=0).max() for at in range(6, len(rates) + 1)]
    assert spans[-1] <= 0.03
    assert all(span > 0.03 for span in spans[:-1])
    assert run_rounds(graph, probe, plan).rounds == report.rounds


@pytest.mark.parametrize("learner", ["hierarchical", "independent"])
def test_width_all_asked_is_the_mean_of_stored_intervals(graph: Graph, learner: str) -> None:
    load_graph(graph, facts=40)
    probe, plan = (
        HashProbe(graph),
        plan_for("run", rounds=2, facts_per_round=40, sampling="sequential", learner=learner),
    )
    begin_run(graph, probe, plan, "hash")
    widths: list[float] = []
    run_rounds(graph, probe, plan, on_batch=lambda round_: widths.append(round_.width))
    text = "MATCH (b:Belief {run: 'run'}) RETURN b.high - b.low AS width"
    stored = [row["width"] for row in graph.run_text(text, {})[1]]
    assert len(stored) == len(AskableFacts(open_columns(graph), ["r0", "r1"], AS_OF))
    assert widths[-1] == pytest.approx(np.mean(stored))


BY_INDEPENDENT = [sampling for sampling in SAMPLING_RULES if "independent" in learners_for(sampling)]


QUICK = [("hierarchical", "information"), ("propagation", "thompson"), ("independent", "thompson")]


@pytest.mark.parametrize(
    ("learner", "sampling"),
    [
        pytest.param(learner, sampling, marks=() if (learner, sampling) in QUICK else pytest.mark.slow)
        for learner, sampling in [
            *[("hierarchical", sampling) for sampling in SAMPLING_RULES],
            ("propagation", "thompson"),
            *[("independent", sampling) for sampling in BY_INDEPENDENT],
        ]
    ],
)
@pytest.mark.representatives(2)
def test_every_sampling_makes_a_run_that_goes_on_where_it_stood(graph: Graph, learner: str, sampling: str) -> None:
    load_graph(graph, facts=100)
    probe = HashProbe(graph)
    for run, stops in (("whole", ROUNDS), ("parts", 3)):
        plan = plan_for(run, sampling=sampling, learner=learner)
        begin_run(graph, probe, plan, "hash")
        done: list[Any] = []
        report = run_rounds(graph, probe, plan, on_batch=done.append, should_stop=lambda: len(done) == stops)  # noqa: B023
    assert (report.stopped, report.rounds) == (Stop.ASKED_TO, 3)
    assert plan_of(get_run(graph, "parts")) == plan
    report = run_rounds(graph, HashProbe(graph), plan_of(get_run(graph, "parts")))
    assert (report.stopped, report.rounds) == (Stop.DONE, ROUNDS)
    assert beliefs_in(graph, "parts") == beliefs_in(graph, "whole")
    assert effects_in(graph, "parts") == effects_in(graph, "whole")
    assert answers_of(graph, "parts") == answers_of(graph, "whole")
    asked = [outcome["fact"] for outcome in answers_of(graph, "whole")]
    inclusions = [outcome.get("inclusion") for outcome in answers_of(graph, "whole")]
    if sampling == "uniform":
        assert inclusions == pytest.approx(
            [8 / len(AskableFacts(open_columns(graph), ["r0", "r1"], AS_OF))] * len(inclusions)
        )
    elif sampling in ("hardest", "information"):
        assert all(0 < one <= 1 for one in inclusions)
    elif learner == "hierarchical" and sampling == "thompson":
        assert inclusions.count(None) == 7 * ROUNDS
    else:
        assert inclusions == [None] * len(inclusions)
    for answer in answers_of(graph, "whole"):
        assert ("smallest" in answer) == ("inclusion" in answer)
        assert answer.get("smallest", 0) <= answer.get("inclusion", 0)
    if sampling == "sequential":
        assert max(map(asked.count, asked)) - min(map(asked.count, asked)) <= 1


def test_run_ends_when_nothing_is_left(graph: Graph) -> None:
    load_graph(graph, facts=20)

    class Nothing(HashProbe):
        def ask(self, facts: Any, seed: Any) -> list[Outcome]:  # noqa: ARG002
            return [Outcome(fact, Verdict.UNASKABLE, "r", reason="nothing to say") for fact in facts]

    probe = Nothing(graph)
    plan = plan_for("run", rounds=1000)
    begin_run(graph, probe, plan, "hash")
    report = run_rounds(graph, probe, plan)
    assert report.stopped == Stop.NOTHING_LEFT
    assert (report.asked, report.unaskable) == (0, report.facts)


def test_mistakes_are_told(graph: Graph) -> None:
    load_graph(graph, facts=20)
    probe = HashProbe(graph)
    begin_run(graph, probe, plan_for("run"), "hash")
    with pytest.raises(KgprobeError, match="There is a run 'run' already"):
        begin_run(graph, probe, plan_for("run"), "hash")
    with pytest.raises(UnknownNameError, match="Unknown run 'other'; runs of this graph: run"):
        get_run(graph, "other")

    class Another(HashProbe):
        def describe(self) -> dict[str, Any]:
            return {"model": "another"}

    with pytest.raises(KgprobeError, match="was begun with other settings: model was 'hash', is 'another'"):
        run_rounds(graph, Another(graph), plan_for("run"))


def test_runs_of_one_name_in_two_graphs_keep_their_answers_apart(graph: Graph) -> None:
    load_graph(graph)
    whole_run(graph, "run")
    kept = run_folder(get_run(graph, "run"))
    answers = lines_in(kept)
    # Another graph, as far as a run can tell: nothing of the first is in it.
    list(graph.run_text("MATCH (n) DETACH DELETE n", {})[1])
    load_graph(graph, facts=100)
    whole_run(graph, "run", rounds=2)
    assert lines_in(kept) == answers
    assert len(answers_of(graph, "run")) == 16


def test_lost_answers_are_told_not_forgotten(graph: Graph) -> None:
    load_graph(graph)
    whole_run(graph, "run")
    file = run_folder(get_run(graph, "run")) / FILE
    lines = file.read_bytes().splitlines(keepends=True)
    longer = plan_for("run", rounds=ROUNDS + 1)
    for damaged in ([], lines[:-1], [*lines[:-1], lines[-1][:-5]]):
        file.write_bytes(b"".join(damaged))
        with pytest.raises(KgprobeError, match=f"but the graph has counted {ROUNDS * 8}"):
            run_rounds(graph, HashProbe(graph), longer)
    file.write_bytes(b"".join([*lines[:3], b"{not JSON}\n", *lines[4:]]))
    with pytest.raises(KgprobeError, match="line 4: damaged"):
        run_rounds(graph, HashProbe(graph), longer)
    # What stands behind the counted answers is of a round that never took place.
    file.write_bytes(b"".join([*lines, *lines[:2], b"torn"]))
    assert run_rounds(graph, HashProbe(graph), longer).rounds == ROUNDS + 1
    assert len(answers_of(graph, "run")) == (ROUNDS + 1) * 8


def test_run_is_extended_but_not_shortened(graph: Graph) -> None:
    load_graph(graph)
    whole_run(graph, "run", rounds=3)
    whole_run(graph, "long", rounds=5)
    run_rounds(graph, HashProbe(graph), plan_for("run", rounds=5))
    assert get_run(graph, "run")["rounds"] == 5
    assert beliefs_in(graph, "run") == beliefs_in(graph, "long")
    with pytest.raises(KgprobeError, match="has 5 rounds already"):
        run_rounds(graph, HashProbe(graph), plan_for("run", rounds=4))
    assert get_run(graph, "run")["rounds"] == 5


def test_forgotten_run_leaves_nothing_to_the_next_of_its_name(graph: Graph) -> None:
    load_graph(graph)
    whole_run(graph, "run")
    first = beliefs_in(graph, "run")
    forget_run(graph, "run")
    assert (beliefs_in(graph, "run"), effects_in(graph, "run")) == ({}, {})
    # As if the process had been killed after the run and before its beliefs were gone.
    whole_run(graph, "run")
    graph.write("beliefs/forget_run", id="run")
    whole_run(graph, "run")
    assert beliefs_in(graph, "run") == first


def test_one_process_at_a_time(graph: Graph) -> None:
    load_graph(graph)
    probe, plan = HashProbe(graph), plan_for("run")
    begin_run(graph, probe, plan, "hash")
    refused = []

    def interfere(_round: Any) -> None:
        for meddle in (lambda: run_rounds(graph, probe, plan), lambda: forget_run(graph, "run")):
            with pytest.raises(KgprobeError, match="Another process uses the run 'run'") as caught:
                meddle()
            refused.append(caught)

    run_rounds(graph, probe, plan, on_batch=interfere)
    assert len(refused) == 2 * ROUNDS


@pytest.mark.parametrize("batch", [None, 3])
def test_round_that_somebody_else_took_leaves_no_answers(graph: Graph, batch: int | None) -> None:
    load_graph(graph)
    probe, plan = HashProbe(graph), plan_for("run")
    begin_run(graph, probe, plan, "hash")

    def steal(round_: Any) -> None:
        if round_.number == 3:
            graph.write("beliefs/guard_round", id="run", round=4, asked=0, unaskable=0, unanswered=0)

    with pytest.raises(KgprobeError, match="has round 4 already"):
        continue_run(graph, probe, plan, Callbacks(on_batch=steal), batch=batch)
    assert [answer["round"] for answer in answers_of(graph, "run")] == [1] * 8 + [2] * 8 + [3] * 8


def test_what_was_loaded_since_is_told(graph: Graph) -> None:
    load_graph(graph)
    whole_run(graph, "run", rounds=1)
    told: list[str] = []

    def continue_run(rounds: int) -> None:
        plan = plan_for("run", rounds=rounds)
        run_rounds(graph, HashProbe(graph), plan, on_start=lambda start: told.append(start.changed))

    continue_run(2)
    people, edges, relations = random_graph(5, 5, seed=1)
    load(graph, WrittenSource(people, edges, relations, fingerprint="more"))
    continue_run(3)
    assert told[0] == ""
    assert re.fullmatch(r"the graph has changed: written, loaded \d{4}-\d\d-\d\d \d\d:\d\d UTC, added 5 facts", told[1])


@pytest.mark.parametrize(
    ("name", "value"),
    [("uid", "x/../../../victim"), ("uid", None), ("uid", 7), ("uid", "0123456g"), ("id", "../victim"), ("id", ".")],
)
@pytest.mark.representatives(2)
def test_no_folder_is_taken_from_a_graph_unchecked(graph: Graph, home: Path, name: str, value: object) -> None:
    load_graph(graph, entities=10, facts=30)
    whole_run(graph, "mine", rounds=1)
    run = str(value) if name == "id" else "mine"
    list(graph.run_text(f"MATCH (run:Run {{id: 'mine'}}) SET run.{name} = $value RETURN run.id", {"value": value})[1])
    victim = home.parent / "victim"
    victim.mkdir()
    # Where a run of the uid above has its folder, its name is the beginning of the way to the victim.
    (home / "runs" / "mine-x").mkdir()
    (victim / FILE).write_text("precious\n")
    with pytest.raises(KgprobeError, match="was not begun by kgprobe"):
        forget_run(graph, run)
    with pytest.raises(KgprobeError, match="was not begun by kgprobe" if value else "lacks uid"):
        continue_run(graph, HashProbe(graph), plan_for(run))
    assert (victim / FILE).read_text() == "precious\n"
    assert [path.name for path in victim.iterdir()] == [FILE]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("REMOVE run.stop_at_width", "it lacks stop_at_width"),
        ("REMOVE run.options", "it lacks options"),
        ("REMOVE run.asked", "it lacks asked"),
        ("REMOVE run.local", "it lacks local"),
        ("REMOVE run.form", "it lacks form"),
        ("SET run.form = 1", "its form is 1, not 6"),
    ],
)
@pytest.mark.representatives(2)
def test_run_of_another_version_is_told_listed_and_forgotten(graph: Graph, change: str, told: str) -> None:
    load_graph(graph, entities=10, facts=30)
    whole_run(graph, "old", rounds=1)
    list(graph.run_text(f"MATCH (run:Run {{id: 'old'}}) {change} RETURN run.id", {})[1])
    for use in (
        lambda: library.resume_rounds(graph, "old"),
        lambda: continue_run(graph, HashProbe(graph), plan_for("old")),
        lambda: find_in_run(graph, "old", lambda: iter(())),
    ):
        with pytest.raises(KgprobeError, match=f"'old' was begun by another version of kgprobe: {told}"):
            use()
    assert [run["id"] for run in list_runs(graph)] == ["old"]
    forget_run(graph, "old")
    assert list_runs(graph) == []


def test_answers_of_a_run_are_for_their_owner_alone(graph: Graph, home: Path) -> None:
    load_graph(graph, entities=10, facts=30)
    whole_run(graph, "private", rounds=1)
    folder = run_folder(get_run(graph, "private"))
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, folder.parent, folder)] == [0o700] * 3
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
    # One that an earlier version has made is closed when it is used.
    folder.chmod(0o755)
    run_rounds(graph, HashProbe(graph), plan_for("private", rounds=2))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
