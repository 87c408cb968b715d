"""Find relations and entities by id, label or alias; names may differ in case, and need only print alike."""

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Protocol

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.sanitize import counted
from kgprobe.graph.rows import column_by
from kgprobe.sources.values import plain_name

_SIMILAR = 1_000
_SHOWN = 5
_SHOWN_CHOICES = 10

# With more names, one scan of the entities is cheaper than look-ups.
_LOOKED_UP = 1_000

# Words of a text in which names are found, and of a name in it; a word may have inner signs: d'Artagnan, AT&T, U.S.
_TEXT_WORD = re.compile(r"\w+(?:[^\w\s]+\w+)*")
_TEXT_WORDS, _NAME_WORDS = 200, 8
# Words that are seldom meant as a name, although some entity may have them as one.
_FUNCTION_WORDS = frozenset(
    """
    a an and are as at be by did do does for from had has have he her him his how i in is it its me my no not of on or
    our she so than that the their them they this to us was we were what when where which who whom whose why will with
    you your
    """.split()  # noqa: SIM905  (one word per line otherwise)
)

# A word of the full-text index's query language; number of words used from a long text.
_WORD = re.compile(r"[^\W_]+")
_WORDS = 20


class Reader(Protocol):
    """A graph that is only read."""

    @property
    def is_embedded(self) -> bool:
        """True if the server is the embedded engine."""

    @property
    def language(self) -> str | None:
        """Code of the language asked; None for names as loaded."""

    @property
    def is_plain(self) -> bool:
        """True if the names in the language asked are those as loaded."""

    def in_language(self, ask_in: str | None) -> "Reader":
        """Return the same graph, asked in a language."""

    def read(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return all rows of a query file by name."""


def relation_ids(graph: Reader, names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct ids of relations that are given by id, label or alias, in their order.

    Cost: one reading of the relations, if any is given.
    """
    names = list(names)
    ids_by_name = names_of_relations(graph) if names else {}
    return tuple(dict.fromkeys(_relation(name, ids_by_name) for name in names))


def names_of_relations(graph: Reader) -> dict[str, list[str]]:
    """Return the ids of relations by lower-case id, label and alias; ids first."""
    ids_by_name: dict[str, dict[str, None]] = defaultdict(dict)
    rows = graph.read("sample/relations")
    if graph.language is not None:
        rows += graph.in_language(None).read("sample/relations")
    for row in rows:
        ids_by_name[row["id"].lower()][row["id"]] = None
    for row in rows:
        for name in filter(None, (row["label"], *row["aliases"])):
            ids_by_name[name.lower()][row["id"]] = None
    return {name: list(ids) for name, ids in ids_by_name.items()}


def relation_names(graph: Reader, relations: Iterable[str]) -> dict[str, str]:
    """Return a unique name of each relation: its label, with the id if several have the same label."""
    known = column_by("id", "label", graph.read("sample/relations"))
    return unique_names({relation: known.get(relation) or relation for relation in relations})


def unique_names(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels by id, with the id where several have the same label."""
    counts = Counter(labels.values())
    return {relation: f"{label} ({relation})" if counts[label] > 1 else label for relation, label in labels.items()}


def close_relations(name: str, ids_by_name: Mapping[str, Sequence[str]]) -> str:
    """Return the end of a message about an unknown relation: the relations with similar names."""
    similar = []
    for other in difflib.get_close_matches(name.lower(), ids_by_name, _SHOWN):
        ids = ", ".join(ids_by_name[other])
        similar.append(ids if other == ids.lower() else f"{other} ({ids})")
    return f"; close to it: {', '.join(similar)}" if similar else ", see `kgprobe graph query explore/relations`"


def entity_ids(graph: Reader, names: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of entities that are given by id, label or alias, in their order.

    Cost: a look-up of the ids, and of other names in Neo4j's full-text index. The embedded engine has no such index and
    scans the entities for other names. Names in the language asked, found besides those as loaded, need a scan on
    either engine.
    """
    names = list(names)
    ids_by_name: dict[str, list[str]] = {}
    for candidates in entities_called(graph, set(names)):
        ids_by_name = candidates | ids_by_name
    for name in names:
        ids = ids_by_name.get(name, [])
        if not ids:
            raise UnknownNameError(f"{no_entity(graph, name)}.")
        if len(ids) > 1:
            lines = [f"{len(ids)} entities are called {name!r}. Name one by its id:"]
            for row in graph.read("sample/choices", ids=list(ids))[:_SHOWN_CHOICES]:
                about = ", ".join(filter(None, (row["label"], row["description"], counted(row["facts"], "fact"))))
                lines.append(f"  {row['id']}: {about}")
            if len(ids) > _SHOWN_CHOICES:
                lines.append(f"  … and {len(ids) - _SHOWN_CHOICES:,} more with fewer facts")
            raise UnknownNameError("\n".join(lines))
    return tuple(ids_by_name[name][0] for name in names)


def entities_called(graph: Reader, texts: set[str]) -> Iterator[dict[str, list[str]]]:
    """Yield the ids of entities by text: first where the text is an id, then with labels and aliases as well.

    Cost: a look-up by id. The second item, only made if requested and if some text is not an id, needs look-ups in the
    full-text index, or a scan of the entities without one and one for the names in the language asked.
    """
    if not texts:
        return
    ids = {row["id"]: [row["id"]] for row in graph.read("sample/labels", ids=sorted(texts))}
    yield ids
    if len(ids) == len(texts):
        return
    plain = {text: plain_name(text).lower() for text in texts}
    by_name: dict[str, list[str]] = {name: [] for name in plain.values()}
    for row in _rows_called(graph, set(map(plain_name, texts)) - {""}):
        for name in by_name.keys() & set(map(str.lower, row["names"])):
            by_name[name].append(row["id"])
    yield {text: list(dict.fromkeys((*ids.get(text, ()), *by_name[plain[text]]))) for text in texts}


def entities_in_text(graph: Reader, text: str) -> list[str]:
    """Return the ids of the entities that a text names by id, label or alias, in the order of the text.

    The longest names win: *New York City* is not also *New York*. A name that several entities have gives all of them.

    Cost: a look-up for each sequence of up to ``_NAME_WORDS`` words, see :func:`entities_called`.
    """
    text = plain_name(text)
    words = list(islice(_TEXT_WORD.finditer(text), _TEXT_WORDS))
    spans: dict[tuple[int, int], str] = {}
    for first in range(len(words)):
        for end in range(first + 1, min(first + _NAME_WORDS, len(words)) + 1):
            candidate = text[words[first].start() : words[end - 1].end()]
            if candidate.lower() not in _FUNCTION_WORDS:
                spans[first, end] = candidate
    ids_by_name: dict[str, list[str]] = {}
    for candidates in entities_called(graph, set(spans.values())):
        ids_by_name = candidates
    free = [True] * len(words)
    ids_by_place: dict[int, list[str]] = {}
    for (first, end), candidate in sorted(spans.items(), key=lambda span: (span[0][0] - span[0][1], span[0][0])):
        ids = ids_by_name.get(candidate)
        if ids and all(free[first:end]):
            free[first:end] = [False] * (end - first)
            ids_by_place[first] = ids
    return list(dict.fromkeys(chain.from_iterable(ids for _, ids in sorted(ids_by_place.items()))))


def no_entity(graph: Reader, name: str) -> str:
    """Return a message about an unknown entity with similar names, without a full stop."""
    close = similar_entities(graph, name)
    return f"No entity is called {name!r}" + (f"; close to it: {', '.join(close)}" if close else "")


def similar_entities(graph: Reader, name: str) -> list[str]:
    """Return labels and ids of entities with a label similar to a name, most similar first."""
    lowered = plain_name(name).lower()
    words = _WORD.findall(lowered)
    scanned = {"name": lowered, "beginning": lowered[:2], "limit": _SIMILAR}
    rows = [] if graph.is_plain else graph.read("sample/similar", **scanned)
    if words and has_name_index(graph):
        close_words = " ".join(f"{word}~ {word}*" for word in words[:_WORDS])
        rows += graph.read("sample/similar_indexed", words=close_words, limit=_SIMILAR)
    else:
        rows += graph.in_language(None).read("sample/similar", **scanned)
    by_label = {row["label"].lower(): f"{row['label']} ({row['id']})" for row in reversed(rows) if row["label"]}
    close = difflib.get_close_matches(lowered, by_label, _SHOWN)
    close += [label for label in by_label if lowered in label and label not in close]
    return [by_label[label] for label in close[:_SHOWN]]


def has_name_index(graph: Reader) -> bool:
    """Return True if the graph has a full-text index of names; else entities are scanned.

    A graph of an older version gets the index at its next load or run.
    """
    if graph.is_embedded:
        return False
    try:
        return bool(graph.read("sample/name_index"))
    except KgprobeError:
        # The user may lack the permission to list indexes.
        return False


def _rows_called(graph: Reader, texts: set[str]) -> list[dict[str, Any]]:
    """Return id and names of the entities with one of the texts as a name, in the language asked or as loaded."""
    lowered = sorted(set(map(str.lower, texts)))
    rows = [] if graph.is_plain else graph.read("sample/called", names=lowered)
    # The index ignores punctuation: it cannot find the name "?".
    indexable = len(texts) <= _LOOKED_UP and all(map(_has_word, texts))
    if indexable and has_name_index(graph):
        names = []
        for text in sorted(texts):
            # A phrase of Lucene's query language.
            escaped = text.replace("\\", "\\\\").replace('"', '\\"')
            names.append({"name": text.lower(), "phrase": f'"{escaped}"'})
        return rows + graph.read("sample/called_indexed", names=names)
    return rows + graph.in_language(None).read("sample/called", names=lowered)


def _has_word(text: str) -> bool:
    return any(character.isalpha() or character.isdecimal() for character in text)


def _relation(name: str, ids_by_name: Mapping[str, Sequence[str]]) -> str:
    ids = ids_by_name.get(plain_name(name).lower(), ()) or ids_by_name.get(name.lower(), ())
    if name in ids:
        return name
    ids = [id_ for id_ in ids if id_.lower() == name.lower()] or ids
    if not ids:
        raise UnknownNameError(f"No relation of this graph is called {name!r}{close_relations(name, ids_by_name)}.")
    if len(ids) > 1:
        raise UnknownNameError(f"{len(ids)} relations are called {name!r}: {', '.join(ids)}. Name one by its id.")
    return ids[0]
