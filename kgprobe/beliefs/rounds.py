"""Adaptive rounds: draw the facts that a model most probably fails on, ask them, learn, propagate.

docs/methods.md, 2. Each round is one transaction guarded by ``Run.round``, and everything random in it follows from the
seed and the round's number: a run that was killed at any moment goes on to the same beliefs as one that was not.

A round costs its batch and the batch's neighbours: drawing is linear in the touched facts, applying in the batch,
propagating in the facts around it.
"""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

import filelock
import msgspec
import numpy as np

from kgprobe import __version__
from kgprobe.beliefs.draw import Beliefs
from kgprobe.beliefs.trail import Trail
from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.graph.schema import apply_schema
from kgprobe.probes.outcome import Outcome, Probe, Verdict
from kgprobe.sampling.facts import FactKey, FactKeys, askable_facts


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does.

    Attributes:
        run: its id, which names its folder too.
        rounds: how many rounds in all.
        batch: facts asked a round.
        as_of: reference date, ``yyyymmdd``.
        max_degree: entities with more facts do not propagate.
    """

    run: str
    rounds: int = 60
    batch: int = 64
    seed: int = 0
    as_of: int = 0
    max_degree: int = 1000


@dataclass(frozen=True, slots=True)
class Round:
    """What one round did, and how long its parts took, in seconds.

    Attributes:
        number: from 1 on.
        touched: how many facts own answers or propagation reached.
        hubs: labels of entities that were left out of propagation, by their ids.
    """

    number: int
    outcomes: Sequence[Outcome]
    touched: int
    hubs: dict[str, str]
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did this time.

    Attributes:
        facts: how many facts it could ask.
        rounds: how many rounds it stands at in all.
        stopped: why it ended: ``done``, ``asked to`` or ``nothing left to ask``.
    """

    run: str
    facts: int
    rounds: int
    asked: int
    unaskable: int
    seconds: float
    stopped: str
    hubs: dict[str, str] = field(default_factory=dict)


def begin_run(graph: Graph, probe: Probe, plan: Plan, options: str = "{}") -> None:
    """Record a new run.

    Args:
        options: JSON from which the probe can be made anew when the run goes on.

    Raises:
        KgprobeError: there is a run of that id already.
    """
    apply_schema(graph)
    if graph.read("beliefs/run", id=plan.run):
        raise KgprobeError(f"There is a run {plan.run!r} already: `kgprobe rounds resume {plan.run}` goes on with it.")
    described = probe.describe()
    properties = {
        "model": described["model"],
        "probe": probe.name,
        "chance": described["chance"],
        "config": msgspec.json.encode(described, order="sorted").decode(),
        "options": options,
        "rounds": plan.rounds,
        "batch": plan.batch,
        "seed": plan.seed,
        "as_of": plan.as_of,
        "max_degree": plan.max_degree,
        "relations": list(probe.relations),
        "graph": msgspec.json.encode(graph.read("load/loads"), order="sorted").decode(),
        "engine": graph.server,
        "versions": msgspec.json.encode(_versions(), order="sorted").decode(),
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "asked": 0,
        "unaskable": 0,
    }
    graph.write("beliefs/begin_run", id=plan.run, properties=properties)


def get_run(graph: Graph, run: str) -> Row:
    """The properties of a run.

    Raises:
        UnknownNameError: the graph has no such run.
    """
    rows = graph.read("beliefs/run", id=run)
    if not rows:
        known = [row["run"]["id"] for row in graph.read("beliefs/runs")]
        raise UnknownNameError(f"There is no run {run!r} in this graph; there are: {', '.join(known) or 'none'}.")
    properties: Row = rows[0]["run"]
    return properties


def forget_run(graph: Graph, run: str) -> None:
    """Delete a run and its beliefs, in transactions of bounded size. Cost: scans of the graph's beliefs.

    Raises:
        UnknownNameError: the graph has no such run.
    """
    get_run(graph, run)
    while graph.write("beliefs/forget_beliefs", run=run, size=10_000)[0]["deleted"]:
        pass
    graph.write("beliefs/forget_run", id=run)


def plan_of(run: Row) -> Plan:
    """The plan that a run was begun with, extended since or not."""
    return Plan(run["id"], *(run[name] for name in ("rounds", "batch", "seed", "as_of", "max_degree")))


