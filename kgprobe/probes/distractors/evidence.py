"""What a comparison with distractors showed: every plausibility, and what it comes to."""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.distractors.measure import avg_at_n, chance_at_n, min_at_n
from kgprobe.probes.outcome import Alternatives

Floats = NDArray[np.float64]


class Named(msgspec.Struct, frozen=True):
    """An entity and what it is called."""

    id: str
    label: str


class Rival(msgspec.Struct, frozen=True):
    """A distractor.

    Attributes:
        why: it qualifies, a phrase for people.
        former: whether it was right before.
        unlike: whether it shares no feature with the object, where likeness was asked for.
    """

    id: str
    label: str
    why: str
    former: bool = False
    unlike: bool = False


class LeftOut(msgspec.Struct, frozen=True):
    """A distractor that the model could not take, and why."""

    id: str
    reason: str


class Sentence(msgspec.Struct, frozen=True, eq=False):
    """One cloze sentence.

    Attributes:
        prompt: the text before the blank.
        rivals: places of its distractors among the evidence's, in the order of retrieval.
        log_plausibilities: natural logarithms, -inf for none; the right object's first, then those of the rivals.
            Shape (1 + rivals,).
        certified: of optimal distractors, how many of the first are proved to be the most plausible; else None.
        pool: of optimal distractors, how many entities they are the most plausible of, the object included; else None.
        note: what is to be said of the distractors.
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
        """How probably a guess at random beats the first n distractors; see :func:`~.measure.chance_at_n`."""
        return chance_at_n(len(self.rivals), self.pool, count)


class DistractorEvidence(msgspec.Struct, frozen=True, eq=False, tag="distractors", tag_field="probe"):
    """What was compared: one entry a sentence. Read by findings, curves and pages alike.

    Attributes:
        subject: its label.
        rivals: all distractors of all sentences, each once.
        shown: the sentence that speaks for the verdict, by its place.
        chance: how often guessing at random, in each sentence by itself, is right.
    """

    subject: str
    object: Named
    rivals: tuple[Rival, ...]
    sentences: tuple[Sentence, ...]
    shown: int
    chance: float

    @property
    def alternatives(self) -> Alternatives:
        """The distractors of the sentence that is shown, by their plausibilities, the first one of all the highest."""
        sentence = self.sentences[self.shown]
        rivals = [self.rivals[place] for place in sentence.rivals]
        plausibilities = np.exp(sentence.log_plausibilities[1:]).tolist()
        ranked = sorted(zip(rivals, plausibilities, strict=True), key=lambda one: -one[1])
        has_lost = bool(ranked) and ranked[0][1] >= self.probability
        former = ranked[0][0].label if has_lost and ranked[0][0].former else None
        return Alternatives([(rival.label, plausibility) for rival, plausibility in ranked], former=former)

    @property
    def question(self) -> str:
        """The sentence that is shown, up to its blank."""
        return f"{self.sentences[self.shown].prompt} …"

    @property
    def right_answer(self) -> str:
        """The object's label."""
        return self.object.label

    @property
    def prediction(self) -> str | None:
        """The most plausible distractor of the sentence that is shown, if it was not beaten."""
        sentence = self.sentences[self.shown]
        strongest = int(np.argmax(sentence.log_plausibilities[1:]))
        if sentence.log_plausibilities[0] > sentence.log_plausibilities[1 + strongest]:
            return None
        return self.rivals[sentence.rivals[strongest]].label

    @property
    def probability(self) -> float:
        """The object's plausibility after the sentence that is shown."""
        return math.exp(self.sentences[self.shown].log_plausibilities[0])

    @property
    def former(self) -> int:
        """How many distractors of the sentence that is shown were right before."""
        return sum(self.rivals[place].former for place in self.sentences[self.shown].rivals)

    def unlike(self, count: int) -> int:
        """How many of the first distractors share no feature with the object; of the sentence that has the fewest."""
        return min(sum(self.rivals[place].unlike for place in its.rivals[:count]) for its in self.sentences)

    @property
    def present(self) -> int:
        """How many distractors its sentences have at least."""
        return min(len(sentence.rivals) for sentence in self.sentences)

    def min_at_n(self, count: int) -> NDArray[np.bool_]:
        """Whether each sentence's object beats its first n distractors, for n up to ``count``; (sentences, count)."""
        return min_at_n(*self._table(count))

    def avg_at_n(self, count: int) -> Floats:
        """The share of its first n distractors that each sentence's object beats, shape (sentences, count)."""
        return avg_at_n(*self._table(count))

    def chance_at_n(self, count: int) -> Floats:
        """How probably a guess beats a sentence's first n distractors, on average over the sentences; (count,)."""
        chances: Floats = np.mean([sentence.chance_at_n(count) for sentence in self.sentences], axis=0)
        return chances

    def _table(self, count: int) -> tuple[Floats, Floats]:
        """The object's plausibilities, shape (sentences,), and the rivals', NaN where a sentence has fewer."""
        return plausibility_table([sentence.log_plausibilities for sentence in self.sentences], count)


def plausibility_table(values: list[Floats], count: int) -> tuple[Floats, Floats]:
    """Plausibilities of sentences, the object's first, as what :mod:`.measure` takes: shapes (m,) and (m, count)."""
    rivals = np.full((len(values), count), np.nan)
    for row, its in zip(rivals, values, strict=True):
        row[: len(its) - 1] = its[1 : count + 1]
    return np.array([its[0] for its in values]), rivals
