"""What a choice after examples showed: every choice's probability, and what stood before."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.confidence import normalized
from kgprobe.probes.distractors.evidence import LeftOut, Named
from kgprobe.probes.outcome import Alternatives

Floats = NDArray[np.float64]


class ExampleEvidence(msgspec.Struct, frozen=True, eq=False, tag="examples", tag_field="probe"):
    """One fact with its choices.

    Attributes:
        subject: its label.
        asked: the end of the prompt, as a person reads it.
        examples: how many stood before it; fewer than were asked for where the relation or the context has no more.
        others: what stood beside the object.
        log_probabilities: natural logarithms of P(y | prompt), the product over y's tokens; the object's first, then
            those of the others. Shape (1 + others,).
        left_out: choices that the model could not take, and why.
    """

    subject: str
    object: Named
    asked: str
    examples: int
    others: tuple[Named, ...]
    log_probabilities: Floats
    left_out: tuple[LeftOut, ...] = ()

    @property
    def alternatives(self) -> Alternatives:
        """The other choices, by their probabilities among all."""
        others = zip((one.label for one in self.others), self.confidences[1:].tolist(), strict=True)
        return Alternatives(sorted(others, key=lambda one: -one[1]))

    @property
    def question(self) -> str:
        """The end of the prompt, and that something is to follow."""
        return f"{self.asked} …"

    @property
    def right_answer(self) -> str:
        """The object's label."""
        return self.object.label

    @property
    def is_right(self) -> bool:
        """Whether the object is more probable than every other choice; a tie is none."""
        return bool(self.log_probabilities[0] > self.log_probabilities[1:].max())

    @property
    def prediction(self) -> str | None:
        """The most probable other choice, where the object does not beat it."""
        return None if self.is_right else self.others[int(np.argmax(self.log_probabilities[1:]))].label

    @property
    def confidences(self) -> Floats:
        """The probabilities, normalised over the choices; shape (1 + others,)."""
        return normalized(self.log_probabilities)

    @property
    def probability(self) -> float:
        """The object's probability, normalised over the choices."""
        return float(self.confidences[0])

    @property
    def chance(self) -> float:
        """How often guessing among the choices is right."""
        return 1 / len(self.log_probabilities)
