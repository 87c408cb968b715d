"""``kgprobe.reverse_graph``: the inverse of a graph, as a graph of its own."""

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
from kgprobe.graph.runs import list_runs
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
    """Open the inverse graph, with all facts from object to subject; it is made at the first call.

    >>> with kgprobe.reverse_graph(graph) as backwards:
    ...     result = kgprobe.measure(backwards, "demo", "examples", limit=4, examples=2, relations=["capital"])
    >>> result.reversed
    True

    A fact keeps its id, relation and validity; its object becomes its subject. A relation is kept if an object has at
    most ``max_subjects`` subjects, on average over facts without an end. Literals are left out, and beliefs are not
    copied. Every probe and study works on the inverse graph; :func:`kgprobe.reversal_of` returns its origin and the
    left-out relations.

    If the original has changed, the inverse graph is made again; an old one with runs is moved to another folder. An
    interrupted call is resumed.

    Cost: at the first call, one pass over the graph's facts and the load of the kept ones; memory of a few thousand
    records.

    Args:
        max_subjects: maximum mean number of subjects per object, at least 1.
        folder: folder of the inverse graph; None is one in kgprobe's own, for this graph and ``max_subjects``.
        on_note: called with notes, one sentence at a time.
        on_progress: called after each batch of records.

    Returns:
        The inverse graph, open on a server of its own; close it, or use it as a context manager.

    Raises:
        ArgumentError: an argument is out of range, or the folder has another graph.
        KgprobeError: the graph is empty, no relation qualifies, the graph changed meanwhile, or another process makes
            or uses the inverse graph.
    """
    max_subjects = make_options(ReversingOptions, {"max_subjects": max_subjects}, "reversing").max_subjects
    if reversal_of(graph) is not None:
        raise ArgumentError("graph", f"is an inverse graph already: {_place(graph)}. Name its original.")
    state = graph_state(graph)
    uid = msgspec.json.decode(state)["uid"]
    if uid is None:
        raise KgprobeError("The graph is empty, so it has no inverse; load facts with `kgprobe load`.")
    reversed_folder = folder_of(home() / "reversed" / f"{uid}-{max_subjects:g}" if folder is None else folder)
    if reversed_folder.path == graph.endpoint.folder:
        raise ArgumentError("folder", f"is {reversed_folder.path}, the folder of the graph itself; name another.")
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
    """Lock the making of the inverse graph in a folder; wait for another process that makes it."""
    make_folder(folder.path.parent)
    lock = filelock.FileLock(folder.path.with_name(f"{folder.path.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        on_note(f"Another process is making the inverse graph in {folder.path}; waiting for it.")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _without_stale(folder: Folder, state: str, max_subjects: float, on_note: Callable[[str], None]) -> Graph:
    """Return the folder's graph: the requested inverse graph, complete or not, or an empty graph."""
    opened = open_graph(folder.path)
    try:
        present = reversal_of(opened)
        if present is None and opened.read("load/any_node")[0]["nodes"]:
            raise ArgumentError("folder", f"is {folder.path}, whose graph is not an inverse one; name another.")
        if present is None or (present.of, present.most_subjects) == (state, max_subjects):
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
    if present.of == state:
        why = f"was made for {present.most_subjects:g} subjects per object"
    else:
        why = "is of an older state of the graph"
    on_note(f"The inverse graph {why}; it is made again.")
    if runs:
        on_note(f"The old one has runs ({', '.join(runs)}) and is kept in {aside}.")
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
    """Make the missing parts of the inverse graph."""
    fingerprint = hashlib.sha256(f"{state} {max_subjects!r}".encode()).hexdigest()[:16]
    if any(row["id"] == fingerprint and row["finished"] for row in reversed_graph.read("load/loads")):
        return
    reversal = reversal_of(reversed_graph)
    if reversal is None:
        reversal = Reversal(state, max_subjects, count_subjects(graph, max_subjects))
        if not reversal.relations:
            raise KgprobeError("The graph has no facts between two entities, so it has no inverse.")
        if not reversal.kept:
            raise KgprobeError(
                f"No relation qualifies. {left_out_note(reversal)} Raise `max_subjects` to include more."
            )
        apply_schema(reversed_graph)
        mark_reversal(reversed_graph, reversal, fingerprint)
    kept = [relation.id for relation in reversal.kept]
    source = ReversedSource(graph, fingerprint, kept, count_numbers(graph))
    report = load_source(reversed_graph, source, on_problem=on_note, on_progress=on_progress)
    if graph_state(graph) != state:
        raise KgprobeError("The graph changed while its inverse was made. Repeat the call when the load is finished.")
    result = (
        f"Inverse graph: {counted(report.facts, 'fact')} of {counted(len(kept), 'relation')}, in"
        f" {_place(reversed_graph)}."
    )
    on_note(" ".join(filter(None, [result, left_out_note(reversal)])))


def left_out_note(reversal: Reversal) -> str:
    """Return a note on the left-out relations, with their mean numbers of subjects; empty if there are none."""
    if not reversal.left_out:
        return ""
    listed = ", ".join(f"{relation.called} {relation.subjects_an_object:.3g}" for relation in reversal.left_out)
    return f"Left out, with more than {reversal.most_subjects:g} subjects per object on average: {listed}."


def _place(graph: Graph) -> str:
    return str(graph.endpoint.folder or graph.endpoint.address)
