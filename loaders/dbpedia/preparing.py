"""Single pass over all dump files, which groups their lines by entity and by subject on disk.

Dumps have labels, types, redirects and facts in separate files. They are read once. Names and types of entities go into
partitions by entity (:mod:`.partitions`), facts into one file, redirects into a map (:mod:`.pages`). Then the facts are
read again, their ends resolved by the redirects, and written into partitions by subject; each end is noted with the
entities.

Memory: 24 bytes per redirect, one partition (a few hundred thousand facts), the names of relations. Disk, in kgprobe's
folder: about the size of the unpacked input, until the source is closed or forgotten.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TextIO

from pyoxigraph import Literal, NamedNode, Quad

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Placed, Rejected
from kgprobe.sources.lines import InputFile
from kgprobe.sources.values import ID_LIMIT, check_id, tidy

from ..literals import OTHER_ENTITY, NotLoaded
from .identifiers import ENDS, ONTOLOGY, POINTS, STARTS, Role, class_, owner, relation, role_of, thing
from .literals import Value, kind_of, read_value, value_id
from .pages import NOTHING, Pages
from .partitions import Partitions, writing
from .triples import read_popularity, read_triples

# Facts per batch of resolved ends.
_BATCH = 8192
# Maximum number of remembered ends, so that most are noted once: some tens of megabytes.
_REMEMBERED = 2**18
# Bytes of packed input per partition: some hundred thousand facts.
_BYTES_A_PART = 4 * 2**20
_FEWEST_PARTS, _MOST_PARTS = 16, 512

# Prefix of a literal in place of an id.
LITERAL = '"'


@dataclass(slots=True)
class RelationNotes:
    """Notes on a relation: its first place, and label and description with the rank of their language.

    Attributes:
        place: empty without facts.
    """

    place: str = ""
    label: tuple[int, str] | None = None
    description: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Options of reading.

    Attributes:
        languages: languages of labels, aliases, descriptions and texts, best first, in lower case.
        relations: relations whose facts are read; all if empty.
        fold: True to turn intermediate nodes into dates of their owners' facts; else they are left out.
        literals: True to read values as objects of facts. Times of intermediate nodes are read in any case.
    """

    languages: tuple[str, ...]
    relations: frozenset[str] = frozenset()
    fold: bool = True
    literals: bool = True


@dataclass
class Prepared:
    """Grouped input in a folder.

    Attributes:
        files: names of the files, for places in messages.
        entities: lines ``id, kind, place, text`` by id. Kinds: ``m`` an end of a fact, ``v`` a literal, ``l`` a label
            with the rank of its language in front, ``a`` an alias, ``d`` a description, ``t`` a type, ``p`` views.
        facts: lines ``subject, relation, place, node, object`` by subject; for times of an intermediate node, the
            relation is ``start``, ``end`` or ``point``.
        relations: notes by id, in the order of their first places.
        not_loaded: numbers of statements that are not loaded, by kind.
    """

    folder: Path
    files: Sequence[str]
    pages: Pages
    entities: Partitions
    facts: Partitions
    relations: dict[str, RelationNotes] = field(default_factory=dict)
    not_loaded: Counter[str] = field(default_factory=Counter)

    def problems(self) -> Iterator[Placed]:
        """Yield the rejected records, in the order of reading."""
        with (self.folder / "problems").open(encoding="utf-8", newline="\n") as file:
            for line in file:
                place, broken_off, reason = line.rstrip("\n").split("\t", 2)
                yield self.placed(place, Rejected(reason, broken_off=broken_off == "1"))

    def placed(self, place: str, record: Rejected) -> Placed:
        """Return a rejected record at its place."""
        line, file = self.line_and_file(place)
        return Placed(line, record, file)

    def line_and_file(self, place: str) -> tuple[int, str]:
        """Return line and file name of a place."""
        number, _, line = place.partition(":")
        return int(line), self.files[int(number)]


