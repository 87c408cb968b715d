"""The facts that a fine-tune teaches: from a list of facts, a file of roles, or a data set whose texts name entities.

docs/methods/controls.md. A fact is taught by a data set if one of its records names both ends.
"""

import json
import re
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import UNREADABLE_JSON
from kgprobe.base.sanitize import counted, visible
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import entities_called
from kgprobe.labelling.neighbourhood import Neighbourhood, blocks
from kgprobe.labelling.roles import HELD_OUT, TAUGHT, read_roles
from kgprobe.sampling.facts import existing_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.selection import Listed, list_facts

# Words of the longest name that is looked for.
_LONGEST_NAME = 6
# Names of a look-up.
_NAMES_AT_ONCE = 20_000
_FACTS_AT_ONCE = 1_000
_SHOWN = 5
_WORD = re.compile(r"[^\W_](?:[\w'’.&-]*[^\W_])?")


@dataclass(frozen=True, slots=True)
class TaughtFacts:
    """Distinct facts of the graph that are taught, others that are not controls, and ids of a data set's entities."""

    taught: Sequence[FactKey]
    held_out: Sequence[FactKey] = ()
    entities: Sequence[str] = ()
    notes: Sequence[str] = ()


def read_taught(around: Neighbourhood, near: Listed) -> TaughtFacts:
    """Return the facts that a list, a file of roles or a data set teaches.

    A file is a file of roles if its first line has ``role``; a data set, in JSON Lines, if it has no ``subject``; else
    a list, see :func:`~kgprobe.sampling.selection.list_facts`.
    """
    if isinstance(near, (str, Path)):
        first = _first_record(Path(near))
        if "role" in first:
            return _from_roles(around.graph, Path(near))
        if first and "subject" not in first:
            return _from_data_set(around, Path(near))
    try:
        selection = list_facts(around.graph, near, around.as_of)
    except ArgumentError as error:
        raise ArgumentError("near", error.problem) from error
    if not selection.keys:
        raise _names_nothing(selection.missing)
    return TaughtFacts(selection.keys, notes=selection.missing)


def _names_nothing(missing: Sequence[str]) -> ArgumentError:
    """Return the error on a list without a fact of the graph."""
    if not missing:
        return ArgumentError("near", "is empty: it lists no facts.")
    reasons = " ".join(missing[:_SHOWN])
    return ArgumentError(
        "near", f"names no fact of this graph. {reasons} `kgprobe sample facts` shows facts that the graph has."
    )


