"""Evidence of the probe `distractors`: all plausibilities, and the values derived from them."""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.distractors.measure import avg_at_n, chance_at_n, min_at_n
from kgprobe.probes.outcome import Alternatives

Floats = NDArray[np.float64]


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
        """Return the probability that a guess beats the first n distractors; see :func:`~.measure.chance_at_n`."""
        return chance_at_n(len(self.rivals), self.pool, count)


class DistractorEvidence(msgspec.Struct, frozen=True, eq=False, tag="distractors", tag_field="probe"):
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
        rivals = [self.rivals[place] for place in sentence.rivals]
        plausibilities = np.exp(sentence.log_plausibilities[1:]).tolist()
        ranked = sorted(zip(rivals, plausibilities, strict=True), key=lambda pair: -pair[1])
        has_lost = bool(ranked) and ranked[0][1] >= self.probability
        former = ranked[0][0].label if has_lost and ranked[0][0].former else None
        return Alternatives([(rival.label, plausibility) for rival, plausibility in ranked], former=former)

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
        sentence = self.sentences[self.shown]
        strongest = int(np.argmax(sentence.log_plausibilities[1:]))
        if sentence.log_plausibilities[0] > sentence.log_plausibilities[1 + strongest]:
            return None
        return self.rivals[sentence.rivals[strongest]].label

    @property
    def probability(self) -> float:
        """The object's plausibility in the shown sentence."""
        return math.exp(self.sentences[self.shown].log_plausibilities[0])

    @property
    def former(self) -> int:
        """Number of distractors of the shown sentence that were right before."""
        return sum(self.rivals[place].former for place in self.sentences[self.shown].rivals)

    def unlike(self, count: int) -> int:
        """Return how many of the first distractors share no feature with the object: minimum over sentences."""
        return min(self._unlike_in(sentence, count) for sentence in self.sentences)

    def _unlike_in(self, sentence: Sentence, count: int) -> int:
        return sum(self.rivals[place].unlike for place in sentence.rivals[:count])

    @property
    def present(self) -> int:
        """Minimum number of distractors over the sentences."""
        return min(len(sentence.rivals) for sentence in self.sentences)

    def min_at_n(self, count: int) -> NDArray[np.bool_]:
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
        return plausibility_table([sentence.log_plausibilities for sentence in self.sentences], count)


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
