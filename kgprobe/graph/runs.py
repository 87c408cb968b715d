"""Runs and their beliefs, read from the graph, and the folders of runs."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from kgprobe.base.arguments import folder_name
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.files import home
from kgprobe.graph.names import Reader

_UID = re.compile(r"[0-9a-f]{8}")

NO_RUN = "The graph has no runs yet; `kgprobe rounds run distractors --model demo` starts one."
NONE_IN_VIEW = "No run is in view; `kgprobe beliefs apply RUN` brings one."


def find_run(graph: Reader, run: str) -> dict[str, Any]:
    """Return the properties of a run."""
    rows = graph.read("beliefs/run", id=run)
    if not rows:
        known = [properties["id"] for properties in list_runs(graph)]
        raise UnknownNameError(f"Unknown run {run!r}; runs of this graph: {', '.join(known) or 'none'}.")
    properties: dict[str, Any] = rows[0]["run"]
    return properties


def list_runs(graph: Reader) -> list[dict[str, Any]]:
    """Return the properties of all runs, the latest last."""
    return [row["run"] for row in graph.read("beliefs/runs")]


def run_folder(run: Mapping[str, Any]) -> Path:
    """Return the folder of a run. Runs of the same name in two graphs have different folders.

    Raises:
        KgprobeError: the properties are not from kgprobe. Without this check, write access to a graph would allow
            choosing which files are written and deleted here.
    """
    try:
        name = folder_name("id", run.get("id"))
        uid = run.get("uid")
        if not isinstance(uid, str) or not _UID.fullmatch(uid):
            raise ArgumentError("uid", f"is {uid!r}; eight hexadecimal digits are expected.")
    except ArgumentError as error:
        raise KgprobeError(
            f"Run {run.get('id')!r} of this graph was not begun by kgprobe: its {error} No file is read, written or "
            "deleted for it. To delete it: MATCH (run:Run {id: $id}) DELETE run"
        ) from error
    return home() / "runs" / f"{name}-{uid}"


def latest_run(graph: Reader) -> str:
    """Return the id of the latest run that has finished a round."""
    runs = list_runs(graph)
    finished = runs_with_rounds(runs)
    if finished:
        return str(finished[-1]["id"])
    raise UnknownNameError(no_rounds(runs) if runs else NO_RUN)


def runs_with_rounds(runs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the runs that have finished a round, and are not being deleted."""
    return [run for run in runs if (run.get("round") or 0) > 0]


def no_rounds(runs: Iterable[Mapping[str, Any]]) -> str:
    """Return the message for a graph whose runs have no rounds."""
    names = ", ".join(str(run["id"]) for run in runs)
    return f"No run of this graph has finished a round yet: {names}. `kgprobe rounds resume RUN` continues one."


def run_in_view(graph: Reader) -> str | None:
    """Return the id of the run whose beliefs the facts have; None if no run is in view."""
    return next((row["run"] for row in graph.read("view/runs") if row["in_view"]), None)


def find_run_in_view(graph: Reader) -> str:
    """Return the id of the run whose beliefs the facts have."""
    run = run_in_view(graph)
    if run is None:
        raise KgprobeError(NONE_IN_VIEW if list_runs(graph) else NO_RUN)
    return run


# Look-ups per statement.
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class FactBelief:
    """Belief of a run about a fact.

    Attributes:
        theta: E[θ], the probability that the model fails on it, in (0, 1).
        low, high: 90% credible interval of θ.
        right, wrong: numbers of answers about the fact itself; both 0 for a belief by propagation only.
        believed: ``surely known``, ``leans known``, ``leans unknown`` or ``surely unknown``.
        question: last question about the fact itself; None without one.
    """

    theta: float
    low: float
    high: float
    right: int
    wrong: int
    believed: str
    question: str | None


def read_beliefs(graph: Reader, run: str, facts: Iterable[str]) -> dict[str, FactBelief]:
    """Return the beliefs of a run, by the facts' ids; facts without a belief are missing.

    Cost: a look-up for each fact.

    >>> read_beliefs(graph, "first-look", ["Q142-P36-Q90"])["Q142-P36-Q90"].theta < 0.5
    True
    """
    remaining = iter(dict.fromkeys(facts))
    beliefs: dict[str, FactBelief] = {}
    while part := list(islice(remaining, _AT_ONCE)):
        for row in graph.read("explore/beliefs_of_facts", run=run, facts=part):
            fact = row.pop("fact")
            beliefs[fact] = FactBelief(**row)
    return beliefs
