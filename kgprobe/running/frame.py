"""The frame of a run: the facts that it can draw, which are those that could be asked when it began.

docs/methods/rounds.md. Answers say nothing about facts that are loaded later: a run never asks these, and its estimate,
its beliefs and its view leave them out. The run's node stores the number of its facts and a digest; the file
``frame.npy`` in its folder a hash of each fact, 8 bytes.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import replacing
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.state import graph_state, state_difference
from kgprobe.sampling.columns.graph_columns import (
    AskableFacts,
    GraphColumns,
    UInt64s,
    mixed,
    open_columns,
)
from kgprobe.sampling.columns.making import numbers_of_texts
from kgprobe.sampling.lists import places_among

FRAME = "frame.npy"
# Texts that are Python objects at the same time: so few that they stay in the processor's cache.
_TEXTS = 10_000


@dataclass(frozen=True, slots=True)
class Frame:
    """The facts that a run can draw, in the current state of its graph.

    Attributes:
        facts: those that the graph still has as they were.
        lost: number of the others: deleted or changed since, or not askable any more.
        later: facts that can be asked only since the run began; None if there are none.
        change: how the graph has changed, see :func:`~kgprobe.graph.state.state_difference`; empty if it has not.
    """

    facts: AskableFacts
    lost: int = 0
    later: AskableFacts | None = None
    change: str = ""

    def later_around(self, facts: Sequence[str]) -> list[str]:
        """Return the ids of later facts that share an entity with some facts of the frame. Cost: a pass over them."""
        if self.later is None:
            return []
        positions = self.facts.positions(facts)
        ends = np.concatenate([side[positions[positions >= 0]] for side in (self.facts.subjects, self.facts.objects)])
        around = np.isin(self.later.subjects, ends) | np.isin(self.later.objects, ends)
        return [key.fact for key in self.later.keys(np.flatnonzero(around))]

    @property
    def note(self) -> str:
        """The difference between the frame and the graph, in words; empty if there is none."""
        parts = []
        if self.later is not None:
            verb = "is" if len(self.later) == 1 else "are"
            parts.append(f"{counted(len(self.later), 'fact')} came or changed later and {verb} left out")
        if self.lost:
            total = len(self.facts) + self.lost
            parts.append(f"{self.lost:,} of its {counted(total, 'fact')} cannot be asked any more as before")
        return f"Since the run began, {self.change}. {'; '.join(parts)}." if parts else ""


def write_frame(graph: Graph, folder: Path, relations: Sequence[str], as_of: int) -> Row:
    """Write the facts that a new run can draw into its folder; return the properties of the run that identify them.

    Cost: a second for a million facts, once the graph's columns are made. Memory: 16 bytes for each fact.
    """
    hashes = np.sort(_hashes(AskableFacts(open_columns(graph), relations, as_of)))
    with replacing(folder / FRAME) as unfinished, unfinished.open("wb") as file:
        np.save(file, hashes)
    return {"frame": len(hashes), "frame_digest": _digest(hashes)}


def open_frame(graph: Graph, run: Row, folder: Path) -> Frame:
    """Return the facts that a run can draw.

    Cost: a pass over the columns; if the graph has changed since, also that of :func:`write_frame`.
    """
    askable = AskableFacts(open_columns(graph.in_language(run.get("ask_in"))), run["relations"], run["as_of"])
    state = graph_state(graph)
    if state == run["graph"]:
        return Frame(askable)
    stored = _read(folder / FRAME, run)
    kept = places_among(stored, _hashes(askable)) >= 0
    facts = askable.among(np.flatnonzero(kept))
    later = None if kept.all() else askable.among(np.flatnonzero(~kept))
    return Frame(facts, len(stored) - len(facts), later, state_difference(run["graph"], state))


def _read(path: Path, run: Row) -> UInt64s:
    try:
        hashes: UInt64s = np.load(path, mmap_mode="r")
        is_whole = _digest(hashes) == run["frame_digest"]
    except (OSError, ValueError, EOFError):
        is_whole = False
    if not is_whole:
        raise KgprobeError(
            f"{path}, the facts that the run {run['id']!r} can draw, is missing or damaged, and the graph has changed"
            " since. Restore the file from a copy, or begin a new run."
        )
    return hashes


def _digest(hashes: UInt64s) -> str:
    return hashlib.sha256(np.ascontiguousarray(hashes).data).hexdigest()


def _hashes(facts: AskableFacts) -> UInt64s:
    """Return a hash of the ids of each fact, its subject, its relation and its object, shape (facts,)."""
    columns: GraphColumns = facts.columns
    entities, relations = _hashed(columns.entity_ids), numbers_of_texts(columns.relation_ids)
    hashes = np.empty(len(facts), np.uint64)
    for start in range(0, len(facts), _TEXTS):
        part = facts.among(np.arange(start, min(start + _TEXTS, len(facts))))
        ids = numbers_of_texts(columns.fact_ids.take(pa.array(part.places)).to_pylist())
        ends = entities[part.subjects], relations[part.relations], entities[part.objects]
        hashes[start : start + _TEXTS] = mixed(ids, *ends)
    return hashes


def _hashed(texts: pa.Array) -> UInt64s:
    """Return a hash of each Arrow string, shape (texts,)."""
    hashes = np.empty(len(texts), np.uint64)
    for start in range(0, len(texts), _TEXTS):
        hashes[start : start + _TEXTS] = numbers_of_texts(texts.slice(start, _TEXTS).to_pylist())
    return hashes
