"""Entities out of the notes on them: names, types, how often they are read; and literals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kgprobe.records import Entity, Placed
from kgprobe.sources.values import tidy_all

from .identifiers import name_of_thing, without_brackets, words
from .literals import Value, value_entity
from .pages import Pages
from .preparing import Prepared

# Each with the rank of its language.
Texts: TypeAlias = tuple[tuple[int, str], ...]


@dataclass(slots=True)
class _Notes:
    """All notes on one id.

    Attributes:
        place: first place.
        kept: True if it is an end of a fact or a class, or has a type; ids with only a label are dropped.
        views: page views; None if unknown.
    """

    place: str
    kept: bool = False
    value: Value | None = None
    labels: Texts = ()
    aliases: Texts = ()
    descriptions: Texts = ()
    types: tuple[str, ...] = ()
    views: float | None = None


def read_entities(prepared: Prepared) -> Iterator[Placed]:
    """Yield the ends of facts and the typed entities, each once, without redirects and disambiguation pages."""
    for lines in prepared.entities:
        notes = _notes_of(lines)
        kept = [(id_, known) for id_, known in notes.items() if known.kept]
        standing = _standing([id_ for id_, _ in kept], prepared.pages)
        for (id_, known), stands in zip(kept, standing, strict=True):
            if not stands:
                continue
            line, file = prepared.line_and_file(known.place)
            yield Placed(line, _entity(id_, known), file)


def _standing(ids: Sequence[str], pages: Pages) -> list[bool]:
    return [resolved == id_ for id_, resolved in zip(ids, pages.resolve(ids), strict=True)]


def _notes_of(lines: Sequence[str]) -> dict[str, _Notes]:
    notes: dict[str, _Notes] = {}
    for line in lines:
        id_, kind, place, text = line.split("\t", 3)
        known = notes.get(id_)
        if known is None:
            known = notes[id_] = _Notes(place)
        if kind == "m":
            known.kept = True
        elif kind == "v":
            datatype, _, value = text.partition("\t")
            known.kept, known.value = True, Value(value, datatype)
        elif kind == "t":
            known.kept = True
            known.types += (text,)
        elif kind == "p":
            known.views = (known.views or 0.0) + float(text)
        else:
            rank, _, name = text.partition(" ")
            ranked = ((int(rank), name),)
            if kind == "l":
                known.labels += ranked
            elif kind == "a":
                known.aliases += ranked
            else:
                known.descriptions += ranked
    return notes


def _entity(id_: str, known: _Notes) -> Entity:
    if known.value is not None:
        return value_entity(known.value)
    is_page = id_.startswith("dbr")
    label = _best(known.labels)
    if is_page:
        label = without_brackets(label) or name_of_thing(id_)
    names = [alias for _, alias in sorted(known.aliases, key=lambda alias: alias[0])]
    return Entity(
        id=id_,
        label=label or words(id_),
        aliases=tidy_all(names, without=label) if names else (),
        description=_best(known.descriptions),
        types=tuple(dict.fromkeys(known.types)),
        popularity=known.views,
    )


def _best(texts: Sequence[tuple[int, str]]) -> str:
    """The text in the best language, the first of several."""
    return min(texts, key=lambda text: text[0], default=(0, ""))[1]
