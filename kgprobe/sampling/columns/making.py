"""Writing of a graph's columns, from the graph itself or from the files of its import.

The graph is read by ranges of entities over several connections. Facts wait in files until they are sorted.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgprobe.base.progress import Task
from kgprobe.graph.bulk.imported import imported_entities, imported_facts
from kgprobe.graph.client import Graph
from kgprobe.sampling.lists import Lists, lists_of_rows
from kgprobe.sources.values import name_key

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt64s = NDArray[np.uint64]

# Bounds of facts without a known begin or end.
ALWAYS, FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max

_TEXTS: Any = pa.array([], pa.large_string())
_NO_FACTS = {"id": _TEXTS, "relation": _TEXTS} | dict.fromkeys(
    ("subject", "object", "begin", "end"), np.empty(0, np.int8)
)

# Range of numbers of entities per query; queries at the same time, and those whose results wait.
_NUMBERS_AT_ONCE = 2_000
_CONNECTIONS, _AHEAD = 2, 4
# Number of sorted texts that are copied at the same time.
_TEXTS_AT_ONCE = 500_000

# Columns of entities, as ``sample/columns`` returns them; those with types are written as they are.
_ENTITIES = ("number", "id", "label", "aliases", "types", "popularity", "degree", "datatype")
_TYPES = {
    "number": pa.int64(),
    "id": pa.large_string(),
    "label": pa.large_string(),
    "popularity": pa.float64(),
    "degree": pa.int32(),
}


class Part(NamedTuple):
    """Entities and facts of a graph.

    Attributes:
        entities: rows of ``sample/columns``.
        facts: arrays of ``id``, ``subject``, ``relation``, ``object``, ``begin`` and ``end``; the ends are numbers of
            entities.
    """

    entities: Sequence[Sequence[Any]]
    facts: Mapping[str, Any]


def graph_parts(graph: Graph) -> Iterator[Part]:
    """Read a graph by ranges of its entities' numbers, several at the same time."""
    starts = iter(range(0, graph.read("reverse/numbers")[0]["numbers"], _NUMBERS_AT_ONCE))
    pool = ThreadPoolExecutor(_CONNECTIONS, "kgprobe-columns")
    waiting: deque[Future[Part]] = deque()
    try:
        for first in starts:
            waiting.append(pool.submit(_read_part, graph, first))
            if len(waiting) >= _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _read_part(graph: Graph, first: int) -> Part:
    numbers = {"first": first, "behind": first + _NUMBERS_AT_ONCE}
    (entities,) = graph.stream("sample/columns", **numbers)
    (facts,) = graph.stream("sample/fact_columns", **numbers, always=ALWAYS, forever=FOREVER)
    arrays = {
        "id": pa.array(facts["ids"], pa.large_string()),
        "subject": np.array(facts["subjects"], np.int32),
        "relation": pa.array(facts["relations"], pa.large_string()),
        "object": np.array(facts["objects"], np.int32),
        "begin": np.array(facts["begins"], np.int64),
        "end": np.array(facts["ends"], np.int64),
    }
    return Part(entities["entities"], arrays)


def file_parts(folder: Path) -> Iterator[Part]:
    """Read the files from which a graph was imported. Memory: 8 bytes for each entity."""
    numbers = np.full(0, -1, dtype=np.int64)
    entities = imported_entities(folder)
    while block := list(islice(entities, _NUMBERS_AT_ONCE)):
        places = np.array([row["ID"] for row in block])
        if places[-1] >= len(numbers):
            numbers = np.concatenate([numbers, np.full(int(places[-1]) + len(numbers) + 1, -1)])
        numbers[places] = [-1 if row["number"] is None else row["number"] for row in block]
        rows = [row | {"label": row["label"] or "", "degree": row["degree"] or 0} for row in block]
        yield Part([[row[name] for name in _ENTITIES] for row in rows if row["number"] is not None], {})
    for rows in imported_facts(folder):
        subjects, objects = (numbers[rows[end].to_numpy()] for end in ("START_ID", "END_ID"))
        is_in = pa.array((subjects >= 0) & (objects >= 0))
        arrays = {
            "id": rows["id"],
            "subject": pa.array(subjects, pa.int32()),
            "relation": rows["relation"],
            "object": pa.array(objects, pa.int32()),
            "begin": pc.fill_null(rows["from"], ALWAYS),
            "end": pc.if_else(pc.fill_null(rows["ended"], False), ALWAYS, pc.fill_null(rows["until"], FOREVER)),
        }
        yield Part((), {name: values.filter(is_in) for name, values in arrays.items()})


def write_columns(parts: Iterable[Part], folder: Path, wait: Task) -> None:
    """Write the columns of a graph into a folder.

    Memory: 150 bytes for each entity, and twice the names; 70 bytes for each fact, besides files that are mapped.
    Temporary disk space: 35 bytes for each fact, and its id.
    """
    relations, types, datatypes = _Codes(), _Codes(), _Codes()
    # The first ones are empty, in case that the graph has no entities or facts.
    entities = [_entities((), types, datatypes)]
    count = 0
    with TemporaryDirectory(dir=folder) as temporary:
        facts = _Spill(Path(temporary))
        _spill_facts(_NO_FACTS, facts, relations)
        for part in parts:
            if part.entities:
                entities.append(_entities(part.entities, types, datatypes))
            if part.facts:
                _spill_facts(part.facts, facts, relations)
            count += len(part.entities)
            wait.note = f"{count:,} entities read"
        wait.note = "sorting"
        place_of_number = _write_entities(folder, entities, types.ranks(), datatypes.ranks())
        entities.clear()
        _write_facts(folder, facts, place_of_number, relations.ranks())
    codes = {"relations": sorted(relations), "types": sorted(types), "datatypes": sorted(datatypes)}
    (folder / "codes.json").write_bytes(msgspec.json.encode(codes))


