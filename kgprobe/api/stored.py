"""Stored results: ``kgprobe.list_results``, ``open`` and ``delete``, and how their names are found.

A name is the one of :mod:`kgprobe.api.kinds`, the path of a folder, or the spec of a model, for its newest measurement.
"""

import difflib
import os
import shutil
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import filelock

from kgprobe.answers.store import FILE
from kgprobe.api.kind_names import COMPARISON, DATASET, JUDGED_GRAPH, LABEL_TABLE, MEASUREMENT, RUN
from kgprobe.api.kinds import (
    CONFIG,
    KINDS,
    Found,
    Kind,
    comparison_file,
    finding_headline,
    read_settings,
    read_summary,
)
from kgprobe.api.rounds import forget_run
from kgprobe.api.shelf import Shelf, name_of, plan_deletions, stored_folders
from kgprobe.base.arguments import check_choice
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.files import DEMO, demo_folder, folder_size, home, make_folder
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph
from kgprobe.graph.runs import list_runs
from kgprobe.graph.state import graph_name
from kgprobe.models.spec_forms import absolute_spec, is_spec, model_name
from kgprobe.results.listing import ListedResult, ResultList
from kgprobe.results.measurement import Measurement, Run
from kgprobe.running.runs import run_folder

if TYPE_CHECKING:
    from kgprobe.api.kinds import Opened
    from kgprobe.datasets.results import Dataset
    from kgprobe.judge.files import Judge
    from kgprobe.labelling.labels import Labels
    from kgprobe.labelling.table import LabelTable
    from kgprobe.results.judged_graph import JudgedGraph
    from kgprobe.results.opened_files import OpenedFiles

# Names in a message.
_NEAR = 4


def kinds_named(names: Sequence[str]) -> Sequence[Kind]:
    """Return kinds by name; all without names."""
    for name in names:
        check_choice("kind", name, KINDS)
    return [KINDS[name] for name in names or KINDS]


def list_results(graph: Graph | None = None, *, kinds: Sequence[str] = ()) -> ResultList:
    """List the stored results of this machine, the newest first.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, name="listed")
    >>> [(result.kind, result.name) for result in kgprobe.list_results().results if result.name == "listed"]
    [('measurement', 'listed')]

    Cost: reading each result's summary file; answers are not read. Unreadable results are reported in notes.

    Args:
        graph: graph whose runs are listed, too: those in progress with their rounds, and those whose folder is on
            another machine.
        kinds: kinds to list; empty for all.

    Raises:
        ArgumentError: no such kind.
    """
    chosen = kinds_named(kinds)
    shelf = Shelf()
    entries = [entry for entry in shelf.entries if entry.kind in chosen and (kinds or entry.folder not in shelf.parts)]
    rows = [_row(entry, shelf) for entry in entries]
    notes = [fault for kind, fault in shelf.faults if kind in chosen]
    if graph is not None and KINDS[RUN] in chosen:
        rows = _with_runs(rows, graph, shelf)
    rows.sort(key=lambda row: (row.changed, row.name), reverse=True)
    return ResultList(results=rows, notes=notes)


def _row(entry: Found, shelf: Shelf) -> ListedResult:
    kind, folder = entry.kind, entry.folder
    file = f"{comparison_file(folder)}.html" if kind.name == COMPARISON else kind.page
    page = folder / file if file and (folder / file).exists() else None
    parts = shelf.parts_of(folder)
    headline = shelf.of(folder).headline
    if parts:
        headline = f"{headline}; has {counted(len(parts), 'measurement')}"
    row = ListedResult(
        kind.name,
        entry.name,
        _changed(folder),
        sum(folder_size(path) for path in (folder, *(part.folder for part in parts))),
        ", ".join(shelf.models_of(folder)),
        ", ".join(shelf.graphs_of(folder)),
        headline,
        folder,
        page,
        f"kgprobe show {entry.name}",
        parts=[part.name for part in parts],
    )
    if kind.name != RUN:
        return row
    summary = read_summary(folder / "results.json")
    return _in_rounds(row, summary.rounds, None, summary.questions)


def _changed(folder: Path) -> datetime:
    """Return the time of the last answer, or else of the last change of a file: a page is written when it is shown."""
    answers = folder / FILE
    files = [file.stat().st_mtime for file in ([answers] if answers.is_file() else folder.iterdir()) if file.is_file()]
    return datetime.fromtimestamp(max(files, default=folder.stat().st_mtime), timezone.utc).astimezone()


