"""Write-back: labels as properties of the relationships of a user's own property graph.

docs/guides/write-back.md. A first pass reads the mapping's relationships and nodes and matches each with a label, by
the id of its fact, else by subject, relation and object; changes wait in a temporary file. A second pass writes them in
batches. Elements that have their properties already are left alone, so that an interrupted call is repeated.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.exports.label_index import AMBIGUOUS, NOT_LABELLED, LabelIndex
from kgprobe.exports.labels import FactLabels
from kgprobe.graph.client import Graph
from kgprobe.graph.located_facts import Element, LocatedFacts, LocatesFacts, elements_with, write_properties
from kgprobe.progress import OnProgress, no_progress
from kgprobe.records import Fact
from kgprobe.results.result import Result
from kgprobe.tables import Heading, ResultRow
from kgprobe.temporary import temporary_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Names of the properties, after the prefix. Each written element has the marker.
NAMES = ("known", "low", "high", "class", "belief", "basis", "run", "model")
MARKER = "run"
PREFIX = "kgprobe_"
_PREFIX = re.compile(r"[^\W\d]\w*")

# Relationships and nodes that are matched at once.
_AT_ONCE = 10_000
# Examples in a result: of all relations, and of one.
_EXAMPLES, _EXAMPLES_OF_RELATION = 20, 3

# Obstacle of labels that the mapping cannot distinguish.
_SAME_TRIPLE = "several labelled facts have its subject, relation and object"


@dataclass(frozen=True, slots=True)
class LabelledRelation(ResultRow):
    """Labels of one relation.

    Attributes:
        labelled: labelled facts.
        found: facts with a relationship or node on which their labels are written.
        not_writable: facts that the graph represents in a form that has no place for properties.
        missing: facts that are not in the graph.
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
        labels: name of the table or run.
        dry_run: True if nothing was written.
        relations: counts by relation.
        written: relationships and nodes that got new properties, or would get them.
        unchanged: relationships and nodes that had these properties already.
        removed: relationships and nodes that lost their properties, because their fact has no label any more.
        unlabelled: relationships and nodes of the mapping without a label.
        obstacles: numbers of facts that are not writable, by reason.
        unusable: relationships and nodes of the mapping that are not facts.
        examples: examples of missing facts.
    """

    labels: str
    dry_run: bool
    relations: Sequence[LabelledRelation]
    written: int
    unchanged: int
    removed: int
    unlabelled: int
    obstacles: Mapping[str, int]
    unusable: int
    examples: Sequence[str]

    row, listed, key = LabelledRelation, "relations", "relations"

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

    Raises:
        ArgumentError: the prefix is not the beginning of a property's name.
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
    on_matched: OnProgress = no_progress,
    on_written: OnProgress = no_progress,
) -> WriteBack:
    """Write labels onto the relationships of a user's graph; see :func:`kgprobe.write_back`.

    Args:
        on_matched: called with the number of relationships and nodes that were read, and of all.
        on_written: called with the number of written ones, and of all.
    """
    scheme = labels.check_scheme(scheme)
    values = _Values(LabelIndex.of(labels.rows(), scheme), labels, prefix)
    with temporary_folder("write-back") as folder:
        matching = _Matching(values, folder / "changes")
        matching.read(source, on_matched)
        matching.check(source)
        counts = matching.counts()
        missed = 0
        if not dry_run:
            done, total = 0, counts[_WRITE] + counts[_CLEAR]
            for size, written in write_properties(source.graph, matching.changes()):
                done, missed = done + size, missed + size - written
                on_written(done, total)
        notes = (f"{missed:,} relationships or nodes were deleted in the meantime.",) if missed else ()
        return WriteBack(
            notes=notes,
            labels=labels.name,
            dry_run=dry_run,
            relations=matching.relations(),
            written=counts[_WRITE],
            unchanged=counts[_KEEP],
            removed=counts[_CLEAR],
            unlabelled=counts[_UNLABELLED] + counts[_CLEAR],
            obstacles=matching.obstacles(),
            unusable=matching.unusable,
            examples=matching.examples(),
        )


def remove_labels(graph: Graph, prefix: str = PREFIX, on_written: OnProgress = no_progress) -> int:
    """Remove all written properties from a user's graph; return the number of cleared relationships and nodes.

    Args:
        on_written: called with the number of cleared ones, and of all.
    """
    nothing = dict.fromkeys(property_names(prefix))
    encoder, decoder = msgspec.json.Encoder(), msgspec.json.Decoder(Element)
    with temporary_folder("write-back") as folder:
        total = 0
        with open(folder / "changes", "wb") as file:
            for element in elements_with(graph, prefix + MARKER):
                file.write(encoder.encode(element) + b"\n")
                total += 1
        done = cleared = 0
        with open(folder / "changes", "rb") as file:
            for size, written in write_properties(graph, ((decoder.decode(line), nothing) for line in file)):
                done, cleared = done + size, cleared + written
                on_written(done, total)
    return cleared


# Changes of a relationship or node.
_WRITE, _KEEP, _CLEAR, _UNLABELLED = "write", "keep", "clear", "unlabelled"


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """A relationship or node with its label, in the file of changes.

    Attributes:
        position: position of the label, or ``NOT_LABELLED``.
        by_id: True if the label was found by the id of the fact.
        marked: True if it has properties of an earlier call.
        same: True if these are the properties of the label.
    """

    element: Element
    position: int
    by_id: bool
    marked: bool
    same: bool


class _Values:
    """Properties to write, by the position of the label."""

    def __init__(self, index: LabelIndex, labels: FactLabels, prefix: str) -> None:
        self.index, self.labels, self.prefix = index, labels, prefix
        self.names = property_names(prefix)
        self.nothing: dict[str, Any] = dict.fromkeys(self.names)

    def of(self, position: int) -> list[Any]:
        index, labels = self.index, self.labels
        return [
            *(float(column[position]) for column in (index.known, index.low, index.high)),
            index.class_of(position),
            index.belief_of(position),
            index.basis_of(position),
            labels.name,
            labels.model,
        ]


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
        self._foreign: Counter[str] = Counter()
        self._first_fault: str | None = None
        self._first_fact: Fact | None = None
        self._decoder = msgspec.json.Decoder(_Place)

    def read(self, source: LocatesFacts, on_matched: OnProgress) -> None:
        """Match all relationships and nodes of the mapping, and write their changes into the file."""
        encoder = msgspec.json.Encoder()
        located = source.locate(self._values.names)
        done = 0
        with open(self._file, "wb") as file:
            while batch := list(islice(located, _AT_ONCE)):
                for place in self._places(batch):
                    file.write(encoder.encode(place) + b"\n")
                done += len(batch)
                on_matched(done, max(done, source.places))

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
            marked = self._is_marked(located)
            if position >= 0:
                same = list(located.stored) == self._values.of(position)
                yield _Place(located.element, position, is_by_id, marked, same)
            elif marked or (located.stored and located.fault is None):
                yield _Place(located.element, NOT_LABELLED, False, marked, False)

    def _is_marked(self, located: LocatedFacts) -> bool:
        """Return True if an element has properties of an earlier call; count other properties of these names."""
        if located.stored and located.stored[NAMES.index(MARKER)] is not None:
            return True
        given = zip(self._values.names, located.stored, strict=False)
        self._foreign.update(name for name, value in given if value is not None)
        return False

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
            names = ", ".join(f"{name} ({count:,})" for name, count in self._foreign.most_common())
            raise KgprobeError(
                f"The graph has properties of these names that kgprobe has not written: {names}. Nothing was changed."
                " Choose other names with `prefix`."
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
                    yield place, _KEEP if place.same else _WRITE
                else:
                    yield place, _CLEAR if place.marked else _UNLABELLED

    def counts(self) -> Counter[str]:
        """Return the numbers of relationships and nodes to write, keep and clear, and of those without a label."""
        return Counter(fate for _, fate in self._fates())

    def changes(self) -> Iterator[tuple[Element, Mapping[str, Any]]]:
        """Yield the relationships and nodes to change, with their new properties."""
        names = self._values.names
        for place, fate in self._fates():
            if fate == _WRITE:
                yield place.element, dict(zip(names, self._values.of(place.position), strict=True))
            elif fate == _CLEAR:
                yield place.element, self._values.nothing

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
