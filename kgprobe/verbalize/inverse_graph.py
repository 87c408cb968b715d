"""The inverse of a graph, as a graph of its own: the same entities, relations and facts from object to subject."""

import hashlib
import itertools
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

import filelock
import msgspec

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import home, make_folder
from kgprobe.base.progress import OnProgress
from kgprobe.base.records import Entity, Fact, Placed, texts_of_properties
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph, Row, apply_schema
from kgprobe.graph.loading import load_source
from kgprobe.graph.reversal import Reversal, ReversedRelation, mark_reversal, reversal_of
from kgprobe.graph.runs import list_runs
from kgprobe.graph.servers.folder import Folder, folder_of
from kgprobe.graph.servers.leases import stop
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.state import graph_state, state_uid
from kgprobe.verbalize.templates.examples import relations_of
from kgprobe.verbalize.templates.kinds import backwards

# Entities in one query: they are read by number, in a fixed order and with bounded memory.
NUMBERS_AT_ONCE = 1_000

OnNote = Callable[[str], None]


def open_inverse(
    graph: Graph, max_subjects: float, folder: str | Path | None, on_note: OnNote, on_progress: OnProgress
) -> Graph:
    """Open the inverse graph, which is made if necessary; see :func:`kgprobe.reverse_graph`."""
    # The inverse graph has the names of all languages.
    graph = graph.in_language(None)
    if reversal_of(graph) is not None:
        raise ArgumentError("graph", f"is an inverse graph already: {_place(graph)}. Name its original.")
    state = graph_state(graph)
    uid = state_uid(state)
    if uid is None:
        raise KgprobeError("The graph is empty, so it has no inverse; load facts with `kgprobe load`.")
    inverse_folder = folder_of(folder or home() / "reversed" / f"{uid}-{max_subjects:g}")
    if inverse_folder.path == graph.endpoint.folder:
        raise ArgumentError("folder", f"is {inverse_folder.path}, the folder of the graph itself; name another.")
    with _locked(inverse_folder, on_note):
        inverse = _without_stale(inverse_folder, state, max_subjects, on_note)
        try:
            _make(graph, inverse, state, max_subjects, on_note, on_progress)
        except BaseException:
            inverse.close()
            raise
    return inverse


@contextmanager
def _locked(folder: Folder, on_note: OnNote) -> Iterator[None]:
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


def _without_stale(folder: Folder, state: str, max_subjects: float, on_note: OnNote) -> Graph:
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
    why = "is of an older state of the graph"
    if present.of == state:
        why = f"was made for {present.most_subjects:g} subjects per object"
    on_note(f"The inverse graph {why}; it is made again.")
    if runs:
        on_note(f"The old one has runs ({', '.join(runs)}) and is kept in {aside}.")
    else:
        shutil.rmtree(aside, ignore_errors=True)
    return open_graph(folder.path)


def _make(
    graph: Graph, inverse: Graph, state: str, max_subjects: float, on_note: OnNote, on_progress: OnProgress
) -> None:
    """Make the missing parts of the inverse graph."""
    fingerprint = hashlib.sha256(f"{state} {max_subjects!r}".encode()).hexdigest()[:16]
    if any(row["id"] == fingerprint and row["finished"] for row in inverse.read("load/loads")):
        return
    reversal = reversal_of(inverse)
    if reversal is None:
        reversal = Reversal(state, max_subjects, count_subjects(graph, max_subjects))
        if not reversal.relations:
            raise KgprobeError("The graph has no facts between two entities, so it has no inverse.")
        if not reversal.kept:
            raise KgprobeError(
                f"No relation qualifies. {_left_out_note(reversal)} Raise `max_subjects` to include more."
            )
        apply_schema(inverse)
        mark_reversal(inverse, reversal, fingerprint)
    kept = [relation.id for relation in reversal.kept]
    source = ReversedSource(graph, fingerprint, kept, count_numbers(graph))
    report = load_source(inverse, source, on_problem=on_note, on_progress=on_progress)
    if graph_state(graph) != state:
        raise KgprobeError("The graph changed while its inverse was made. Repeat the call when the load is finished.")
    contents = f"{counted(report.facts, 'fact')} of {counted(len(kept), 'relation')}, in {_place(inverse)}"
    on_note(f"Inverse graph: {contents}. {_left_out_note(reversal)}".rstrip())


