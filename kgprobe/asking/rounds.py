"""Adaptive rounds: choose facts, ask them, learn, propagate.

docs/methods.md, 2. Each round is one transaction guarded by ``Run.round``, and everything random in it follows from the
seed and the round's number: a run that was killed at any moment goes on to the same beliefs as one that was not.

A round costs its batch and the batch's neighbours: drawing is linear in the touched facts, applying in the batch,
propagating in the facts around it.
"""

import dataclasses
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from kgprobe.asking.identity import differences
from kgprobe.asking.runs import Plan, get_run, locked
from kgprobe.asking.store import OutcomeStore
from kgprobe.asking.watch import NOBODY, Batch, Start, Stop, Watch, ask_watched, why_silent
from kgprobe.beliefs.draw import Beliefs
from kgprobe.beliefs.summary import interval_rows
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.graph.state import graph_state
from kgprobe.models.api.spending import BudgetSpentError
from kgprobe.probes.outcome import Outcome, Probe, Verdict
from kgprobe.sampling.facts import askable_facts
from kgprobe.sampling.keys import FactKeys

# What a run counts of its outcomes; each is counted as one of these.
_COUNTS = ("asked", "unaskable", "unanswered")


@dataclass(frozen=True, slots=True)
class Round(Batch):
    """What one round did, and how long its parts took, in seconds.

    Attributes:
        number: from 1 on.
        touched: how many facts own answers or propagation reached.
        hubs: labels of entities that were left out of propagation, by their ids.
        width: of the credible interval of theta after it, the mean over all facts that can be asked.
    """

    number: int
    touched: int
    hubs: dict[str, str]
    width: float
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did this time.

    Attributes:
        facts: how many facts it could ask; None where nobody looked.
        rounds: how many rounds it stands at in all.
        asked: how many answers it has got in all.
        unaskable, unanswered: how many questions could not be put, and how many got no answer, in all.
        stopped: why it ended. A round that the budget did not last for, or that got no answer at all, is not counted;
            its answers are kept for when it is asked again.
        reason: more on that, in a sentence, where there is more to say.
        hubs: labels of entities that were left out of propagation, by their ids.
    """

    run: str
    facts: int | None
    rounds: int
    asked: int
    unaskable: int
    unanswered: int
    seconds: float
    stopped: Stop
    reason: str | None = None
    hubs: dict[str, str] = field(default_factory=dict)


class RoundTakenError(KgprobeError):
    """A round was applied, or its run was forgotten, by somebody else in the meantime."""


def go_on(graph: Graph, probe: Probe, plan: Plan, watch: Watch = NOBODY) -> RunReport:
    """Go on with a run from where it stands to the last round of the plan, which may be later than it was begun with.

    Args:
        watch: its ``on_batch`` gets a :class:`Round`.

    Raises:
        KgprobeError: another process is at this run; the probe is not what the run was begun with; its answers are
            not where they were kept; or more rounds are done than the plan has.
    """
    started = time.monotonic()
    with locked(get_run(graph, plan.run)) as folder:
        # Read again, now that nobody else can change it.
        run = get_run(graph, plan.run)
        _refuse_another_probe(run, probe)
        if plan.rounds < run["round"]:
            raise KgprobeError(
                f"Run {plan.run!r} has done {run['round']} rounds already, which is more than `rounds`, {plan.rounds}."
            )
        if plan.rounds != run["rounds"]:
            graph.write("beliefs/extend_run", id=plan.run, rounds=plan.rounds)
        with OutcomeStore(folder) as store:
            store.cut_to(sum(run[name] for name in _COUNTS), run["round"])
            keys = askable_facts(graph, run["relations"], plan.as_of)
            beliefs = read_beliefs(graph, plan.run, keys)
            changed = graph_state(graph) != run["graph"]
            watch.on_start(Start(len(keys), run["round"], plan.rounds, changed, batch=plan.batch))
            report = _Rounds(graph, probe, plan, run, _labels(graph, run["relations"]), store, keys, beliefs).do(watch)
    return dataclasses.replace(report, seconds=time.monotonic() - started)


@dataclass(slots=True)
class _Rounds:
    """A run at work: what its rounds share; ``labels`` are those of the relations that it asks, by their ids."""

    graph: Graph
    probe: Probe
    plan: Plan
    run: Row
    labels: Mapping[str, str]
    store: OutcomeStore
    keys: FactKeys
    beliefs: Beliefs

    def do(self, watch: Watch) -> RunReport:
        counts = Counter({name: self.run[name] for name in _COUNTS})
        done, stopped, reason = self.run["round"], Stop.DONE, None
        hubs: dict[str, str] = {}
        while done < self.plan.rounds:
            if self.plan.width and self.beliefs.width() <= self.plan.width:
                stopped = Stop.SURE_ENOUGH
                break
            if not self.beliefs.has_askable():
                stopped = Stop.NOTHING_LEFT
                break
            number, seconds = done + 1, dict[str, float]()
            try:
                outcomes = self._ask(number, seconds, watch)
            except BudgetSpentError as error:
                stopped, reason = Stop.BUDGET_SPENT, str(error)
                break
            reason = why_silent(outcomes)
            if reason is not None:
                stopped, reason = Stop.NO_ANSWERS, f"{reason} The round was not counted."
                break
            before = counts.total()
            self.store.append(range(before, before + len(outcomes)), outcomes, number)
            touched, round_hubs = self._learn(number, outcomes, seconds, before)
            done = number
            counts += Counter(_counted_as(outcome) for outcome in outcomes)
            hubs |= round_hubs
            watch.on_batch(Round(outcomes, done, number, touched, round_hubs, self.beliefs.width(), seconds))
            if watch.should_stop() and done < self.plan.rounds:
                stopped = Stop.ASKED_TO
                break
        counted = {name: counts[name] for name in _COUNTS}
        return RunReport(
            self.plan.run, len(self.keys), done, **counted, seconds=0.0, stopped=stopped, reason=reason, hubs=hubs
        )

    def _ask(self, number: int, seconds: dict[str, float], watch: Watch) -> list[Outcome]:
        plan = self.plan
        clock = time.monotonic()
        positions = self.beliefs.choose(plan.sampling, plan.batch, number, np.random.default_rng([plan.seed, number]))
        seconds["draw"] = time.monotonic() - clock
        clock = time.monotonic()
        facts = [self.keys[position] for position in positions]
        outcomes = ask_watched(self.probe, facts, [plan.seed, number], watch)
        seconds["ask"] = time.monotonic() - clock
        return outcomes

    def _learn(
        self, number: int, outcomes: Sequence[Outcome], seconds: dict[str, float], before: int
    ) -> tuple[int, dict[str, str]]:
        """How many facts the round touched, and the hubs that were left out."""
        try:
            rows, parts, hubs = apply_round(self.graph, self.plan, self.run["model"], self.labels, number, outcomes)
        except RoundTakenError:
            self.store.cut_to(before, number - 1)
            raise
        clock = time.monotonic()
        _take_over(self.beliefs, self.keys, rows)
        seconds |= parts
        seconds["update"] = time.monotonic() - clock
        return len(rows), hubs


def _refuse_another_probe(run: Row, probe: Probe) -> None:
    """Raise KgprobeError where a probe asks otherwise than the one that the run was begun with."""
    differing = differences(msgspec.json.decode(run["config"]), probe.describe())
    if differing:
        raise KgprobeError(f"Run {run['id']!r} was begun otherwise: {'; '.join(differing)}. Begin a new run for that.")


def _labels(graph: Graph, relations: Sequence[str]) -> dict[str, str]:
    """What relations are called, by their ids; a relation without a label by its id."""
    labels = {row["id"]: row["label"] for row in graph.read("sample/relations")}
    return {relation: labels.get(relation) or relation for relation in relations}


def _counted_as(outcome: Outcome) -> str:
    return "asked" if outcome.verdict.counts else outcome.verdict.value


def read_beliefs(graph: Graph, run: str, keys: FactKeys) -> Beliefs:
    """What a run has learned so far. Cost: one scan of the graph's beliefs."""
    beliefs = Beliefs.untouched(len(keys))
    _take_over(beliefs, keys, list(graph.stream("beliefs/touched", run=run)))
    return beliefs


