"""Files of RDF as a source: relations, entities and facts out of a :class:`~.store.Store`.

An entity has names, types, popularity; literals are entities, too. Each fact is given once, with the interval of its
node.
"""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter

from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation, Texts
from kgprobe.base.temporary import temporary_folder
from kgprobe.sources.lines import InputFile
from kgprobe.sources.values import check_interval, fact_id, tidy_all

from ..wikidata_model import ALL_LANGUAGES, named_languages, several_languages, texts_of, with_templates
from .literals import Value, value_entity
from .reading import ReadingOptions, StatementReader, language_number
from .store import PATH, Store, file_and_line
from .vocabulary import TEXTS, Vocabulary, words


@dataclass
class RdfFiles:
    """Files as a source; see :class:`kgprobe.sources.contract.Source`. Errors are reported with the relations.

    All files are read for the first stream, which takes most of the time of a load.

    Attributes:
        files: all files; ``read`` reads one of them by its number.
        templates: the user's templates, which override those of ``shipped``.
        shipped: returns a relation with its own templates, by id.
    """

    name: str
    fingerprint: str
    files: list[InputFile]
    templates: InputFile | None
    vocabulary: Vocabulary
    reading: ReadingOptions
    read: Callable[[StatementReader, int, InputFile], None] = StatementReader.read
    shipped: Callable[[str], Relation] = Relation
    partial: bool = False
    _reader: StatementReader | None = field(default=None, init=False)

    @property
    def total(self) -> int:
        """The bytes of all files twice: for reading, and for the streams made of them."""
        return 2 * self._size

    @property
    def done(self) -> int:
        """Part of ``total`` done so far."""
        if self._reader is None:
            return sum(file.position for file in self.files)
        return self._size + int(self._size * self._reader.store.given)

    @property
    def not_loaded(self) -> Mapping[str, int]:
        """Numbers of statements that are not loaded, by kind; known after reading."""
        return {} if self._reader is None else dict(self._reader.store.not_loaded)

    @property
    def _size(self) -> int:
        return sum(file.size for file in self.files)

    def relations(self) -> Iterator[Placed]:
        """Yield the rejected records; then the relations with facts, with our sentences if any."""
        for place, broken_off, reason in self._read().store.problems():
            yield self._placed(place, Rejected(reason, broken_off=broken_off))
        yield from with_templates(self._relations(), self.templates, lambda name: True)

    def entities(self) -> Iterator[Placed]:
        """Yield the ends of facts, the typed entities and the classes, each once."""
        for id_, notes in groupby(self._read().store.notes(), itemgetter(0)):
            texts: dict[str, list[str]] = {}
            by_language: dict[str, dict[str, list[str]]] = {}
            places = []
            for _, kind, rank, place, text in notes:
                texts.setdefault(kind, []).append(text)
                if self._several and kind in TEXTS.values():
                    by_language.setdefault(self._language(rank), {}).setdefault(kind, []).append(text)
                if kind in ("m", "t"):
                    places.append(place)
            if places:
                yield self._placed(places[0], replace(self._entity(id_, texts), texts=self._texts(by_language)))

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of names."""
        return named_languages(self.reading.languages)

    @property
    def _several(self) -> tuple[str, ...]:
        return several_languages(self.reading.languages)

    def _language(self, rank: int) -> str:
        """Return the language of a note; texts without one are in all languages."""
        number = language_number(rank)
        return self.reading.languages[number] if number < len(self.reading.languages) else ALL_LANGUAGES

    def _texts(self, by_language: Mapping[str, Mapping[str, Sequence[str]]]) -> Texts:
        common = by_language.get(ALL_LANGUAGES, {})
        found = {}
        for code in self._several if by_language else ():
            own = by_language.get(code, {})
            label, alias, description = ([*own.get(kind, ()), *common.get(kind, ())] for kind in TEXTS.values())
            found[code] = (label, alias, description)
        return texts_of(found)

    def facts(self) -> Iterator[Placed]:
        """Yield the facts, subject by subject.

        A fact that several statements state is given once; with an interval, if one of them has it.
        """
        names = [file.name for file in self.files]
        known: set[tuple[str, str, str | None]] = set()
        last = ""
        for subject, relation, object_, place, node, start, end in self._read().store.facts():
            if subject != last:
                last = subject
                known.clear()
            if (relation, object_, start) not in known:
                known.add((relation, object_, start))
                number, line = file_and_line(place)
                yield Placed(line, _fact(subject, relation, object_, start, end, node), names[number])

    def _read(self) -> StatementReader:
        if self._reader is None:
            with ExitStack() as stack:
                folder = stack.enter_context(temporary_folder("rdf"))
                store = Store(folder, merge=self.reading.merge)
                stack.callback(store.database.close)
                reader = StatementReader(store, self.vocabulary, self.reading)
                for number, file in enumerate(self.files):
                    self.read(reader, number, file)
                store.finish()
                # With the last who could read it, or at the end of the program.
                weakref.finalize(store, stack.pop_all().close)
            self._reader = reader
        return self._reader

    def _relations(self) -> Iterator[Placed]:
        reader = self._read()
        places = reader.store.relations()
        parts = {part for id_ in places for part in id_.split(PATH)}
        texts = reader.store.texts({reader.properties.get(part, part) for part in parts})
        for id_, place in places.items():
            relation = self.shipped(id_)
            # A path through a blank node has the names of its parts.
            label = ""
            for part in id_.split(PATH):
                own = texts.get(reader.properties.get(part, part), {})
                name = _first(own, "l") or relation.label or words(part)
                label = name if name.startswith(label) else f"{label} {name}"
            yield self._placed(
                place,
                replace(
                    relation,
                    id=id_,
                    label=label,
                    aliases=relation.aliases or tidy_all(own.get("a", ()), without=label),
                    description=_first(own, "d") or relation.description,
                ),
            )

    def _entity(self, id_: str, texts: Mapping[str, Sequence[str]]) -> Entity:
        if "v" in texts:
            datatype, _, value = texts["v"][0].partition("\t")
            return value_entity(Value(value, datatype))
        label = self.vocabulary.label(id_, _first(texts, "l"))
        return Entity(
            id=id_,
            label=label,
            aliases=tidy_all(texts["a"], without=label) if "a" in texts else (),
            description=_first(texts, "d"),
            types=tuple(dict.fromkeys(texts.get("t", ()))),
            popularity=sum(map(float, texts["p"])) if "p" in texts else None,
        )

    def _placed(self, place: int, record: Entity | Fact | Relation | Rejected) -> Placed:
        number, line = file_and_line(place)
        return Placed(line, record, self.files[number].name)


def _first(texts: Mapping[str, Sequence[str]], kind: str) -> str:
    return texts[kind][0] if kind in texts else ""


def _fact(subject: str, relation: str, object_: str, start: str | None, end: str | None, node: str) -> Fact | Rejected:
    try:
        if start is not None or end is not None:
            check_interval(start, end)
        return Fact(fact_id(subject, relation, object_, start), subject, relation, object_, "normal", start, end)
    except ValueError as error:
        return Rejected(f"{node or subject}, {relation}: {error}")
