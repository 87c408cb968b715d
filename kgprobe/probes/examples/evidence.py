"""Evidence of the probe `examples`: the prompt's end, and the probabilities of the choices."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.confidence import normalized
from kgprobe.probes.distractors.evidence import LeftOut, NamedEntity
from kgprobe.probes.outcome import Alternatives

Floats = NDArray[np.float64]


class ExampleEvidence(msgspec.Struct, frozen=True, eq=False, tag="examples", tag_field="probe"):
    """One fact with its choices.

    Attributes:
        subject: label of the subject.
        asked: end of the prompt, in readable form.
        examples: number of examples in the prompt; fewer than asked for if the relation or the context has no more.
        others: the other choices.
        log_probabilities: natural logarithms of P(y | prompt), the product over y's tokens; the object's first, then
            those of the others. Shape (1 + others,).
        left_out: choices that the model cannot score, with the reason.
    """

    subject: str
    object: NamedEntity
    asked: str
    examples: int
    others: tuple[NamedEntity, ...]
    log_probabilities: Floats
    left_out: tuple[LeftOut, ...] = ()

    @property
    def alternatives(self) -> Alternatives:
        """The other choices, by descending probability."""
        others = zip((other.label for other in self.others), self.confidences[1:].tolist(), strict=True)
        return Alternatives(sorted(others, key=lambda pair: -pair[1]))

    @property
    def question(self) -> str:
        """The end of the prompt, with an ellipsis."""
        return f"{self.asked} …"

    @property
    def right_answer(self) -> str:
        """The object's label."""
        return self.object.label

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
    def probability(self) -> float:
        """The object's probability, normalized over the choices."""
        return float(self.confidences[0])

    @property
    def chance(self) -> float:
        """The chance level of a guess among the choices."""
        return 1 / len(self.log_probabilities)
