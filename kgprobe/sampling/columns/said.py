"""Whether a graph says a statement, at any time, for millions of statements: by keys that are looked up.

As :mod:`kgprobe.sampling.statement_negatives` asks it: of a subject, of what it is a fact of by the same relation, of
another object that shares a name with the statement's, or of another subject that shares a name with its subject.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.graph.client import Graph
from kgprobe.sampling.columns.graph_columns import FORMAT, GraphColumns, UInt64s, open_columns
from kgprobe.sampling.graph_cache import cached_folder
from kgprobe.sampling.lists import Lists, mapped_array

Bools = NDArray[np.bool_]

# Facts whose keys are made at a time.
_FACTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Said:
    """What a graph says.

    Attributes:
        of_subjects: a number for each fact's subject, relation, and each name of its object; ascending.
        of_objects: a number for each fact's object, relation, and each name of its subject; ascending.
    """

    of_subjects: UInt64s
    of_objects: UInt64s

    def save(self, folder: Path) -> None:
        """Write it into a folder."""
        np.save(folder / "said_of_subjects.npy", self.of_subjects)
        np.save(folder / "said_of_objects.npy", self.of_objects)

    def says(
        self,
        names: Lists[np.uint64],
        subjects: NDArray[Any],
        relations: NDArray[Any],
        objects: NDArray[Any],
        alike: Lists[np.int32],
    ) -> Bools:
        """Which statements it says.

        Args:
            names: of entities.
            subjects, relations, objects: of the statements, shape (statements,).
            alike: for each relation those that are said in the same words, itself among them.

        Cost: for each statement as many look-ups as its ends have names, for each of these relations.
        """
        places, lengths = alike.places(relations)
        rows = np.repeat(np.arange(len(relations)), lengths)
        codes = alike.values[places]
        said = np.zeros(len(relations), dtype=bool)
        for keys, ends, others in ((self.of_subjects, subjects, objects), (self.of_objects, objects, subjects)):
            made, owners = keys_of(ends[rows], codes, others[rows], names)
            said[rows[owners[_among(keys, made)]]] = True
        return said


def kept_said(graph: Graph) -> Path:
    """The folder of what the graph says as it is now, made beside its columns; as :func:`.open_columns` does."""
    title = "Reading what the graph says"
    return cached_folder(
        graph, "columns", "said", FORMAT, title, lambda folder, _: said_in(open_columns(graph)).save(folder), said_of
    )


def open_said(graph: Graph) -> Said:
    """What the graph says as it is now; see :func:`kept_said`."""
    return said_of(kept_said(graph))


def said_in(columns: GraphColumns) -> Said:
    """What a graph says. Memory: 16 bytes for each fact and name of its ends, while they are sorted."""

    def made(ends: NDArray[Any], others: NDArray[Any]) -> UInt64s:
        parts = [
            keys_of(ends[part], columns.relations[part], others[part], columns.names)[0]
            for first in range(0, len(ends), _FACTS)
            for part in (slice(first, first + _FACTS),)
        ]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.uint64)

    return Said(made(columns.subjects, columns.objects), made(columns.objects, columns.subjects))


def said_of(folder: Path) -> Said:
    """What :meth:`Said.save` wrote."""
    return Said(mapped_array(folder, "said_of_subjects"), mapped_array(folder, "said_of_objects"))


def keys_of(
    ends: NDArray[Any], relations: NDArray[Any], others: NDArray[Any], names: Lists[np.uint64]
) -> tuple[UInt64s, NDArray[np.int64]]:
    """Numbers of an end, a relation and each name of the other end; and from which row each is."""
    places, lengths = names.places(others)
    rows = np.repeat(np.arange(len(others)), lengths)
    return mixed(ends[rows], relations[rows], names.values[places]), rows


def mixed(*parts: "NDArray[Any] | int") -> UInt64s:
    """Numbers that are as good as random and follow from their parts (splitmix64's finishing, part by part)."""
    state = np.uint64(0)
    with np.errstate(over="ignore"):
        for part in parts:
            given = np.asarray(part).astype(np.uint64)
            state = (state ^ given) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return np.asarray(state)


def _among(keys: UInt64s, wanted: UInt64s) -> Bools:
    if not len(keys):
        return np.zeros(len(wanted), dtype=bool)
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(keys[found] == wanted)
