"""Write-back: labels as properties of the relationships of a user's own property graph.

docs/guides/write-back.md. A first pass reads the mapping's relationships and nodes and matches each with a label, by
the id of its fact, else by subject, relation and object; changes wait in a temporary file. A second pass writes them in
batches. Elements that have their properties already are left alone, so that an interrupted call is repeated.

One of the properties is a digest of the others: properties without their digest are the user's, and never changed.
"""

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.base.records import Fact
from kgprobe.base.sanitize import visible
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.base.temporary import temporary_folder
from kgprobe.graph.client import Graph
from kgprobe.graph.located_facts import Change, Element, LocatedFacts, LocatesFacts, elements_with, write_properties
from kgprobe.labelling.exports.labels import FactLabels
from kgprobe.labelling.table import ASKED, BELIEFS, PREDICTED, SCHEMES, LabelledFact
from kgprobe.results.result import Listing, Result

Positions = NDArray[np.int64]

# In place of a position: no label, or several.
NOT_LABELLED, AMBIGUOUS = -1, -2


@dataclass(frozen=True, slots=True)
class _Keys:
    """Digests of keys, sorted, with the position of each."""

    digests: NDArray[np.uint64]
    order: Positions

    @classmethod
    def of(cls, digests: "array[int]") -> "_Keys":
        values = np.array(digests, dtype=np.uint64)
        order = np.argsort(values, kind="stable")
        return cls(values[order], order)

    def find(self, digests: Iterable[int]) -> Positions:
        """Return the position of each digest; ``NOT_LABELLED`` or ``AMBIGUOUS`` in place of one."""
        keys = np.fromiter(digests, dtype=np.uint64)
        first = np.searchsorted(self.digests, keys, side="left")
        count = np.searchsorted(self.digests, keys, side="right") - first
        positions = np.full(len(keys), NOT_LABELLED, dtype=np.int64)
        positions[count == 1] = self.order[first[count == 1]]
        positions[count > 1] = AMBIGUOUS
        return positions

    def all_of(self, digest: int) -> Positions:
        """Return all positions of a digest."""
        key = np.uint64(digest)
        first = np.searchsorted(self.digests, key, side="left")
        return self.order[first : np.searchsorted(self.digests, key, side="right")]


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """Labels in memory by position, in the order of the rows: about 70 bytes for each.

    Attributes:
        known, low, high: probability that the model knows the fact, with its interval; shape (facts,).
        relations: number of the relation in ``relation_names``; shape (facts,).
        relation_names: id and name of each relation.
        example: ids of subject, relation and object of the first row; None without rows.
    """

    known: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    relations: NDArray[np.int64]
    relation_names: Sequence[tuple[str, str]]
    example: tuple[str, str, str] | None
    _classes: NDArray[np.int8]
    _beliefs: NDArray[np.int8]
    _asked: NDArray[np.int8]
    _scheme: tuple[str, ...]
    _facts: _Keys
    _triples: _Keys

    @classmethod
    def of(cls, rows: Iterable[LabelledFact], scheme: str) -> "LabelIndex":
        """Read labels."""
        names = SCHEMES[scheme]
        facts, triples, relations = array("Q"), array("Q"), array("q")
        known, low, high = array("d"), array("d"), array("d")
        classes, beliefs, bases = array("b"), array("b"), array("b")
        numbers: dict[tuple[str, str], int] = {}
        example = None
        for row in rows:
            triple = row.subject, row.relation, row.object
            example = example or triple
            facts.append(_key_digest(row.subject, row.fact))
            triples.append(_key_digest(*triple))
            relations.append(numbers.setdefault((row.relation, row.relation_name), len(numbers)))
            known.append(row.known)
            low.append(row.known_low)
            high.append(row.known_high)
            label = getattr(row, scheme)
            classes.append(-1 if label is None else names.index(label))
            beliefs.append(BELIEFS.index(row.belief))
            bases.append(row.basis == ASKED)
        return cls(
            known=np.array(known, dtype=np.float64),
            low=np.array(low, dtype=np.float64),
            high=np.array(high, dtype=np.float64),
            relations=np.array(relations, dtype=np.int64),
            relation_names=list(numbers),
            example=example,
            _classes=np.array(classes, dtype=np.int8),
            _beliefs=np.array(beliefs, dtype=np.int8),
            _asked=np.array(bases, dtype=np.int8),
            _scheme=names,
            _facts=_Keys.of(facts),
            _triples=_Keys.of(triples),
        )

    def __len__(self) -> int:
        return len(self.known)

    def find(self, facts: Sequence[Fact]) -> tuple[Positions, Positions]:
        """Return the positions of facts by their ids, and by subject, relation and object."""
        by_id = self._facts.find(_key_digest(fact.subject, fact.id) for fact in facts)
        by_triple = self._triples.find(_key_digest(fact.subject, fact.relation, fact.object) for fact in facts)
        return by_id, by_triple

    def all_of_triple(self, fact: Fact) -> Positions:
        """Return the positions of all labels of a fact's subject, relation and object."""
        return self._triples.all_of(_key_digest(fact.subject, fact.relation, fact.object))

    def class_of(self, position: int) -> str | None:
        """Return the class of a label."""
        number = int(self._classes[position])
        return None if number < 0 else self._scheme[number]

    def belief_of(self, position: int) -> str:
        """Return the belief of a label."""
        return str(BELIEFS[int(self._beliefs[position])])

    def basis_of(self, position: int) -> str:
        """Return the basis of a label."""
        return ASKED if self._asked[position] else PREDICTED


