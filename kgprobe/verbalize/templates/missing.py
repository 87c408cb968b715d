"""Templates for relations that lack a kind of them, written into a file for a person to review."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias

from kgprobe.base.progress import OnProgress, StepProgress
from kgprobe.base.records import Relation
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph
from kgprobe.graph.loading import load_source
from kgprobe.graph.names import relation_ids
from kgprobe.sources.contract import open_source
from kgprobe.verbalize.templates.examples import relations_of
from kgprobe.verbalize.templates.file import open_for_relations, relation_line, relations_in
from kgprobe.verbalize.templates.writing import WrittenRelation

# Writes templates for relations; the second argument is all relations of the graph.
Writer: TypeAlias = Callable[[Sequence[Relation], Sequence[Relation]], Iterator[WrittenRelation]]
# Templates without which a relation is written.
REQUIRED = ("clozes", "statements", "yes_no_questions", "wh_questions")


@dataclass(frozen=True, slots=True)
class MissingTemplates:
    """The relations that lacked templates, with those written into a file.

    Attributes:
        failed: relations for which nothing was written, with the reasons.
        kept: number of relations that the file had before; they are unchanged.
    """

    written: Sequence[WrittenRelation]
    failed: Sequence[WrittenRelation]
    kept: int
    loaded: bool
    notes: Sequence[str]


def write_missing_templates(
    graph: Graph,
    path: Path,
    relations: Sequence[str],
    writer: Writer,
    *,
    force: bool,
    load: bool,
    on_progress: OnProgress,
    on_written: Callable[[WrittenRelation], None],
) -> MissingTemplates:
    """Write templates for relations that lack a kind of ``REQUIRED`` into a file, one relation after the other.

    A later call with the same file continues with the relations that it does not contain.

    ``relations`` are ids or names; empty means all.
    """
    existing = [] if force else relations_in(path)
    known = relations_of(graph)
    chosen = relation_ids(graph, relations)
    without = []
    for relation in known:
        lacks = not all(getattr(relation, name) for name in REQUIRED)
        if relation.active is not False and lacks and (not chosen or relation.id in chosen):
            without.append(relation)
    pending = [relation for relation in without if relation.id not in existing]
    written: list[WrittenRelation] = []
    failed: list[WrittenRelation] = []
    if pending:
        writing = writer(pending, known)
        on_progress(StepProgress("Writing", 0, len(pending), "relations"))
        with open_for_relations(path, overwrite=force) as file:
            for done, result in enumerate(writing, start=1):
                if result.reason is None:
                    written.append(result)
                    # Flush each relation, so that an interrupted call loses nothing.
                    file.write(relation_line(result.relation, result.remarks()))
                    file.flush()
                else:
                    failed.append(result)
                on_written(result)
                on_progress(StepProgress("Writing", done, len(pending), "relations"))
    loaded = load and bool(written or existing)
    if loaded:
        load_source(graph, open_source("table", relations=path))
    notes = _notes_on_others(chosen, without, len(without) - len(pending), len(failed), path)
    return MissingTemplates(written, failed, len(existing), loaded, notes)


def _notes_on_others(
    chosen: Sequence[str], without: Sequence[Relation], already: int, failed: int, output: Path
) -> list[str]:
    """Return notes on the relations without new templates, with reasons."""
    notes = []
    done = sorted(set(chosen) - set(map(attrgetter("id"), without)))
    if done:
        notes.append(f"Not active, or with templates of all kinds: {', '.join(done)}.")
    if already:
        notes.append(f"{output} has {counted(already, 'relation')} already; `force` overwrites it.")
    if not without and not chosen:
        notes.append("Every active relation has templates of all kinds; there is nothing to write.")
    if failed:
        notes.append(f"{counted(failed, 'relation')} still without new templates.")
    return notes