def prepare(
    folder: Path, files: Sequence[InputFile], popularity: InputFile | None, reading: ReadingOptions
) -> Prepared:
    """Read all files once. Cost: about 5 µs per triple of plain files."""
    parts = sum(file.size for file in files) // _BYTES_A_PART
    parts = min(_MOST_PARTS, max(_FEWEST_PARTS, parts))
    names = [file.name for file in files]
    if popularity is not None:
        names.append(popularity.name)
    prepared = Prepared(
        folder,
        names,
        Pages(folder / "pages"),
        Partitions(folder / "entities", parts),
        Partitions(folder / "facts", parts),
    )
    with writing(folder), (folder / "problems").open("w", encoding="utf-8", newline="\n") as problems:

        def report(place: str, reason: str, broken_off: bool = False) -> None:
            problems.write(f"{place}\t{int(broken_off)}\t{tidy(reason)}\n")

        spool = folder / "spool"
        with spool.open("w", encoding="utf-8", newline="\n") as facts:
            reader = _Reader(prepared, reading, facts, report)
            for number, file in enumerate(files):
                reader.read(number, file)
        if reader.foreign:
            raise KgprobeError(
                f"{reader.foreign} is not of DBpedia (http://dbpedia.org/resource/…), nor is any other triple: nothing"
                " is loaded. `kgprobe load table` reads facts by name from any source; for other RDF, import it into"
                " Neo4j with neosemantics, and use `kgprobe load graph`."
            )
        prepared.pages.finish(report)
        with spool.open(encoding="utf-8", newline="\n") as lines:
            _distribute(prepared, lines)
        spool.unlink()
        if popularity is not None:
            _note_views(prepared, popularity, len(files), report)
    for class_id, place in reader.classes.items():
        prepared.entities.add(class_id, f"{class_id}\tm\t{place}\t\n")
    prepared.entities.write()
    prepared.facts.write()
    return prepared


