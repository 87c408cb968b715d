"""Adaptive rounds: choose facts, ask them, learn, propagate.

docs/methods.md, 2. Each round is one transaction guarded by ``Run.round``, and everything random in it follows from the
seed and the round's number: a run that was killed at any moment goes on to the same beliefs as one that was not.

A round costs its batch and the batch's neighbours: drawing is linear in the touched facts, applying in the batch,
propagating in the facts around it.
"""

import dataclasses
import platform
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import filelock
import msgspec
import numpy as np

from kgprobe import __version__
from kgprobe.asking.trail import Trail, run_folder
from kgprobe.beliefs.draw import Beliefs
from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.files import make_folder
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.graph.schema import apply_schema
from kgprobe.graph.state import graph_state
from kgprobe.models.api.spending import BudgetSpentError
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
        sampling: how facts are chosen, see :data:`~kgprobe.beliefs.draw.SAMPLING`.
        propagation: whether facts learn from the answers of those around them.
        width: the run ends as soon as the mean 90% credible interval of theta is no broader; 0 has no say.
    """

    run: str
    rounds: int = 60
    batch: int = 64
    seed: int = 0
    as_of: int = 0
    max_degree: int = 1000
    sampling: str = "thompson"
    propagation: bool = True
    width: float = 0.0


@dataclass(frozen=True, slots=True)
class Round:
    """What one round did, and how long its parts took, in seconds.

    Attributes:
        number: from 1 on.
        touched: how many facts own answers or propagation reached.
        hubs: labels of entities that were left out of propagation, by their ids.
        width: of the credible interval of theta after it, the mean over all facts that can be asked.
    """

    number: int
    outcomes: Sequence[Outcome]
    touched: int
    hubs: dict[str, str]
    width: float
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did this time.

    Attributes:
        facts: how many facts it could ask.
        rounds: how many rounds it stands at in all.
        asked: how many answers it has got in all.
        unaskable, unanswered: how many questions could not be put, and how many got no answer, in all.
        stopped: why it ended: ``done``, ``sure enough``, ``budget spent``, ``asked to`` or ``nothing left to ask``.
            A round that the budget did not last for is not counted; its answers are kept for when it is asked again.
        reason: more on that, in a sentence, where there is more to say.
    """

    run: str
    facts: int
    rounds: int
    asked: int
    unaskable: int
    unanswered: int
    seconds: float
    stopped: str
    reason: str | None = None
    hubs: dict[str, str] = field(default_factory=dict)


# What a run counts of its outcomes; each is counted as one of these.
_COUNTS = ("asked", "unaskable", "unanswered")


class RoundTakenError(KgprobeError):
    """A round was applied, or its run was forgotten, by somebody else in the meantime."""


def begin_run(graph: Graph, probe: Probe, plan: Plan, options: str = "{}") -> Row:
    """Record a new run.

    Args:
        options: JSON from which the probe can be made anew when the run goes on.

    Returns:
        its properties.

    Raises:
        KgprobeError: there is a run of that id already, or there is no place for its files.
    """
    apply_schema(graph)
    uid = secrets.token_hex(4)
    described = probe.describe()
    properties = {
        "uid": uid,
        "model": described["model"],
        "probe": probe.name,
        "config": msgspec.json.encode(described, order="sorted").decode(),
        "options": options,
        "rounds": plan.rounds,
        "batch": plan.batch,
        "seed": plan.seed,
        "as_of": plan.as_of,
        "max_degree": plan.max_degree,
        "sampling": plan.sampling,
        "propagation": plan.propagation,
        "width": plan.width,
        "relations": list(probe.relations),
        "graph": graph_state(graph),
        "engine": graph.server,
        "versions": msgspec.json.encode(_versions(), order="sorted").decode(),
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "asked": 0,
        "unaskable": 0,
        "unanswered": 0,
    }
    if not graph.read("beliefs/run", id=plan.run):
        make_folder(run_folder({"id": plan.run, "uid": uid}))
        # Of a run of that name which was being forgotten when the process was killed.
        _forget_beliefs(graph, plan.run)
    run: Row = graph.write("beliefs/begin_run", id=plan.run, properties=properties)[0]["run"]
    if run["uid"] != uid:
        raise KgprobeError(f"There is a run {plan.run!r} already: `kgprobe rounds resume {plan.run}` goes on with it.")
    return run


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
        KgprobeError: a process is at the run.
    """
    with _locked(get_run(graph, run)):
        # First the run, so that nobody adds a round to what is being deleted.
        graph.write("beliefs/forget_run", id=run)
        _forget_beliefs(graph, run)


def _forget_beliefs(graph: Graph, run: str) -> None:
    while graph.write("beliefs/forget_beliefs", run=run, size=10_000)[0]["deleted"]:
        pass


@contextmanager
def _locked(run: Row) -> Iterator[Path]:
    """The run's folder, and nobody else at the run."""
    folder = run_folder(run)
    make_folder(folder)
    try:
        with filelock.FileLock(folder / "lock", timeout=0):
            yield folder
    except filelock.Timeout as error:
        message = f"Another process is at run {run['id']!r} already (its lock is {folder / 'lock'})."
        raise KgprobeError(message) from error


def plan_of(run: Row) -> Plan:
    """The plan that a run was begun with, extended since or not."""
    names = [field.name for field in dataclasses.fields(Plan) if field.name != "run"]
    return Plan(run["id"], **{name: run[name] for name in names})


