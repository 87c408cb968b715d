"""Look-up of millions of statements in a graph, at any time, by sorted hashes.

As in :mod:`kgprobe.sampling.statement_negatives`, a statement is in the graph if a fact has its subject, its relation
and an object with a common name, or its object, its relation and a subject with a common name.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.graph.client import Graph
from kgprobe.sampling.columns.graph_columns import FORMAT, GraphColumns, UInt64s, open_columns
from kgprobe.sampling.graph_cache import cached_folder
from kgprobe.sampling.lists import Lists, mapped_array, places_among

Bools = NDArray[np.bool_]

# Number of facts per block.
_FACTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Said:
    """The statements of a graph.

    Attributes:
        of_subjects: hash of each fact's subject, relation, and each name of its object; ascending.
        of_objects: hash of each fact's object, relation, and each name of its subject; ascending.
    """

    of_subjects: UInt64s
    of_objects: UInt64s

    def save(self, folder: Path) -> None:
        """Write the hashes into a folder."""
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
        """Return True for statements in the graph, shape (statements,).

        Args:
            names: of entities.
            subjects, relations, objects: of the statements, shape (statements,).
            alike: relations with a common wording, by relation, including itself.

        Cost: for each statement a look-up for each name of its ends and each of these relations.
        """
        rows, codes = alike.pairs(relations)
        said = np.zeros(len(relations), dtype=bool)
        for keys, ends, others in ((self.of_subjects, subjects, objects), (self.of_objects, objects, subjects)):
            statements, owners = keys_of(ends[rows], codes, others[rows], names)
            said[rows[owners[places_among(keys, statements) >= 0]]] = True
        return said


def kept_said(graph: Graph) -> Path:
    """Return the folder of the statements of the graph's current state, see :func:`.open_columns`."""
    title = "Reading what the graph says"
    return cached_folder(
        graph, "columns", "said", FORMAT, title, lambda folder, _: said_in(open_columns(graph)).save(folder), said_of
    )


def said_in(columns: GraphColumns) -> Said:
    """Return the statements of columns. Memory: 16 bytes for each fact and name of its ends, while sorting."""

    def keys(ends: NDArray[Any], others: NDArray[Any]) -> UInt64s:
        parts = [np.empty(0, dtype=np.uint64)]
        for first in range(0, len(ends), _FACTS):
            part = slice(first, first + _FACTS)
            parts.append(keys_of(ends[part], columns.relations[part], others[part], columns.names)[0])
        return np.unique(np.concatenate(parts))

    return Said(keys(columns.subjects, columns.objects), keys(columns.objects, columns.subjects))


def said_of(folder: Path) -> Said:
    """Open hashes that :meth:`Said.save` has written."""
    return Said(mapped_array(folder, "said_of_subjects"), mapped_array(folder, "said_of_objects"))


def keys_of(
    ends: NDArray[Any], relations: NDArray[Any], others: NDArray[Any], names: Lists[np.uint64]
) -> tuple[UInt64s, NDArray[np.int64]]:
    """Return hashes of an end, a relation and each name of the other end, and the row of each hash."""
    rows, hashes = names.pairs(others)
    return mixed(ends[rows], relations[rows], hashes), rows


def mixed(*parts: "NDArray[Any] | int") -> UInt64s:
    """Return hashes of parts (the finalizer of splitmix64, part by part)."""
    state = np.uint64(0)
    with np.errstate(over="ignore"):
        for part in parts:
            value = np.asarray(part).astype(np.uint64)
            state = (state ^ value) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return np.asarray(state)