def _in_rounds(row: ListedResult, rounds: int | None, of: int | None, asked: int | None) -> ListedResult:
    """Return the row of a run with its progress."""
    if rounds is None or asked is None:
        return row
    finished = counted(rounds, "round") if of is None else f"{rounds:,} of {counted(of, 'round')}"
    progress = f"{finished}, {asked:,} asked"
    headline = f"{progress}; {row.headline}" if row.headline else progress
    return replace(row, headline=headline, rounds=rounds, asked=asked)


def _with_runs(rows: Sequence[ListedResult], graph: Graph, shelf: Shelf) -> list[ListedResult]:
    """Return the rows, with the progress of a graph's runs, and with runs that have no folder here."""
    here = {row.folder.name: row for row in rows if row.kind == RUN}
    listed = [row for row in rows if row.kind != RUN]
    for run in list_runs(graph):
        number = f"{run['id']}-{run.get('uid')}"
        model, called = model_name(str(run.get("model"))), shelf.called(str(run.get("graph")))
        row = here.pop(number, None)
        if row is None:
            started = datetime.fromisoformat(run.get("started") or "1970-01-01T00:00:00+00:00").astimezone()
            place = KINDS[RUN].place / number
            fault = "its files are damaged" if place.exists() else "its folder is not on this machine"
            about = f"{model}, {run.get('probe')}; {fault}"
            row = ListedResult(
                RUN, run["id"], started, 0, model, called, about, place, None, f"kgprobe show {run['id']}"
            )
        else:
            row = replace(row, model=model, graph=called or row.graph, headline=finding_headline(row.folder))
        listed.append(_in_rounds(row, run.get("round"), run.get("rounds"), run.get("asked")))
    return [*listed, *here.values()]


def find(name: str | Path, kinds: Sequence[str] = (), graph: Graph | None = None) -> Found:
    """Find a stored result by its name, the path of its folder, or the spec of a model, for its newest measurement.

    Args:
        kinds: kinds that are searched; empty for all.
        graph: graph whose runs are found, too, if their folder is on another machine, and preferred to runs of the
            same name in other graphs.

    Raises:
        UnknownNameError: no such result; the message has near names of every kind.
        ArgumentError: several results have this name.
        KgprobeError: a file in a folder of this path is damaged.
    """
    chosen = kinds_named(kinds)
    matches = [] if _is_path(name) else _named(str(name), chosen, graph)
    if not matches and is_spec(str(name)) and KINDS[MEASUREMENT] in chosen:
        return measurements_of(str(name))[0]
    if not matches:
        folder = Path(name)
        # With a single kind, its own error says what a given folder lacks.
        is_given = len(chosen) == 1 and _is_path(name)
        holding = [kind for kind in chosen if os.path.isdir(folder) and (is_given or kind.holds(folder))]
        matches = [Found(kind, name_of(kind, folder), folder) for kind in holding]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise _ambiguous(str(name), matches)
    raise UnknownNameError(_unknown(name, chosen))


def _named(name: str, kinds: Sequence[Kind], graph: Graph | None) -> list[Found]:
    """Return the results of a name in kgprobe's own folder, and the run of the graph."""
    matches = []
    for kind in kinds:
        own = kind.place / name
        if kind.has(own):
            matches.append(Found(kind, name_of(kind, own), own))
        elif kind.name == RUN:
            matches += _runs_named(name, graph)
    return matches


def _runs_named(name: str, graph: Graph | None) -> list[Found]:
    kind = KINDS[RUN]
    for run in () if graph is None else list_runs(graph):
        if run["id"] == name:
            return [Found(kind, name, run_folder(run))]
    return [entry for entry in stored_folders(kind) if entry.name == name and kind.holds(entry.folder)]


