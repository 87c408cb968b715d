"""Evidence of the probe `choices`: the scores of all answers, and the tables of many facts.

docs/methods/choices.md.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.tables import Table
from kgprobe.probes.confidence import confidence_tables, normalized
from kgprobe.probes.outcome import (
    PROBABILITY,
    Alternatives,
    Evidence,
    Outcome,
    ProbeResults,
    RatedAnswer,
    Verdict,
    answered,
)
from kgprobe.stats.proportions import share

Floats = NDArray[np.float64]


class AnswerChoice(msgspec.Struct, frozen=True):
    """An answer of the relation's space."""

    id: str
    label: str


class ChoiceSentence(msgspec.Struct, frozen=True, eq=False):
    """Scores of all answers in one sentence.

    Attributes:
        template: position among the relation's sentences, counted from 1.
        text: the sentence with a blank for the answer.
        scores: scores of the choices, shape (choices,); higher is more probable.
    """

    template: int
    text: str
    scores: Floats


class ChoiceEvidence(Evidence, frozen=True, eq=False, tag="choices"):
    """The compared answers, with one entry per sentence; the first sentence decides.

    Attributes:
        choices: the relation's answers, in the order of its space.
        right: position of the fact's object among the answers.
        apart: positions of the answers that are left out, because they are also right or have the same label.
    """

    choices: tuple[AnswerChoice, ...]
    right: int
    apart: tuple[int, ...]
    sentences: tuple[ChoiceSentence, ...]

    @property
    def alternatives(self) -> Alternatives:
        """The other answers of the deciding sentence, by descending confidence."""
        confidences = self.confidences(0)
        order = np.argsort(-confidences, kind="stable")
        others = order[~np.isin(order, (self.right, *self.apart))]
        return Alternatives([(self.choices[place].label, float(confidences[place])) for place in others])

    @property
    def question(self) -> str:
        """The deciding sentence."""
        return self.sentences[0].text

    @property
    def right_answer(self) -> str:
        """The object's label."""
        return self.choices[self.right].label

    @property
    def prediction(self) -> str | None:
        """The answer with the best score in the deciding sentence, if it is wrong."""
        best = self.best(0)
        return None if best == self.right else self.choices[best].label

    @property
    def probability(self) -> float:
        """The normalized confidence in the right answer, in the deciding sentence."""
        return float(self.confidences(0)[self.right])

    @property
    def confidence(self) -> float:
        """The normalized confidence in the best answer, in the deciding sentence; in [1 / choices, 1]."""
        return float(self.confidences(0).max())

    @property
    def rated(self) -> Sequence[RatedAnswer]:
        """The best answer with its confidence."""
        return [RatedAnswer(PROBABILITY, self.confidence)]

    @property
    def values(self) -> Mapping[str, float]:
        """The confidence in the right answer."""
        return {"confidence": self.probability}

    @property
    def compared(self) -> int:
        """Number of compared answers."""
        return len(self.choices) - len(self.apart)

    @property
    def chance(self) -> float:
        """The chance level."""
        return 1 / self.compared

    def best(self, sentence: int) -> int:
        """Return the position of the answer with the best score in a sentence (from 0); the first of equals."""
        return int(np.argmax(self._compared(sentence)))

    def confidences(self, sentence: int) -> Floats:
        """Return the softmax of a sentence's scores over the compared answers; 0 for the others. Shape (choices,)."""
        return normalized(self._compared(sentence))

    def _compared(self, sentence: int) -> Floats:
        scores: Floats = self.sentences[sentence].scores.copy()
        scores[list(self.apart)] = -np.inf
        return scores

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:  # noqa: ARG003
        """Return the accuracy by relation, by sentence if several were asked, and by confidence.

        Memory: a few numbers per fact.
        """
        choices = []
        by_sentence: defaultdict[int, list[bool]] = defaultdict(list)
        several = False
        for outcome, evidence in answered(outcomes, cls):
            choice = {
                "relation": outcome.relation,
                "is_right": outcome.verdict is Verdict.RIGHT,
                "choices": evidence.compared,
                "probability": evidence.probability,
                "confidence": evidence.confidence,
            }
            choices.append(choice)
            several = several or len(evidence.sentences) > 1
            for place, sentence in enumerate(evidence.sentences):
                by_sentence[sentence.template].append(evidence.best(place) == evidence.right)
        if not choices:
            return ProbeResults()
        relations, confidence = confidence_tables(choices)
        if not several:
            return ProbeResults([relations, confidence])
        rows = []
        for place, right in sorted(by_sentence.items()):
            rows.append({"sentence": place, "facts": len(right), "accuracy": share(sum(right), len(right))})
        note = "Each sentence is compared by itself; the first sentence of a relation decides."
        sentences = Table("sentences", "Accuracy by the place of the sentence", rows, [note])
        return ProbeResults([relations, sentences, confidence])
