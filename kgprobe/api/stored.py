"""Stored results: ``kgprobe.list_results``, ``open`` and ``delete``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from kgprobe.results.listing import ResultList
from kgprobe.results.shelf import delete_found, find, list_stored, newest, plan_deletions

if TYPE_CHECKING:
    from kgprobe.datasets.results import Dataset
    from kgprobe.graph.client import Graph
    from kgprobe.judge.files import Judge
    from kgprobe.labelling.labels import Labels
    from kgprobe.results.judged_graph import JudgedGraph
    from kgprobe.results.measurement import Measurement, Run
    from kgprobe.results.result import StoredResult

    Opened: TypeAlias = Measurement | Run | Labels | Judge | JudgedGraph | Dataset | StoredResult


def list_results(graph: "Graph | None" = None, *, kinds: Sequence[str] = ()) -> ResultList:
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
    return list_stored(graph, kinds)


@overload
def open(
    name: str | Path | None = None, graph: "Graph | None" = None, *, kind: Literal["measurement"]
) -> "Measurement": ...


@overload
def open(name: str | Path | None = None, graph: "Graph | None" = None, *, kind: Literal["run"]) -> "Run": ...


@overload
def open(name: str | Path | None = None, graph: "Graph | None" = None, *, kind: Literal["label table"]) -> "Labels": ...


@overload
def open(name: str | Path | None = None, graph: "Graph | None" = None, *, kind: Literal["judge"]) -> "Judge": ...


@overload
def open(
    name: str | Path | None = None, graph: "Graph | None" = None, *, kind: Literal["judged graph"]
) -> "JudgedGraph": ...


@overload
def open(name: str | Path | None = None, graph: "Graph | None" = None, *, kind: Literal["data set"]) -> "Dataset": ...


@overload
def open(
    name: str | Path | None = None, graph: "Graph | None" = None, *, kind: Literal["comparison", "study", "report"]
) -> "StoredResult": ...


@overload
def open(name: str | Path | None = None, graph: "Graph | None" = None, *, kind: str | None = None) -> "Opened": ...


def open(name: str | Path | None = None, graph: "Graph | None" = None, *, kind: str | None = None) -> "Opened":
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
    opened: Opened = entry.open(graph)
    return opened


def delete(name: str | Path, graph: "Graph | None" = None, *, kind: str | None = None) -> None:
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
