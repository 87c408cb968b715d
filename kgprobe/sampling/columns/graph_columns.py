"""A whole graph as columns on disk, for whoever goes through all of its facts.

One scan reads it. Entities stand in the order of their ids, facts in that of subject, relation, object and id; so the
same graph has the same columns whatever the engine, and in whichever order it was loaded. An entity is its place in
that order from here on, and so are a relation, a type and a fact.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
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
from kgprobe.sampling.lists import Lists, lists_of, lists_of_rows, mapped_array, mapped_lists

Int16s = NDArray[np.int16]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt64s = NDArray[np.uint64]
Floats = NDArray[np.float64]

# Changes whenever the files mean something else.
FORMAT = 1
# Entities that are Python objects at a time, while the others are columns.
_ROWS = 20_000
# Bounds of facts that begin or end at no known time.
ALWAYS, FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class GraphColumns:
    """What is known of a graph's entities and facts, mapped into memory.

    Attributes:
        entity_ids, labels: of entities, Arrow texts.
        popularities: of entities, shape (entities,); NaN where it is not known.
        degrees: how many facts each is in, shape (entities,).
        datatypes: of literals, by their place in ``datatype_names``; -1 of what is no literal.
        types: of each entity, ascending.
        names: of each entity, a number for each label or alias that is not white space; the same for the same text.
        fact_ids: Arrow texts.
        subjects, relations, objects: of the facts, shape (facts,).
        begins, ends: of the facts, ``yyyymmdd``; ``ALWAYS`` and ``FOREVER`` where there are none.
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
        """What entities are called."""
        labels: list[str] = self.labels.take(pa.array(entities)).to_pylist()
        return labels

    def places_of(self, entities: Sequence[str]) -> Int64s:
        """The places of entities by their ids, shape (entities,); -1 for one that the graph has not.

        Cost: one pass over all entities.
        """
        wanted = pa.array(entities, type=self.entity_ids.type)
        places = pc.index_in(wanted, value_set=self.entity_ids).fill_null(-1)
        return np.asarray(places, dtype=np.int64)

    def type_labels(self) -> dict[str, str]:
        """What types are called that are entities of the graph, by their ids. Cost: one pass over all entities."""
        places = self.places_of(self.type_ids)
        known = [id_ for id_, place in zip(self.type_ids, places.tolist(), strict=True) if place >= 0]
        return dict(zip(known, self.labels_of(places[places >= 0]), strict=True))

    def named(self) -> NDArray[np.bool_]:
        """Which entities have a label that is not white space, shape (entities,)."""
        return np.asarray(pc.not_equal(pc.utf8_trim_whitespace(self.labels), ""))

    def askable(self, relations: Iterable[str], as_of: int) -> Int64s:
        """The facts of these relations that are current at ``as_of`` (``yyyymmdd``) with a name at both ends.

        Cost: some passes over all facts.
        """
        wanted = np.zeros(len(self.relation_ids), dtype=bool)
        places = {relation: place for place, relation in enumerate(self.relation_ids)}
        wanted[[places[relation] for relation in relations if relation in places]] = True
        has_label = np.asarray(pc.not_equal(self.labels, ""))
        current = (self.begins <= as_of) & (self.ends >= as_of)
        return np.flatnonzero(
            wanted[self.relations] & current & has_label[self.subjects] & has_label[self.objects]
        ).astype(np.int64)


def open_columns(graph: Graph) -> GraphColumns:
    """The columns of the graph as it is now: from disk, or made and kept there, below ``columns`` in kgprobe's folder.

    Raises:
        KgprobeError: nothing was loaded into the graph yet, or something is being loaded into it now.

    Cost: opening them, some file headers, since the files are mapped into memory; making them, a scan of the graph, and
    memory of some 150 bytes for each fact, and for each entity of that and twice its names, while they are sorted.
    """
    return columns_of(kept_columns(graph))


def kept_columns(graph: Graph) -> Path:
    """The folder of the columns; see :func:`open_columns`."""
    title = "Reading the graph into columns"
    return cached_folder(
        graph, "columns", "all", FORMAT, title, lambda folder, wait: _make(graph, folder, wait), columns_of
    )