def _first_record(path: Path) -> Mapping[str, Any]:
    """Return the first line of a file that is not blank; empty if it is not a JSON object."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            line = next((line for line in file if line.strip()), "")
    except (OSError, ValueError) as error:
        raise ArgumentError("near", f"cannot be read: {error}.") from error
    try:
        first = json.loads(line)
    except ValueError:
        return {}
    return first if isinstance(first, dict) else {}


def _from_roles(graph: Graph, path: Path) -> TaughtFacts:
    """Return the taught and held-out facts of a file of roles; its controls are left out."""
    try:
        roles = list(read_roles(path))
    except ArgumentError as error:
        raise ArgumentError("near", error.problem) from error
    keys: dict[str, list[FactKey]] = {TAUGHT: [], HELD_OUT: []}
    for role in roles:
        if role.role in keys:
            keys[role.role].append(FactKey(role.subject, role.fact))
    listed = list(dict.fromkeys([*keys[TAUGHT], *keys[HELD_OUT]]))
    existing = set(existing_facts(graph, list(listed)))
    missing = [
        f"{path}: the graph has no fact {key.fact!r} of {key.subject!r}." for key in listed if key not in existing
    ]
    taught, held_out = (list(dict.fromkeys(key for key in own if key in existing)) for own in keys.values())
    if not taught:
        raise _names_nothing(missing or [f"No line of {path} has the role {TAUGHT!r}."])
    controls = len(roles) - len(keys[TAUGHT]) - len(keys[HELD_OUT])
    notes = [f"Replaced: {counted(controls, 'control fact')} of the file."] if controls else []
    return TaughtFacts(taught, held_out, notes=[*notes, *missing])


@dataclass(slots=True)
class _NamedEntities:
    """Entities that the records of a data set name.

    Attributes:
        candidates: the first texts that may be names.
        of_entity: numbers of the records that name an entity, by its id.
        ambiguous: number of names that several entities have.
    """

    records: int
    candidates: Sequence[str]
    of_entity: Mapping[str, set[int]]
    ambiguous: int


def _from_data_set(around: Neighbourhood, path: Path) -> TaughtFacts:
    """Return the facts whose ends a record names, and all named entities."""
    notes: list[str] = []
    entities_of_file = _find_entities(around.graph, path, notes)
    if not entities_of_file.of_entity:
        tried = ", ".join(entities_of_file.candidates[:_SHOWN]) or "no capitalised words"
        raise ArgumentError(
            "near",
            f"names no entity of this graph: in {counted(entities_of_file.records, 'record')} of {path}, texts such as"
            f" {tried} were looked up. The graph has entities such as {_examples(around)}.",
        )
    taught: dict[FactKey, None] = {}
    entities = sorted(entities_of_file.of_entity)
    from_hubs, _ = around.facts_from(entities)
    for ends in chain((step.ends for step in around.facts_around(entities) if step.askable), from_hubs):
        subjects, objects = (entities_of_file.of_entity.get(end, set()) for end in (ends.subject, ends.object))
        if not subjects.isdisjoint(objects):
            taught[ends.key] = None
    notes.append(
        f"{counted(entities_of_file.records, 'record')} of {path}: {len(entities):,} entities of the graph are named;"
        f" {counted(len(taught), 'fact')} between entities of one record count as taught."
    )
    if entities_of_file.ambiguous:
        notes.append(f"{entities_of_file.ambiguous:,} names have several entities; the one with most facts is meant.")
    return TaughtFacts(sorted(taught), entities=entities, notes=notes)


def _examples(around: Neighbourhood) -> str:
    """Return names of some entities of the graph."""
    facts = list(islice(around.all_askable(), _SHOWN))
    labels = around.graph.read("sample/labels", ids=sorted({ends.subject for ends in facts}))
    return ", ".join(row["label"] for row in labels) or "none: no fact can be asked"


def _find_entities(graph: Graph, path: Path, notes: list[str]) -> _NamedEntities:
    """Look up the names in the records of a data set; add notes on records that are skipped."""
    texts_of: list[list[str]] = []
    spans: dict[str, None] = {}
    for texts in _records(path, notes):
        texts_of.append(texts)
        for line in _lines_of(texts):
            spans.update(dict.fromkeys(span for _, _, span in _spans(line)))
    ids: dict[str, list[str]] = {}
    for block in blocks(spans, _NAMES_AT_ONCE):
        for block_ids in entities_called(graph, set(block)):
            ids |= block_ids
    ids = {span: own for span, own in ids.items() if own}
    entity_of, ambiguous = _unambiguous(graph, ids)
    of_entity: defaultdict[str, set[int]] = defaultdict(set)
    for number, texts in enumerate(texts_of):
        for line in _lines_of(texts):
            for span in _longest(line, entity_of):
                of_entity[entity_of[span]].add(number)
    return _NamedEntities(len(texts_of), list(islice(spans, _SHOWN)), dict(of_entity), ambiguous)


def _unambiguous(graph: Graph, ids: Mapping[str, Sequence[str]]) -> tuple[dict[str, str], int]:
    """Return the entity of each name, of several the one with most facts; and the number of names with several."""
    several = [own for own in ids.values() if len(own) > 1]
    place: dict[str, int] = {}
    rows: list[Row] = []
    for block in blocks(sorted(set(chain.from_iterable(several))), _FACTS_AT_ONCE):
        rows += graph.read("sample/choices", ids=block)
    rows.sort(key=lambda row: (-row["facts"], row["id"]))
    for number, row in enumerate(rows):
        place[row["id"]] = number
    chosen = {span: min(own, key=lambda entity: place.get(entity, 0)) for span, own in ids.items()}
    return chosen, len(several)


def _records(path: Path, notes: list[str]) -> Iterator[list[str]]:
    """Yield the texts of each record of a file in JSON Lines; add a note on lines that are no JSON."""
    bad: list[int] = []
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.removeprefix(BOM_UTF8) if number == 1 else line
                if text.strip():
                    try:
                        yield list(_texts(msgspec.json.decode(text)))
                    except UNREADABLE_JSON:
                        bad.append(number)
    except OSError as error:
        raise KgprobeError(f"{path} cannot be read: {error}.") from error
    if bad:
        shown = ", ".join(map(str, bad[:_SHOWN]))
        notes.append(visible(f"{path}: {counted(len(bad), 'line')} skipped that are no JSON: {shown}."))


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of a JSON value, without keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a text and the places of its words; a name does not go over a line's end."""

    text: str
    words: Sequence[tuple[int, int]]


def _lines_of(texts: Iterable[str]) -> Iterator[_Line]:
    for text in texts:
        for line in text.splitlines():
            yield _Line(line, [match.span() for match in _WORD.finditer(line)])


def _spans(line: _Line) -> Iterator[tuple[int, int, str]]:
    """Yield the texts that may be names, with their first word and the one after their last; longest first.

    The first word has a capital letter, or is in a script without capitals; a text has a letter.
    """
    for first, (start, _) in enumerate(line.words):
        for last in range(min(first + _LONGEST_NAME, len(line.words)), first, -1):
            span = line.text[start : line.words[last - 1][1]]
            word = line.text[start : line.words[first][1]]
            if (word != word.lower() or word.lower() == word.upper()) and any(map(str.isalpha, span)):
                yield first, last, span


def _longest(line: _Line, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the names in a line; of overlapping ones the first, and of these the longest."""
    done = 0
    for first, last, span in _spans(line):
        if first >= done and span in names:
            yield span
            done = last
