"""Single pass over all files, which puts their statements into a :class:`~.store.Store`.

Labels, types and facts of an entity may be in different files; the store joins them. Memory: the rows that wait to be
written, and the store's limit. Disk, in kgprobe's folder: about the size of the unpacked input.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from kgprobe.base.records import Rejected
from kgprobe.sources.lines import InputFile
from kgprobe.sources.values import ID_LIMIT, check_id, tidy

from ..literals import OTHER_ENTITY, NotLoaded
from .literals import Value, date_bound, kind_of, read_value, value_id
from .store import QUOTED, Store, place_of
from .triples import read_triples
from .vocabulary import BLANK_NODE, LIST, TEXTS, Meaning, Role, Vocabulary, compact

# Statements between two looks at what waits to be written.
_BATCH = 8192
# Remembered ids and values: some tens of megabytes.
_REMEMBERED = 2**16

OTHER_SUBJECT = NotLoaded("other subject")
NODE = NotLoaded("value of an intermediate node")

# Predicates of labels.
_MOST_LABELS = 16
_NAMELESS = "an end of the triple is a blank node; only nodes with an IRI can be loaded"


class NotedValue(NamedTuple):
    """A literal with its id."""

    id: str
    value: Value


Object: TypeAlias = str | NotedValue | NotLoaded


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Options of reading.

    Attributes:
        languages: languages of labels, aliases, descriptions and texts, best first, in lower case.
        relations: relations whose facts are read; all if empty.
        literals: True to read values as objects of facts. Times of nodes are read in any case.
        fold: True to turn intermediate nodes into dates of their owners' facts; else they are left out.
        collapse: True to make facts of statements about a blank node.
        merge: True to merge entities that are said to be the same.
    """

    languages: tuple[str, ...]
    relations: frozenset[str] = frozenset()
    literals: bool = True
    fold: bool = True
    collapse: bool = False
    merge: bool = False


