"""Labels in memory, found by the ids of facts: about 70 bytes for each."""

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.records import Fact
from kgprobe.labelling.table import ASKED, BELIEFS, PREDICTED, SCHEMES, LabelledFact

Positions = NDArray[np.int64]

# In place of a position: no label, or several.
NOT_LABELLED, AMBIGUOUS = -1, -2


@dataclass(frozen=True, slots=True)
class _Keys:
    """Digests of keys, sorted, with the position of each."""

    digests: NDArray[np.uint64]
    order: Positions

    @classmethod
    def of(cls, digests: "array[int]") -> "_Keys":
        values = np.array(digests, dtype=np.uint64)
        order = np.argsort(values, kind="stable")
        return cls(values[order], order)

    def find(self, digests: Iterable[int]) -> Positions:
        """Return the position of each digest; ``NOT_LABELLED`` or ``AMBIGUOUS`` in place of one."""
        keys = np.fromiter(digests, dtype=np.uint64)
        first = np.searchsorted(self.digests, keys, side="left")
        count = np.searchsorted(self.digests, keys, side="right") - first
        positions = np.full(len(keys), NOT_LABELLED, dtype=np.int64)
        positions[count == 1] = self.order[first[count == 1]]
        positions[count > 1] = AMBIGUOUS
        return positions

    def all_of(self, digest: int) -> Positions:
        """Return all positions of a digest."""
        key = np.uint64(digest)
        first = np.searchsorted(self.digests, key, side="left")
        return self.order[first : np.searchsorted(self.digests, key, side="right")]


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """Labels by position, in the order of the rows.

    Attributes:
        known, low, high: probability that the model knows the fact, with its interval; shape (facts,).
        relations: number of the relation in ``relation_names``; shape (facts,).
        relation_names: id and name of each relation.
        example: ids of subject, relation and object of the first row; None without rows.
    """

    known: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    relations: NDArray[np.int64]
    relation_names: Sequence[tuple[str, str]]
    example: tuple[str, str, str] | None
    _classes: NDArray[np.int8]
    _beliefs: NDArray[np.int8]
    _asked: NDArray[np.int8]
    _scheme: tuple[str, ...]
    _facts: _Keys
    _triples: _Keys

    @classmethod
    def of(cls, rows: Iterable[LabelledFact], scheme: str) -> "LabelIndex":
        """Read labels."""
        names = SCHEMES[scheme]
        facts, triples, relations = array("Q"), array("Q"), array("q")
        known, low, high = array("d"), array("d"), array("d")
        classes, beliefs, bases = array("b"), array("b"), array("b")
        numbers: dict[tuple[str, str], int] = {}
        example = None
        for row in rows:
            triple = row.subject, row.relation, row.object
            example = example or triple
            facts.append(_digest(row.subject, row.fact))
            triples.append(_digest(*triple))
            relations.append(numbers.setdefault((row.relation, row.relation_name), len(numbers)))
            known.append(row.known)
            low.append(row.known_low)
            high.append(row.known_high)
            label = getattr(row, scheme)
            classes.append(-1 if label is None else names.index(label))
            beliefs.append(BELIEFS.index(row.belief))
            bases.append(row.basis == ASKED)
        return cls(
            known=np.array(known, dtype=np.float64),
            low=np.array(low, dtype=np.float64),
            high=np.array(high, dtype=np.float64),
            relations=np.array(relations, dtype=np.int64),
            relation_names=list(numbers),
            example=example,
            _classes=np.array(classes, dtype=np.int8),
            _beliefs=np.array(beliefs, dtype=np.int8),
            _asked=np.array(bases, dtype=np.int8),
            _scheme=names,
            _facts=_Keys.of(facts),
            _triples=_Keys.of(triples),
        )

    def __len__(self) -> int:
        return len(self.known)

    def find(self, facts: Sequence[Fact]) -> tuple[Positions, Positions]:
        """Return the positions of facts by their ids, and by subject, relation and object."""
        by_id = self._facts.find(_digest(fact.subject, fact.id) for fact in facts)
        by_triple = self._triples.find(_digest(fact.subject, fact.relation, fact.object) for fact in facts)
        return by_id, by_triple

    def all_of_triple(self, fact: Fact) -> Positions:
        """Return the positions of all labels of a fact's subject, relation and object."""
        return self._triples.all_of(_digest(fact.subject, fact.relation, fact.object))

    def class_of(self, position: int) -> str | None:
        """Return the class of a label."""
        number = int(self._classes[position])
        return None if number < 0 else self._scheme[number]

    def belief_of(self, position: int) -> str:
        """Return the belief of a label."""
        return str(BELIEFS[int(self._beliefs[position])])

    def basis_of(self, position: int) -> str:
        """Return the basis of a label."""
        return ASKED if self._asked[position] else PREDICTED


def _digest(*ids: str) -> int:
    digest = hashlib.blake2b("\0".join(ids).encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
