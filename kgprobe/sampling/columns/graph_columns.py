"""A whole graph as columns on disk, to process all of its facts.

One scan reads the graph. Entities are sorted by id, facts by subject, relation, object and id, so the same graph has
the same columns for every engine and order of loading. Entities, relations, types and facts are identified by their
places in these orders.
"""

from array import array
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgprobe.base.progress import Task
from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.graph_cache import cached_folder
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.lists import Lists, lists_of, lists_of_rows, mapped_array, mapped_lists, places_among
from kgprobe.sources.values import name_key

Int16s = NDArray[np.int16]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt64s = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Version of the files.
FORMAT = 3
# Number of entities that are Python objects at the same time.
_ROWS = 20_000
# Bounds of facts without a known begin or end.
ALWAYS, FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


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
        asked = set(relations)
        is_asked = np.array([relation in asked for relation in self.relation_ids], dtype=bool)
        has_label = np.asarray(pc.not_equal(self.labels, ""))
        current = (self.begins <= as_of) & (self.ends >= as_of)
        return np.flatnonzero(
            is_asked[self.relations] & current & has_label[self.subjects] & has_label[self.objects]
        ).astype(np.int64)


def _places_of(texts: Any, sought: Sequence[str]) -> Int64s:
    """Return the place of each sought text among Arrow strings; -1 for an unknown one."""
    places = pc.index_in(pa.array(sought, type=texts.type), value_set=texts).fill_null(-1)
    return np.asarray(places, dtype=np.int64)


def open_columns(graph: Graph) -> GraphColumns:
    """Return the columns of the graph's current state, from the cache (:func:`.graph_cache.cached_folder`) or computed.

    Cost: from the cache, some file headers (files are mapped into memory); else a scan of the graph, and memory of some
    150 bytes for each fact and entity, and twice the names, while sorting.
    """
    return columns_of(kept_columns(graph))


def kept_columns(graph: Graph) -> Path:
    """Return the folder of the columns; see :func:`open_columns`."""
    return cached_folder(
        graph, "columns", "all", FORMAT, "Reading the graph into columns", partial(_make, graph), columns_of
    )


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


class _Codes(dict[str, int]):
    """Numbers for texts in the order of their first use."""

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, len(self))

    def ranks(self) -> Int32s:
        """Return the rank of each number's text among the sorted texts."""
        ranks = np.empty(len(self), dtype=np.int32)
        ranks[[self[text] for text in sorted(self)]] = np.arange(len(self))
        return ranks


def _make(graph: Graph, folder: Path, wait: Task) -> None:
    relations, types, datatypes = _Codes(), _Codes(), _Codes()
    # The first block is empty, in case that the graph has no entities.
    entities, facts = [_entities([], types, datatypes)], [_facts([], relations)]
    rows = iter(graph.stream("sample/columns"))
    count = 0
    while block := list(islice(rows, _ROWS)):
        entities.append(_entities(block, types, datatypes))
        facts.append(_facts(block, relations))
        count += len(block)
        wait.note = f"{count:,} entities read"
    wait.note = "sorting"
    place_of_number = _write_entities(folder, entities, types.ranks(), datatypes.ranks())
    entities.clear()
    _write_facts(folder, facts, place_of_number, relations.ranks())
    codes = {"relations": sorted(relations), "types": sorted(types), "datatypes": sorted(datatypes)}
    (folder / "codes.json").write_bytes(msgspec.json.encode(codes))


# Columns that are read as they are.
_ENTITIES = pa.schema(
    {
        "number": pa.int64(),
        "id": pa.large_string(),
        "label": pa.large_string(),
        "popularity": pa.float64(),
        "degree": pa.int32(),
    }
)


class _Block(NamedTuple):
    """Columns of some entities, their types, and hashes of their names."""

    table: Any
    types: Lists[np.int32]
    names: Lists[np.uint64]


def _entities(rows: list[Row], types: _Codes, datatypes: _Codes) -> _Block:
    """Return the columns of a block of entities, with numbers in place of types and datatypes."""
    names: list[list[str]] = []
    type_codes: list[list[int]] = []
    datatype_codes: list[int] = []
    for row in rows:
        names.append(list(filter(str.strip, dict.fromkeys(map(name_key, (row["label"], *row["aliases"]))))))
        type_codes.append([types[type_] for type_ in dict.fromkeys(row["types"])])
        datatype_codes.append(datatypes[row["datatype"]] if row["datatype"] else -1)
    table = pa.Table.from_pylist(rows, _ENTITIES)
    return _Block(
        table.append_column("datatype", pa.array(datatype_codes, pa.int16())),
        lists_of_rows(type_codes, np.int32),
        Lists(np.cumsum([0, *map(len, names)]), numbers_of_texts(list(chain.from_iterable(names)))),
    )


