"""Import files of entities: spilled to disk first, written when their degrees and sizes are known.

The rules of a load apply to the same batches: within a batch an id counts once. An id of an earlier batch is a
duplicate, unless it is on the same line; then the later record replaces the earlier one (in a load, which keeps what a
record has no value for, not the properties that only the earlier one has).
"""

from array import array as numbers_array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from operator import itemgetter
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.records import Entity, Placed, property_in
from kgprobe.graph.bulk.bulk_files import (
    ARRAY_DELIMITER,
    RowFiles,
    array,
    array_fits,
    columns_of,
    decimal,
    optional,
    quoted,
    spill_file,
)
from kgprobe.graph.client import Row
from kgprobe.graph.record_batches import EntityRows, Problem, duplicate

_BYTES = 16

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int64]


def hash_bytes(ids: Iterable[str]) -> bytes:
    """Return the concatenated hashes of ids."""
    return b"".join([blake2b(id_.encode(), digest_size=_BYTES).digest() for id_ in ids])


def hashes_of(content: bytes) -> Hashes:
    """Return the hashes from :func:`hash_bytes` as an array of shape (ids, 2)."""
    return np.frombuffer(content, np.uint64).reshape(-1, 2)


def order_of(hashes: Hashes) -> Numbers:
    """Return the stable order of hashes."""
    return np.lexsort((hashes[:, 1], hashes[:, 0])).astype(np.int64, copy=False)


