"""The state of a graph, to detect outdated data that were derived from it, and digests of its content.

Digests are equal for equal graphs on any engine and in any order.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, starmap
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from kgprobe.base.sanitize import counted
from kgprobe.graph.twins import twin_types

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph, Row


def graph_state(graph: "Graph") -> str:
    """Return a JSON text that identifies the graph and the data loaded into it."""
    return msgspec.json.encode(graph.read("load/state")[0], order="sorted").decode()


class _Load(msgspec.Struct, frozen=True):
    """What a load has created and changed: relations, entities and facts."""

    id: str = ""
    source: str = ""
    time: str = ""
    created: tuple[int, int, int] = (0, 0, 0)
    changed: tuple[int, int, int] = (0, 0, 0)


class _State(msgspec.Struct, frozen=True):
    """A text of :func:`graph_state`."""

    uid: str | None = None
    loads: list[_Load] = []


def state_uid(state: str) -> str | None:
    """Return the id of the graph in a text of :func:`graph_state`.

    Raises:
        msgspec.DecodeError: the text is something else.
    """
    return msgspec.json.decode(state, type=_State).uid


def graph_name(state: str) -> tuple[str, str]:
    """Return the id of a graph, and the sources that were loaded into it, the first ones by name.

    >>> graph_name('{"uid": "a", "loads": [{"source": "films.csv", "time": "2026-11-28T09:12:03+00:00"}]}')
    ('a', 'films.csv')

    Args:
        state: text of :func:`graph_state`, or of the state of a data set, whose id and sources are empty.
    """
    try:
        decoded = msgspec.json.decode(state, type=_State)
    except msgspec.DecodeError:
        return "", ""
    sources = list(dict.fromkeys(load.source for load in sorted(decoded.loads, key=attrgetter("time")) if load.source))
    more = f" and {len(sources) - _SHOWN_SOURCES:,} more" if len(sources) > _SHOWN_SOURCES else ""
    return decoded.uid or "", f"{', '.join(sources[:_SHOWN_SOURCES])}{more}"


_KINDS = (("relation", "relations"), ("entity", "entities"), ("fact", "facts"))
_SHOWN_LOADS = 3
_SHOWN_SOURCES = 2


def state_difference(before: str, now: str) -> str:
    """Return in words how two states differ: another graph, or the loads that have changed it.

    >>> before = '{"uid": "a", "loads": []}'
    >>> load = '{"id": "1", "source": "films.csv", "time": "2026-11-28T09:12:03+00:00", "created": [0, 0, 3]'
    >>> state_difference(before, '{"uid": "a", "loads": [' + load + ', "changed": [0, 1, 0]}]}')
    'the graph has changed: films.csv, loaded 2026-11-28 09:12 UTC, added 3 facts and changed 1 entity'
    >>> state_difference(before, '{"uid": "b", "loads": []}')
    'the graph is another one'

    Args:
        before, now: texts of :func:`graph_state`, or of the state of a data set; in any order.
    """
    try:
        states = [msgspec.json.decode(text, type=_State) for text in (before, now)]
    except msgspec.DecodeError:
        return "the graph is another one"
    if states[0].uid != states[1].uid:
        return "the graph is another one"
    old, new = sorted(states, key=lambda state: sum(sum(load.created) + sum(load.changed) for load in state.loads))
    loads = {load.id: load for load in old.loads}
    phrases = []
    for load in sorted(new.loads, key=attrgetter("time"), reverse=True):
        earlier = loads.get(load.id, _Load())
        counts = (("added", load.created, earlier.created), ("changed", load.changed, earlier.changed))
        actions = list(filter(None, starmap(_counted_kinds, counts)))
        if actions:
            time = load.time[:16].replace("T", " ")
            phrases.append(f"{load.source}, loaded {time} UTC, {' and '.join(actions)}")
    if len(phrases) > _SHOWN_LOADS:
        phrases[_SHOWN_LOADS:] = [f"and {counted(len(phrases) - _SHOWN_LOADS, 'other load')}"]
    return f"the graph has changed: {'; '.join(phrases)}" if phrases else "the graph has changed"


def _counted_kinds(action: str, counts: Sequence[int], earlier: Sequence[int]) -> str:
    """Return how many records of each kind a load has added or changed since an earlier state; empty for none."""
    numbers = [
        f"{count - before:,} {singular if count - before == 1 else plural}"
        for (singular, plural), count, before in zip(_KINDS, counts, earlier, strict=True)
        if count > before
    ]
    return f"{action} {' and '.join(numbers)}" if numbers else ""


def last_changes(graph: "Graph", day: int) -> dict[str, int | None]:
    """Return the last days at which facts began and ended, seen from a date (``yyyymmdd``); None without one.

    The same facts are current at two dates if they are equal, so that results with the same last changes do not depend
    on the date.

    Cost: a scan of the facts.
    """
    return dict(graph.read("sample/last_changes", day=day)[0])


_encode = msgspec.json.Encoder(order="sorted", enc_hook=str).encode
_BITS = 128

# Types of painted relationships; see kgprobe.beliefs.painting.
PAINTED = ("KNOWN", "LEANS_KNOWN", "LEANS_UNKNOWN", "UNKNOWN", "LEARNED", "FORGOT", "EXPECTED")
# Labels of entities that loaders write; others, and these properties, are added for Cypher and Neo4j Browser.
_ENTITY_LABELS = frozenset({"Entity", "Literal", "Type"})
_ADDED = frozenset({"unknown_share", "node_label", "twin_relations", "twin_types"})

# Rows between two reports of progress.
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class KindDigest:
    """Digest of all nodes with the same labels, or of all relationships of a type.

    Attributes:
        count: their number.
        total: sum of their hashes modulo 2^128. It does not depend on the order, and equal nodes do not cancel out.
    """

    count: int
    total: int


@dataclass(frozen=True, slots=True)
class Digest:
    """Digest of a graph.

    Attributes:
        kinds: digests by labels, such as ``:Entity:Type``, and by type, such as ``-FACT->``; sorted.
        left_out: numbers of excluded nodes and relationships, by kind; sorted.
    """

    kinds: dict[str, KindDigest]
    left_out: dict[str, int] = field(default_factory=dict, compare=False)

    def differences(self, other: "Digest") -> list[str]:
        """Return a text for each kind that differs; none for equal graphs."""
        nothing = KindDigest(0, 0)
        differences = []
        for kind in sorted({*self.kinds, *other.kinds}):
            here, there = self.kinds.get(kind, nothing), other.kinds.get(kind, nothing)
            if here.count != there.count:
                differences.append(f"{kind}: {here.count:,} here, {there.count:,} there")
            elif here != there:
                differences.append(f"{kind}: {here.count:,} in both, with other properties")
        return differences


def digest_of(
    graph: "Graph",
    on_progress: Callable[[int], None] = lambda done: None,
    includes: Callable[["Row"], bool] = lambda row: True,
) -> Digest:
    """Return the digest of a graph.

    Cost: one walk through all nodes and relationships; memory: a number for each kind.

    Args:
        on_progress: called regularly with the number of nodes and relationships read since the last call.
        includes: returns True if a row of :func:`stored_nodes` or :func:`stored_relationships` counts.
    """
    left_out, counts, totals = Counter[str](), Counter[str](), Counter[str]()
    for number, (kind, content, row) in enumerate(_items(graph), start=1):
        if number % _AT_ONCE == 0:
            on_progress(_AT_ONCE)
        if not includes(row):
            left_out[kind] += 1
            continue
        hashed = int.from_bytes(hashlib.blake2b(_encode(content), digest_size=_BITS // 8).digest(), "big")
        counts[kind] += 1
        totals[kind] = (totals[kind] + hashed) % (1 << _BITS)
    kinds = {kind: KindDigest(counts[kind], totals[kind]) for kind in sorted(counts)}
    return Digest(kinds, dict(sorted(left_out.items())))


def _items(graph: "Graph") -> Iterator[tuple[str, Any, "Row"]]:
    """Yield kind, hashed content and row of each node and relationship."""
    for row in stored_nodes(graph):
        yield "".join(f":{label}" for label in row["labels"]), row["properties"], row
    for row in stored_relationships(graph):
        ends = [row["from_labels"], row["from"], row["to_labels"], row["to"]]
        yield f"-{row['type']}->", [ends, row["properties"]], row


def stored_nodes(graph: "Graph") -> Iterator["Row"]:
    """Yield ``{labels, properties}`` of all nodes, entities first, sorted labels; without paint and labels of types."""
    for row in chain(graph.stream("copy/entities"), graph.stream("copy/nodes")):
        properties = {name: value for name, value in row["properties"].items() if name not in _ADDED}
        yield {"labels": _stored_labels(row["labels"]), "properties": properties}


def stored_relationships(graph: "Graph") -> Iterator["Row"]:
    """Yield the rows of ``copy/relationships``, with sorted labels, except paint, twins and labels of types."""
    types = twin_types(graph.read)
    twins = frozenset(types.all if types else ())
    for row in graph.stream("copy/relationships"):
        if row["type"] not in PAINTED and not (row["type"] in twins and "fact" in row["properties"]):
            ends = {name: _stored_labels(row[name]) for name in ("from_labels", "to_labels")}
            yield row | ends


def _stored_labels(labels: Collection[str]) -> list[str]:
    return sorted(_ENTITY_LABELS.intersection(labels) if "Entity" in labels else labels)