def _facts(rows: Sequence[Row], relations: _Codes) -> Any:
    """Return the facts of a block, with numbers in place of entities and relations."""
    ids: list[str] = []
    columns = [array(code) for code in "iiiqq"]
    subjects, codes, objects, begins, ends = columns
    for row in rows:
        for fact, relation, object_, begin, end, ended in row["facts"]:
            ids.append(fact)
            subjects.append(row["number"])
            codes.append(relations[relation])
            objects.append(object_)
            begins.append(ALWAYS if begin is None else begin)
            ends.append(ALWAYS if ended else FOREVER if end is None else end)
    names = ["id", "subject", "relation", "object", "begin", "end"]
    return pa.table([pa.array(ids, pa.large_string()), *map(np.asarray, columns)], names=names)


def _write_entities(folder: Path, blocks: Sequence[_Block], type_ranks: Int32s, datatype_ranks: Int32s) -> Int32s:
    """Write sorted entities, and return the place of each number."""
    table = pa.concat_tables([block.table for block in blocks])
    indices = pc.sort_indices(table["id"])
    table = table.take(indices)
    _save_texts(folder, "entity_ids", table["id"])
    _save_texts(folder, "labels", table["label"])
    np.save(folder / "popularities.npy", table["popularity"].to_numpy())
    np.save(folder / "degrees.npy", table["degree"].to_numpy())
    # Index -1 of other entities is the appended last place.
    datatypes = np.append(datatype_ranks, -1)[table["datatype"].to_numpy()]
    np.save(folder / "datatypes.npy", datatypes.astype(np.int16))
    order = np.asarray(indices, dtype=np.int64)
    types = _in_order([block.types for block in blocks], order)
    owners = np.repeat(np.arange(len(types)), np.diff(types.starts))
    ranked = type_ranks[types.values]
    Lists(types.starts, ranked[np.lexsort((ranked, owners))]).save(folder, "types")
    _in_order([block.names for block in blocks], order).save(folder, "names")
    numbers = table["number"].to_numpy()
    places = np.full(int(numbers.max(initial=-1)) + 1, -1, dtype=np.int32)
    places[numbers] = np.arange(len(numbers))
    return places


def _in_order(blocks: Sequence[Lists[Any]], order: Int64s) -> Lists[Any]:
    """Return the lists of all blocks in another order."""
    lengths = np.concatenate([np.diff(block.starts) for block in blocks])
    values = np.concatenate([block.values for block in blocks])
    places, lengths = Lists(np.append(0, np.cumsum(lengths)), values).places(order)
    return Lists(np.append(0, np.cumsum(lengths)), values[places])


def _write_facts(folder: Path, blocks: Sequence[Any], place_of_number: Int32s, relation_ranks: Int32s) -> None:
    """Write sorted facts."""
    table = pa.concat_tables(blocks)

    columns = {
        "subjects": place_of_number[table["subject"].to_numpy()],
        "relations": relation_ranks[table["relation"].to_numpy()],
        "objects": place_of_number[table["object"].to_numpy()],
    }
    keys = pa.table({**columns, "ids": table["id"]})
    order = np.asarray(pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]), dtype=np.int64)
    # An object that was created while the graph was read has a number, but no row.
    order = order[columns["objects"][order] >= 0]
    for name, values in columns.items():
        np.save(folder / f"{name}.npy", values[order])
    np.save(folder / "begins.npy", table["begin"].to_numpy()[order])
    np.save(folder / "ends.npy", table["end"].to_numpy()[order])
    _save_texts(folder, "fact_ids", table["id"].take(pa.array(order)))


def numbers_of_texts(texts: Sequence[str]) -> UInt64s:
    """Return a hash of each text; two different texts have equal hashes with probability 2⁻⁶⁴."""
    import pandas as pd

    hashes: UInt64s = pd.util.hash_array(np.array(texts, dtype=object), categorize=False)
    return hashes


def members_by(owners: Int64s, members: Int64s, count: int) -> Lists[np.int32]:
    """Return the distinct members of each owner, ascending."""
    size = int(members.max(initial=0)) + 1
    owners, members = np.divmod(np.unique(owners * np.int64(size) + members), size)
    return lists_of(owners, members.astype(np.int32), count)


def _save_texts(folder: Path, name: str, texts: Any) -> None:
    """Write Arrow strings as one array that can be mapped into memory."""
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    table = pa.table({"text": whole})
    with pa.OSFile(str(folder / f"{name}.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _texts(folder: Path, name: str) -> Any:
    table = pa.ipc.open_file(pa.memory_map(str(folder / f"{name}.arrow"))).read_all()
    whole = table["text"].combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


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
        return np.arange(len(self.places))

    def keys(self, positions: Int64s) -> list[FactKey]:
        """Return the keys of facts."""
        places = self.places[positions]
        subjects = self.columns.entity_ids.take(pa.array(self.columns.subjects[places])).to_pylist()
        return list(map(FactKey, subjects, self.columns.fact_ids.take(pa.array(places)).to_pylist()))

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


# Number of facts per block.
_FACTS_AT_ONCE = 1_000_000


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