class _Codes(dict[str, int]):
    """Numbers for texts in the order of their first use."""

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, len(self))

    def ranks(self) -> Int32s:
        """Return the rank of each number's text among the sorted texts."""
        ranks = np.empty(len(self), dtype=np.int32)
        ranks[[self[text] for text in sorted(self)]] = np.arange(len(self))
        return ranks


class _Spill:
    """Arrays in files, to which values are appended, and which are mapped into memory afterwards."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, IO[bytes]] = {}

    def add(self, name: str, values: Any) -> None:
        """Append values of an array, or Arrow strings."""
        if isinstance(values, pa.LargeStringArray):
            offsets = np.frombuffer(values.buffers()[1], np.int64, len(values) + 1, values.offset * 8)
            self.add(f"{name}.lengths", np.diff(offsets).astype(np.int32))
            values = values.buffers()[2][offsets[0] : offsets[-1]] if len(values) else b""
        if name not in self._files:
            self._files[name] = (self._folder / name).open("wb")
        self._files[name].write(memoryview(values))

    def array(self, name: str, dtype: type[np.generic]) -> NDArray[Any]:
        """Return an array."""
        self._files[name].close()
        path = self._folder / name
        return np.asarray(np.memmap(path, dtype, "r")) if path.stat().st_size else np.empty(0, dtype)

    def texts(self, name: str) -> Any:
        """Return Arrow strings. Memory: 8 bytes for each."""
        lengths = self.array(f"{name}.lengths", np.int32)
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        buffers = [pa.py_buffer(offsets), pa.py_buffer(self.array(name, np.uint8))]
        return pa.LargeStringArray.from_buffers(len(lengths), *buffers)


class _Block(NamedTuple):
    """Columns of some entities, their types, and hashes of their names."""

    table: Any
    types: Lists[np.int32]
    names: Lists[np.uint64]


def _entities(rows: Sequence[Sequence[Any]], types: _Codes, datatypes: _Codes) -> _Block:
    """Return the columns of a block of entities, with numbers in place of types and datatypes."""
    columns = dict(zip(_ENTITIES, zip(*rows, strict=True) if rows else [()] * len(_ENTITIES), strict=True))
    names: list[list[str]] = []
    for label, aliases in zip(columns["label"], columns["aliases"], strict=True):
        names.append(list(filter(str.strip, dict.fromkeys(map(name_key, (label, *aliases))))))
    type_codes = [[types[type_] for type_ in dict.fromkeys(ids)] for ids in columns["types"]]
    datatype_codes = [datatypes[datatype] if datatype else -1 for datatype in columns["datatype"]]
    table = pa.table({name: pa.array(columns[name], type_) for name, type_ in _TYPES.items()})
    return _Block(
        table.append_column("datatype", pa.array(datatype_codes, pa.int16())),
        lists_of_rows(type_codes, np.int32),
        Lists(np.cumsum([0, *map(len, names)]), numbers_of_texts(list(chain.from_iterable(names)))),
    )


def _spill_facts(facts: Mapping[str, Any], spill: _Spill, relations: _Codes) -> None:
    """Append facts, with numbers in place of relations."""
    encoded = facts["relation"].dictionary_encode()
    codes = np.array([relations[id_] for id_ in encoded.dictionary.to_pylist()], np.int32)
    spill.add("relation", codes[encoded.indices])
    for name in ("id", "subject", "object", "begin", "end"):
        values = facts[name]
        spill.add(name, values if name == "id" else np.asarray(values))


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


def _write_facts(folder: Path, facts: _Spill, place_of_number: Int32s, relation_ranks: Int32s) -> None:
    """Write sorted facts."""
    # An entity that was created or deleted while the graph was read can have a number, but no row.
    places = np.append(place_of_number, np.int32(-1))
    columns = {
        "subjects": places[np.minimum(facts.array("subject", np.int32), len(place_of_number))],
        "relations": relation_ranks[facts.array("relation", np.int32)],
        "objects": places[np.minimum(facts.array("object", np.int32), len(place_of_number))],
    }
    ids = facts.texts("id")
    keys = pa.table({**columns, "ids": ids})
    order = np.asarray(pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]), dtype=np.int64)
    order = order[(columns["subjects"][order] >= 0) & (columns["objects"][order] >= 0)]
    for name, values in columns.items():
        np.save(folder / f"{name}.npy", values[order])
    for name in ("begin", "end"):
        np.save(folder / f"{name}s.npy", facts.array(name, np.int64)[order])
    for first in range(0, max(len(order), 1), _TEXTS_AT_ONCE):
        facts.add("sorted", ids.take(pa.array(order[first : first + _TEXTS_AT_ONCE])))
    _save_texts(folder, "fact_ids", facts.texts("sorted"))


def numbers_of_texts(texts: Sequence[str]) -> UInt64s:
    """Return a hash of each text; two different texts have equal hashes with probability 2⁻⁶⁴."""
    import pandas as pd

    hashes: UInt64s = pd.util.hash_array(np.array(texts, dtype=object), categorize=False)
    return hashes


def _save_texts(folder: Path, name: str, texts: Any) -> None:
    """Write Arrow strings as one array that can be mapped into memory."""
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    table = pa.table({"text": whole})
    with pa.OSFile(str(folder / f"{name}.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