def run_rounds(
    graph: Graph,
    probe: Probe,
    plan: Plan,
    *,
    on_start: Callable[[int, int, bool], None] = lambda facts, applied, changed: None,
    on_round: Callable[[Round], None] = lambda round_: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> RunReport:
    """Go on with a run from where it stands to the last round of the plan, which may be later than it was begun with.

    Args:
        on_start: called once with the number of askable facts, that of the rounds that are done already, and
            whether something was loaded into the graph since the run began.
        on_round: called after each round.
        should_stop: asked after each round.

    Raises:
        KgprobeError: another process is at this run; the probe is not what the run was begun with; its answers are
            not where they were kept; or more rounds are done than the plan has.
    """
    started = time.monotonic()
    with _locked(get_run(graph, plan.run)) as folder:
        # Read again, now that nobody else can change it.
        run = get_run(graph, plan.run)
        _refuse_another_probe(run, probe)
        if plan.rounds < run["round"]:
            raise KgprobeError(
                f"Run {plan.run!r} has done {run['round']} rounds already, which is more than {plan.rounds}."
            )
        if plan.rounds != run["rounds"]:
            graph.write("beliefs/extend_run", id=plan.run, rounds=plan.rounds)
        with Trail(folder, run["round"], run["asked"] + run["unaskable"] + run["unanswered"]) as trail:
            keys = askable_facts(graph, run["relations"], plan.as_of)
            beliefs = read_beliefs(graph, plan.run, keys)
            on_start(len(keys), run["round"], graph_state(graph) != run["graph"])
            report = _run(graph, probe, plan, run, trail, keys, beliefs, on_round, should_stop)
    return dataclasses.replace(report, seconds=time.monotonic() - started)


def _run(
    graph: Graph,
    probe: Probe,
    plan: Plan,
    run: Row,
    trail: Trail,
    keys: FactKeys,
    beliefs: Beliefs,
    on_round: Callable[[Round], None],
    should_stop: Callable[[], bool],
) -> RunReport:
    counts = Counter({name: run[name] for name in _COUNTS})
    done, stopped, reason = run["round"], "done", None
    hubs: dict[str, str] = {}
    while done < plan.rounds:
        if plan.width and beliefs.width() <= plan.width:
            stopped = "sure enough"
            break
        if not beliefs.has_askable():
            stopped = "nothing left to ask"
            break
        number = done + 1
        seconds: dict[str, float] = {}
        clock = time.monotonic()
        positions = beliefs.choose(plan.sampling, plan.batch, number, np.random.default_rng([plan.seed, number]))
        seconds["draw"] = time.monotonic() - clock
        clock = time.monotonic()
        try:
            outcomes = probe.ask([keys[position] for position in positions], [plan.seed, number])
        except BudgetSpentError as error:
            stopped, reason = "budget spent", str(error)
            break
        seconds["ask"] = time.monotonic() - clock
        _refuse_silence(outcomes)
        trail.append(number, outcomes)
        try:
            rows, parts, round_hubs = apply_round(graph, plan, run["model"], run["relations"], number, outcomes)
        except RoundTakenError:
            trail.take_back(counts.total())
            raise
        clock = time.monotonic()
        _take_over(beliefs, keys, rows)
        seconds |= parts
        seconds["update"] = time.monotonic() - clock
        done = number
        counts += Counter(_counted_as(outcome) for outcome in outcomes)
        hubs |= round_hubs
        on_round(Round(number, outcomes, len(rows), round_hubs, beliefs.width(), seconds))
        if should_stop() and done < plan.rounds:
            stopped = "asked to"
            break
    counted = {name: counts[name] for name in _COUNTS}
    return RunReport(plan.run, len(keys), done, **counted, seconds=0.0, stopped=stopped, reason=reason, hubs=hubs)


def _refuse_silence(outcomes: Sequence[Outcome]) -> None:
    """Raise KgprobeError where no question of a round got an answer: so it would go on, round after round."""
    if outcomes and all(outcome.verdict is Verdict.UNANSWERED for outcome in outcomes):
        reason, often = Counter(outcome.reason for outcome in outcomes).most_common(1)[0]
        raise KgprobeError(
            f"None of the {len(outcomes)} questions of this round got an answer; {often} times because: {reason}. "
            "The round was not counted; the run goes on with the same questions."
        )


def _counted_as(outcome: Outcome) -> str:
    return "asked" if outcome.verdict.counts else outcome.verdict.value


def _refuse_another_probe(run: Row, probe: Probe) -> None:
    """Raise KgprobeError where a probe asks otherwise than the one that the run was begun with.

    Versions of libraries may differ: they are kept with the run, and change results in the last digits if at all.
    """
    before, now = _flat(msgspec.json.decode(run["config"])), _flat(probe.describe())
    differing = [key for key in sorted(before.keys() | now.keys()) if before.get(key) != now.get(key)]
    if differing:
        told = "; ".join(f"{key} was {before.get(key)!r}, is {now.get(key)!r}"[:300] for key in differing)
        raise KgprobeError(f"Run {run['id']!r} was begun otherwise: {told}. Begin a new run for that.")


def _flat(described: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in described.items():
        if key != "versions":
            flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


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
        RoundTakenError: the round was applied already, by another process, or the run was forgotten.
    """
    rows = [_row(outcome) for outcome in outcomes]
    answered = [row for row in rows if row["right"] + row["wrong"]]
    counts = Counter(map(_counted_as, outcomes))
    shared = {"run": plan.run, "model": model}
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
        if not plan.propagation:
            return list(touched.values()), []
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
        "wrong": int(outcome.verdict.is_failure),
        "refused": int(outcome.verdict is Verdict.REFUSED),
        "off_format": int(outcome.verdict is Verdict.OFF_FORMAT),
        "unaskable": outcome.reason if outcome.verdict is Verdict.UNASKABLE else None,
    }


def _versions() -> dict[str, str]:
    names = ("neo4j", "numpy", "torch", "transformers")
    return {"kgprobe": __version__, "python": platform.python_version(), **{name: version(name) for name in names}}
