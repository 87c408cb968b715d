"""``kgprobe.reverse_graph``: the other direction of a graph, as a graph of its own that everything can be asked of."""

import hashlib
import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock
import msgspec

from kgprobe.api.loading import LoadProgress, load_source
from kgprobe.api.options import ReversingOptions
from kgprobe.api.reversed_source import ReversedSource, count_numbers, count_subjects
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import home, make_folder
from kgprobe.graph.client import Graph
from kgprobe.graph.reversal import Reversal, mark_reversal, reversal_of
from kgprobe.graph.run_nodes import list_runs
from kgprobe.graph.schema import apply_schema
from kgprobe.graph.state import graph_state
from kgprobe.options import make_options
from kgprobe.sanitize import counted
from kgprobe.servers.folder import Folder
from kgprobe.servers.leases import stop
from kgprobe.servers.opening import folder_of, open_graph


def reverse_graph(
    graph: Graph,
    max_subjects: float = ReversingOptions().max_subjects,
    folder: str | Path | None = None,
    *,
    on_note: Callable[[str], None] = lambda note: None,
    on_progress: Callable[[LoadProgress], None] = lambda progress: None,
) -> Graph:
    """The graph from object to subject: what is asked of it is the other direction of the same facts.

    >>> with kgprobe.reverse_graph(graph) as backwards:
    ...     result = kgprobe.measure(backwards, "demo", "examples", limit=4, examples=2, relations=["capital"])
    >>> result.reversed
    True

    A fact keeps its id, its relation and its interval, and what was its object is its subject. Kept are the relations
    that are single enough backwards: an object has ``max_subjects`` subjects at most, on average over its facts
    without an end. Literals are no subjects, and beliefs are not taken over. Every probe and study works on the
    reversed graph as on any other; :func:`kgprobe.reversal_of` tells what it was made of, and what was left out.

    It is made once, and opened the next time. Where the graph was loaded into since, it is made anew; an old one in
    which there are runs is moved aside. A making that was interrupted goes on.

    Cost: where it has to be made, a walk through the graph's facts and the load of those that are kept; memory is that
    of a few thousand records.

    Args:
        max_subjects: of an object, on average, from 1.
        folder: of the reversed graph; None is one below kgprobe's own, for this graph and ``max_subjects``.
        on_note: called with what one has to know of the making, a sentence at a time.
        on_progress: called after each batch of records.

    Returns:
        the reversed graph, open on a server of its own; close it, or use it as a context manager.

    Raises:
        ArgumentError: an argument cannot be what it is, such as a folder with another graph in it.
        KgprobeError: nothing was loaded into the graph, no relation is single enough, the graph was loaded into
            meanwhile, or another process is making or using the reversed graph.
    """
    max_subjects = make_options(ReversingOptions, {"max_subjects": max_subjects}, "reversing").max_subjects
    if reversal_of(graph) is not None:
        raise ArgumentError("graph", f"is a reversed graph already: {_place(graph)}. Name the one that it was made of.")
    state = graph_state(graph)
    uid = msgspec.json.decode(state)["uid"]
    if uid is None:
        raise KgprobeError("Nothing was loaded into the graph, so there is nothing to reverse; `kgprobe load` does.")
    reversed_folder = folder_of(home() / "reversed" / f"{uid}-{max_subjects:g}" if folder is None else folder)
    if reversed_folder.path == graph.endpoint.folder:
        raise ArgumentError("folder", f"is {reversed_folder.path}, where the graph itself lies; name another.")
    with _making(reversed_folder, on_note):
        reversed_graph = _without_stale(reversed_folder, state, max_subjects, on_note)
        try:
            _make(graph, reversed_graph, state, max_subjects, on_note, on_progress)
        except BaseException:
            reversed_graph.close()
            raise
    return reversed_graph


@contextmanager
def _making(folder: Folder, on_note: Callable[[str], None]) -> Iterator[None]:
    """Nobody else makes the reversed graph of that folder; who does is waited for."""
    make_folder(folder.path.parent)
    lock = filelock.FileLock(folder.path.with_name(f"{folder.path.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        on_note(f"Another process is making the reversed graph in {folder.path}; waiting for it.")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _without_stale(folder: Folder, state: str, max_subjects: float, on_note: Callable[[str], None]) -> Graph:
    """The graph of the folder: the reversal that is wanted, as far as it was made, or an empty one."""
    opened = open_graph(folder.path)
    try:
        found = reversal_of(opened)
        if found is None and opened.read("load/any_node")[0]["nodes"]:
            raise ArgumentError(
                "folder", f"is {folder.path}, which holds a graph that is no reversed one; name another."
            )
        if found is None or (found.of, found.most_subjects) == (state, max_subjects):
            return opened
        runs = [str(run["id"]) for run in list_runs(opened)]
    except BaseException:
        opened.close()
        raise
    opened.close()
    stop(folder)
    others = (folder.path.with_name(f"{folder.path.name}.{number}") for number in itertools.count(1))
    aside = next(path for path in others if not path.exists())
    folder.path.rename(aside)
    if found.of == state:
        why = f"was made for {found.most_subjects:g} subjects an object"
    else:
        why = "is of an older state of the graph"
    on_note(f"The reversed graph {why}; it is made anew.")
    if runs:
        on_note(f"The old one has runs ({', '.join(runs)}) and stays in {aside}.")
    else:
        shutil.rmtree(aside, ignore_errors=True)
    return open_graph(folder.path)


def _make(
    graph: Graph,
    reversed_graph: Graph,
    state: str,
    max_subjects: float,
    on_note: Callable[[str], None],
    on_progress: Callable[[LoadProgress], None],
) -> None:
    """Make what is not there yet of the reversal."""
    fingerprint = hashlib.sha256(f"{state} {max_subjects!r}".encode()).hexdigest()[:16]
    if any(row["id"] == fingerprint and row["finished"] for row in reversed_graph.read("load/loads")):
        return
    reversal = reversal_of(reversed_graph)
    if reversal is None:
        reversal = Reversal(state, max_subjects, count_subjects(graph, max_subjects))
        if not reversal.relations:
            raise KgprobeError("The graph has no fact between two entities, so there is nothing to reverse.")
        if not reversal.kept:
            raise KgprobeError(f"No relation is single enough. {left_out_told(reversal)} `max_subjects` allows more.")
        apply_schema(reversed_graph)
        mark_reversal(reversed_graph, reversal, fingerprint)
    kept = [one.id for one in reversal.kept]
    source = ReversedSource(graph, fingerprint, kept, count_numbers(graph))
    report = load_source(reversed_graph, source, on_problem=on_note, on_progress=on_progress)
    if graph_state(graph) != state:
        raise KgprobeError("The graph was loaded into while it was being reversed. Do it again, when the load is done.")
    told = (
        f"Reversed: {counted(report.facts, 'fact')} of {counted(len(kept), 'relation')}, in {_place(reversed_graph)}."
    )
    on_note(" ".join(filter(None, [told, left_out_told(reversal)])))


def left_out_told(reversal: Reversal) -> str:
    """Which relations were left out, each with its number, in a sentence; empty where none was."""
    if not reversal.left_out:
        return ""
    named = ", ".join(f"{one.called} {one.subjects_an_object:.3g}" for one in reversal.left_out)
    return f"Left out, with more than {reversal.most_subjects:g} subjects an object on average: {named}."


def _place(graph: Graph) -> str:
    return str(graph.endpoint.folder or graph.endpoint.address)
