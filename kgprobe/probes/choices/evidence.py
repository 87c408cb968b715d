"""What a comparison of all answers showed: every score, and what it comes to."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.confidence import normalized
from kgprobe.probes.outcome import Alternatives

Floats = NDArray[np.float64]


class Choice(msgspec.Struct, frozen=True):
    """An answer of the relation's space."""

    id: str
    label: str


class ChoiceSentence(msgspec.Struct, frozen=True, eq=False):
    """One sentence with all answers.

    Attributes:
        template: its place among the relation's sentences, counted from 1.
        text: the sentence with a blank for the answer.
        scores: of the choices, in their order, the higher the more probable; shape (choices,).
    """

    template: int
    text: str
    scores: Floats


class ChoiceEvidence(msgspec.Struct, frozen=True, eq=False, tag="choices", tag_field="probe"):
    """What was compared: one entry a sentence, of which the first decides.

    Attributes:
        choices: the relation's answers, in the order of its space.
        right: the place of the fact's object among them.
        apart: places of those that are not compared with it, since they are right as well or go by the same name.
        sentences: at least one.
    """

    choices: tuple[Choice, ...]
    right: int
    apart: tuple[int, ...]
    sentences: tuple[ChoiceSentence, ...]

    @property
    def alternatives(self) -> Alternatives:
        """The other answers of the sentence that decides, by the confidence in each."""
        confidences = self.confidences(0).tolist()
        apart = {self.right, *self.apart}
        others = [(choice.label, confidences[place]) for place, choice in enumerate(self.choices) if place not in apart]
        return Alternatives(sorted(others, key=lambda one: -one[1]))

    @property
    def question(self) -> str:
        """The sentence that decides."""
        return self.sentences[0].text

    @property
    def right_answer(self) -> str:
        """The object's label."""
        return self.choices[self.right].label

    @property
    def prediction(self) -> str | None:
        """The answer of the best score in the sentence that decides, if it is not the right one."""
        best = self.best(0)
        return None if best == self.right else self.choices[best].label

    @property
    def probability(self) -> float:
        """The normalized confidence in the right answer, in the sentence that decides."""
        return float(self.confidences(0)[self.right])

    @property
    def confidence(self) -> float:
        """The normalized confidence in the best answer, in the sentence that decides; in [1 / choices, 1]."""
        return float(self.confidences(0).max())

    @property
    def compared(self) -> int:
        """How many answers are compared."""
        return len(self.choices) - len(self.apart)

    @property
    def chance(self) -> float:
        """How often guessing at random is right."""
        return 1 / self.compared

    def best(self, sentence: int) -> int:
        """The place of the answer of the best score in a sentence (counted from 0); of equals the first."""
        return int(np.argmax(self._compared(sentence)))

    def confidences(self, sentence: int) -> Floats:
        """Softmax of a sentence's scores over the answers that are compared; 0 for the others. Shape (choices,)."""
        return normalized(self._compared(sentence))

    def _compared(self, sentence: int) -> Floats:
        scores: Floats = self.sentences[sentence].scores.copy()
        scores[list(self.apart)] = -np.inf
        return scores
