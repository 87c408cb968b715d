"""Evidence of the probe `statements`: probabilities of all answers, for the fact's statement and its negatives."""

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.confidence import normalized
from kgprobe.probes.outcome import Alternatives
from kgprobe.probes.statements.metrics import FALSE, JUDGEMENTS, TRUE, UNKNOWN, bias_of, metrics_of_fact

Floats = NDArray[np.float64]


class JudgedStatement(msgspec.Struct, frozen=True, eq=False):
    """A statement with the model's judgement.

    Attributes:
        log_probabilities: natural logarithms of the answers' probabilities: true, false, unknown. Shape (3,).
    """

    text: str
    log_probabilities: Floats

    @property
    def judgement(self) -> int:
        """The most probable answer, as a position in ``JUDGEMENTS``; unknown if there is a tie."""
        best = np.flatnonzero(self.log_probabilities == self.log_probabilities.max())
        return int(best[0]) if len(best) == 1 else UNKNOWN


class NegativeStatement(JudgedStatement, frozen=True, eq=False):
    """A false statement: a fact with one part replaced.

    Attributes:
        replaced: the replaced part: ``subject``, ``relation`` or ``object``.
        subject, relation, object: ids of the statement's parts.
    """

    replaced: str
    subject: str
    relation: str
    object: str


class StatementEvidence(msgspec.Struct, frozen=True, eq=False, tag="statements", tag_field="probe"):
    """The fact's statement and its negatives, judged.

    Attributes:
        answers: the words for true, false and unknown.
        negatives: at least one.
        wanted: requested number of negatives.
        left_out: for each negative that the model could not score, the reason.
    """

    fact: JudgedStatement
    negatives: tuple[NegativeStatement, ...]
    answers: tuple[str, str, str]
    wanted: int
    left_out: tuple[str, ...] = ()

    @property
    def alternatives(self) -> Alternatives:
        """The other answers to the fact's statement, then each negative with the probability that it is judged true."""
        probabilities = normalized(self.fact.log_probabilities).tolist()
        names = [(self.answers[place], probabilities[place]) for place in range(len(JUDGEMENTS)) if place != TRUE]
        for negative in self.negatives:
            probability = float(normalized(negative.log_probabilities)[TRUE])
            names.append((f"{self.answers[TRUE]}: {negative.text}", probability))
        return Alternatives(names)

    @property
    def question(self) -> str:
        """The fact's statement."""
        return self.fact.text

    @property
    def right_answer(self) -> str:
        """The word for true."""
        return self.answers[TRUE]

    @property
    def prediction(self) -> str | None:
        """The judgement of the fact's statement; if that is true, the first negative that is not judged false."""
        if self.fact.judgement != TRUE:
            return self.answers[self.fact.judgement]
        missed = next((negative for negative in self.negatives if negative.judgement != FALSE), None)
        return None if missed is None else f"{self.answers[missed.judgement]}: {missed.text}"

    @property
    def probability(self) -> float:
        """The probability of true for the fact's statement, among the three answers."""
        return float(normalized(self.fact.log_probabilities)[TRUE])

    @property
    def chance(self) -> float:
        """The chance level: guesses are right for the fact and all of its negatives."""
        return float(len(JUDGEMENTS)) ** -(1 + len(self.negatives))

    @property
    def bias(self) -> float:
        """The share of statements judged true minus the share of true statements."""
        return bias_of(self.fact.judgement, [negative.judgement for negative in self.negatives])

    @property
    def metrics(self) -> Mapping[str, float]:
        """Correct, truthful and informative, each in [0, 1]."""
        return metrics_of_fact(self.fact.judgement, [negative.judgement for negative in self.negatives])
