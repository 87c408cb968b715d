"""Evidence of the probe `examples`: the prompt's end, the probabilities of the choices, and the tables of many facts.

Section 2 and appendix D of the latent-knowledge paper; docs/methods/examples.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.confidence import confidence_tables, normalized
from kgprobe.probes.distractors.evidence import LeftOut, NamedEntity
from kgprobe.probes.outcome import PROBABILITY, Alternatives, Evidence, Outcome, ProbeResults, RatedAnswer, answered

Floats = NDArray[np.float64]


class PromptEvidence(Evidence, frozen=True, eq=False):
    """A prompt about a fact.

    Attributes:
        asked: end of the prompt, in readable form.
        examples: number of examples in the prompt; fewer than asked for if the relation or the context has no more.
    """

    subject: str
    object: NamedEntity
    asked: str
    examples: int

    @property
    def question(self) -> str:
        """The end of the prompt, with an ellipsis."""
        return f"{self.asked} …"

    @property
    def right_answer(self) -> str:
        """The object's label."""
        return self.object.label


class ExampleEvidence(PromptEvidence, frozen=True, eq=False, tag="examples"):
    """One fact with its choices.

    Attributes:
        log_probabilities: natural logarithms of P(y | prompt), the product over y's tokens; the object's first, then
            those of the others. Shape (1 + others,).
        left_out: choices that the model cannot score, with the reason.
    """

    others: tuple[NamedEntity, ...]
    log_probabilities: Floats
    left_out: tuple[LeftOut, ...] = ()

    @property
    def alternatives(self) -> Alternatives:
        """The other choices, by descending probability."""
        others = zip(map(attrgetter("label"), self.others), self.confidences[1:].tolist(), strict=True)
        return Alternatives(sorted(others, key=lambda pair: -pair[1]))

    @property
    def is_right(self) -> bool:
        """True if the object is more probable than every other choice; a tie counts as wrong."""
        return bool(self.log_probabilities[0] > self.log_probabilities[1:].max())

    @property
    def prediction(self) -> str | None:
        """The most probable other choice, unless the object is more probable."""
        return None if self.is_right else self.others[int(np.argmax(self.log_probabilities[1:]))].label

    @property
    def confidences(self) -> Floats:
        """The probabilities, normalized over the choices; shape (1 + others,)."""
        return normalized(self.log_probabilities)

    @property
    def rated(self) -> Sequence[RatedAnswer]:
        """The most probable choice with its confidence."""
        return [RatedAnswer(PROBABILITY, float(self.confidences.max()))]

    @property
    def probability(self) -> float:
        """The object's probability, normalized over the choices."""
        return float(self.confidences[0])

    @property
    def chance(self) -> float:
        """The chance level of a guess among the choices."""
        return 1 / len(self.log_probabilities)

    @property
    def values(self) -> Mapping[str, float]:
        """The confidence in the right answer."""
        return {"confidence": self.probability}

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:
        """Return the accuracy by relation with the mean confidence, and accuracy@K; no table without answers.

        Memory: a few numbers per fact.

        A note counts the facts with fewer ``examples`` or ``choices`` than described.
        """
        results = []
        fewer_examples = fewer_choices = left_out = 0
        examples, choices = described.get("examples", 0), described.get("choices", 0)
        for outcome, evidence in answered(outcomes, cls):
            confidences = evidence.confidences
            result = {
                "relation": outcome.relation,
                "is_right": evidence.is_right,
                "choices": len(confidences),
                "probability": float(confidences[0]),
                "confidence": float(confidences.max()),
            }
            results.append(result)
            fewer_examples += evidence.examples < examples
            fewer_choices += len(confidences) < choices
            left_out += len(evidence.left_out)
        notes = []
        if fewer_examples:
            notes.append(fewer_examples_note(fewer_examples, len(results), examples))
        if fewer_choices:
            reason = f"fewer than {choices} choices: their relation has no more objects"
            notes.append(f"{fewer_choices:,} of {len(results):,} facts have {reason}.")
        if left_out:
            notes.append(f"{left_out:,} choices were left out, since the model cannot take them.")
        return ProbeResults(confidence_tables(results, notes) if results else ())


def fewer_examples_note(fewer: int, facts: int, examples: int) -> str:
    """Return the note on facts that have fewer examples than asked for."""
    reason = f"fewer than {examples} examples: their relation or the model's context has no more"
    return f"{fewer:,} of {facts:,} facts have {reason}."
