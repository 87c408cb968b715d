"""All stored results: how they are found by name, listed and deleted, and which were made from which.

A name is the one of :mod:`kgprobe.results.kinds`, the path of a folder, or the spec of a model, for its newest
measurement.
"""

import difflib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import filelock

from kgprobe.answers.settings import digest_of, graph_of_measurement, settings_in
from kgprobe.answers.store import FILE
from kgprobe.base.arguments import check_choice
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.files import DEMO, demo_folder, folder_size, home
from kgprobe.base.progress import print_message
from kgprobe.base.sanitize import counted
from kgprobe.graph.runs import list_runs, run_folder, runs_with_rounds
from kgprobe.graph.state import graph_name, graph_state, state_uid
from kgprobe.models.spec_forms import absolute_spec, is_spec, model_name, model_names
from kgprobe.results.kind_names import COMPARISON, JUDGED_GRAPH, MEASUREMENT, RUN
from kgprobe.results.kinds import (
    CONFIG,
    KINDS,
    Description,
    Found,
    Kind,
    comparison_file,
    finding_headline,
    read_settings,
    read_summary,
    run_name,
)
from kgprobe.results.listing import ListedResult, ResultList, size_text

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.results.measurement import Measurement, Run

# Characters of a graph's id.
_UID = 4
# Names in a message.
_NEAR = 4


class Shelf:
    """All stored results with what their files say, read once.

    Attributes:
        entries: readable results, by kind and name.
        faults: kind and message of each unreadable one.
        parts: folders of the measurements that belong to a label table or a study.
    """

    def __init__(self) -> None:
        self.faults: list[tuple[Kind, str]] = []
        self._entries: dict[Path, Found] = {}
        self._described: dict[Path, Description] = {}
        for entry in chain.from_iterable(map(stored_folders, KINDS.values())):
            self._add(entry)
        self.entries = list(self._entries.values())
        parts = chain.from_iterable(self.parts_of(entry.folder) for entry in self.entries)
        self.parts = frozenset(part.folder for part in parts)
        specs = list(dict.fromkeys(chain.from_iterable(described.models for described in self._described.values())))
        self._models = dict(zip(specs, model_names(specs), strict=True))
        self._names: dict[str, str] = {}
        for described in self._described.values():
            self._names |= map(graph_name, described.graphs)
        self._common = Counter(self._names.values())

    def _add(self, entry: Found) -> None:
        try:
            if entry.kind.has(entry.folder):
                self._described[entry.folder.resolve()] = entry.kind.describe(entry.folder)
                self._entries[entry.folder.resolve()] = entry
        except (KgprobeError, OSError) as error:
            self.faults.append((entry.kind, f"{entry.folder} cannot be read: {error}"))

    def of(self, folder: Path) -> Description:
        """Return what the files of a result say."""
        return self._described.get(folder.resolve(), Description(""))

    def parts_of(self, folder: Path) -> list[Found]:
        """Return the stored measurements that are a part of a result."""
        entry = self._entries.get(folder.resolve())
        if entry is None or not entry.kind.has_parts:
            return []
        used = [self._entries.get(path) for path in self._used_by(folder)]
        return [part for part in used if part is not None and part.kind.name == MEASUREMENT]

    def users_of(self, folder: Path, deleted: Collection[Path]) -> list[Found]:
        """Return the results that were made from one, without deleted ones."""
        users = [entry for entry in self.entries if folder.resolve() in self._used_by(entry.folder)]
        return [user for user in users if user.folder.resolve() not in deleted]

    def models_of(self, folder: Path) -> list[str]:
        """Return the short names of a result's models, or of those that it was made from."""
        return self._own_or_used(folder, lambda described: [self._models[spec] for spec in described.models])

    def graphs_of(self, folder: Path) -> list[str]:
        """Return the names of a result's graphs, or of those that it was made from."""
        return self._own_or_used(folder, lambda described: list(map(self.called, described.graphs)))

    def called(self, state: str) -> str:
        """Return the sources of a graph, with the beginning of its id where several graphs have them."""
        uid, name = graph_name(state)
        return f"{name} ({uid[:_UID]})" if name and self._common[name] > 1 else name

    def _used_by(self, folder: Path) -> dict[Path, None]:
        return dict.fromkeys(path.resolve() for path in self.of(folder).uses)

    def _own_or_used(self, folder: Path, values: Callable[[Description], list[str]]) -> list[str]:
        """Return values of a result; without any, those of the results that it was made from."""
        own = values(self.of(folder)) or chain.from_iterable(values(self.of(used)) for used in self._used_by(folder))
        return list(dict.fromkeys(filter(None, own)))


def stored_folders(kind: Kind) -> Iterator[Found]:
    """Yield the folders of a kind below kgprobe's own, by name."""
    for folder in sorted(kind.place.glob("*")):
        if folder.is_dir() and not folder.name.endswith(".part"):
            yield Found(kind, name_of(kind, folder), folder)


def name_of(kind: Kind, folder: Path) -> str:
    """Return the name of a result from its folder."""
    return run_name(folder) if kind.name == RUN else folder.name


