"""A whole graph as columns on disk, to process all of its facts.

One scan reads the graph. Entities are sorted by id, facts by subject, relation, object and id, so the same graph has
the same columns for every engine and order of loading. Entities, relations, types and facts are identified by their
places in these orders.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgprobe.graph.client import Graph, Row
from kgprobe.progress import Wait
from kgprobe.sampling.graph_cache import cached_folder
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.lists import Lists, lists_of, lists_of_rows, mapped_array, mapped_lists

Int16s = NDArray[np.int16]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt64s = NDArray[np.uint64]
Floats = NDArray[np.float64]

# Version of the files.
FORMAT = 1
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
        degrees: number of facts of each entity, shape (entities,).
        datatypes: of literals, as places in ``datatype_names``; -1 for other entities.
        types: of each entity, ascending.
        names: of each entity, a hash of each label or alias that is not white space.
        fact_ids: Arrow strings.
        subjects, relations, objects: of the facts, shape (facts,).
        begins, ends: of the facts, ``yyyymmdd``; ``ALWAYS`` and ``FOREVER`` where unknown.
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
        ids = pa.array(entities, type=self.entity_ids.type)
        places = pc.index_in(ids, value_set=self.entity_ids).fill_null(-1)
        return np.asarray(places, dtype=np.int64)

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
        is_asked = np.zeros(len(self.relation_ids), dtype=bool)
        places = {relation: place for place, relation in enumerate(self.relation_ids)}
        is_asked[[places[relation] for relation in relations if relation in places]] = True
        has_label = np.asarray(pc.not_equal(self.labels, ""))
        current = (self.begins <= as_of) & (self.ends >= as_of)
        return np.flatnonzero(
            is_asked[self.relations] & current & has_label[self.subjects] & has_label[self.objects]
        ).astype(np.int64)


def open_columns(graph: Graph) -> GraphColumns:
    """Return the columns of the graph's current state, from the cache (:func:`.graph_cache.cached_folder`) or computed.

    Raises:
        KgprobeError: the graph is empty, or data is being loaded into it.

    Cost: from the cache, some file headers (files are mapped into memory); else a scan of the graph, and memory of some
    150 bytes for each fact and entity, and twice the names, while sorting.
    """
    return columns_of(kept_columns(graph))


def kept_columns(graph: Graph) -> Path:
    """Return the folder of the columns; see :func:`open_columns`."""
    title = "Reading the graph into columns"
    return cached_folder(
        graph, "columns", "all", FORMAT, title, lambda folder, wait: _make(graph, folder, wait), columns_of
    )


def columns_of(folder: Path) -> GraphColumns:
    """Open the columns in a folder."""
    codes = msgspec.json.decode((folder / "codes.json").read_bytes())
    return GraphColumns(
        entity_ids=_texts(folder, "entity_ids"),
        labels=_texts(folder, "labels"),
        popularities=mapped_array(folder, "popularities"),
        degrees=mapped_array(folder, "degrees"),
        datatypes=mapped_array(folder, "datatypes"),
        types=mapped_lists(folder, "types"),
        names=mapped_lists(folder, "names"),
        fact_ids=_texts(folder, "fact_ids"),
        subjects=mapped_array(folder, "subjects"),
        relations=mapped_array(folder, "relations"),
        objects=mapped_array(folder, "objects"),
        begins=mapped_array(folder, "begins"),
        ends=mapped_array(folder, "ends"),
        relation_ids=codes["relations"],
        type_ids=codes["types"],
        datatype_names=codes["datatypes"],
    )


@dataclass(slots=True)
class _Codes:
    """Numbers for texts in the order of their first use."""

    numbers: dict[str, int]

    def of(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def ranks(self) -> Int32s:
        """Return the rank of each number's text among the sorted texts."""
        ranks = np.empty(len(self.numbers), dtype=np.int32)
        ranks[[self.numbers[text] for text in sorted(self.numbers)]] = np.arange(len(self.numbers))
        return ranks


def _make(graph: Graph, folder: Path, wait: Wait) -> None:
    relations, types, datatypes = _Codes({}), _Codes({}), _Codes({})
    entities: list[dict[str, Any]] = []
    facts: list[Any] = []
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
    codes = {"relations": relations, "types": types, "datatypes": datatypes}
    texts = {name: sorted(of_kind.numbers) for name, of_kind in codes.items()}
    (folder / "codes.json").write_bytes(msgspec.json.encode(texts))


def _entities(rows: Sequence[Row], types: _Codes, datatypes: _Codes) -> dict[str, Any]:
    """Return the columns of a block of entities."""
    names: list[list[str]] = []
    type_codes: list[list[int]] = []
    datatype_codes: list[int] = []
    for row in rows:
        names.append([name for name in dict.fromkeys((row["label"], *row["aliases"])) if name.strip()])
        type_codes.append([types.of(type_) for type_ in dict.fromkeys(row["types"])])
        datatype_codes.append(datatypes.of(row["datatype"]) if row["datatype"] else -1)
    starts = np.cumsum([0, *map(len, names)])
    hashes = numbers_of_texts(list(chain.from_iterable(names)))
    return {
        "numbers": np.array([row["number"] for row in rows], dtype=np.int64),
        "ids": pa.array([row["id"] for row in rows], pa.large_string()),
        "labels": pa.array([row["label"] for row in rows], pa.large_string()),
        "popularities": np.array([row["popularity"] for row in rows], dtype=np.float64),
        "degrees": np.array([row["degree"] for row in rows], dtype=np.int32),
        "datatypes": np.array(datatype_codes, np.int16),
        "types": lists_of_rows(type_codes, np.int32),
        "names": Lists(starts, hashes),
    }


