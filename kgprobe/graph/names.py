"""Relations and entities by what people call them: an id, a label or an alias, whatever its capitals."""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph, Row

_SIMILAR = 1_000
_SHOWN = 5

# Beyond so many names, one scan of the entities is cheaper than that many look-ups.
_LOOKED_UP = 1_000

# What the query language of the full-text index reads as a word; of a long text, so many.
_WORD = re.compile(r"[^\W_]+")
_WORDS = 20


def relation_ids(graph: Graph, named: Iterable[str]) -> tuple[str, ...]:
    """The ids of relations, each named by its id, its label or an alias; each once, in their order.

    Cost: one reading of the relations, where any is named.

    Raises:
        UnknownNameError: nothing is called so, or several relations are; the message says what comes close.
    """
    wanted = list(named)
    called = names_of_relations(graph) if wanted else {}
    return tuple(dict.fromkeys(_relation(name, called) for name in wanted))


def names_of_relations(graph: Graph) -> dict[str, list[str]]:
    """What relations go by, in small letters, with the ids of those that do; their own ids among it, and first."""
    called: dict[str, list[str]] = {}
    rows = graph.read("sample/relations")
    for row in rows:
        called.setdefault(row["id"].lower(), []).append(row["id"])
    for row in rows:
        for name in dict.fromkeys(name.lower() for name in (row["label"], *row["aliases"]) if name):
            ids = called.setdefault(name, [])
            if row["id"] not in ids:
                ids.append(row["id"])
    return called


def relation_names(graph: Graph, relations: Iterable[str]) -> dict[str, str]:
    """Return what to call each relation: its label, with the id where others have the same."""
    known = {row["id"]: row["label"] for row in graph.read("sample/relations")}
    labels = {relation: known.get(relation) or relation for relation in relations}
    often = Counter(labels.values())
    return {relation: f"{label} ({relation})" if often[label] > 1 else label for relation, label in labels.items()}


def close_relations(name: str, called: Mapping[str, Sequence[str]]) -> str:
    """What comes close to the name of a relation, as the end of a sentence."""
    close = {name: ", ".join(called[name]) for name in difflib.get_close_matches(name.lower(), called, _SHOWN)}
    shown = [ids if name == ids.lower() else f"{name} ({ids})" for name, ids in close.items()]
    return f"; close to it: {', '.join(shown)}" if shown else ", see `kgprobe graph query explore/relations`"


def entity_ids(graph: Graph, named: Iterable[str]) -> tuple[str, ...]:
    """The ids of entities, each named by its id, its label or an alias; in their order.

    Cost: a look-up of those that are ids, and of the others in the full-text index of Neo4j; the embedded engine has
    no such index and scans the entities where others are named.

    Raises:
        UnknownNameError: nothing is called so, or several entities are; the message says which.
    """
    wanted = list(named)
    ids: dict[str, list[str]] = {}
    for found in entities_called(graph, set(wanted)):
        for text, its in found.items():
            ids.setdefault(text, its)
    for name in wanted:
        its = ids.get(name, [])
        if not its:
            raise UnknownNameError(f"{no_entity(graph, name)}.")
        if len(its) > 1:
            shown = ", ".join(its[:_SHOWN]) + (", …" if len(its) > _SHOWN else "")
            raise UnknownNameError(f"{len(its)} entities are called {name!r}: {shown}. Name one by its id.")
    return tuple(ids[name][0] for name in wanted)


def entities_called(graph: Graph, texts: set[str]) -> Iterator[dict[str, list[str]]]:
    """The ids of the entities that texts may mean: those whose id a text is, then those that go by it as well.

    Cost: a look-up by ids; the second, which is only made where it is asked for and some text is no id, looks names up
    in the full-text index, or scans the entities where there is none.
    """
    if not texts:
        return
    ids = {text: [text] for text in (row["id"] for row in graph.read("sample/labels", ids=sorted(texts)))}
    yield ids
    if len(ids) == len(texts):
        return
    lowered = {text.lower() for text in texts}
    by_name: dict[str, list[str]] = {}
    for row in _rows_called(graph, texts):
        for name in {name.lower() for name in row["names"]} & lowered:
            by_name.setdefault(name, []).append(row["id"])
    yield {text: list(dict.fromkeys((*ids.get(text, ()), *by_name.get(text.lower(), ())))) for text in texts}


def no_entity(graph: Graph, name: str) -> str:
    """That nothing is called so, and what comes close to it; a sentence without its full stop."""
    close = similar_entities(graph, name)
    return f"No entity is called {name!r}" + (f"; close to it: {', '.join(close)}" if close else "")


def similar_entities(graph: Graph, name: str) -> list[str]:
    """Labels and ids of entities whose label comes close to a name, the closest first."""
    lowered = name.lower()
    words = _WORD.findall(lowered)
    if words and has_name_index(graph):
        close_words = " ".join(f"{word}~ {word}*" for word in words[:_WORDS])
        rows = graph.read("sample/similar_indexed", words=close_words, limit=_SIMILAR)
    else:
        rows = graph.read("sample/similar", name=lowered, beginning=lowered[:2], limit=_SIMILAR)
    by_label = {row["label"].lower(): f"{row['label']} ({row['id']})" for row in reversed(rows)}
    close = difflib.get_close_matches(lowered, by_label, _SHOWN)
    close += [label for label in by_label if lowered in label and label not in close]
    return [by_label[label] for label in close[:_SHOWN]]


def has_name_index(graph: Graph) -> bool:
    """Return whether entities can be looked up by name; else they are scanned.

    A graph that was made by an earlier version has the index after the next load or run.
    """
    if graph.is_embedded:
        return False
    try:
        return bool(graph.read("sample/name_index"))
    except KgprobeError:
        # A user who may read a graph may not be allowed to list its indexes.
        return False


def _rows_called(graph: Graph, texts: set[str]) -> list[Row]:
    """Return id and names of the entities that go by one of the texts."""
    # The index has no punctuation: it cannot find an entity that is called "?".
    indexable = len(texts) <= _LOOKED_UP and all(map(_has_word, texts))
    if indexable and has_name_index(graph):
        names = [{"name": text.lower(), "phrase": _phrase(text)} for text in sorted(texts)]
        return graph.read("sample/called_indexed", names=names)
    return graph.read("sample/called", names=sorted({text.lower() for text in texts}))


def _has_word(text: str) -> bool:
    return any(character.isalpha() or character.isdecimal() for character in text)


def _phrase(text: str) -> str:
    """Return a text as a phrase of the index's query language, Lucene's."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _relation(name: str, called: Mapping[str, Sequence[str]]) -> str:
    ids = called.get(name.lower(), ())
    if name in ids:
        return name
    ids = [id_ for id_ in ids if id_.lower() == name.lower()] or ids
    if not ids:
        raise UnknownNameError(f"No relation of this graph is called {name!r}{close_relations(name, called)}.")
    if len(ids) > 1:
        raise UnknownNameError(f"{len(ids)} relations are called {name!r}: {', '.join(ids)}. Name one by its id.")
    return ids[0]