class _Reader:
    """Reader of triples into notes on entities, pages, relations, and a file of facts.

    Attributes:
        foreign: place and subject of the first triple, as long as none of DBpedia follows it.
    """

    def __init__(
        self, prepared: Prepared, reading: ReadingOptions, facts: TextIO, report: Callable[[str, str, bool], None]
    ) -> None:
        self._prepared = prepared
        self._facts = facts
        self._report = report
        self._reading = reading
        self._ranks = {language: rank for rank, language in enumerate(reading.languages)}
        self._value = lru_cache(2**16)(read_value)
        self._roles: dict[str, tuple[Role, str]] = {}
        self._placed: set[str] = set()
        self.classes: dict[str, str] = {}
        self.foreign = ""
        self._is_dbpedia = False

    def read(self, number: int, file: InputFile) -> None:
        """Read all triples of a file."""
        roles = self._roles
        for line, quad in read_triples(file):
            if isinstance(quad, Rejected):
                self._report(f"{number}:{line}", quad.reason, quad.broken_off)
                continue
            predicate = quad.predicate.value
            role = roles.get(predicate)
            if role is None:
                role = roles[predicate] = role_of(predicate)
            subject = quad.subject
            if type(subject) is not NamedNode:
                self._report(f"{number}:{line}", _NAMELESS, False)
                continue
            if not self._is_dbpedia:
                self._is_dbpedia = _DOMAIN in f"{subject.value} {predicate} {quad.object}"
                self.foreign = "" if self._is_dbpedia else self.foreign or f"{file.name}, line {line}: {subject.value}"
            try:
                if role[0] is Role.FACT:
                    self._read_fact(subject.value, role[1], quad, f"{number}:{line}")
                elif role[0] is Role.NONE:
                    self._count(OTHER_PREDICATE)
                else:
                    self._read_note(role[0], subject.value, quad, f"{number}:{line}")
            except ValueError as error:
                self._report(f"{number}:{line}", str(error), False)

    def _read_fact(self, subject_iri: str, relation_id: str, quad: Quad, place: str) -> None:
        time = _TIMES.get(relation_id, "")
        selected = self._reading.relations
        is_selected = not selected or relation_id in selected
        # Times of an intermediate node are read with every relation.
        if not (is_selected or time):
            return
        subject = _checked(thing(subject_iri))
        if subject is None:
            self._count(OTHER_SUBJECT, is_selected)
            return
        whose = owner(subject)
        object_ = self._object(quad, literals=self._reading.literals or whose is not None)
        if whose is not None and not self._is_folded(object_, is_time=bool(time)):
            object_ = NODE
        if isinstance(object_, NotLoaded):
            self._count(object_, is_selected)
        elif whose is not None:
            self._write_fact(whose, time or relation_id, place, subject, object_)
        elif is_selected:
            self._write_fact(subject, relation_id, place, "", object_)

    def _is_folded(self, object_: str | NotLoaded, *, is_time: bool) -> bool:
        """Return True if a statement of an intermediate node becomes one of its owner, or is not loaded anyway."""
        if isinstance(object_, NotLoaded):
            return True
        return self._reading.fold and (is_time or not object_.startswith(LITERAL))

    def _count(self, kind: NotLoaded, is_selected: bool = True) -> None:
        if is_selected:
            self._prepared.not_loaded[kind.kind] += 1

    def _write_fact(self, subject: str, relation_id: str, place: str, node: str, object_: str) -> None:
        """Write a fact, unless its object is an intermediate node."""
        if not object_.startswith(LITERAL) and owner(object_) is not None:
            # A folded node stands for its statements.
            if not self._reading.fold:
                self._count(NODE)
            return
        self._facts.write(f"{subject}\t{relation_id}\t{place}\t{node}\t{object_}\n")
        if relation_id not in self._placed and ":" in relation_id:
            self._placed.add(relation_id)
            self._prepared.relations.setdefault(relation_id, RelationNotes()).place = place

    def _object(self, quad: Quad, *, literals: bool) -> str | NotLoaded:
        """Return the object's id, or a literal, or why the statement is not loaded.

        Raises:
            ValueError: it is a blank node, or not a value of its type.
        """
        term = quad.object
        if type(term) is NamedNode:
            return _checked(thing(term.value)) or OTHER_ENTITY
        if type(term) is not Literal:
            raise ValueError(_NAMELESS)
        value = self._value(term.value, term.language, term.datatype.value, self._reading.languages)
        if isinstance(value, NotLoaded):
            return value
        return f"{LITERAL}{value.datatype}\t{value.value}" if literals else kind_of(value)

    def _read_note(self, role: Role, subject_iri: str, quad: Quad, place: str) -> None:
        term = quad.object
        if type(term) is Literal:
            if role in _TEXTS:
                self._note_text(role, subject_iri, term, place)
            return
        if type(term) is not NamedNode:
            raise ValueError(_NAMELESS)
        if role is Role.TYPE:
            type_ = class_(term.value)
            subject = thing(subject_iri) or (class_(subject_iri) if term.value.startswith(ONTOLOGY) else None)
            if subject is not None and type_ is not None and owner(subject) is None:
                _checked(subject)
                _checked(type_)
                self._prepared.entities.add(subject, f"{subject}\tt\t{place}\t{type_}\n")
                self.classes.setdefault(type_, place)
            return
        self._note_page(role, thing(subject_iri), thing(term.value), place)

    def _note_page(self, role: Role, subject: str | None, target: str | None, place: str) -> None:
        subject, target = _checked(subject), _checked(target)
        if subject is None:
            return
        if role is Role.REDIRECT and target is not None and subject != target:
            self._prepared.pages.add(subject, target, place)
        elif role is Role.DISAMBIGUATION:
            self._prepared.pages.add(subject, NOTHING, place)

    def _note_text(self, role: Role, subject_iri: str, term: Literal, place: str) -> None:
        rank = len(self._ranks) if term.language is None else self._ranks.get(term.language)
        text = tidy(term.value)
        if rank is None or not text:
            return
        subject = _checked(thing(subject_iri) or class_(subject_iri))
        if subject is not None:
            self._prepared.entities.add(subject, f"{subject}\t{_TEXTS[role]}\t{place}\t{rank} {text}\n")
            return
        property_ = relation(subject_iri)
        if property_ is None or role is Role.ALIAS:
            return
        notes = self._prepared.relations.setdefault(property_, RelationNotes())
        kind = "label" if role is Role.LABEL else "description"
        # The first of two in one language is kept.
        known = getattr(notes, kind)
        if known is None or rank < known[0]:
            setattr(notes, kind, (rank, text))