@dataclass(frozen=True, slots=True)
class Deletion:
    """A result to delete.

    Attributes:
        parts: its measurements, which no other result uses.
        users: results that were made from it, and stay.
    """

    entry: Found
    parts: Sequence[Found]
    users: Sequence[Found]

    @property
    def with_parts(self) -> str:
        """The number of its measurements, as the end of a phrase; empty without any."""
        return f" with its {counted(len(self.parts), 'measurement')}" if self.parts else ""

    def lines(self) -> Iterator[str]:
        """Yield the folder with its size, and the results that were made from it."""
        size = sum(folder_size(entry.folder) for entry in (self.entry, *self.parts))
        yield f"{self.entry}{self.with_parts}: {self.entry.folder.resolve()}, {size_text(size)}"
        if self.users:
            yield f"  Made from it: {', '.join(map(str, self.users))}. They stay, and need it to be made again."


def plan_deletions(entries: Sequence[Found]) -> list[Deletion]:
    """Return what is deleted with results, and which results were made from them.

    Cost: reading the summary files of all stored results.
    """
    shelf, deleted = Shelf(), {entry.folder.resolve() for entry in entries}
    deletions = []
    for entry in entries:
        parts = [part for part in shelf.parts_of(entry.folder) if not shelf.users_of(part.folder, deleted)]
        deletions.append(Deletion(entry, parts, shelf.users_of(entry.folder, deleted)))
    return deletions


def kinds_named(names: Sequence[str]) -> Sequence[Kind]:
    """Return kinds by name; all without names."""
    for name in names:
        check_choice("kind", name, KINDS)
    return [KINDS[name] for name in names or KINDS]


def list_stored(graph: "Graph | None" = None, kinds: Sequence[str] = ()) -> ResultList:
    """Return the list of stored results, the newest first; see :func:`kgprobe.list_results`."""
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


def _with_runs(rows: Sequence[ListedResult], graph: "Graph", shelf: Shelf) -> list[ListedResult]:
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


def find(name: str | Path, kinds: Sequence[str] = (), graph: "Graph | None" = None) -> Found:
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


def _named(name: str, kinds: Sequence[Kind], graph: "Graph | None") -> list[Found]:
    """Return the results of a name in kgprobe's own folder, and the run of the graph."""
    matches = []
    for kind in kinds:
        own = kind.place / name
        if kind.has(own):
            matches.append(Found(kind, name_of(kind, own), own))
        elif kind.name == RUN:
            matches += _runs_named(name, graph)
    return matches


def _runs_named(name: str, graph: "Graph | None") -> list[Found]:
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


def newest_alike(choices: Sequence[Sequence[Path]]) -> list[Path]:
    """Return a measurement of each choice: the newest that differ in the model alone; else the first of each.

    Those with the same list of facts are preferred.

    Args:
        choices: folders of measurements, the newest first.
    """
    for with_facts in (True, False):
        by_settings: list[dict[str, Path]] = []
        for folders in choices:
            own: dict[str, Path] = {}
            for folder in folders:
                config = read_settings(folder)
                settings = {"probe": config["probe"], **settings_in(config)}
                own.setdefault(digest_of(settings | {"facts": config["facts"]} if with_facts else settings), folder)
            by_settings.append(own)
        alike = []
        for key in set(by_settings[0]).intersection(*by_settings):
            alike.append([own[key] for own in by_settings])  # noqa: PERF401 (nested otherwise)
        if alike:
            return max(alike, key=lambda folders: min((folder / CONFIG).stat().st_mtime_ns for folder in folders))
    return [folders[0] for folders in choices]


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
    rows = list_stored(kinds=kinds).results
    if not rows:
        raise UnknownNameError(f"{home()} has no results yet; `kgprobe demo` makes the first.")
    return Found(KINDS[rows[0].kind], rows[0].name, rows[0].folder)


def latest_result(graph: "Graph") -> "Measurement | Run":
    """Return the run or measurement of a graph with the latest answer.

    An unreadable folder is reported on stderr and skipped.
    """
    uid = state_uid(graph_state(graph))
    latest = runs_with_rounds(list_runs(graph))[-1:]
    results: list[Measurement | Run] = [KINDS[RUN].opens(run_folder(run), graph) for run in latest]
    for path in sorted((home() / "probes").glob(f"*/{FILE}")):
        folder = path.parent
        try:
            if graph_of_measurement(folder) == uid:
                results.append(KINDS[MEASUREMENT].opens(folder, graph))
        except KgprobeError as error:
            print_message(f"{folder.name} is skipped: {error}")
    answered = [result for result in results if (result.folder / FILE).is_file()]
    if not answered:
        raise UnknownNameError("This graph has no results yet; `kgprobe probe distractors --model demo` makes one.")
    return max(answered, key=lambda result: (result.folder / FILE).stat().st_mtime)


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


def delete_found(entry: Found, graph: "Graph | None" = None) -> None:
    """Delete a result that was found; see :func:`delete`."""
    if entry.kind.name == RUN:
        if graph is None:
            raise ArgumentError("graph", f"is missing: the beliefs of the run {entry.name!r} are in its graph.")
        if any(run["id"] == entry.name and run_folder(run) == entry.folder for run in list_runs(graph)):
            from kgprobe.running.runs import forget_run

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
