"""What a graph holds, as counts and digests: equal graphs have equal ones, on whatever engine and in whatever order."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kgprobe.graph.client import Graph, Row

_encode = msgspec.json.Encoder(order="sorted", enc_hook=str).encode
_BITS = 128

# Steps between two reports of progress.
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class KindDigest:
    """The nodes of some labels, or the relationships of a type.

    Attributes:
        count: how many there are.
        total: of their hashes, modulo 2 to the 128th: the order is of no account, and two that are equal do not cancel
            each other out.
    """

    count: int
    total: int


@dataclass(frozen=True, slots=True)
class Digest:
    """All that a graph holds.

    Attributes:
        kinds: by labels, such as ``:Entity:Type``, and by type, such as ``-FACT->``; sorted.
        left_out: numbers of nodes and relationships that were left out, by kind; sorted.
    """

    kinds: dict[str, KindDigest]
    left_out: dict[str, int] = field(default_factory=dict, compare=False)

    def differences(self, other: "Digest") -> list[str]:
        """What differs, a sentence a kind; empty where both graphs hold the same."""
        nothing = KindDigest(0, 0)
        told = []
        for kind in sorted({*self.kinds, *other.kinds}):
            one, two = self.kinds.get(kind, nothing), other.kinds.get(kind, nothing)
            if one.count != two.count:
                told.append(f"{kind}: {one.count:,} here, {two.count:,} there")
            elif one != two:
                told.append(f"{kind}: {one.count:,} in both, with other properties")
        return told


def digest_of(
    graph: Graph,
    on_progress: Callable[[int], None] = lambda done: None,
    includes: Callable[[Row], bool] = lambda row: True,
) -> Digest:
    """The digest of a graph.

    Cost: one walk through all nodes and relationships; memory: a number a kind.

    Args:
        on_progress: called now and then with how many nodes and relationships have been read since.
        includes: decides by a row of ``copy/nodes`` or ``copy/relationships`` whether it counts.
    """
    left_out: Counter[str] = Counter()
    counts: dict[str, int] = {}
    totals: dict[str, int] = {}
    for number, (kind, told, row) in enumerate(_told(graph), start=1):
        if number % _AT_ONCE == 0:
            on_progress(_AT_ONCE)
        if not includes(row):
            left_out[kind] += 1
            continue
        hashed = int.from_bytes(hashlib.blake2b(_encode(told), digest_size=_BITS // 8).digest(), "big")
        counts[kind] = counts.get(kind, 0) + 1
        totals[kind] = (totals.get(kind, 0) + hashed) % (1 << _BITS)
    kinds = {kind: KindDigest(counts[kind], totals[kind]) for kind in sorted(counts)}
    return Digest(kinds, dict(sorted(left_out.items())))


def _told(graph: Graph) -> Iterator[tuple[str, Any, Row]]:
    """Return each node and relationship: its kind, what is hashed of it, and its row."""
    for row in graph.stream("copy/nodes"):
        yield "".join(f":{label}" for label in sorted(row["labels"])), row["properties"], row
    for row in graph.stream("copy/relationships"):
        ends = [sorted(row["from_labels"]), row["from"], sorted(row["to_labels"]), row["to"]]
        yield f"-{row['type']}->", [ends, row["properties"]], row