def measurements_of(spec: str) -> list[Found]:
    """Return a model's measurements in kgprobe's own folder, the newest first; damaged ones do not count."""
    times: dict[Found, int] = {}
    own_spec = absolute_spec(spec)
    for entry in stored_folders(KINDS[MEASUREMENT]):
        with suppress(KgprobeError, FileNotFoundError):
            described = read_settings(entry.folder).get("described") or {}
            if described.get("model") == own_spec:
                times[entry] = (entry.folder / CONFIG).stat().st_mtime_ns
    if not times:
        raise UnknownNameError(
            f"{spec} has no measurement in {KINDS[MEASUREMENT].place}. Measure it first: kgprobe probe distractors"
            f" --model {spec}"
        )
    return sorted(times, key=times.__getitem__, reverse=True)


def _is_path(name: str | Path) -> bool:
    """Return True for the path of a folder (``./tuned``), False for the name of a result (``tuned``)."""
    return Path(name).name != str(name) or str(name) == ".."


def _ambiguous(name: str, matches: Sequence[Found]) -> ArgumentError:
    kinds = list(dict.fromkeys(entry.kind.name for entry in matches))
    if len(kinds) > 1:
        return ArgumentError(
            "name", f"is {name!r}, which is a {' and a '.join(kinds)}; choose one by `kind`, or give its folder."
        )
    folders = ", ".join(entry.folder.name for entry in matches)
    return ArgumentError("name", f"is {name!r}, a run of several graphs; give `graph`, or one of these: {folders}.")


def _unknown(name: str | Path, kinds: Sequence[Kind]) -> str:
    """Return a message on an unknown name: its kind, if it is of another one than expected, or near names."""
    expected = " or ".join(kind.name for kind in kinds)
    every = [entry for kind in KINDS.values() for entry in stored_folders(kind)]
    others = [entry for entry in every if entry.name == str(name)]
    if others:
        return f"{name} is a {' and a '.join(entry.kind.name for entry in others)}; expected a {expected}."
    if _is_path(name):
        what = "no result" if len(kinds) == len(KINDS) else f"no {expected}"
        return f"{name} holds {what}."
    near = difflib.get_close_matches(str(name), [entry.name for entry in every], _NEAR)
    listed = ", ".join(dict.fromkeys(str(entry) for each in near for entry in every if entry.name == each))
    what = "result" if len(kinds) == len(KINDS) else expected
    return f"No {what} is named {str(name)!r}; " + (f"near: {listed}." if near else "`kgprobe results` lists all.")


def newest(kinds: Sequence[str] = ()) -> Found:
    """Return the newest stored result."""
    rows = list_results(kinds=kinds).results
    if not rows:
        raise UnknownNameError(f"{home()} has no results yet; `kgprobe demo` makes the first.")
    return Found(KINDS[rows[0].kind], rows[0].name, rows[0].folder)


@overload
def open(
    name: str | Path | None = None, graph: Graph | None = None, *, kind: Literal["measurement"]
) -> Measurement: ...


@overload
def open(name: str | Path | None = None, graph: Graph | None = None, *, kind: Literal["run"]) -> Run: ...


@overload
def open(name: str | Path | None = None, graph: Graph | None = None, *, kind: Literal["label table"]) -> "Labels": ...


@overload
def open(name: str | Path | None = None, graph: Graph | None = None, *, kind: Literal["judge"]) -> "Judge": ...


@overload
def open(
    name: str | Path | None = None, graph: Graph | None = None, *, kind: Literal["judged graph"]
) -> "JudgedGraph": ...


@overload
def open(name: str | Path | None = None, graph: Graph | None = None, *, kind: Literal["data set"]) -> "Dataset": ...


@overload
def open(
    name: str | Path | None = None, graph: Graph | None = None, *, kind: Literal["comparison", "study", "report"]
) -> "OpenedFiles": ...


@overload
def open(name: str | Path | None = None, graph: Graph | None = None, *, kind: str | None = None) -> "Opened": ...


def open(name: str | Path | None = None, graph: Graph | None = None, *, kind: str | None = None) -> "Opened":
    """Open a stored result of any kind; no model is loaded.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, name="opened")
    >>> kgprobe.open("opened").model
    'demo'

    Args:
        name: its name, the path of its folder, or the spec of a model, for its newest measurement; None is the newest
            result.
        graph: graph of a run, and of the findings of a measurement.
        kind: kind of the result, if several have this name: ``measurement``, ``run``, ``label table``, ``judge``,
            ``judged graph``, ``data set``, ``comparison``, ``study`` or ``report``.

    Raises:
        UnknownNameError: no such result; the message has near names of every kind.
        ArgumentError: several results have this name, there is no such kind, or a run is opened without its graph.
        KgprobeError: a file is damaged, or the result is unfinished or of another version of kgprobe.
    """
    kinds = [] if kind is None else [kind]
    entry = newest(kinds) if name is None else find(name, kinds, graph)
    return entry.kind.opens(entry.folder, graph)


