"""Import files of facts, written in the order of the source; derived data are counted meanwhile.

The rules of a load apply to the same batches: within a batch an id counts once. A fact with the subject and id of a
fact of an earlier batch is a duplicate, unless it is on the same line; then the later record replaces the earlier one.
Duplicates are found at the end by sorting hashes of subject and id, and their rows are removed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Fact, Placed
from kgprobe.graph.bulk.bulk_files import RowFiles, columns_of, optional, quoted, spill_file
from kgprobe.graph.bulk.entity_files import NodeTable
from kgprobe.graph.record_batches import Problem, absent, duplicate, fact_row
from kgprobe.sources.contract import Source

Keys = NDArray[np.uint64]
Values = NDArray[np.int64]

# Number of pairs in a run, and in a range while merging.
_AT_ONCE = 4_000_000
_SAMPLES = 1_000


class SortedRuns:
    """Pairs that are added in any order and read sorted by key and value.

    Disk space: 16 bytes per pair. Memory: two or three times four million pairs.
    """

    def __init__(self, folder: Path, name: str, at_once: int = _AT_ONCE) -> None:
        self._path = folder / name
        self._at_once = at_once
        self._waiting: list[tuple[Keys, Values]] = []
        self._count = 0
        self._runs: list[int] = []
        self._file = self._path.open("wb")

    def add(self, keys: Keys, values: Values) -> None:
        """Add pairs."""
        self._waiting.append((keys, values))
        self._count += len(keys)
        if self._count >= self._at_once:
            self._write()

    def _write(self) -> None:
        keys = np.concatenate([keys for keys, _ in self._waiting])
        values = np.concatenate([values for _, values in self._waiting])
        order = np.lexsort((values, keys))
        keys[order].tofile(self._file)
        values[order].tofile(self._file)
        self._runs.append(len(keys))
        self._waiting, self._count = [], 0

    def merged(self) -> Iterator[tuple[Keys, Values]]:
        """Yield all pairs in ranges of keys, and delete the file; no pairs can be added afterwards."""
        if self._count:
            self._write()
        self._file.close()
        try:
            runs: list[tuple[Keys, Values]] = []
            offset = 0
            for count in self._runs:
                keys = np.memmap(self._path, np.uint64, "r", offset, (count,))
                values = np.memmap(self._path, np.int64, "r", offset + 8 * count, (count,))
                runs.append((keys, values))
                offset += 16 * count
            yield from self._ranges(runs)
        finally:
            self._path.unlink()

    def _ranges(self, runs: list[tuple[Keys, Values]]) -> Iterator[tuple[Keys, Values]]:
        if not runs:
            return
        parts = -(-sum(self._runs) // self._at_once)
        samples = np.sort(np.concatenate([keys[:: max(1, len(keys) // _SAMPLES)] for keys, _ in runs]))
        bounds = np.unique(samples[np.arange(1, parts) * len(samples) // parts])
        begins = [0] * len(runs)
        for bound in [*bounds, None]:
            ends = [len(keys) if bound is None else int(np.searchsorted(keys, bound)) for keys, _ in runs]
            slices = [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]
            keys = np.concatenate([run[0][part] for run, part in zip(runs, slices, strict=True)])
            values = np.concatenate([run[1][part] for run, part in zip(runs, slices, strict=True)])
            order = np.lexsort((values, keys))
            yield keys[order], values[order]
            begins = ends


_HEADER = (
    ":START_ID(Entity),:END_ID(Entity),id,relation,relation_label,rank,start,from:long,start_date:date,end,until:long,"
    "ended:boolean,end_date:date,source,load,line:long,file:IGNORE"
)
_SUBJECT, _OBJECT, _ID, _RELATION, _LINE, _FILE = 0, 1, 2, 3, -2, -1
# Bits of the relation in a pair of object and relation as one number.
_RELATION_BITS = 24
# Bit of a place: the object of the fact is missing.
_OUTSIDE_BIT = 1 << 61


@dataclass(slots=True)
class Relations:
    """Relations, in the order of their first occurrence.

    Attributes:
        labels: labels of the relations with a record, by id.
        numbers: numbers by id.
        facts: number of facts of each, also with missing ends, plus one for a relation with a record.
        sizes: number of objects of each.
    """

    labels: Mapping[str, str]
    numbers: dict[str, int] = field(default_factory=dict)
    facts: list[int] = field(default_factory=list)
    sizes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        self.numbers.update((id_, number) for number, id_ in enumerate(self.labels))
        self.facts.extend([1] * len(self.labels))

    def count(self, ids: Iterable[str]) -> None:
        """Count the relations of facts."""
        for id_, count in Counter(ids).items():
            number = self.numbers.setdefault(id_, len(self.facts))
            if number == len(self.facts):
                self.facts.append(0)
                if number >> _RELATION_BITS:
                    raise KgprobeError(f"There are more than {1 << _RELATION_BITS:,} relations.")
            self.facts[number] += count


class FactFiles:
    """Writer of the import files of facts.

    Temporary disk space: 40 bytes per fact. Memory: a few million numbers, independent of the number of facts.
    """

    def __init__(self, folder: Path, source: Source, nodes: NodeTable, labels: Mapping[str, str]) -> None:
        self._folder = folder
        self._source = source
        self._nodes = nodes
        self.relations = Relations(labels)
        self._common = f"{quoted(source.name)},{quoted(source.fingerprint)}"
        self._rows = RowFiles(folder, "facts", _HEADER)
        # Facts with a missing object, read only to find duplicates.
        self._outside = RowFiles(folder, "outside", _HEADER)
        self._places = spill_file(folder)
        self._keys = SortedRuns(folder, "keys.spill")
        self._objects = SortedRuns(folder, "objects.spill")
        self._count = 0
        # Numbers of files and units of places.
        self._files: dict[tuple[str, str], int] = {}
        self._columns: dict[str, str] = {}
        self._ranks: dict[str, str] = {}
        # Numbers of records in the graph, and of rows, which is less if records replace others.
        self.written = 0
        self.written_rows = 0

    def add(self, places: Mapping[str, Placed]) -> tuple[list[Problem], int]:
        """Add a batch; return its problems, and the number of facts outside of a filtered source."""
        facts = [place.record for place in places.values() if isinstance(place.record, Fact)]
        self.relations.count(fact.relation for fact in facts)
        for new in self.relations.numbers.keys() - self._columns.keys():
            self._columns[new] = f"{quoted(new)},{quoted(self.relations.labels.get(new, new))}"
        ends = set(map(attrgetter("subject"), facts))
        ends.update([fact.object for fact in facts])
        numbers = self._nodes.table.numbers_by_id(ends)
        relations, columns, ranks, files = self.relations.numbers, self._columns, self._ranks, self._files
        common, partial = self._common, self._source.partial
        problems: list[Problem] = []
        left_out: list[bytes] = []
        left_out_keys: list[tuple[int, str]] = []
        rows: list[bytes] = []
        keys: list[tuple[int, str]] = []
        triples: list[int] = []
        name, unit, file = None, None, 0
        # One loop with few calls: a conversion spends most of its own time here.
        for place in places.values():
            line, fact, file_name, file_unit = place
            if not isinstance(fact, Fact):
                continue
            subject, object_ = numbers[fact.subject], numbers[fact.object]
            if subject < 0:
                problems.append(absent(place, "subject"))
                continue
            rank = ranks.get(fact.rank) or ranks.setdefault(fact.rank, quoted(fact.rank))
            if file_name is not name or file_unit is not unit:
                name, unit = file_name, file_unit
                file = files.setdefault((name, unit), len(files))
            validity = ",,,,,," if fact.start is None and fact.end is None else _validity(fact, line)
            id_, relation = fact.id, fact.relation
            key = (subject, id_)
            if '"' in id_:
                id_ = id_.replace('"', '""')
            row = f'{subject},{object_},"{id_}",{columns[relation]},{rank},{validity},{common},{line},{file}'.encode()
            if object_ >= 0:
                rows.append(row)
                keys.append(key)
                triples += (subject, object_, relations[relation])
            else:
                left_out.append(row)
                left_out_keys.append(key)
                if not partial:
                    problems.append(absent(place, "object"))
        self._write(rows, keys, left_out, left_out_keys)
        self._count_derived(np.array(triples, np.int64).reshape(-1, 3), 1)
        return problems, partial * len(left_out)

    def _write(
        self,
        rows: list[bytes],
        keys: list[tuple[int, str]],
        left_out: list[bytes],
        left_out_keys: list[tuple[int, str]],
    ) -> None:
        """Write rows, and store their places and the hashes of their keys, which are subject and id."""
        places = self._rows.add(rows)
        if left_out:
            places = np.concatenate([places, self._outside.add(left_out) | np.uint64(_OUTSIDE_BIT)])
        self.written += len(rows)
        self.written_rows += len(rows)
        keys = [*keys, *left_out_keys]
        places.tofile(self._places)
        hashes = np.fromiter(map(hash, keys), np.int64, len(keys)).view(np.uint64)
        self._keys.add(hashes, np.arange(self._count, self._count + len(keys)))
        self._count += len(keys)

    def _count_derived(self, triples: NDArray[np.int64], count: int) -> None:
        """Add facts (subject, object, relation) ``count`` times to the derived data."""
        subjects, objects, relations = triples.T
        degrees = self._nodes.degrees.view(np.int32)
        np.add.at(degrees, subjects, count)
        np.add.at(degrees, objects[objects != subjects], count)
        pairs, counts = np.unique((objects << _RELATION_BITS | relations).view(np.uint64), return_counts=True)
        self._objects.add(pairs, counts * count)

    def remove_duplicates(self) -> tuple[list[Problem], int]:
        """Remove duplicates after the last batch, and return them and the number of those outside."""
        self._places.flush()
        places = np.memmap(self._places, np.uint64, "r") if self._count else np.zeros(0, np.uint64)
        problems: list[tuple[int, Problem]] = []
        outside = 0
        for rows in self._candidates():
            # Different keys may have the same hash.
            groups: dict[tuple[str, str], list[int]] = defaultdict(list)
            for row in rows.tolist():
                columns = self._read(int(places[row]))
                groups[columns[_SUBJECT], columns[_ID]].append(row)
            for group in groups.values():
                duplicates, duplicates_outside = self._replay(group, places)
                problems += duplicates
                outside += duplicates_outside
        del places
        self._places.close()
        self._outside.remove()
        return [problem for _, problem in sorted(problems, key=itemgetter(0))], outside

    def _replay(self, group: list[int], places: NDArray[np.uint64]) -> tuple[list[tuple[int, Problem]], int]:
        """Apply the rules to the facts of one subject and id; return the duplicates by row, and the number outside."""
        problems: list[tuple[int, Problem]] = []
        outside = 0
        kept: tuple[int, list[str]] | None = None
        for row in group:
            place = int(places[row])
            is_outside = bool(place & _OUTSIDE_BIT)
            columns = self._read(place)
            if kept is not None and columns[_LINE] != kept[1][_LINE]:
                fact = Fact(columns[_ID], "", columns[_RELATION], "")
                placed = Placed(int(columns[_LINE]), fact, *list(self._files)[int(columns[_FILE])])
                problems.append((row, duplicate(fact.id, placed, int(kept[1][_LINE]))))
                self.relations.facts[self.relations.numbers[columns[_RELATION]]] -= 1
                outside += is_outside
                if not is_outside:
                    self._remove(place, columns)
                    self.written -= 1
            elif not is_outside:
                if kept is not None:
                    self._remove(*kept)
                kept = (place, columns)
        return problems, outside

    def _candidates(self) -> Iterator[NDArray[np.int64]]:
        """Yield groups of rows whose subject and id have the same hash."""
        for keys, rows in self._keys.merged():
            edges = np.flatnonzero(np.diff((keys[1:] == keys[:-1]).astype(np.int8), prepend=0, append=0))
            for begin, end in zip(edges[::2], edges[1::2], strict=True):
                yield rows[begin : end + 1]

    def _read(self, place: int) -> list[str]:
        files = self._outside if place & _OUTSIDE_BIT else self._rows
        return columns_of(files.read(place & ~_OUTSIDE_BIT))

    def _remove(self, place: int, columns: list[str]) -> None:
        self._rows.erase(place)
        self.written_rows -= 1
        relation = self.relations.numbers[columns[_RELATION]]
        self._count_derived(np.array([[int(columns[_SUBJECT]), int(columns[_OBJECT]), relation]]), -1)

    def write_objects(self) -> tuple[list[str], int]:
        """Write the links of entities to relations, and return the files and the number of links."""
        self.relations.sizes = np.zeros(len(self.relations.facts), np.int64)
        out = RowFiles(self._folder, "objects", ":START_ID(Entity),:END_ID(Relation)")
        count = 0
        for pairs, counts in self._objects.merged():
            if not len(pairs):
                continue
            first = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1]))
            links = pairs[first][np.add.reduceat(counts, first) > 0]
            objects, relations = links >> np.uint64(_RELATION_BITS), links & np.uint64((1 << _RELATION_BITS) - 1)
            np.add.at(self.relations.sizes, relations.astype(np.int64), 1)
            for begin in range(0, len(links), 50_000):
                part = slice(begin, begin + 50_000)
                ends = zip(objects[part].tolist(), relations[part].tolist(), strict=True)
                out.add([b"%d,%d" % pair for pair in ends])
            count += len(links)
        return out.close(), count

    def close(self) -> list[str]:
        """Close the files of facts, and return their names."""
        return self._rows.close()


def _validity(fact: Fact, line: int) -> str:
    row = fact_row(fact, line)
    start = f"{optional(fact.start)},{row.get('from', '')},{row.get('start_date') or ''}"
    ended = "true" if "ended" in row else ""
    return f"{start},{optional(fact.end)},{row.get('until', '')},{ended},{row.get('end_date') or ''}"