def _left_out_note(reversal: Reversal) -> str:
    """Return a note on the left-out relations, with their mean numbers of subjects; empty if there are none."""
    if not reversal.left_out:
        return ""
    listed = ", ".join(f"{relation.called} {relation.subjects_an_object:.3g}" for relation in reversal.left_out)
    return f"Left out, with more than {reversal.most_subjects:g} subjects per object on average: {listed}."


def _place(graph: Graph) -> str:
    return str(graph.endpoint.folder or graph.endpoint.address)


@dataclass(slots=True)
class ReversedSource:
    """Source of an inverse graph; see :class:`kgprobe.sources.contract.Source`.

    Literals are left out, as they cannot be subjects, and so are entities that were referenced and never loaded, unless
    they are types.

    Attributes:
        numbers: number of its entities' numbers, see :func:`count_numbers`.
    """

    graph: Graph
    fingerprint: str
    relation_ids: Sequence[str]
    numbers: int
    name: str = "reversed graph"
    partial: bool = False
    total: int = field(init=False)
    done: int = 0

    def __post_init__(self) -> None:
        # Both entities and facts are read by the entities' numbers.
        self.total = 2 * self.numbers

    @property
    def languages(self) -> list[str]:
        """The languages of names in the graph."""
        return self.graph.languages()

    def relations(self) -> Iterator[Placed]:
        """Yield the relations with inverse templates."""
        chosen = set(self.relation_ids)
        relations = [relation for relation in relations_of(self.graph) if relation.id in chosen]
        for number, relation in enumerate(relations, start=1):
            yield Placed(number, backwards(relation))

    def entities(self) -> Iterator[Placed]:
        """Yield the entities, by number."""
        for number, row in enumerate(self._rows("reverse/entities", 0), start=1):
            row["texts"] = texts_of_properties({each["name"]: each["text"] for each in row["texts"]})
            yield Placed(number, msgspec.convert(row, Entity))

    def facts(self) -> Iterator[Placed]:
        """Yield the facts, by the number of their new subjects."""
        rows = self._rows("reverse/facts", self.numbers, relations=list(self.relation_ids))
        columns = itemgetter("fact", "object", "relation", "subject", "rank", "start", "end")
        for number, row in enumerate(rows, start=1):
            yield Placed(number, Fact(*columns(row)))

    def _rows(self, query: str, done_before: int, **parameters: object) -> Iterator[Row]:
        for first, last in _number_ranges(self.numbers):
            yield from self.graph.stream(query, first=first, last=last, **parameters)
            self.done = done_before + last + 1


def count_numbers(graph: Graph) -> int:
    """Return the count of numbers given to entities: they are 0 to count - 1."""
    return int(graph.read("reverse/numbers")[0]["numbers"])


def _number_ranges(numbers: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last number of each batch of entities."""
    for first in range(0, numbers, NUMBERS_AT_ONCE):
        yield first, min(first + NUMBERS_AT_ONCE, numbers) - 1


def count_subjects(graph: Graph, max_subjects: float) -> list[ReversedRelation]:
    """Return the mean number of subjects per object of each relation, by id; keep those up to ``max_subjects``.

    Cost: one pass over all facts. Memory: the relations.
    """
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for first, last in _number_ranges(count_numbers(graph)):
        for row in graph.read("reverse/subjects_an_object", first=first, last=last):
            totals[row["relation"]].update(facts=row["facts"], lasting=row["lasting"], objects=row["objects"])
    labels = {relation.id: relation.label for relation in relations_of(graph)}
    relations = []
    for id_, total in sorted(totals.items()):
        relation = ReversedRelation(id_, labels.get(id_, ""), **total, kept=False)
        relations.append(msgspec.structs.replace(relation, kept=relation.subjects_an_object <= max_subjects))
    return relations