def _key_digest(*ids: str) -> int:
    digest = hashlib.blake2b("\0".join(ids).encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


# Names of the properties, after the prefix. The last is the digest of the others.
NAMES = ("known", "low", "high", "class", "belief", "basis", "run", "model", "digest")
_NOTHING: Sequence[None] = (None,) * len(NAMES)
# Types of their values.
_TYPES = (str, float, type(None))
PREFIX = "kgprobe_"
_PREFIX = re.compile(r"[^\W\d]\w*")

# Relationships and nodes that are matched at once.
_AT_ONCE = 10_000
# Examples in a result: of all relations, and of one.
_EXAMPLES, _EXAMPLES_OF_RELATION = 20, 3

# Foreign properties that a message shows.
_FOREIGN_SHOWN = 3

# Obstacle of labels that the mapping cannot distinguish.
_SAME_TRIPLE = "several labelled facts have its subject, relation and object"


@dataclass(frozen=True, slots=True)
class LabelledRelation(ResultRow):
    """Labels of one relation.

    Attributes:
        found: facts with a relationship or node on which their labels are written.
        not_writable: facts that the graph represents in a form that has no place for properties.
    """

    relation: str
    relation_name: Annotated[str, Heading("relation")]
    labelled: Annotated[int, Heading("labelled facts")]
    found: Annotated[int, Heading("found")]
    not_writable: Annotated[int, Heading("not writable")]
    missing: Annotated[int, Heading("missing")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class WriteBack(Result):
    """Result of a write-back, or of its dry run.

    Attributes:
        written: relationships and nodes that got new properties, or would get them.
        unchanged: relationships and nodes that had these properties already.
        removed: relationships and nodes that lost their properties, because their fact has no label any more.
        unlabelled: relationships and nodes of the mapping without a label.
        obstacles: numbers of facts that are not writable, by reason.
        unusable: relationships and nodes of the mapping that are not facts.
    """

    labels: str
    dry_run: bool
    relations: Annotated[Sequence[LabelledRelation], Listing("")]
    written: int
    unchanged: int
    removed: int
    unlabelled: int
    obstacles: Mapping[str, int]
    unusable: int
    examples: Sequence[str]

    def summary(self) -> str:
        """Return the counts in sentences."""
        facts = sum(row.labelled for row in self.relations)
        matched = sum(row.found for row in self.relations)
        verb = "would be written" if self.dry_run else "written"
        lines = [
            f"{self.labels}: {matched:,} of {facts:,} labelled facts are in the graph.",
            f"Relationships and nodes: {self.written:,} {verb}, {self.unchanged:,} unchanged, {self.removed:,} cleared,"
            f" {self.unlabelled:,} without a label, {self.unusable:,} unusable.",
        ]
        lines += [f"Not writable: {count:,}: {reason}." for reason, count in self.obstacles.items()]
        if self.examples:
            lines += ["Not in the graph, for example:", *(f"  {example}" for example in self.examples)]
        return "\n".join(lines)


def property_names(prefix: str = PREFIX) -> list[str]:
    """Return the names of all written properties.

    >>> property_names("kgprobe_")[:3]
    ['kgprobe_known', 'kgprobe_low', 'kgprobe_high']
    """
    if not _PREFIX.fullmatch(prefix):
        raise ArgumentError("prefix", f"is {prefix!r}; a letter or _ is expected, then letters, digits and _.")
    return [prefix + name for name in NAMES]


def write_labels(
    source: LocatesFacts,
    labels: FactLabels,
    *,
    scheme: str | None = None,
    prefix: str = PREFIX,
    dry_run: bool = False,
    on_progress: OnProgress = no_progress,
) -> WriteBack:
    """Write labels onto the relationships of a user's graph; see :func:`kgprobe.write_back`."""
    scheme, note = labels.choose_scheme(scheme)
    values = _Values(LabelIndex.of(labels.rows(), scheme), labels, prefix)
    with temporary_folder("write-back") as folder:
        matching = _Matching(values, folder / "changes")
        matching.read(source, on_progress)
        matching.check(source)
        counts = matching.counts()
        missed = 0
        if not dry_run:
            done, total = 0, counts[_WRITE] + counts[_CLEAR]
            for size, written in write_properties(source.graph, values.names, matching.changes()):
                done, missed = done + size, missed + size - written
                on_progress(StepProgress("Writing", done, total, "elements"))
        changed = f"{missed:,} relationships or nodes were changed or deleted in the meantime, and left alone."
        notes = tuple(filter(None, [note, changed if missed else ""]))
        return WriteBack(
            notes=notes,
            labels=labels.name,
            dry_run=dry_run,
            relations=matching.relations(),
            written=counts[_WRITE] - missed,
            unchanged=counts[_KEEP],
            removed=counts[_CLEAR],
            unlabelled=counts[_UNLABELLED] + counts[_CLEAR],
            obstacles=matching.obstacles(),
            unusable=matching.unusable,
            examples=matching.examples(),
        )


@dataclass(frozen=True, slots=True)
class RemovedLabels:
    """Result of a removal, or of its dry run.

    Attributes:
        cleared: relationships and nodes that lost the written properties, or would lose them.
        left: relationships and nodes with properties of these names that kgprobe has not written.
        foreign: these properties; None if there are none.
        changed: relationships and nodes that were changed or deleted in the meantime, and left alone.
    """

    dry_run: bool
    cleared: int
    left: int
    foreign: str | None
    changed: int

    def summary(self) -> str:
        """Return the counts in sentences."""
        verb = "Would remove" if self.dry_run else "Removed"
        lines = [f"{verb} the labels from {self.cleared:,} relationships and nodes."]
        if self.left:
            lines.append(f"{self.left:,} were left alone; kgprobe has not written their properties: {self.foreign}.")
        if self.changed:
            lines.append(f"{self.changed:,} were changed or deleted in the meantime, and left alone.")
        return "\n".join(lines)


def remove_labels(
    graph: Graph, prefix: str = PREFIX, *, dry_run: bool = False, on_progress: OnProgress = no_progress
) -> RemovedLabels:
    """Remove all written properties from a user's graph."""
    names = property_names(prefix)
    encoder, decoder = msgspec.json.Encoder(), msgspec.json.Decoder(Change)
    foreign = _Foreign(names)
    with temporary_folder("write-back") as folder:
        total = left = 0
        with open(folder / "changes", "wb") as file:
            for element, stored in elements_with(graph, names):
                if _is_written(stored):
                    file.write(encoder.encode(Change(element, stored, _NOTHING)) + b"\n")
                    total += 1
                else:
                    foreign.add(element, stored)
                    left += 1
        done = changed = 0
        with open(folder / "changes", "rb") as file:
            changes = () if dry_run else map(decoder.decode, file)
            for size, written in write_properties(graph, names, changes):
                done, changed = done + size, changed + size - written
                on_progress(StepProgress("Removing", done, total, "elements"))
    return RemovedLabels(dry_run, total - changed, left, foreign.describe(), changed)


def _digest(values: Sequence[Any]) -> str:
    """Return the digest of the other properties."""
    return hashlib.blake2b(msgspec.json.encode(["kgprobe", *values]), digest_size=8).hexdigest()


def _is_written(stored: Sequence[Any]) -> bool:
    """Return True if properties were written by a write-back, and not changed since."""
    *values, digest = stored
    return isinstance(digest, str) and all(isinstance(value, _TYPES) for value in values) and digest == _digest(values)


class _Foreign:
    """Properties of the names to write that kgprobe has not written."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._counts: Counter[str] = Counter()
        self._examples: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, element: Element, stored: Sequence[Any]) -> None:
        given = {name: value for name, value in zip(self._names, stored, strict=True) if value is not None}
        self._counts.update(given.keys())
        if len(self._examples) < _FOREIGN_SHOWN:
            kind = "node" if element.tail is None else "relationship"
            values = ", ".join(f"{name} = {visible(repr(value))[:60]}" for name, value in given.items())
            self._examples.append(f"{kind} {element.id} ({values})")

    def describe(self) -> str | None:
        """Return the names with their counts, and the first relationships and nodes; None if there are none."""
        if not self._counts:
            return None
        counts = ", ".join(f"{name} ({count:,})" for name, count in self._counts.most_common())
        return f"{counts}; for example at {', '.join(self._examples)}"


# Changes of a relationship or node.
_WRITE, _KEEP, _CLEAR, _UNLABELLED = "write", "keep", "clear", "unlabelled"


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """A relationship or node with its label, in the file of changes.

    Attributes:
        position: position of the label, or ``NOT_LABELLED``.
        by_id: True if the label was found by the id of the fact.
        before: values of its properties; all are None, or they were written by an earlier call.
    """

    element: Element
    position: int
    by_id: bool
    before: Sequence[Any]


class _Values:
    """Properties to write, by the position of the label."""

    def __init__(self, index: LabelIndex, labels: FactLabels, prefix: str) -> None:
        self.index, self.labels, self.prefix = index, labels, prefix
        self.names = property_names(prefix)

    def of(self, position: int) -> list[Any]:
        """Return the values of the properties, in the order of their names."""
        index, labels = self.index, self.labels
        values = [
            *(float(column[position]) for column in (index.known, index.low, index.high)),
            index.class_of(position),
            index.belief_of(position),
            index.basis_of(position),
            labels.name,
            labels.model,
        ]
        return [*values, _digest(values)]


class _Matching:
    """Labels matched with the relationships and nodes of a user's graph."""

    def __init__(self, values: _Values, file: Path) -> None:
        self.unusable = 0
        self._values, self._index, self._file = values, values.index, file
        facts = len(self._index)
        self._found: NDArray[np.bool_] = np.zeros(facts, dtype=np.bool_)
        self._found_by_id: NDArray[np.bool_] = np.zeros(facts, dtype=np.bool_)
        # Number of the obstacle of each label from 1 on; 0 for none.
        self._obstacle: NDArray[np.int8] = np.zeros(facts, dtype=np.int8)
        self._reasons: dict[str, int] = {}
        self._foreign = _Foreign(values.names)
        self._first_fault: str | None = None
        self._first_fact: Fact | None = None
        self._decoder = msgspec.json.Decoder(_Place)

    def read(self, source: LocatesFacts, on_progress: OnProgress) -> None:
        """Match all relationships and nodes of the mapping, and write their changes into the file."""
        encoder = msgspec.json.Encoder()
        located = source.locate(self._values.names)
        done = 0
        with open(self._file, "wb") as file:
            while batch := list(islice(located, _AT_ONCE)):
                for place in self._places(batch):
                    file.write(encoder.encode(place) + b"\n")
                done += len(batch)
                on_progress(StepProgress("Matching", done, max(done, source.places), "elements"))

    def _places(self, batch: Sequence[LocatedFacts]) -> Iterator[_Place]:
        facts = list(chain.from_iterable(located.facts for located in batch))
        if facts and self._first_fact is None:
            self._first_fact = facts[0]
        by_id, by_triple = (positions.tolist() for positions in self._index.find(facts))
        start = 0
        for located in batch:
            end = start + len(located.facts)
            matches = list(zip(located.facts, by_id[start:end], by_triple[start:end], strict=True))
            start = end
            position, is_by_id = self._label_of(located, matches)
            if not located.stored:
                # The fact is a property of a node.
                continue
            labelled = any(value is not None for value in located.stored)
            if labelled and not _is_written(located.stored):
                self._foreign.add(located.element, located.stored)
            elif position >= 0 or labelled or located.fault is None:
                yield _Place(located.element, position, is_by_id, located.stored)

    def _label_of(self, located: LocatedFacts, matches: Sequence[tuple[Fact, int, int]]) -> tuple[int, bool]:
        """Return the position of the label to write, and True if it was found by the fact's id."""
        if located.fault is not None:
            self.unusable += 1
            self._first_fault = self._first_fault or f"{located.element.id}: {located.fault}"
        for fact, by_id, by_triple in matches:
            position = by_id if by_id >= 0 else by_triple
            if located.obstacle is not None:
                self._block(located.obstacle, fact, position)
            elif position == AMBIGUOUS:
                self._block(_SAME_TRIPLE, fact, position)
            elif position >= 0:
                self._found[position] = True
                self._found_by_id[position] |= by_id >= 0
                return position, by_id >= 0
        return NOT_LABELLED, False

    def _block(self, reason: str, fact: Fact, position: int) -> None:
        number = self._reasons.setdefault(reason, len(self._reasons) + 1)
        if position == AMBIGUOUS:
            self._obstacle[self._index.all_of_triple(fact)] = number
        elif position >= 0:
            self._obstacle[position] = number

    def check(self, source: LocatesFacts) -> None:
        """Raise if the user's graph has such properties of its own, or if no label is matched."""
        if self._foreign:
            raise KgprobeError(
                "The graph has properties of these names that kgprobe has not written, or that were changed since:"
                f" {self._foreign.describe()}. Nothing was changed. Choose other names with `prefix`, or remove these."
            )
        if not len(self._index):
            raise KgprobeError(f"{self._values.labels.name} has no labels of facts.")
        if self._found.any() or self._obstacle.any():
            return
        counts = np.bincount(self._index.relations, minlength=len(self._index.relation_names))
        relations = [
            f"{identifier} ({count:,})"
            for (identifier, _), count in zip(self._index.relation_names, counts.tolist(), strict=True)
        ]
        parts = [
            f"The mapping matches none of the {len(self._index):,} facts of {self._values.labels.name}.",
            f"Their relations are {', '.join(relations[:_EXAMPLES])}; the first fact is {self._index.example}.",
        ]
        if self._first_fact is not None:
            first = (self._first_fact.subject, self._first_fact.relation, self._first_fact.object)
            parts.append(f"The mapping's first fact is {first}.")
        if self._first_fault is not None:
            parts.append(f"{self.unusable:,} relationships or nodes are unusable; the first is {self._first_fault}.")
        raise KgprobeError(" ".join([*parts, source.describe_ids()]))

    def _fates(self) -> Iterator[tuple[_Place, str]]:
        """Yield the relationships and nodes, with their changes."""
        with open(self._file, "rb") as file:
            for place in map(self._decoder.decode, file):
                # A fact with its own relationship is not also another one of the same subject and object.
                labelled = place.position >= 0 and (place.by_id or not self._found_by_id[place.position])
                if labelled:
                    yield place, _KEEP if place.before == self._values.of(place.position) else _WRITE
                else:
                    yield place, _CLEAR if any(value is not None for value in place.before) else _UNLABELLED

    def counts(self) -> Counter[str]:
        """Return the numbers of relationships and nodes to write, keep and clear, and of those without a label."""
        return Counter(fate for _, fate in self._fates())

    def changes(self) -> Iterator[Change]:
        """Yield the relationships and nodes to change, with their new properties."""
        for place, fate in self._fates():
            if fate == _WRITE:
                yield Change(place.element, place.before, self._values.of(place.position))
            elif fate == _CLEAR:
                yield Change(place.element, place.before, _NOTHING)

    def relations(self) -> list[LabelledRelation]:
        """Return the counts of facts by relation, the largest first."""
        number, count = self._index.relations, len(self._index.relation_names)
        blocked = ~self._found & (self._obstacle > 0)
        labelled, matched, not_writable = (
            np.bincount(number[chosen], minlength=count).tolist() for chosen in (slice(None), self._found, blocked)
        )
        rows = []
        for place, (identifier, name) in enumerate(self._index.relation_names):
            counts = labelled[place], matched[place], not_writable[place]
            rows.append(LabelledRelation(identifier, name, *counts, counts[0] - counts[1] - counts[2]))
        return sorted(rows, key=lambda row: (-row.labelled, row.relation))

    def obstacles(self) -> dict[str, int]:
        """Return the numbers of facts that are not writable, by reason."""
        counts = np.bincount(self._obstacle[~self._found], minlength=len(self._reasons) + 1).tolist()
        return {reason: counts[number] for reason, number in self._reasons.items() if counts[number]}

    def examples(self) -> list[str]:
        """Return some labelled facts that are not in the graph."""
        missing = ~self._found & (self._obstacle == 0)
        examples: list[str] = []
        shown: Counter[str] = Counter()
        if not missing.any():
            return examples
        for is_missing, row in zip(missing.tolist(), self._values.labels.rows(), strict=True):
            if is_missing and shown[row.relation] < _EXAMPLES_OF_RELATION:
                shown[row.relation] += 1
                names = f"{row.subject_name} · {row.relation_name} · {row.object_name}"
                examples.append(f"{names} ({row.subject}, {row.relation}, {row.object})")
                if len(examples) == _EXAMPLES:
                    break
        return examples
