"""Runs: their nodes in the graph and their folders.

docs/methods/rounds.md. The ``Run`` node stores the plan and the counts; the run's folder stores the answers.
"""

import dataclasses
import secrets
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from operator import attrgetter
from pathlib import Path
from typing import Any

import filelock
import msgspec

from kgprobe.answers.settings import LAST_CHANGES, differences, versions
from kgprobe.base.arguments import folder_name
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import make_folder, read_json, replacing
from kgprobe.beliefs.painting import clear_paint
from kgprobe.graph.client import Graph, Row, apply_schema
from kgprobe.graph.reversal import reversal_of
from kgprobe.graph.runs import find_run, run_folder
from kgprobe.graph.state import graph_state, last_changes
from kgprobe.models.spec_forms import short_name
from kgprobe.probes.outcome import Probe
from kgprobe.running.frame import write_frame
from kgprobe.running.plan import Plan, RoundsOptions
from kgprobe.running.view import hide_view

# File of the relations and their templates at the start of a run.
SENTENCES = "sentences.json"
_NO_SENTENCES = "Restore the file from a copy, or begin a new run."
# Columns of a relation that are not templates.
_NO_TEMPLATES = frozenset(("id", "label", "aliases", "description", "active"))

# Format of a run and its beliefs in the graph; runs of other formats cannot be read.
_FORM = 6

# Properties of a run of this version that are read.
_PROPERTIES = frozenset(
    {
        "form",
        *("id", "uid", "model", "probe", "config", "options", "local", "round", "seed", "as_of"),
        *("relations", "graph", "versions", "asked", "unaskable", "unanswered", "reversed"),
        *("frame", "frame_digest"),
        *map(attrgetter("name"), dataclasses.fields(RoundsOptions)),
    }
)


class RunInUseError(KgprobeError):
    """Error: another process uses the run."""


def begin_run(graph: Graph, probe: Probe, plan: Plan, kind: str, options: str = "{}", local: str = "null") -> Row:
    """Record a new run.

    Args:
        options: JSON of the probe's options, to construct it again on resumption.
        local: JSON of the options of a model on this machine; null for another model.
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
        **dataclasses.asdict(plan.options),
        "seed": plan.seed,
        "as_of": plan.as_of,
        "relations": list(probe.relations),
        "graph": graph_state(graph),
        LAST_CHANGES: msgspec.json.encode(last_changes(graph, plan.as_of)).decode(),
        "reversed": reversal is not None,
        "reversed_of": None if reversal is None else reversal.of,
        "ask_in": graph.language,
        "engine": graph.server,
        "versions": msgspec.json.encode(versions(), order="sorted").decode(),
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "asked": 0,
        "unaskable": 0,
        "unanswered": 0,
    }
    if not graph.read("beliefs/run", id=plan.run):
        folder = run_folder({"id": plan.run, "uid": uid})
        make_folder(folder)
        properties |= write_frame(graph, folder, probe.relations, plan.as_of)
        with replacing(folder / SENTENCES) as unfinished:
            unfinished.write_bytes(msgspec.json.encode(_relations_of(graph)))
        # A killed process can have left beliefs of a forgotten run of that name.
        _forget_beliefs(graph, plan.run)
    run: Row = graph.write("beliefs/begin_run", id=plan.run, properties=properties)[0]["run"]
    if run["uid"] != uid:
        raise _taken(plan.run)
    return run


def _relations_of(graph: Graph) -> list[Row]:
    """Return the active relations with their templates."""
    return [row for row in graph.read("sample/relations") if row["active"]]


def _templates_of(rows: Sequence[Row], relations: Collection[str]) -> dict[str, dict[str, list[str]]]:
    """Return the templates of relations by kind and name of the relation."""
    templates: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for row in rows:
        if row["id"] in relations:
            for kind in row.keys() - _NO_TEMPLATES:
                templates[kind][row["label"] or row["id"]] = row[kind]
    return templates


def at_start(graph: Graph, run: Row) -> tuple[Graph, list[str]]:
    """Return a connection with the relations and templates of a run's start, and phrases on what is different now."""
    path = run_folder(run) / SENTENCES
    try:
        stored: list[Row] = read_json(path, list[dict[str, Any]], _NO_SENTENCES)
    except FileNotFoundError as error:
        raise KgprobeError(f"{path}, the templates at the start of the run, does not exist. {_NO_SENTENCES}") from error
    both = [_templates_of(rows, run["relations"]) for rows in (stored, _relations_of(graph))]
    return graph.with_rows("sample/relations", stored), differences(*both)


