"""Evidence of the probe `distractors`: all plausibilities; Min@n and Avg@n rank the right object among its distractors.

Section 3 of the distractor paper; docs/methods/distractors.md. The measures are vectorized over facts or sentences; a
prefix of the distractors gives every smaller n.
"""

import math
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.outcome import Alternatives, Evidence, Export, Outcome, ProbeResults

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class NamedEntity(msgspec.Struct, frozen=True):
    """An entity with its label."""

    id: str
    label: str


class Rival(msgspec.Struct, frozen=True):
    """A distractor.

    Attributes:
        why: reason for the choice of this distractor, a short phrase.
        former: True if it was right before.
        unlike: True if it shares no feature with the object although similar distractors were asked for.
    """

    id: str
    label: str
    why: str
    former: bool = False
    unlike: bool = False


class LeftOut(msgspec.Struct, frozen=True):
    """A distractor that the model cannot score, and the reason."""

    id: str
    reason: str


class Sentence(msgspec.Struct, frozen=True, eq=False):
    """One cloze sentence.

    Attributes:
        prompt: the text before the blank.
        rivals: positions of its distractors among the evidence's, in the order of retrieval.
        log_plausibilities: natural logarithms, -inf for a plausibility of 0: the right object's, then the rivals'.
            Shape (1 + rivals,).
        certified: number of leading distractors that are proved to be the most plausible; None unless optimal.
        pool: number of entities that the distractors are the most plausible of, with the object; None unless optimal.
        note: remark on the distractors.
        left_out: distractors that could not be asked.
    """

    prompt: str
    rivals: tuple[int, ...]
    log_plausibilities: Floats
    certified: int | None = None
    note: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    pool: int | None = None

    def chance_at_n(self, count: int) -> Floats:
        """Return the probability that a guess beats the first n distractors, for n up to ``count``; shape (count,)."""
        rivals = len(self.rivals)
        if self.pool is not None:
            # Beating the rivals means beating the whole pool.
            return np.full(count, 1 / max(self.pool, rivals + 1))
        chances: Floats = 1 / (np.minimum(np.arange(1, count + 1), rivals) + 1)
        return chances


