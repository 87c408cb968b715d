"""Runs: what one does, where it stands in the graph, and where its files lie.

docs/methods/rounds.md. The ``Run`` node is the record; the run's folder has the answers.
"""

import dataclasses
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import filelock
import msgspec

from kgprobe.arguments import folder_name
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import home, make_folder
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.reversal import reversal_of
from kgprobe.graph.run_nodes import find_run
from kgprobe.graph.schema import apply_schema
from kgprobe.graph.state import graph_state
from kgprobe.probes.outcome import Probe
from kgprobe.running.identity import versions

# Format of a run and its beliefs in the graph; runs of other formats cannot be read.
_FORM = 4

# What a run made by this version has, as far as anything is made of it.
_PROPERTIES = frozenset(
    {
        "form",
        *("id", "uid", "model", "probe", "config", "options", "local", "round", "rounds", "batch", "seed", "as_of"),
        *("max_degree", "sampling", "learner", "width", "relations", "graph", "versions"),
        *("asked", "unaskable", "unanswered", "reversed"),
    }
)

_UID = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does.

    Attributes:
        run: its id, which names its folder too.
        as_of: reference date, ``yyyymmdd``: facts are asked and propagated that are current at it.
        rounds: how many rounds in all.
        batch: facts asked a round.
        max_degree: entities with more facts do not pass on what is learned; with the learner ``hierarchical``,
            with more answered ones, until the next estimation of variances.
        sampling: one of :data:`~kgprobe.beliefs.register.SAMPLING_RULES`.
        learner: one of :data:`~kgprobe.beliefs.register.LEARNERS`.
        width: the run ends as soon as the mean 90% credible interval of theta is no broader; 0 has no say.
    """

    run: str
    as_of: int
    rounds: int = 60
    batch: int = 64
    seed: int = 0
    max_degree: int = 1000
    sampling: str = "thompson"
    learner: str = "hierarchical"
    width: float = 0.0


def begin_run(graph: Graph, probe: Probe, plan: Plan, kind: str, options: str = "{}", local: str = "null") -> Row:
    """Record a new run.

    Args:
        kind: the probe's name.
        options: JSON from which the probe can be made anew when the run goes on.
        local: JSON of how its model is loaded on this machine; null where it is not.

    Returns:
        its properties.

    Raises:
        ArgumentError: the run's name cannot be a folder's.
        KgprobeError: there is a run of that id already, or there is no place for its files.
    """
    folder_name("run", plan.run)
    apply_schema(graph)
    uid = secrets.token_hex(4)
    described = probe.describe()
    reversal = reversal_of(graph)
    properties = {
        "form": _FORM,
        "uid": uid,
        "model": described["model"],
        "probe": kind,
        "config": msgspec.json.encode(described, order="sorted").decode(),
        "options": options,
        "local": local,
        "rounds": plan.rounds,
        "batch": plan.batch,
        "seed": plan.seed,
        "as_of": plan.as_of,
        "max_degree": plan.max_degree,
        "sampling": plan.sampling,
        "learner": plan.learner,
        "width": plan.width,
        "relations": list(probe.relations),
        "graph": graph_state(graph),
        "reversed": reversal is not None,
        "reversed_of": None if reversal is None else reversal.of,
        "engine": graph.server,
        "versions": msgspec.json.encode(versions(), order="sorted").decode(),
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
    """The properties of a run, all that this version gives to one among them.

    Raises:
        UnknownNameError: the graph has no such run.
        KgprobeError: another version of kgprobe began it.
    """
    properties = find_run(graph, run)
    missing = sorted(name for name in _PROPERTIES if properties.get(name) is None)
    if missing or properties["form"] != _FORM:
        why = f"it lacks {', '.join(missing)}" if missing else f"its form is {properties['form']}, not {_FORM}"
        raise KgprobeError(
            f"Run {run!r} was begun by another version of kgprobe: {why}. That version can go on with it; here, begin "
            f"a new run, or delete this one by `kgprobe rounds forget {run}`."
        )
    return properties


def plan_of(run: Row) -> Plan:
    """The plan that a run was begun with, extended since or not."""
    names = [field.name for field in dataclasses.fields(Plan) if field.name != "run"]
    return Plan(run["id"], **{name: run[name] for name in names})


def run_folder(run: Row) -> Path:
    """Where a run keeps its files; two graphs may have runs of one name, each with a folder of its own.

    Args:
        run: the properties of a run.

    Raises:
        KgprobeError: they stand for no folder of ours. Whoever can write to a graph would choose which files are
            written and deleted here.
    """
    try:
        name = folder_name("id", run.get("id"))
        uid = run.get("uid")
        if not isinstance(uid, str) or not _UID.fullmatch(uid):
            raise ArgumentError("uid", f"is {uid!r}; eight hexadecimal digits are expected.")
    except ArgumentError as error:
        raise KgprobeError(
            f"Run {run.get('id')!r} of this graph is none that kgprobe has begun: its {error} Nothing is read, written "
            "or deleted for it. To be rid of it: MATCH (run:Run {id: $id}) DELETE run"
        ) from error
    return home() / "runs" / f"{name}-{uid}"


def forget_run(graph: Graph, run: str) -> None:
    """Delete a run and its beliefs, in transactions of bounded size. Cost: the run's beliefs.

    Raises:
        UnknownNameError: the graph has no such run.
        KgprobeError: a process is at the run.
    """
    with locked(find_run(graph, run)):
        # First the run, so that nobody adds a round to what is being deleted.
        graph.write("beliefs/forget_run", id=run)
        _forget_beliefs(graph, run)


def _forget_beliefs(graph: Graph, run: str) -> None:
    for query in (*(f"beliefs/forget_{what}" for what in ("beliefs", "effects", "older_beliefs")), "paint/clear"):
        while graph.write(query, run=run, size=10_000)[0]["deleted"]:
            pass


@contextmanager
def locked(run: Row) -> Iterator[Path]:
    """The run's folder, and nobody else at the run.

    Raises:
        KgprobeError: a process is at the run.
    """
    folder = run_folder(run)
    make_folder(folder)
    try:
        with filelock.FileLock(folder / "lock", timeout=0):
            yield folder
    except filelock.Timeout as error:
        message = f"Another process is at run {run['id']!r} already (its lock is {folder / 'lock'})."
        raise KgprobeError(message) from error