def new_run_name(model: str, probe: str) -> str:
    """Return a default name of a run: model, probe and time."""
    now = datetime.now().astimezone()
    # Two runs begun at the same moment rarely share the millisecond.
    moment = f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03d}"
    return f"{short_name(model)}-{probe.replace(' ', '-')}-{moment}"


def run_names(name: str | None, models: Sequence[str], probe: str) -> list[str]:
    """Return names of the runs of some models: the given name, followed by the model if there are several."""
    if name is not None and len(models) == 1:
        return [name]
    names: list[str] = []
    for place, model in enumerate(models, start=1):
        candidate = new_run_name(model, probe) if name is None else f"{name}.{short_name(model)}"
        # Two models may have the same short name.
        names.append(f"{candidate}-{place}" if candidate in names else candidate)
    return names


def check_new_run(graph: Graph, run: str) -> None:
    """Raise a KgprobeError if the graph has a run of this name."""
    if graph.read("beliefs/run", id=run):
        raise _taken(run)


def _taken(run: str) -> KgprobeError:
    return KgprobeError(f"There is a run {run!r} already: `kgprobe rounds resume {run}` continues it.")


def get_run(graph: Graph, run: str) -> Row:
    """Return the properties of a run; raise KgprobeError if it was begun by another version of kgprobe."""
    properties = find_run(graph, run)
    if properties.get("round", 0) < 0:
        raise KgprobeError(f"Run {run!r} is being deleted; `kgprobe delete {run}` finishes that.")
    missing = sorted(name for name in _PROPERTIES if properties.get(name) is None)
    if missing or properties["form"] != _FORM:
        fault = f"it lacks {', '.join(missing)}" if missing else f"its form is {properties['form']}, not {_FORM}"
        raise KgprobeError(
            f"Run {run!r} was begun by another version of kgprobe: {fault}. Resume it with that version, begin a new "
            f"run, or delete this one by `kgprobe delete {run}`."
        )
    return properties


def forget_run(graph: Graph, run: str) -> None:
    """Delete a run that no process uses, its beliefs, in transactions of bounded size, and its folder.

    Cost: its beliefs.

    Raises:
        UnknownNameError: no such run.
        KgprobeError: a process uses the run, or it was not started by kgprobe.
    """
    with locked(find_run(graph, run)) as folder:
        # First of all, so that no process can add a round meanwhile.
        graph.write("beliefs/retire_run", id=run)
        if any(row["run"] == run for row in graph.read("view/runs")):
            hide_view(graph)
        _forget_beliefs(graph, run)
        graph.write("beliefs/forget_run", id=run)
    shutil.rmtree(folder, ignore_errors=True)


def _forget_beliefs(graph: Graph, run: str) -> None:
    for query in ("beliefs/forget_beliefs", "beliefs/forget_effects", "beliefs/forget_older_beliefs"):
        while graph.write(query, run=run, size=10_000)[0]["deleted"]:
            pass
    clear_paint(graph, run)


@contextmanager
def locked(run: Row) -> Iterator[Path]:
    """Lock the run for this process and return its folder; raise RunInUseError if another process uses it."""
    folder = run_folder(run)
    make_folder(folder)
    try:
        with filelock.FileLock(folder / "lock", timeout=0):
            yield folder
    except filelock.Timeout as error:
        message = f"Another process uses the run {run['id']!r} (lock: {folder / 'lock'})."
        raise RunInUseError(message) from error