def open_answers(name: str | Path, graph: Graph | None = None) -> Measurement | Run:
    """Open a measurement or run; see :func:`open`."""
    entry = find(name, [MEASUREMENT, RUN], graph)
    opened = entry.kind.opens(entry.folder, graph)
    if not isinstance(opened, (Measurement, Run)):
        raise TypeError(entry.kind.name)
    return opened


def open_label_table(name: str | Path) -> "LabelTable":
    """Open a label table without counting its classes; see :func:`open`."""
    from kgprobe.labelling.table import read_label_table

    return read_label_table(find(name, [LABEL_TABLE]).folder)


def needs_graph(entry: Found) -> bool:
    """Return True if a result is shown with its graph: a run, or a measurement of a graph."""
    if entry.kind.name == MEASUREMENT:
        return "dataset" not in read_settings(entry.folder)
    return entry.kind.name == RUN


def own_graph(entry: Found) -> Path | None:
    """Return the folder of the demo's graph or of the inverse graph that a result is of; None for other graphs."""
    if entry.kind.name == RUN and entry.name == DEMO and demo_folder().is_dir():
        return demo_folder()
    inverse = "*"
    if entry.kind.name == MEASUREMENT:
        settings = read_settings(entry.folder)
        if not settings.get("reversed"):
            return None
        inverse = f"{graph_name(settings['reversed_of'])[0]}-*"
    elif entry.kind.name != RUN or not read_summary(entry.folder / "results.json").reversed:
        return None
    folders = [path for path in (home() / "reversed").glob(inverse) if path.is_dir()]
    return folders[0] if len(folders) == 1 else None


def link_dataset(folder: Path) -> None:
    """Link a new data set, whose folder the user chose, so that it is listed and opens by the folder's name.

    An older data set of the same name loses its link.
    """
    place = KINDS[DATASET].place
    make_folder(place)
    link = place / folder.absolute().name
    if link.is_symlink():
        link.unlink()
    if not link.exists():
        link.symlink_to(folder.resolve())


def delete(name: str | Path, graph: Graph | None = None, *, kind: str | None = None) -> None:
    """Delete a stored result: its folder, and what the graph has of a run or judged graph.

    A label table or a study is deleted with its measurements, except those that other results use.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, name="not-needed")
    >>> kgprobe.delete("not-needed")
    >>> made.folder.exists()
    False

    Args:
        name, kind: as in :func:`open`.
        graph: graph of a run or judged graph, whose beliefs or figures are deleted. Without it, a run is not deleted,
            and the figures of a judged graph stay in its graph.

    Raises:
        UnknownNameError: no such result.
        ArgumentError: several results have this name, or a run is deleted without its graph.
        KgprobeError: a process uses the result, or a file cannot be deleted.
    """
    (deletion,) = plan_deletions([find(name, [] if kind is None else [kind], graph)])
    for entry in (deletion.entry, *deletion.parts):
        delete_found(entry, graph)


def delete_found(entry: Found, graph: Graph | None = None) -> None:
    """Delete a result that was found; see :func:`delete`."""
    if entry.kind.name == RUN:
        if graph is None:
            raise ArgumentError("graph", f"is missing: the beliefs of the run {entry.name!r} are in its graph.")
        if any(run["id"] == entry.name and run_folder(run) == entry.folder for run in list_runs(graph)):
            forget_run(graph, entry.name)
            return
    if entry.kind.name == JUDGED_GRAPH and graph is not None:
        graph.write("judge/forget", id=entry.folder.name)
    lock = entry.folder / "lock"
    try:
        with filelock.FileLock(lock, timeout=0) if lock.exists() else nullcontext():
            shutil.rmtree(entry.folder.resolve())
        if entry.folder.is_symlink():
            entry.folder.unlink()
    except filelock.Timeout as error:
        raise KgprobeError(f"Another process uses {entry.folder}.") from error
    except OSError as error:
        raise KgprobeError(f"{entry.folder} cannot be deleted: {error.strerror or error}.") from error