OTHER_PREDICATE = NotLoaded("other predicate")
OTHER_SUBJECT = NotLoaded("other subject")
NODE = NotLoaded("value of an intermediate node")
DISAMBIGUATION = NotLoaded("disambiguation page")

_DOMAIN = "dbpedia.org/"
_NAMELESS = "an end of the triple is a blank node; only nodes with an IRI can be loaded"
# Times that a property of an intermediate node gives.
_TIMES = dict.fromkeys(POINTS, "point") | dict.fromkeys(ENDS, "end") | dict.fromkeys(STARTS, "start")
_TEXTS = {Role.LABEL: "l", Role.ALIAS: "a", Role.DESCRIPTION: "d"}


def _checked(identifier: str | None) -> str | None:
    # Fast path: nearly all are valid.
    if identifier is not None and (len(identifier) > ID_LIMIT or not identifier.isprintable()):
        check_id(identifier)
    return identifier


def value_of(object_: str) -> Value:
    """Return the literal in place of an object's id."""
    datatype, _, text = object_.removeprefix(LITERAL).partition("\t")
    return Value(text, datatype)


def _distribute(prepared: Prepared, lines: Iterable[str]) -> None:
    """Write facts with resolved ends into partitions by subject, and note each end with the entities."""
    noted: set[str] = set()
    lines = iter(lines)

    def note(end: str, line: str) -> None:
        if end not in noted:
            if len(noted) >= _REMEMBERED:
                noted.clear()
            noted.add(end)
            prepared.entities.add(end, line)

    while batch := [line[:-1].split("\t", 4) for line in islice(lines, _BATCH)]:
        subjects = prepared.pages.resolve([row[0] for row in batch])
        objects = prepared.pages.resolve([row[4] for row in batch])
        for (_, relation_id, place, node, _), subject, object_ in zip(batch, subjects, objects, strict=True):
            if subject is None or object_ is None:
                prepared.not_loaded[DISAMBIGUATION.kind] += 1
                continue
            prepared.facts.add(subject, f"{subject}\t{relation_id}\t{place}\t{node}\t{object_}\n")
            if ":" not in relation_id:
                continue
            note(subject, f"{subject}\tm\t{place}\t\n")
            if object_.startswith(LITERAL):
                value = value_of(object_)
                id_ = value_id(value)
                note(id_, f"{id_}\tv\t{place}\t{value.datatype}\t{value.value}\n")
            else:
                note(object_, f"{object_}\tm\t{place}\t\n")


def _note_views(
    prepared: Prepared, popularity: InputFile, number: int, report: Callable[[str, str, bool], None]
) -> None:
    rows = read_popularity(popularity)
    while batch := list(islice(rows, _BATCH)):
        views = []
        for line, read in batch:
            if isinstance(read, Rejected):
                report(f"{number}:{line}", read.reason, read.broken_off)
            else:
                views.append((line, *read))
        for id_, (line, _, count) in zip(prepared.pages.resolve([row[1] for row in views]), views, strict=True):
            if id_ is not None:
                prepared.entities.add(id_, f"{id_}\tp\t{number}:{line}\t{count}\n")