class StatementReader:
    """StatementReader of statements into a store.

    Attributes:
        store: where the statements go.
        properties: ids of the properties that have the names of relations, by relation.
    """

    def __init__(self, store: Store, vocabulary: Vocabulary, options: ReadingOptions) -> None:
        self.store = store
        self._vocabulary = vocabulary
        self._options = options
        self._ranks = {language: rank for rank, language in enumerate(options.languages)}
        self._meanings: dict[str, Meaning] = {}
        # Without references to the reader, which would keep it and its files until the next garbage collection.
        self._entity = lru_cache(_REMEMBERED)(lambda iri: _checked(vocabulary.entity(iri)))
        self._value = lru_cache(_REMEMBERED)(partial(_noted_value, store.rows["notes"], options.languages))
        self._mark = vocabulary.mark
        self._number = 0
        self.properties: dict[str, str] = {}

    def read(self, number: int, file: InputFile) -> None:
        """Read all statements of a file."""
        self._number = number
        first = place_of(number, 0)
        for count, (line, quad) in enumerate(read_triples(file)):
            if isinstance(quad, Rejected):
                self.store.report(first + line, quad.reason, quad.broken_off)
                continue
            try:
                self._read(quad, first + line)
            except ValueError as error:
                self.store.report(first + line, str(error))
            if not count % _BATCH:
                self.store.write()

    def _read(self, quad: Quad, place: int) -> None:
        subject, predicate, object_, _ = quad
        meaning = self._meanings.get(predicate.value) or self._meaning(predicate.value)
        if type(subject) is not NamedNode:
            self._read_blank(meaning, f"_:{self._number}:{subject.value}", object_, place)
        elif meaning.role is Role.FACT:
            # Fast path: most statements.
            if meaning.is_plain and type(object_) is NamedNode:
                id_, end = self._entity(subject.value), self._entity(object_.value)
                if id_ and end and self._mark not in id_ and self._mark not in end:
                    self.store.rows["facts"].extend((id_, meaning.relation, place, end))
                    return
            self._read_fact(meaning, subject.value, object_, place)
        elif meaning.role is Role.NONE:
            self._count(meaning.not_loaded)
        else:
            self._read_note(meaning, subject.value, object_, place)

    def _meaning(self, predicate: str) -> Meaning:
        meaning = self._vocabulary.meaning(predicate)
        is_plain = meaning.role is Role.FACT and not meaning.time and self._is_selected(meaning.relation)
        self._meanings[predicate] = meaning = meaning._replace(is_plain=is_plain)
        return meaning

    def _is_selected(self, relation: str) -> bool:
        return not self._options.relations or relation in self._options.relations

    def _read_fact(self, meaning: Meaning, subject_iri: str, term: object, place: int) -> None:
        relation, options = meaning.relation, self._options
        is_selected = self._is_selected(relation)
        # Times of an intermediate node are read with every relation.
        if not (is_selected or meaning.time):
            return
        subject = self._entity(subject_iri)
        if subject is None:
            self._count(OTHER_SUBJECT, is_selected)
            return
        owner = self._vocabulary.owner(subject)
        if owner is not None:
            self._read_node(meaning, owner, subject, term, place, is_selected)
            return
        if meaning.time and type(term) is Literal:
            # The subject may be the name of a quotation.
            self._write_time(subject, meaning.time, self._object(term, literals=True), place)
        if is_selected:
            self._write_fact(subject, relation, place, "", self._object(term, literals=options.literals))

    def _read_node(self, meaning: Meaning, owner: str, node: str, term: object, place: int, is_selected: bool) -> None:
        """Read a statement of an intermediate node: a time of it, or a fact of its owner."""
        object_ = self._object(term, literals=True)
        if isinstance(object_, NotLoaded):
            self._count(object_, is_selected)
        elif not self._options.fold or not (meaning.time or isinstance(object_, str)):
            self._count(NODE, is_selected)
        elif not meaning.time:
            self._write_fact(owner, meaning.relation, place, node, object_)
        else:
            self._write_time(node, meaning.time, object_, place)

    def _read_blank(self, meaning: Meaning, node: str, term: object, place: int) -> None:
        """Read a statement of a blank node: what it quotes, a time of it, or a fact that may be collapsed."""
        if self._vocabulary.nameless is None:
            raise ValueError(_NAMELESS)
        if type(term) is Triple:
            self._read_quoted(meaning, node, term, place)
        elif meaning.time and type(term) is Literal:
            self._write_time(node, meaning.time, self._object(term, literals=True), place)
        elif meaning.role is Role.FACT and self._options.collapse:
            self._write_blank(node, meaning.relation, place, self._object(term, literals=self._options.literals))
        else:
            self._count(LIST if meaning.not_loaded is LIST else BLANK_NODE)

    def _read_quoted(self, meaning: Meaning, node: str, quoted: Triple, place: int) -> None:
        relation = self._vocabulary.meaning(quoted.predicate.value).relation if meaning.role is Role.REIFIES else ""
        is_named = type(quoted.subject) is NamedNode and type(quoted.object) in (NamedNode, Literal)
        subject = self._entity(quoted.subject.value) if type(quoted.subject) is NamedNode else None
        object_ = self._object(quoted.object, literals=True) if is_named else BLANK_NODE
        if not relation or subject is None or isinstance(object_, NotLoaded):
            self._count(QUOTED)
        else:
            id_ = object_ if isinstance(object_, str) else object_.id
            self.store.rows["quoted"].extend((subject, relation, place, id_, node))

    def _write_fact(self, subject: str, relation: str, place: int, node: str, object_: Object) -> None:
        """Write a fact, unless its object is an intermediate node."""
        if isinstance(object_, NotLoaded):
            self._count(object_)
        elif isinstance(object_, str) and object_.startswith("_:"):
            self._write_blank(subject, relation, place, object_)
        elif isinstance(object_, str) and self._vocabulary.owner(object_) is not None:
            # A folded node stands for its statements.
            if not self._options.fold:
                self._count(NODE)
        else:
            id_ = object_ if isinstance(object_, str) else object_.id
            if node:
                self.store.rows["stated"].extend((subject, relation, place, id_, node))
            else:
                self.store.rows["facts"].extend((subject, relation, place, id_))

    def _write_blank(self, subject: str, relation: str, place: int, object_: Object) -> None:
        if isinstance(object_, NotLoaded):
            self._count(object_)
        elif self._options.collapse:
            id_ = object_ if isinstance(object_, str) else object_.id
            self.store.rows["blank"].extend((subject, relation, place, id_))
        else:
            self._count(BLANK_NODE)

    def _write_time(self, node: str, kind: str, object_: Object, place: int) -> None:
        bound = date_bound(object_.value) if isinstance(object_, NotedValue) else None
        if bound is not None:
            self.store.rows["times"].extend((node, kind, bound, place))

    def _count(self, kind: NotLoaded, is_selected: bool = True) -> None:
        if is_selected:
            self.store.not_loaded[kind.kind] += 1

    def _object(self, term: object, *, literals: bool) -> Object:
        """Return the object's id, or a literal, or why the statement is not loaded.

        Raises:
            ValueError: it is a blank node that cannot be loaded, or not a value of its type.
        """
        if type(term) is NamedNode:
            return self._entity(term.value) or OTHER_ENTITY
        if type(term) is Literal:
            value = self._value(term.value, term.language, term.datatype.value)
            return value if literals or isinstance(value, NotLoaded) else kind_of(value.value)
        if type(term) is Triple:
            return QUOTED
        if type(term) is BlankNode and self._vocabulary.nameless is not None:
            return f"_:{self._number}:{term.value}"
        raise ValueError(_NAMELESS)

    def _read_note(self, meaning: Meaning, subject_iri: str, term: object, place: int) -> None:
        if meaning.role in TEXTS:
            if type(term) is Literal:
                self._note_text(meaning, subject_iri, term, place)
            return
        subject = self._entity(subject_iri) if type(term) is Triple else None
        if type(term) is Triple and subject is not None:
            self._read_quoted(meaning, subject, term, place)
        elif type(term) is not NamedNode:
            self._read_nameless(term)
        elif meaning.role is Role.TYPE:
            typed = self._vocabulary.typed(subject_iri, term.value)
            if typed is not None and self._vocabulary.owner(typed[0]) is None:
                id_, type_ = map(_checked, typed)
                self.store.rows["notes"].extend((id_, "t", 0, place, type_))
        elif meaning.role is Role.PROPERTY:
            self.properties[self._vocabulary.meaning(term.value).relation] = compact(subject_iri)
        else:
            self._note_page(meaning, self._entity(subject_iri), self._entity(term.value), place)

    def _read_nameless(self, term: object) -> None:
        if type(term) is Literal:
            return
        if self._vocabulary.nameless is None:
            raise ValueError(_NAMELESS)
        self._count(BLANK_NODE)

    def _note_page(self, meaning: Meaning, subject: str | None, target: str | None, place: int) -> None:
        role = meaning.role
        if role is Role.SAME and not self._options.merge:
            self._count(meaning.not_loaded)
        elif subject is None or (target is None and role is not Role.DISAMBIGUATION) or subject == target:
            return
        elif role is Role.SAME:
            self.store.rows["same"].extend((subject, target, place))
        else:
            self.store.rows["redirects"].extend((subject, "" if role is Role.DISAMBIGUATION else target, place))

    def _note_text(self, meaning: Meaning, subject_iri: str, term: Literal, place: int) -> None:
        language = self._language_rank(term.language)
        text = tidy(term.value)
        if language is None or not text:
            return
        id_ = _checked(self._vocabulary.named(subject_iri))
        if id_ is not None:
            rank = language * _MOST_LABELS + meaning.rank
            self.store.rows["notes"].extend((id_, TEXTS[meaning.role], rank, place, text))

    def _language_rank(self, language: str | None) -> int | None:
        """Return the rank of a language: en-US comes after en, no language last; None for one that is not read."""
        if language is None:
            return 2 * len(self._ranks)
        exact, general = self._ranks.get(language), self._ranks.get(language.partition("-")[0])
        if exact is not None:
            return 2 * exact
        return None if general is None else 2 * general + 1


def language_number(rank: int) -> int:
    """Return the number of the language of a note with this rank; that after the last is no language."""
    return rank // _MOST_LABELS // 2


def _checked(identifier: str | None) -> str | None:
    # Fast path: nearly all are valid.
    if identifier is not None and (len(identifier) > ID_LIMIT or not identifier.isprintable()):
        check_id(identifier)
    return identifier


def _noted_value(
    notes: list[object], languages: tuple[str, ...], text: str, language: str | None, datatype: str
) -> NotedValue | NotLoaded:
    value = read_value(text, language, datatype, languages)
    if isinstance(value, NotLoaded):
        return value
    id_ = value_id(value)
    notes.extend((id_, "v", 0, 0, f"{value.datatype}\t{value.value}"))
    return NotedValue(id_, value)
