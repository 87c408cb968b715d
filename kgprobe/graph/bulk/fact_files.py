"""Facts as files, as they come; what follows from them is counted beside.

Batches are those of a load, and so are its rules: within a batch an id counts once. A subject's fact whose id stood in
a batch before is a duplicate, unless it stands on the same line, and then it takes the place of the former. That is
found in the end, by sorting what tells subject and id; the rows are taken out again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.graph.bulk.csv_text import columns_of, optional, quoted
from kgprobe.graph.bulk.entity_files import Nodes
from kgprobe.graph.bulk.row_files import RowFiles
from kgprobe.graph.bulk.sorted_runs import SortedRuns
from kgprobe.graph.record_rows import Problem, absent, duplicate, fact_row
from kgprobe.records import Fact, Placed
from kgprobe.sources.contract import Source

_HEADER = (
    ":START_ID(Entity),:END_ID(Entity),id,relation,relation_label,rank,start,from:long,end,until:long,source,load,"
    "line:long,file:IGNORE"
)
_SUBJECT, _OBJECT, _ID, _RELATION, _LINE, _FILE = 0, 1, 2, 3, -2, -1
# Of a pair of an object and a relation, as one number.
_RELATION_BITS = 24
# In a place: the row is of a fact whose object is not there.
_OUTSIDE_BIT = 1 << 61


@dataclass(slots=True)
class Relations:
    """The relations that there are, in the order in which they were first named.

    Attributes:
        labels: what those are called that were read, by id.
        numbers: by id.
        facts: how many facts name each, missing ones included; those that were read count one more.
        sizes: how many objects each has.
    """

    labels: Mapping[str, str]
    numbers: dict[str, int] = field(default_factory=dict)
    facts: list[int] = field(default_factory=list)
    sizes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        self.numbers.update((id_, number) for number, id_ in enumerate(self.labels))
        self.facts.extend([1] * len(self.labels))

    def named(self, ids: Iterable[str]) -> None:
        """Facts name these, each as often as it stands there."""
        for id_, count in Counter(ids).items():
            number = self.numbers.setdefault(id_, len(self.facts))
            if number == len(self.facts):
                self.facts.append(0)
                if number >> _RELATION_BITS:
                    raise KgprobeError(f"There are more than {1 << _RELATION_BITS:,} relations.")
            self.facts[number] += count

    def label_of(self, id_: str) -> str:
        """What it is called."""
        return self.labels.get(id_, id_)


class FactFiles:
    """Facts on their way into files.

    Cost on the disk beside the files: 40 bytes a fact. Memory: that of some million numbers, however many facts.
    """

    def __init__(self, folder: Path, source: Source, nodes: Nodes, labels: Mapping[str, str]) -> None:
        self._folder = folder
        self._source = source
        self._nodes = nodes
        self.relations = Relations(labels)
        self._common = f"{quoted(source.name)},{quoted(source.fingerprint)}"
        self._rows = RowFiles(folder, "facts", _HEADER)
        # What is looked at in the end only.
        self._outside = RowFiles(folder, "outside", _HEADER)
        self._places = (folder / "places.spill").open("wb+")
        self._keys = SortedRuns(folder, "keys.spill")
        self._objects = SortedRuns(folder, "objects.spill")
        self._count = 0
        # Files and units of places.
        self._files: dict[tuple[str, str], int] = {}
        self._columns: dict[str, str] = {}
        self._ranks: dict[str, str] = {}
        # Records that are in the graph as they say, and rows: one may have taken the place of another.
        self.written = 0
        self.written_rows = 0

    def add(self, places: Mapping[str, Placed]) -> tuple[list[Problem], int]:
        """Take a batch; which facts are left out, and how many are outside of what was loaded."""
        facts = [place.record for place in places.values() if isinstance(place.record, Fact)]
        named = [fact.relation for fact in facts]
        self.relations.named(named)
        ends = {fact.subject for fact in facts}
        ends.update([fact.object for fact in facts])
        numbers = self._nodes.table.numbers_by_id(ends)
        relations, columns, ranks, files = self.relations.numbers, self._columns, self._ranks, self._files
        for relation in relations.keys() - columns.keys():
            columns[relation] = f"{quoted(relation)},{quoted(self.relations.label_of(relation))}"
        common = self._common
        problems: list[Problem] = []
        left_out: list[str] = []
        left_out_keys: list[tuple[int, str]] = []
        rows: list[str] = []
        keys: list[tuple[int, str]] = []
        triples: list[int] = []
        name, unit, file = None, None, 0
        # One loop, and nothing called in it that need not be: most of a conversion's own time is spent here.
        for place in places.values():
            line, fact, its_name, its_unit = place
            if not isinstance(fact, Fact):
                continue
            subject, object_ = numbers[fact.subject], numbers[fact.object]
            if subject < 0:
                problems.append(absent(place, "subject"))
                continue
            rank = ranks.get(fact.rank) or ranks.setdefault(fact.rank, quoted(fact.rank))
            if its_name is not name or its_unit is not unit:
                name, unit = its_name, its_unit
                file = files.setdefault((name, unit), len(files))
            when = ",,," if fact.start is None and fact.end is None else _when(fact, line)
            id_, relation = fact.id, fact.relation
            key = (subject, id_)
            if '"' in id_:
                id_ = id_.replace('"', '""')
            row = f'{subject},{object_},"{id_}",{columns[relation]},{rank},{when},{common},{line},{file}'
            if object_ >= 0:
                rows.append(row)
                keys.append(key)
                triples += (subject, object_, relations[relation])
            else:
                left_out.append(row)
                left_out_keys.append(key)
                if not self._source.partial:
                    problems.append(absent(place, "object"))
        at = self._rows.add_texts(rows)
        if left_out:
            at = np.concatenate([at, self._outside.add_texts(left_out) | np.uint64(_OUTSIDE_BIT)])
        self._remember(at, [*keys, *left_out_keys])
        self._follow(np.array(triples, np.int64).reshape(-1, 3), 1)
        self.written += len(rows)
        self.written_rows += len(rows)
        return problems, len(left_out) if self._source.partial else 0

    def _remember(self, places: NDArray[np.uint64], keys: list[tuple[int, str]]) -> None:
        """Where the rows of these subjects and ids are, and what they are found by."""
        places.tofile(self._places)
        hashes = np.fromiter(map(hash, keys), np.int64, len(keys)).view(np.uint64)
        self._keys.add(hashes, np.arange(self._count, self._count + len(keys)))
        self._count += len(keys)

    def _follow(self, triples: NDArray[np.int64], count: int) -> None:
        """Count what follows from facts: subject, object, relation."""
        subjects, objects, relations = triples.T
        degrees = self._nodes.degrees.view(np.int32)
        np.add.at(degrees, subjects, count)
        np.add.at(degrees, objects[objects != subjects], count)
        pairs, counts = np.unique((objects << _RELATION_BITS | relations).view(np.uint64), return_counts=True)
        self._objects.add(pairs, counts * count)

    def take_out_repeats(self) -> tuple[list[Problem], int]:
        """All have been read: take out what does not count; duplicates, and how many of them were outside."""
        self._places.flush()
        places = np.memmap(self._places.name, np.uint64, "r") if self._count else np.zeros(0, np.uint64)
        found: list[tuple[int, Problem]] = []
        outside = 0
        for rows in self._suspects():
            for group in self._same(rows, places):
                more, more_outside = self._replay(group, places)
                found += more
                outside += more_outside
        del places
        self._places.close()
        Path(self._places.name).unlink()
        self._outside.remove()
        return [problem for _, problem in sorted(found, key=lambda each: each[0])], outside

    def _replay(self, group: list[int], places: NDArray[np.uint64]) -> tuple[list[tuple[int, Problem]], int]:
        """Take out what does not count of one subject's facts of one id; duplicates by their rows, those outside."""
        found: list[tuple[int, Problem]] = []
        outside = 0
        standing: tuple[int, list[str]] | None = None
        for row in group:
            place = int(places[row])
            is_outside = bool(place & _OUTSIDE_BIT)
            columns = self._read(place)
            if standing is not None and columns[_LINE] != standing[1][_LINE]:
                found.append((row, self._duplicate(columns, int(standing[1][_LINE]))))
                self.relations.facts[self.relations.numbers[columns[_RELATION]]] -= 1
                outside += is_outside
                if not is_outside:
                    self._take_out(place, columns)
                    self.written -= 1
            elif not is_outside:
                if standing is not None:
                    self._take_out(*standing)
                standing = (place, columns)
        return found, outside

    def _suspects(self) -> Iterator[NDArray[np.int64]]:
        """Rows whose subject and id have the same hash."""
        for keys, rows in self._keys.merged():
            edges = np.flatnonzero(np.diff((keys[1:] == keys[:-1]).astype(np.int8), prepend=0, append=0))
            for begin, end in zip(edges[::2], edges[1::2], strict=True):
                yield rows[begin : end + 1]

    def _same(self, rows: NDArray[np.int64], places: NDArray[np.uint64]) -> list[list[int]]:
        """The rows by subject and id themselves."""
        groups: dict[tuple[str, str], list[int]] = {}
        for row in rows.tolist():
            columns = self._read(int(places[row]))
            groups.setdefault((columns[_SUBJECT], columns[_ID]), []).append(row)
        return list(groups.values())

    def _read(self, place: int) -> list[str]:
        files = self._outside if place & _OUTSIDE_BIT else self._rows
        return columns_of(files.read(place & ~_OUTSIDE_BIT))

    def _take_out(self, place: int, columns: list[str]) -> None:
        self._rows.take_out(place)
        self.written_rows -= 1
        relation = self.relations.numbers[columns[_RELATION]]
        self._follow(np.array([[int(columns[_SUBJECT]), int(columns[_OBJECT]), relation]]), -1)

    def _duplicate(self, columns: list[str], before: int) -> Problem:
        fact = Fact(columns[_ID], "", columns[_RELATION], "")
        return duplicate(fact.id, Placed(int(columns[_LINE]), fact, *list(self._files)[int(columns[_FILE])]), before)

    def write_objects(self) -> tuple[list[str], int]:
        """Write which entities are objects of which relations; the files, and how many links."""
        self.relations.sizes = np.zeros(len(self.relations.facts), np.int64)
        out = RowFiles(self._folder, "objects", ":START_ID(Entity),:END_ID(Relation)")
        count = 0
        for pairs, counts in self._objects.merged():
            first = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1])) if len(pairs) else np.zeros(0, np.int64)
            there = pairs[first][np.add.reduceat(counts, first) > 0] if len(pairs) else pairs
            objects, relations = there >> np.uint64(_RELATION_BITS), there & np.uint64((1 << _RELATION_BITS) - 1)
            np.add.at(self.relations.sizes, relations.astype(np.int64), 1)
            for begin in range(0, len(there), 50_000):
                part = slice(begin, begin + 50_000)
                out.add(
                    [b"%d,%d" % pair for pair in zip(objects[part].tolist(), relations[part].tolist(), strict=True)]
                )
            count += len(there)
        return out.close(), count

    def close(self) -> list[str]:
        """The files of facts, whole."""
        return self._rows.close()


def _when(fact: Fact, line: int) -> str:
    row = fact_row(fact, line)
    return f"{optional(fact.start)},{row.get('from', '')},{optional(fact.end)},{row.get('until', '')}"
