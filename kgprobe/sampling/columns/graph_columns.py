"""A whole graph as columns on disk, to process all of its facts.

Entities are sorted by id, facts by subject, relation, object and id, so the same graph has the same columns for every
engine and order of loading. Entities, relations, types and facts are identified by their places in these orders.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import Task, print_message
from kgprobe.graph.bulk.bulk_files import is_as_imported
from kgprobe.graph.client import Graph
from kgprobe.sampling.columns.making import file_parts, graph_parts, write_columns
from kgprobe.sampling.graph_cache import cached_folder
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.lists import Lists, lists_of, mapped_array, mapped_lists, places_among

Int16s = NDArray[np.int16]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt64s = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Version of the files.
FORMAT = 4

# Number of facts per block, and of ids that are Python objects: so few that they stay in the processor's cache.
_FACTS_AT_ONCE, _IDS_AT_ONCE = 1_000_000, 10_000


@dataclass(frozen=True, slots=True)
class GraphColumns:
    """The entities and facts of a graph, mapped into memory.

    Attributes:
        entity_ids, labels: of entities, Arrow strings.
        popularities: of entities, shape (entities,); NaN where unknown.
        datatypes: of literals, as places in ``datatype_names``; -1 for other entities.
        types: of each entity, ascending.
        names: of each entity, a hash of the key of each label or alias that is not white space.
        fact_ids: Arrow strings.
        begins, ends: of the facts, ``yyyymmdd``; ``ALWAYS`` and ``FOREVER`` where there is none. An unknown end is
            ``ALWAYS``.
        relation_ids, type_ids, datatype_names: sorted.
    """

    entity_ids: Any
    labels: Any
    popularities: Floats
    degrees: Int32s
    datatypes: Int16s
    types: Lists[np.int32]
    names: Lists[np.uint64]
    fact_ids: Any
    subjects: Int32s
    relations: Int32s
    objects: Int32s
    begins: Int64s
    ends: Int64s
    relation_ids: Sequence[str]
    type_ids: Sequence[str]
    datatype_names: Sequence[str]

    def labels_of(self, entities: NDArray[Any]) -> list[str]:
        """Return the labels of entities."""
        labels: list[str] = self.labels.take(pa.array(entities)).to_pylist()
        return labels

    def places_of(self, entities: Sequence[str]) -> Int64s:
        """Return the places of entities by their ids, shape (entities,); -1 for an unknown id.

        Cost: one pass over all entities.
        """
        return _places_of(self.entity_ids, entities)

    def type_labels(self) -> dict[str, str]:
        """Return the labels of the types that are entities, by their ids. Cost: one pass over all entities."""
        places = self.places_of(self.type_ids)
        known = [id_ for id_, place in zip(self.type_ids, places.tolist(), strict=True) if place >= 0]
        return dict(zip(known, self.labels_of(places[places >= 0]), strict=True))

    def named(self) -> NDArray[np.bool_]:
        """Return True for entities with a label that is not white space, shape (entities,)."""
        return np.asarray(pc.not_equal(pc.utf8_trim_whitespace(self.labels), ""))

    def askable(self, relations: Iterable[str], as_of: int) -> Int64s:
        """Return the facts of these relations that are current at ``as_of`` (``yyyymmdd``) with names at both ends.

        Cost: some passes over all facts.
        """
        chosen = set(relations)
        is_chosen = np.array([relation in chosen for relation in self.relation_ids], dtype=bool)
        has_label = np.asarray(pc.not_equal(self.labels, ""))
        current = (self.begins <= as_of) & (self.ends >= as_of)
        return np.flatnonzero(
            is_chosen[self.relations] & current & has_label[self.subjects] & has_label[self.objects]
        ).astype(np.int64)


def _places_of(texts: Any, sought: Sequence[str]) -> Int64s:
    """Return the place of each sought text among Arrow strings; -1 for an unknown one."""
    places = pc.index_in(pa.array(sought, type=texts.type), value_set=texts).fill_null(-1)
    return np.asarray(places, dtype=np.int64)


def open_columns(graph: Graph) -> GraphColumns:
    """Return the columns of the graph's current state, from the cache (:func:`.graph_cache.cached_folder`) or computed.

    Cost: from the cache, some file headers (files are mapped into memory); else a scan of the graph, see
    :func:`.write_columns`.
    """
    return columns_of(kept_columns(graph))


def kept_columns(graph: Graph, bulk_files: Path | None = None) -> Path:
    """Return the folder of the columns; see :func:`open_columns`.

    Args:
        bulk_files: files from which the graph was imported just now; they are read instead of the graph.
    """

    def make(folder: Path, wait: Task) -> None:
        if bulk_files is not None and not is_as_imported(graph, bulk_files):
            raise KgprobeError("the graph has changed since its import")
        write_columns(graph_parts(graph) if bulk_files is None else file_parts(bulk_files), folder, wait)

    return cached_folder(graph, "columns", "all", FORMAT, "Reading the graph into columns", make, columns_of)


def keep_imported_columns(graph: Graph, bulk_files: Path) -> None:
    """Write the columns of a graph that was imported just now, from its files. If it fails, a run reads the graph."""
    try:
        kept_columns(graph, bulk_files)
    except (KgprobeError, OSError, ValueError) as error:
        print_message(f"The columns for the first run were not written ({error}). It reads the graph instead.")


# Fields of arrays.
_ARRAYS = ("popularities", "degrees", "datatypes", "subjects", "relations", "objects", "begins", "ends")


def columns_of(folder: Path) -> GraphColumns:
    """Open the columns in a folder."""
    codes = msgspec.json.decode((folder / "codes.json").read_bytes())
    return GraphColumns(
        **{name: _texts(folder, name) for name in ("entity_ids", "labels", "fact_ids")},
        **{name: mapped_array(folder, name) for name in _ARRAYS},
        types=mapped_lists(folder, "types"),
        names=mapped_lists(folder, "names"),
        relation_ids=codes["relations"],
        type_ids=codes["types"],
        datatype_names=codes["datatypes"],
    )


def members_by(owners: Int64s, members: Int64s, count: int) -> Lists[np.int32]:
    """Return the distinct members of each owner, ascending."""
    size = int(members.max(initial=0)) + 1
    owners, members = np.divmod(np.unique(owners * np.int64(size) + members), size)
    return lists_of(owners, members.astype(np.int32), count)


def _texts(folder: Path, name: str) -> Any:
    table = pa.ipc.open_file(pa.memory_map(str(folder / f"{name}.arrow"))).read_all()
    # Combining a single chunk would copy it into memory.
    return table["text"].chunk(0) if table["text"].num_chunks else pa.array([], pa.large_string())


class AskableFacts:
    """Facts of some relations that are current at a date and have names at both ends, in the order of the columns.

    The position of a fact in this order identifies it during a run. Memory: 8 bytes per fact; columns are on disk.
    """

    def __init__(
        self, columns: GraphColumns, relations: Sequence[str], as_of: int, further: Sequence[str] = ()
    ) -> None:
        """Select the facts. Cost: some passes over all facts of the graph.

        ``further`` facts (ids) are added, askable or not; unknown ones are ignored.
        """
        self.columns = columns
        self.places = columns.askable(relations, as_of)
        if further:
            places = _places_of(columns.fact_ids, further)
            self.places = np.union1d(self.places, places[places >= 0])

    def among(self, positions: Int64s) -> "AskableFacts":
        """Return the facts at some positions, which are ascending."""
        facts = copy(self)
        facts.places = self.places[positions]
        return facts

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, position: int) -> FactKey:
        place = int(self.places[position])
        subject = self.columns.entity_ids[int(self.columns.subjects[place])]
        return FactKey(subject.as_py(), self.columns.fact_ids[place].as_py())

    def by_subject(self) -> Int64s:
        """Return all positions, those of a subject's facts next to each other."""
        return np.argsort(self.subjects, kind="stable")

    def keys(self, positions: Int64s) -> list[FactKey]:
        """Return the keys of facts."""
        places = self.places[positions]
        subjects = self.columns.entity_ids.take(pa.array(self.columns.subjects[places])).to_pylist()
        return list(map(FactKey, subjects, self.columns.fact_ids.take(pa.array(places)).to_pylist()))

    def encoded_ids(self) -> Iterator[bytes]:
        """Yield the ids of the facts as UTF-8."""
        for first in range(0, len(self), _IDS_AT_ONCE):
            places = pa.array(self.places[first : first + _IDS_AT_ONCE])
            yield from self.columns.fact_ids.take(places).view(pa.large_binary()).to_pylist()

    def positions(self, facts: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of facts by their ids, shape (facts,); -1 for an unknown id.

        Cost: one pass over all facts of the graph.
        """
        return places_among(self.places, _places_of(self.columns.fact_ids, facts))

    @property
    def subjects(self) -> NDArray[np.int32]:
        """Subjects as places in the columns, shape (facts,)."""
        return self.columns.subjects[self.places]

    @property
    def objects(self) -> NDArray[np.int32]:
        """Objects as places in the columns, shape (facts,)."""
        return self.columns.objects[self.places]

    @property
    def relations(self) -> NDArray[np.int32]:
        """Relations as places in the columns, shape (facts,)."""
        return self.columns.relations[self.places]


class FactsById(AskableFacts):
    """Facts in the order of their ids. Memory: 24 bytes for each fact of the graph while they are sorted."""

    def __init__(self, facts: AskableFacts) -> None:
        """Sort the facts."""
        self.columns = facts.columns
        is_in = np.zeros(len(self.columns.fact_ids), dtype=bool)
        is_in[facts.places] = True
        order = np.asarray(pc.sort_indices(self.columns.fact_ids)).astype(np.int64)
        self.places = order[is_in[order]]

    def positions(self, facts: Sequence[str]) -> Int64s:
        """Return the positions of facts by their ids, shape (facts,); -1 for an unknown id. Cost: a binary search."""
        if not len(self):
            return np.full(len(facts), -1)
        ids, sought = self.columns.fact_ids, pa.array(facts, type=self.columns.fact_ids.type)
        # The last position with a lesser id.
        before = np.full(len(facts), -1)
        for bit in reversed(range(len(self).bit_length())):
            further = np.minimum(before + (1 << bit), len(self) - 1)
            before = np.where(pc.less(ids.take(pa.array(self.places[further])), sought), further, before)
        first = np.minimum(before + 1, len(self) - 1)
        return np.where(pc.equal(ids.take(pa.array(self.places[first])), sought), first, -1)


@dataclass(frozen=True, slots=True)
class Said:
    """The statements of a graph, at any time, as sorted hashes.

    As in :mod:`kgprobe.sampling.statement_negatives`, a statement is in the graph if a fact has its subject, its
    relation and an object with a common name, or its object, its relation and a subject with a common name.

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

        ``alike`` has the relations with a common wording, by relation, including itself.

        Cost: for each statement a look-up for each name of its ends and each of these relations.
        """
        rows, codes = alike.pairs(relations)
        stated = np.zeros(len(relations), dtype=bool)
        for keys, ends, others in ((self.of_subjects, subjects, objects), (self.of_objects, objects, subjects)):
            statements, owners = keys_of(ends[rows], codes, others[rows], names)
            stated[rows[owners[places_among(keys, statements) >= 0]]] = True
        return stated


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
        for first in range(0, len(ends), _FACTS_AT_ONCE):
            part = slice(first, first + _FACTS_AT_ONCE)
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