def run_rounds(
    graph: Graph,
    probe: Probe,
    plan: Plan,
    folder: Path,
    *,
    on_start: Callable[[int, int], None] = lambda facts, applied: None,
    on_round: Callable[[Round], None] = lambda round_: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> RunReport:
    """Go on with a run from where it stands to the last round of its plan.

    Args:
        folder: of the run; the audit trail is written there.
        on_start: called once with the number of askable facts and of the rounds that are done already.
        on_round: called after each round.
        should_stop: asked after each round.

    Raises:
        KgprobeError: another process is at this run; or the probe is not what the run was begun with.
    """
    started = time.monotonic()
    run = get_run(graph, plan.run)
    described = msgspec.json.encode(probe.describe(), order="sorted").decode()
    if described != run["config"]:
        raise KgprobeError(f"Run {plan.run!r} was begun with {run['config']}; this is {described}. Begin a new run.")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(folder / "lock", timeout=0), Trail(folder, run["round"]) as trail:
            return _run(graph, probe, plan, run, trail, on_start, on_round, should_stop, started)
    except filelock.Timeout as error:
        raise KgprobeError(
            f"Another process is at run {plan.run!r} already (its lock is {folder / 'lock'})."
        ) from error


def _run(
    graph: Graph,
    probe: Probe,
    plan: Plan,
    run: Row,
    trail: Trail,
    on_start: Callable[[int, int], None],
    on_round: Callable[[Round], None],
    should_stop: Callable[[], bool],
    started: float,
) -> RunReport:
    keys = askable_facts(graph, run["relations"], plan.as_of)
    beliefs = read_beliefs(graph, plan.run, keys)
    on_start(len(keys), run["round"])
    asked, unaskable, number, stopped = run["asked"], run["unaskable"], run["round"], "done"
    hubs: dict[str, str] = {}
    for number in range(run["round"] + 1, plan.rounds + 1):
        seconds: dict[str, float] = {}
        clock = time.monotonic()
        positions = beliefs.draw(plan.batch, np.random.default_rng([plan.seed, number]))
        seconds["draw"] = time.monotonic() - clock
        if not len(positions):
            number, stopped = number - 1, "nothing left to ask"
            break
        clock = time.monotonic()
        outcomes = probe.ask([keys[position] for position in positions], [plan.seed, number])
        seconds["ask"] = time.monotonic() - clock
        trail.append(number, outcomes)
        rows, parts, round_hubs = apply_round(graph, plan, run["model"], run["relations"], number, outcomes)
        clock = time.monotonic()
        _take_over(beliefs, keys, rows)
        seconds |= parts
        seconds["update"] = time.monotonic() - clock
        asked += sum(outcome.verdict is not Verdict.UNASKABLE for outcome in outcomes)
        unaskable += sum(outcome.verdict is Verdict.UNASKABLE for outcome in outcomes)
        hubs |= round_hubs
        on_round(Round(number, outcomes, len(rows), round_hubs, seconds))
        if should_stop() and number < plan.rounds:
            stopped = "asked to"
            break
    return RunReport(plan.run, len(keys), number, asked, unaskable, time.monotonic() - started, stopped, hubs)


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
    graph: Graph, plan: Plan, model: str, relations: Sequence[str], number: int, outcomes: Sequence[Outcome]
) -> tuple[list[Row], dict[str, float], dict[str, str]]:
    """Count a round's answers and propagate them, in one transaction.

    Returns:
        the touched facts with their new parameters (each once), the seconds of each part, and the hubs left out.

    Raises:
        KgprobeError: the round was applied already, by another process.
    """
    rows = [_row(outcome) for outcome in outcomes]
    answered = [row for row in rows if row["unaskable"] is None]
    shared = {"run": plan.run, "model": model}
    seconds: dict[str, float] = {}

    def work(transaction: Transaction) -> tuple[list[Row], list[Row]]:
        clock = time.monotonic()
        guard = transaction.run(
            "beliefs/guard_round", id=plan.run, round=number, asked=len(answered), unaskable=len(rows) - len(answered)
        )
        if not guard:
            raise KgprobeError(f"Round {number} of run {plan.run!r} was applied already: is another process at it?")
        touched = {row["fact"]: row for row in transaction.run("beliefs/apply", rows=rows, **shared)}
        seconds["apply"] = time.monotonic() - clock
        clock = time.monotonic()
        scope = {"relations": list(relations), "as_of": plan.as_of, "max_degree": plan.max_degree}
        touched |= {row["fact"]: row for row in transaction.run("beliefs/propagate", rows=answered, **scope, **shared)}
        hubs = transaction.run("beliefs/hubs", rows=answered, max_degree=plan.max_degree)
        seconds["propagate"] = time.monotonic() - clock
        return list(touched.values()), hubs

    touched, hubs = graph.transaction(work)
    return touched, seconds, {row["id"]: row["label"] for row in hubs}


def _row(outcome: Outcome) -> Row:
    return {
        **FactKey._asdict(outcome.fact),
        "right": int(outcome.verdict is Verdict.RIGHT),
        "wrong": int(outcome.verdict is Verdict.WRONG),
        "unaskable": outcome.reason if outcome.verdict is Verdict.UNASKABLE else None,
    }


def _versions() -> dict[str, str]:
    names = ("neo4j", "numpy", "torch", "transformers")
    return {"kgprobe": __version__, "python": platform.python_version(), **{name: version(name) for name in names}}