class DistractorEvidence(Evidence, frozen=True, eq=False, tag="distractors"):
    """The compared plausibilities, with one entry per sentence.

    Attributes:
        subject: label of the subject.
        rivals: the distinct distractors of all sentences.
        shown: position of the sentence that is shown; its result agrees with the verdict.
        chance: chance level, with an independent guess in each sentence.
    """

    subject: str
    object: NamedEntity
    rivals: tuple[Rival, ...]
    sentences: tuple[Sentence, ...]
    shown: int
    chance: float

    @property
    def alternatives(self) -> Alternatives:
        """The distractors of the shown sentence, by descending plausibility."""
        sentence = self.sentences[self.shown]
        plausibilities = np.exp(sentence.log_plausibilities[1:])
        order = np.argsort(-plausibilities, kind="stable")
        names = [(self.rivals[sentence.rivals[place]].label, float(plausibilities[place])) for place in order]
        strongest = self._strongest
        return Alternatives(names, former=strongest.label if strongest and strongest.former else None)

    @property
    def question(self) -> str:
        """The shown sentence up to its blank."""
        return f"{self.sentences[self.shown].prompt} …"

    @property
    def right_answer(self) -> str:
        """The object's label."""
        return self.object.label

    @property
    def prediction(self) -> str | None:
        """The most plausible distractor of the shown sentence, unless the object is more plausible."""
        strongest = self._strongest
        return strongest.label if strongest else None

    @property
    def _strongest(self) -> Rival | None:
        """The most plausible distractor of the shown sentence, unless the object is more plausible."""
        sentence = self.sentences[self.shown]
        strongest = int(np.argmax(sentence.log_plausibilities[1:]))
        if sentence.log_plausibilities[0] > sentence.log_plausibilities[1 + strongest]:
            return None
        return self.rivals[sentence.rivals[strongest]]

    @property
    def probability(self) -> float:
        """The object's plausibility in the shown sentence."""
        return math.exp(self.sentences[self.shown].log_plausibilities[0])

    @property
    def values(self) -> Mapping[str, float]:
        """Min@n and Avg@n with all distractors, mean over sentences."""
        count = max(len(sentence.rivals) for sentence in self.sentences)
        return {
            "min_at_n": float(self.min_at_n(count)[:, -1].mean()),
            "avg_at_n": float(self.avg_at_n(count)[:, -1].mean()),
        }

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:
        """Return the curves; see :func:`.curves.curve_tables`."""
        from kgprobe.probes.distractors.curves import curve_tables

        return ProbeResults(curve_tables(outcomes, described))

    @classmethod
    def exports(cls) -> Mapping[str, Export]:
        """Return the writer of all plausibilities."""
        from kgprobe.probes.distractors.plausibilities import plausibility_file

        return {"plausibilities.parquet": plausibility_file}

    @property
    def former(self) -> int:
        """Number of distractors of the shown sentence that were right before."""
        return sum(self.rivals[place].former for place in self.sentences[self.shown].rivals)

    def former_at(self, count: int) -> Floats:
        """Return the share of sentences whose distractor at each position was right before, shape (count,).

        Only sentences with so many distractors count; NaN without one.
        """
        former = np.array([rival.former for rival in self.rivals])
        by_sentence = np.full((len(self.sentences), count), np.nan)
        for row, sentence in zip(by_sentence, self.sentences, strict=True):
            places = list(sentence.rivals[:count])
            row[: len(places)] = former[places]
        present = ~np.isnan(by_sentence)
        sums, counts = np.where(present, by_sentence, 0.0).sum(axis=0), present.sum(axis=0)
        shares: Floats = np.divide(sums, counts, out=np.full(count, np.nan), where=counts > 0)
        return shares

    def unlike(self, count: int) -> int:
        """Return how many of the first distractors share no feature with the object: minimum over sentences."""
        unlike = np.array(list(map(attrgetter("unlike"), self.rivals)))
        return min(int(unlike[list(sentence.rivals[:count])].sum()) for sentence in self.sentences)

    @property
    def present(self) -> int:
        """Minimum number of distractors over the sentences."""
        return min(len(sentence.rivals) for sentence in self.sentences)

    def min_at_n(self, count: int) -> Bools:
        """Return True where the object beats the first n distractors of a sentence, shape (sentences, count)."""
        return min_at_n(*self._table(count))

    def avg_at_n(self, count: int) -> Floats:
        """Return the share of the first n distractors that the object beats, shape (sentences, count)."""
        return avg_at_n(*self._table(count))

    def chance_at_n(self, count: int) -> Floats:
        """Return the probability that a guess beats the first n distractors, mean over sentences; shape (count,)."""
        chances: Floats = np.mean([sentence.chance_at_n(count) for sentence in self.sentences], axis=0)
        return chances

    def _table(self, count: int) -> tuple[Floats, Floats]:
        """Return the object's plausibilities and the rivals'; see :func:`plausibility_table`."""
        return plausibility_table(list(map(attrgetter("log_plausibilities"), self.sentences)), count)


def plausibility_table(values: list[Floats], count: int) -> tuple[Floats, Floats]:
    """Return the arguments of :mod:`.measure` for sentences: the object's plausibilities, and the rivals'.

    Args:
        values: plausibilities of each sentence, the object's first.
        count: maximum number of rivals per sentence.

    Returns:
        Arrays of shapes (sentences,) and (sentences, count), with NaN where a sentence has fewer rivals.
    """
    rivals = np.full((len(values), count), np.nan)
    for row, sentence in zip(rivals, values, strict=True):
        row[: len(sentence) - 1] = sentence[1 : count + 1]
    return np.array([sentence[0] for sentence in values]), rivals


def min_at_n(plausibility: Floats, rivals: Floats) -> Bools:
    """Return True where the object beats all of its first n distractors, for every n at once.

    Args:
        plausibility: log Pl(o | c), shape (sentences,).
        rivals: log Pl(o* | c), in the order of retrieval, shape (sentences, n); NaN where a sentence has fewer.

    Returns:
        Shape (sentences, n), non-increasing along n. A tie is a loss.
    """
    beaten: Bools = (plausibility[:, None] > rivals) | np.isnan(rivals)
    survives: Bools = np.logical_and.accumulate(beaten, axis=1)
    return survives


def avg_at_n(plausibility: Floats, rivals: Floats) -> Floats:
    """Return the share of the first n distractors that the object beats, for every n at once.

    Args:
        plausibility: log Pl(o | c), shape (sentences,).
        rivals: log Pl(o* | c), in the order of retrieval, shape (sentences, n); NaN where a sentence has fewer.

    Returns:
        Shape (sentences, n), in [0, 1]; NaN without distractors.
    """
    present = np.cumsum(~np.isnan(rivals), axis=1)
    beaten = np.cumsum(plausibility[:, None] > rivals, axis=1)
    shares: Floats = np.divide(beaten, present, out=np.full(rivals.shape, np.nan), where=present > 0)
    return shares
