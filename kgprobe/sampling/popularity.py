"""Samples of facts that are balanced over ten ranges of popularity.

The sample S of the distractor paper (section 4.1, and its code): a fact's popularity is the sum of the logarithms
log(1 + popularity) of both ends; ten ranges of equal width cover the facts' values; facts are drawn without replacement
with probabilities such that each range that has facts is equally probable. docs/methods/order-of-facts.md.

Drawing one after the other with given probabilities is the same as taking the facts with the earliest times, if the
time of a fact is exponential with its probability as the rate (Efraimidis and Spirakis 2006). So every prefix of the
order is a sample. The times are hashes of seed and fact.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.keys import FactKey, Keys, KeysInOrder, key_rows, seeded_number

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

# Number of ranges of popularity.
RANGES = 10

_FACTS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class PopularFacts:
    """Facts with a known popularity, as arrays of UTF-8 bytes; see :class:`~kgprobe.sampling.keys.Keys`.

    Attributes:
        popularities: sum of log(1 + popularity) of both ends of each, shape (facts,).
        unknown: number of further facts, with an end of unknown popularity.
    """

    subjects: NDArray[np.bytes_]
    facts: NDArray[np.bytes_]
    popularities: Floats
    unknown: int

    def __len__(self) -> int:
        return len(self.facts)

    def __getitem__(self, position: int) -> FactKey:
        return FactKey(self.subjects[position].decode(), self.facts[position].decode())


def askable_popularities(graph: Graph, relations: Sequence[str], as_of: int, by: str) -> PopularFacts:
    """Return the facts of these relations that can be asked and have a known popularity.

    Cost: one scan of the graph's facts, streamed. Memory: the ids.

    ``by`` is ``popularity``, or ``degree``: the number of facts of an entity, in its place.
    """
    return _known(graph.stream("sample/askable_popularity", relations=list(relations), as_of=as_of, by=by))


def popularities_of(graph: Graph, keys: Keys, by: str) -> PopularFacts:
    """Return the facts with a known popularity among some; see :func:`askable_popularities`.

    Cost: a look-up from each subject.
    """

    def rows() -> Iterator[Row]:
        for first in range(0, len(keys), _FACTS_AT_ONCE):
            block = [keys[place] for place in range(first, min(first + _FACTS_AT_ONCE, len(keys)))]
            yield from graph.read("sample/fact_ends", rows=key_rows(block), by=by)

    return _known(rows())


def _known(rows: Iterable[Row]) -> PopularFacts:
    """Return the facts of rows of ``sample/fact_ends`` whose ends both have a value."""
    subjects, facts = [np.empty(0, dtype="S1")], [np.empty(0, dtype="S1")]
    popularities = [np.empty(0)]
    unknown = 0
    rest = iter(rows)
    while block := list(islice(rest, _FACTS_AT_ONCE)):
        known = [row for row in block if row["of_subject"] is not None and row["of_object"] is not None]
        unknown += len(block) - len(known)
        subjects.append(np.array([row["subject"].encode() for row in known], dtype=np.bytes_))
        facts.append(np.array([row["fact"].encode() for row in known], dtype=np.bytes_))
        ends = np.array([(row["of_subject"], row["of_object"]) for row in known], dtype=np.float64).reshape(-1, 2)
        popularities.append(np.log1p(ends).sum(axis=1))
    return PopularFacts(np.concatenate(subjects), np.concatenate(facts), np.concatenate(popularities), unknown)


def ranges_of(popularities: Floats) -> Int64s:
    """Return the range of each popularity, from 0 to 9: ten of equal width from the least to the greatest value.

    >>> ranges_of(np.array([0.0, 1.0, 1.5, 10.0])).tolist()
    [0, 0, 1, 9]

    A value on the limit of two ranges is in the lower one.
    """
    if not len(popularities):
        return np.empty(0, dtype=np.int64)
    limits = np.linspace(popularities.min(), popularities.max(), RANGES + 1)
    return np.searchsorted(limits[1:-1], popularities, side="left").astype(np.int64)


def balanced_sample(facts: PopularFacts, count: int | None, seed: int) -> Keys:
    """Return some facts in random order, such that each range of popularity with facts is equally probable.

    Every prefix of the order is such a sample. A range with few facts is exhausted early; the others share the rest.

    Cost: a hash of each fact, 3 µs. Memory: 24 bytes per fact.

    Without ``count``, all facts.
    """
    ranges = ranges_of(facts.popularities)
    sizes = np.bincount(ranges, minlength=RANGES)
    hashes = (seeded_number(seed, "balanced", facts[place].fact) for place in range(len(facts)))
    # In (0, 1): the middle of the hash's step.
    uniform = (np.fromiter(hashes, dtype=np.float64, count=len(facts)) + 0.5) / 2.0**64
    # The rate of a fact is 1 / (facts of its range).
    times = -np.log(uniform) * sizes[ranges]
    order = np.argsort(times, kind="stable")
    return KeysInOrder(facts, order if count is None else order[:count])