class IdTable:
    """Numbers by id: hashes of 128 bits in arrays; of 10⁹ ids, two have the same hash with a probability of 10⁻²¹.

    Memory: 24 bytes per id, 48 during construction.
    """

    def __init__(self, hashes: Hashes, numbers: Numbers) -> None:
        """Create a table from distinct hashes in any order."""
        order = order_of(hashes)
        self._first = hashes[order, 0]
        self._second = hashes[order, 1]
        self._numbers = numbers[order]

    def numbers_of(self, hashes: Hashes) -> Numbers:
        """Return the numbers of hashes, -1 for a missing one. Cost: a binary search for each."""
        numbers = np.full(len(hashes), -1, np.int64)
        if not len(self._first):
            return numbers
        positions = np.searchsorted(self._first, hashes[:, 0])
        open_ = np.arange(len(hashes))
        # Nearly always one iteration; more only where ids share the first half of their hashes.
        while len(open_):
            open_ = open_[positions[open_] < len(self._first)]
            open_ = open_[self._first[positions[open_]] == hashes[open_, 0]]
            right = self._second[positions[open_]] == hashes[open_, 1]
            numbers[open_[right]] = self._numbers[positions[open_[right]]]
            open_ = open_[~right]
            positions[open_] += 1
        return numbers

    def numbers_by_id(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the numbers of ids, -1 for a missing one."""
        distinct = list(dict.fromkeys(ids))
        return dict(zip(distinct, self.numbers_of(hashes_of(hash_bytes(distinct))).tolist(), strict=True))


_TEXTS = "id,label,aliases:string[],description,types:string[],popularity:double,value,datatype,source,load,line:long"
_HEADER = f":ID(Entity),{_TEXTS},file:IGNORE%s,number:long,degree:long,size:long,:LABEL"
_ID, _LINE, _FILE = 0, 10, 11

_TYPE, _LITERAL, _DROPPED = 1, 2, 4
# Labels by flags.
_LABELS = tuple(ARRAY_DELIMITER.join(("Entity", *more)) for more in ((), ("Type",), ("Literal",), ("Literal", "Type")))

_ROWS_AT_ONCE = 20_000
# Number of cached ids of types, so that a frequent type is hashed once.
_TYPES_CACHED = 200_000

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class NodeTable:
    """Arrays of all entities by place: the rows of the source, then the types without a record.

    Attributes:
        table: places by id.
        read: number of rows of the source, and first place of a type without a record.
        flags: type, literal or dropped.
        numbers: ``number`` of each row; None if it equals the place.
        degrees, sizes: numbers of facts and of instances.
        next_number: first unused ``number``; None without rows.
    """

    table: IdTable
    read: int
    flags: NDArray[np.uint8]
    numbers: NDArray[np.int64] | None
    degrees: NDArray[np.uint32]
    sizes: NDArray[np.uint32]
    written: int
    next_number: int | None

    @property
    def count(self) -> int:
        """Number of nodes in the files."""
        return int(len(self.flags) - np.count_nonzero(self.flags & _DROPPED))


class EntityFiles:
    """Writer of the import files of entities.

    Memory: about 35 bytes per entity, 70 during sorting; 16 bytes per type.
    """

    def __init__(self, folder: Path, source: str, load: str, languages: Sequence[str] = ()) -> None:
        # Properties with texts in a language, if there are several.
        named = product(("label", "description", "aliases"), languages if len(languages) > 1 else ())
        self._named = [property_in(name, language) for name, language in named]
        columns = [f"{name}:string[]" if name.startswith("aliases") else name for name in self._named]
        self._header = _HEADER % "".join(f",{column}" for column in columns)
        self._folder = folder
        self._common = f"{quoted(source)},{quoted(load)}"
        self._spill = spill_file(folder)
        self._lengths = numbers_array("I")
        self._hashes = bytearray()
        self._flags = bytearray()
        self._batches = numbers_array("q", [0])
        self._type_names = spill_file(folder)
        self._type_hashes = bytearray()
        self._types: dict[str, int] = {}
        self._links = spill_file(folder)
        self._extra = spill_file(folder)
        # Numbers of files and units of places.
        self._files: dict[tuple[str, str], int] = {}

    def add(self, batch: EntityRows) -> None:
        """Add a batch."""
        first = len(self._lengths)
        literals = set(batch.literals)
        payloads = []
        for place, (row, placed) in enumerate(zip(batch.rows, batch.places.values(), strict=True), start=first):
            properties = row["properties"] | row["empty"]
            file = self._files.setdefault((placed.file, placed.unit), len(self._files))
            payload = (
                f"{quoted(row['id'])},{quoted(properties['label'])},{array(properties['aliases'])},"
                f"{quoted(properties['description'])},{array(properties['types'])},{decimal(properties['popularity'])},"
                f"{optional(properties['value'])},{optional(properties['datatype'])},{self._common},"
                f"{properties['line']},{file}"
            )
            for name in self._named:
                text = properties.get(name)
                payload += f",{array(text or ()) if name.startswith('aliases') else optional(text)}"
            payloads.append(payload.encode())
            self._flags.append(_LITERAL if row["id"] in literals else 0)
            if extra := _extra_properties(properties):
                self._extra.write(_encode([place, row["id"], extra]) + b"\n")
        self._hashes += hash_bytes(map(itemgetter("id"), batch.rows))
        self._lengths.extend(map(len, payloads))
        self._spill.write(b"".join(payloads))
        self._batches.append(len(self._lengths))
        self._add_types(batch, {row["id"]: place for place, row in enumerate(batch.rows, start=first)})

    def _add_types(self, batch: EntityRows, places: Mapping[str, int]) -> None:
        types = self._types
        if len(types) > _TYPES_CACHED:
            types.clear()
        new = [id_ for id_ in batch.type_ids if id_ not in types]
        known = len(self._type_hashes) // 16
        types.update((id_, known + index) for index, id_ in enumerate(new))
        self._type_hashes += hash_bytes(new)
        self._type_names.write(b"".join(_encode(id_) + b"\n" for id_ in new))
        links = []
        for id_, type_ids in batch.types.items():
            links += [(places[id_], types[type_id]) for type_id in type_ids]
        np.array(links, np.int64).tofile(self._links)

    def resolve(self) -> tuple[NodeTable, list[Problem]]:
        """Return the table of nodes and the duplicates, after the last batch."""
        read = len(self._lengths)
        hashes = hashes_of(bytes(self._hashes))
        self._hashes = bytearray()
        flags = np.frombuffer(self._flags, np.uint8).copy()
        self._flags = bytearray()
        problems, renumbered = self._drop_duplicates(hashes, flags)
        numbers, next_number = self._numbers(hashes, flags, renumbered)
        kept = np.flatnonzero(~flags & _DROPPED)
        table = IdTable(hashes[kept], kept)

        type_hashes = hashes_of(bytes(self._type_hashes))
        of_types = table.numbers_of(type_hashes)
        unloaded = np.flatnonzero(of_types < 0)
        order = unloaded[order_of(type_hashes[unloaded])]
        new = np.ones(len(order), bool)
        new[1:] = (type_hashes[order[1:]] != type_hashes[order[:-1]]).any(axis=1)
        of_types[order] = read + np.cumsum(new) - 1
        if len(order):
            hashes = np.concatenate([hashes[kept], type_hashes[order[new]]])
            table = IdTable(hashes, np.concatenate([kept, read + np.arange(new.sum())]))
        flags = np.concatenate([flags, np.zeros(new.sum(), np.uint8)])
        flags[of_types] |= _TYPE
        self._of_types = of_types
        counts = np.zeros(len(flags), np.uint32)
        written = read - len(problems)
        return NodeTable(table, read, flags, numbers, counts, counts.copy(), written, next_number), problems

    def _drop_duplicates(
        self, hashes: NDArray[np.uint64], flags: NDArray[np.uint8]
    ) -> tuple[list[Problem], dict[int, int]]:
        """Flag dropped rows; return the duplicates, and the kept places with the places that define their numbers."""
        order = order_of(hashes)
        same = (hashes[order[1:]] == hashes[order[:-1]]).all(axis=1)
        if not same.any():
            return [], {}
        offsets = np.cumsum(np.frombuffer(self._lengths, np.uint32), dtype=np.int64)
        problems: list[tuple[int, Problem]] = []
        renumbered: dict[int, int] = {}
        edges = np.flatnonzero(np.diff(same.astype(np.int8), prepend=0, append=0))
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            group = order[begin : end + 1].tolist()
            rows = [self._columns(place, offsets) for place in group]
            kept, literal = 0, 0
            for index, (place, row) in enumerate(zip(group, rows, strict=True)):
                literal |= int(flags[place]) & _LITERAL
                if index and row[_LINE] == rows[kept][_LINE]:
                    flags[group[kept]] |= _DROPPED
                    kept = index
                elif index:
                    flags[place] |= _DROPPED
                    placed = Placed(int(row[_LINE]), Entity(row[_ID]), *list(self._files)[int(row[_FILE])])
                    problems.append((place, duplicate(row[_ID], placed, int(rows[kept][_LINE]))))
            flags[group[kept]] |= literal
            renumbered[group[kept]] = group[0]
        return [problem for _, problem in sorted(problems, key=itemgetter(0))], renumbered

    def _columns(self, place: int, offsets: NDArray[np.int64]) -> list[str]:
        length = self._lengths[place]
        self._spill.seek(int(offsets[place]) - length)
        return columns_of(self._spill.read(length).decode())

    def _numbers(
        self, hashes: NDArray[np.uint64], flags: NDArray[np.uint8], renumbered: dict[int, int]
    ) -> tuple[NDArray[np.int64] | None, int | None]:
        """Return the numbers, None if they equal the places, and the first unused number."""
        read = len(hashes)
        if not renumbered:
            return None, read or None
        new = np.zeros(read, bool)
        new[flags & _DROPPED == 0] = True
        new[list(renumbered)] = False
        new[list(renumbered.values())] = True
        numbers = np.arange(read)
        unused = 0
        for begin, end in zip(self._batches[:-1], self._batches[1:], strict=True):
            numbers[begin:end] -= unused
            used = np.flatnonzero(new[begin:end])
            unused += end - begin - (int(used[-1]) + 1 if len(used) else 0)
        numbers[list(renumbered)] = numbers[list(renumbered.values())]
        return numbers, read - unused

    def write_links(self, nodes: NodeTable) -> tuple[list[str], int]:
        """Write the links of entities to types, and return the files and the number of links."""
        out = RowFiles(self._folder, "instances", ":START_ID(Entity),:END_ID(Entity)")
        count = 0
        self._links.flush()
        self._links.seek(0)
        while len(links := np.fromfile(self._links, np.int64, 2 * _ROWS_AT_ONCE).reshape(-1, 2)):
            entities, types = links[:, 0], self._of_types[links[:, 1]]
            kept = nodes.flags[entities] & _DROPPED == 0
            entities, types = entities[kept], types[kept]
            np.add.at(nodes.sizes, types, 1)
            out.add([b"%d,%d" % pair for pair in zip(entities.tolist(), types.tolist(), strict=True)])
            count += len(entities)
        self._links.close()
        return out.close(), count

    def write(self, nodes: NodeTable) -> list[str]:
        """Write all nodes, and return the files."""
        out = RowFiles(self._folder, "entities", self._header)
        self._spill.seek(0)
        for begin in range(0, nodes.read, _ROWS_AT_ONCE):
            part = slice(begin, min(begin + _ROWS_AT_ONCE, nodes.read))
            payloads = map(self._spill.read, self._lengths[part])
            numbers = range(part.start, part.stop) if nodes.numbers is None else nodes.numbers[part].tolist()
            tails = _tails(nodes, part)
            columns = zip(range(part.start, part.stop), payloads, numbers, tails, strict=True)
            out.add([b"%d,%b,%d,%b" % row for row in columns if row[-1]])
        self._spill.close()
        for rows in self._unloaded_types(nodes):
            out.add(rows)
        self._type_names.close()
        return out.close()

    def _unloaded_types(self, nodes: NodeTable) -> Iterator[list[bytes]]:
        self._type_names.seek(0)
        written = np.zeros(len(nodes.flags) - nodes.read, bool)
        rows: list[bytes] = []
        # Empty columns after the id: texts and number.
        no_texts = "," * (self._header.count(",") - 4)
        for place, name in zip(self._of_types.tolist(), self._type_names, strict=True):
            if place >= nodes.read and not written[place - nodes.read]:
                written[place - nodes.read] = True
                degree = nodes.degrees[place] or ""
                id_ = quoted(msgspec.json.decode(name))
                rows.append(f"{place},{id_}{no_texts},{degree},{nodes.sizes[place]},{_LABELS[1]}".encode())
                if len(rows) == _ROWS_AT_ONCE:
                    yield rows
                    rows = []
        yield rows

    def write_extra(self, nodes: NodeTable, path: Path) -> None:
        """Write the properties that the import files cannot contain, a line for each entity."""
        self._extra.seek(0)
        with path.open("wb") as out:
            for line in self._extra:
                place, id_, properties = msgspec.json.decode(line)
                if not nodes.flags[place] & _DROPPED:
                    out.write(_encode({"id": id_, "properties": properties}) + b"\n")
        self._extra.close()


def _extra_properties(values: Row) -> Row:
    """Return the properties that cannot be columns: integer popularities, and some arrays, except empty ones."""
    arrays = [name for name in values if name.startswith("aliases") or name == "types"]
    extra = {name: values[name] for name in arrays if values[name] and not array_fits(values[name])}
    if isinstance(values["popularity"], int):
        extra["popularity"] = values["popularity"]
    return extra


def _tails(nodes: NodeTable, part: slice) -> list[bytes]:
    """Return the columns after a row's number, which are degree, size and labels; empty for a dropped row."""
    columns = [values[part].tolist() for values in (nodes.degrees, nodes.sizes, nodes.flags)]
    return [
        b"" if flags & _DROPPED else f"{degree or ''},{size if flags & _TYPE else ''},{_LABELS[flags & 3]}".encode()
        for degree, size, flags in zip(*columns, strict=True)
    ]