def _facts(rows: Sequence[Row], relations: _Codes) -> Any:
    """Return the facts of a block, with numbers in place of entities and relations."""
    ids: list[str] = []
    columns = [array(code) for code in "iiiqq"]
    subjects, codes, objects, begins, ends = columns
    for row in rows:
        for fact, relation, object_, begin, end in row["facts"]:
            ids.append(fact)
            subjects.append(row["number"])
            codes.append(relations.of(relation))
            objects.append(object_)
            begins.append(ALWAYS if begin is None else begin)
            ends.append(FOREVER if end is None else end)
    arrays = [pa.array(np.asarray(column)) for column in columns]
    names = ["id", "subject", "relation", "object", "begin", "end"]
    return pa.table([pa.array(ids, pa.large_string()), *arrays], names=names)


def _write_entities(
    folder: Path, blocks: Sequence[dict[str, Any]], type_ranks: Int32s, datatype_ranks: Int32s
) -> Int32s:
    """Write sorted entities, and return the place of each number."""

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([block[name] for block in blocks]) if blocks else np.empty(0, np.int64)

    ids = pa.chunked_array([block["ids"] for block in blocks], pa.large_string())
    order = np.asarray(pc.sort_indices(ids), dtype=np.int64)
    _save_texts(folder, "entity_ids", ids.take(pa.array(order)))
    labels = pa.chunked_array([block["labels"] for block in blocks], pa.large_string())
    _save_texts(folder, "labels", labels.take(pa.array(order)))
    np.save(folder / "popularities.npy", joined("popularities")[order])
    np.save(folder / "degrees.npy", joined("degrees")[order])
    datatypes = joined("datatypes")[order]
    # Index -1 of other entities is the appended last place.
    np.save(folder / "datatypes.npy", np.append(datatype_ranks, -1)[datatypes].astype(np.int16))
    types = _in_order([block["types"] for block in blocks], order)
    owners = np.repeat(np.arange(len(types)), types.lengths(np.arange(len(types))))
    ranked = type_ranks[types.values]
    Lists(types.starts, ranked[np.lexsort((ranked, owners))]).save(folder, "types")
    _in_order([block["names"] for block in blocks], order).save(folder, "names")
    numbers = joined("numbers").astype(np.int64)
    places = np.full(int(numbers.max(initial=-1)) + 1, -1, dtype=np.int32)
    places[numbers[order]] = np.arange(len(order))
    return places


def _in_order(blocks: Sequence[Lists[Any]], order: Int64s) -> Lists[Any]:
    """Return the lists of all blocks in another order."""
    lengths = np.concatenate([np.diff(block.starts) for block in blocks]) if blocks else np.empty(0, np.int64)
    values = np.concatenate([block.values for block in blocks]) if blocks else np.empty(0, np.int32)
    joined = Lists(np.concatenate([[0], np.cumsum(lengths)]), values)
    places, lengths = joined.places(order)
    return Lists(np.concatenate([[0], np.cumsum(lengths)]), values[places])


def _write_facts(folder: Path, blocks: Sequence[Any], place_of_number: Int32s, relation_ranks: Int32s) -> None:
    """Write sorted facts."""
    table = pa.concat_tables(blocks) if blocks else _facts([], _Codes({}))

    def column(name: str) -> NDArray[Any]:
        return np.asarray(table[name].to_numpy())

    columns = {
        "subjects": place_of_number[column("subject")],
        "relations": relation_ranks[column("relation")] if len(relation_ranks) else column("relation"),
        "objects": place_of_number[column("object")],
    }
    keys = {**{name: pa.array(values) for name, values in columns.items()}, "ids": table["id"]}
    order = np.asarray(pc.sort_indices(pa.table(keys), [(name, "ascending") for name in keys]), dtype=np.int64)
    # An object that was created while the graph was read has a number, but no row.
    order = order[columns["objects"][order] >= 0]
    for name, values in columns.items():
        np.save(folder / f"{name}.npy", values[order])
    np.save(folder / "begins.npy", column("begin")[order])
    np.save(folder / "ends.npy", column("end")[order])
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

    def __init__(self, columns: GraphColumns, relations: Sequence[str], as_of: int) -> None:
        """Select the facts. Cost: some passes over all facts of the graph."""
        self.columns = columns
        self.places = columns.askable(relations, as_of)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, position: int) -> FactKey:
        place = int(self.places[position])
        subject = self.columns.entity_ids[int(self.columns.subjects[place])]
        return FactKey(subject.as_py(), self.columns.fact_ids[place].as_py())

    def positions(self, facts: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of facts by their ids, shape (facts,); -1 for an unknown id.

        Cost: one pass over all facts of the graph.
        """
        if not len(self.places):
            return np.full(len(facts), -1, np.int64)
        ids = pa.array(facts, type=self.columns.fact_ids.type)
        places = pc.index_in(ids, value_set=self.columns.fact_ids).fill_null(-1).to_numpy(zero_copy_only=False)
        positions = np.minimum(np.searchsorted(self.places, places), len(self.places) - 1)
        is_askable = (places >= 0) & (self.places[positions] == places)
        return np.where(is_askable, positions, -1).astype(np.int64)

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