def columns_of(folder: Path) -> GraphColumns:
    """The columns in a folder."""
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
    """Numbers for texts in the order in which they come, until all are known."""

    numbers: dict[str, int]

    def of(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def ranks(self) -> Int32s:
        """For each number the place of its text among all, sorted."""
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
    texts = {name: sorted(one.numbers) for name, one in codes.items()}
    (folder / "codes.json").write_bytes(msgspec.json.encode(texts))


def _entities(rows: Sequence[Row], types: _Codes, datatypes: _Codes) -> dict[str, Any]:
    """What becomes columns of entities, of one block."""
    names = [
        list(dict.fromkeys(name for name in (row["label"], *row["aliases"]) if name.strip())) if row["aliases"] else
        [row["label"]] if row["label"].strip() else []
        for row in rows
    ]  # fmt: skip
    starts = np.cumsum([0, *map(len, names)])
    hashes = numbers_of_texts([name for its in names for name in its])
    return {
        "numbers": np.array([row["number"] for row in rows], dtype=np.int64),
        "ids": pa.array([row["id"] for row in rows], pa.large_string()),
        "labels": pa.array([row["label"] for row in rows], pa.large_string()),
        "popularities": np.array([row["popularity"] for row in rows], dtype=np.float64),
        "degrees": np.array([row["degree"] for row in rows], dtype=np.int32),
        "datatypes": np.array([datatypes.of(row["datatype"]) if row["datatype"] else -1 for row in rows], np.int16),
        "types": lists_of_rows([[types.of(one) for one in dict.fromkeys(row["types"])] for row in rows], np.int32),
        "names": Lists(starts, hashes),
    }


def _facts(rows: Sequence[Row], relations: _Codes) -> Any:
    """The facts of one block, with numbers in place of entities and relations."""
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
    """Write entities in their order; the place of each by its number."""

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
    # What is no literal has -1, and so the last place, which is added.
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
    """The lists of all blocks, in another order."""
    lengths = np.concatenate([np.diff(block.starts) for block in blocks]) if blocks else np.empty(0, np.int64)
    values = np.concatenate([block.values for block in blocks]) if blocks else np.empty(0, np.int32)
    joined = Lists(np.concatenate([[0], np.cumsum(lengths)]), values)
    places, lengths = joined.places(order)
    return Lists(np.concatenate([[0], np.cumsum(lengths)]), values[places])


def _write_facts(folder: Path, blocks: Sequence[Any], place_of_number: Int32s, relation_ranks: Int32s) -> None:
    """Write facts in their order."""
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
    # An object whose node came into being while the graph was read has a number and no row.
    order = order[columns["objects"][order] >= 0]
    for name, values in columns.items():
        np.save(folder / f"{name}.npy", values[order])
    np.save(folder / "begins.npy", column("begin")[order])
    np.save(folder / "ends.npy", column("end")[order])
    _save_texts(folder, "fact_ids", table["id"].take(pa.array(order)))


def numbers_of_texts(texts: Sequence[str]) -> UInt64s:
    """A number for each text, the same for the same text, and for another with a chance of 2⁻⁶⁴."""
    import pandas as pd

    hashes: UInt64s = pd.util.hash_array(np.array(texts, dtype=object), categorize=False)
    return hashes


def members_by(owners: Int64s, members: Int64s, count: int) -> Lists[np.int32]:
    """The members of each owner, ascending, each once."""
    size = int(members.max(initial=0)) + 1
    owners, members = np.divmod(np.unique(owners * np.int64(size) + members), size)
    return lists_of(owners, members.astype(np.int32), count)


def _save_texts(folder: Path, name: str, texts: Any) -> None:
    """Write Arrow texts such that they can be mapped into memory, as one array."""
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    table = pa.table({"text": whole})
    with pa.OSFile(str(folder / f"{name}.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _texts(folder: Path, name: str) -> Any:
    table = pa.ipc.open_file(pa.memory_map(str(folder / f"{name}.arrow"))).read_all()
    whole = table["text"].combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