def _take_over(beliefs: Beliefs, keys: FactKeys, rows: Sequence[Row]) -> None:
    beliefs.update(
        keys.positions([row["fact"] for row in rows]),
        np.array([row["alpha"] for row in rows], dtype=np.float64),
        np.array([row["beta"] for row in rows], dtype=np.float64),
        np.array([not row["unaskable"] for row in rows], dtype=np.bool_),
    )


def apply_round(
    graph: Graph, plan: Plan, model: str, relations: Mapping[str, str], number: int, outcomes: Sequence[Outcome]
) -> tuple[list[Row], dict[str, float], dict[str, str]]:
    """Count a round's answers, propagate them, and write what people read of the beliefs, in one transaction.

    Args:
        relations: labels of the relations that can be asked, by their ids. A belief keeps the one that it is made
            with: a relation that gets another label is found by its id.

    Returns:
        the touched facts with their new parameters (each once), the seconds of each part, and the hubs left out.

    Raises:
        RoundTakenError: the round was applied already, by another process, or the run was forgotten.
    """
    rows = [_row(outcome) for outcome in outcomes]
    answered = [row for row in rows if row["right"] + row["wrong"]]
    counts = Counter(map(_counted_as, outcomes))
    shared = {"run": plan.run, "model": model, "labels": dict(relations)}
    seconds: dict[str, float] = {}

    def work(transaction: Transaction) -> tuple[list[Row], list[Row]]:
        clock = time.monotonic()
        guard = transaction.run(
            "beliefs/guard_round", id=plan.run, round=number, **{name: counts[name] for name in _COUNTS}
        )
        if not guard:
            gone = not transaction.run("beliefs/run", id=plan.run)
            what = "was forgotten" if gone else f"has round {number} already: is somebody else at it?"
            raise RoundTakenError(f"The run {plan.run!r} {what}")
        touched = {row["fact"]: row for row in transaction.run("beliefs/apply", rows=rows, **shared)}
        seconds["apply"] = time.monotonic() - clock
        hubs: list[Row] = []
        if plan.propagation:
            clock = time.monotonic()
            scope = {"relations": list(relations), "as_of": plan.as_of, "max_degree": plan.max_degree}
            reached = transaction.run("beliefs/propagate", rows=answered, **scope, **shared)
            touched |= {row["fact"]: row for row in reached}
            hubs = transaction.run("beliefs/hubs", rows=answered, max_degree=plan.max_degree)
            seconds["propagate"] = time.monotonic() - clock
        clock = time.monotonic()
        for part in interval_rows(list(touched.values())):
            transaction.run("beliefs/summarize", run=plan.run, rows=part)
        seconds["summarize"] = time.monotonic() - clock
        return list(touched.values()), hubs

    touched, hubs = graph.transaction(work)
    return touched, seconds, {row["id"]: row["label"] for row in hubs}


def _row(outcome: Outcome) -> Row:
    return {
        **outcome.fact._asdict(),
        "right": int(outcome.verdict is Verdict.RIGHT),
        "wrong": int(outcome.verdict.is_failure),
        "refused": int(outcome.verdict is Verdict.REFUSED),
        "off_format": int(outcome.verdict is Verdict.OFF_FORMAT),
        "unaskable": outcome.reason if outcome.verdict is Verdict.UNASKABLE else None,
        "question": outcome.evidence.question if outcome.evidence else None,
    }
