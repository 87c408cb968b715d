"""What a judgement of a fact's statement and of its negatives showed: every answer's probability."""

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.confidence import normalized
from kgprobe.probes.outcome import Alternatives
from kgprobe.probes.statements.metrics import FALSE, JUDGEMENTS, TRUE, UNKNOWN, bias_of, metrics_of_fact

Floats = NDArray[np.float64]


class Statement(msgspec.Struct, frozen=True, eq=False):
    """A statement that the model was to judge.

    Attributes:
        log_probabilities: natural logarithms of the answers' probabilities: true, false, unknown. Shape (3,).
    """

    text: str
    log_probabilities: Floats

    @property
    def judgement(self) -> int:
        """The most probable answer, by its place in ``JUDGEMENTS``; where two are that, nothing is known."""
        best = np.flatnonzero(self.log_probabilities == self.log_probabilities.max())
        return int(best[0]) if len(best) == 1 else UNKNOWN


class NegativeStatement(Statement, frozen=True, eq=False):
    """A statement that is false: of a fact with one part replaced.

    Attributes:
        replaced: which part: ``subject``, ``relation`` or ``object``.
        subject, relation, object: ids of what the statement says.
    """

    replaced: str
    subject: str
    relation: str
    object: str


class StatementEvidence(msgspec.Struct, frozen=True, eq=False, tag="statements", tag_field="probe"):
    """The fact's statement and its negatives, judged.

    Attributes:
        answers: the words for true, false and unknown, as the model was asked for them.
        negatives: at least one.
        wanted: how many negatives were wanted.
        left_out: why the model could not take negatives that there are.
    """

    fact: Statement
    negatives: tuple[NegativeStatement, ...]
    answers: tuple[str, str, str]
    wanted: int
    left_out: tuple[str, ...] = ()

    @property
    def alternatives(self) -> Alternatives:
        """The other answers to the fact's statement; then each negative, by how probably it is judged to be true."""
        its = normalized(self.fact.log_probabilities).tolist()
        others = [(self.answers[place], its[place]) for place in range(len(JUDGEMENTS)) if place != TRUE]
        negatives = [
            (f"{self.answers[TRUE]}: {one.text}", float(normalized(one.log_probabilities)[TRUE]))
            for one in self.negatives
        ]
        return Alternatives([*others, *negatives])

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
        """The word for the judgement of the fact's statement; where it is true, the first negative not judged false."""
        if self.fact.judgement != TRUE:
            return self.answers[self.fact.judgement]
        missed = next((negative for negative in self.negatives if negative.judgement != FALSE), None)
        return None if missed is None else f"{self.answers[missed.judgement]}: {missed.text}"

    @property
    def probability(self) -> float:
        """That of true for the fact's statement, among the three answers."""
        return float(normalized(self.fact.log_probabilities)[TRUE])

    @property
    def chance(self) -> float:
        """The probability that guesses among the answers are right for the fact and all of its negatives."""
        return float(len(JUDGEMENTS)) ** -(1 + len(self.negatives))

    @property
    def bias(self) -> float:
        """The share of the statements that are judged true, less the share that are true."""
        return bias_of(self.fact.judgement, [negative.judgement for negative in self.negatives])

    @property
    def metrics(self) -> Mapping[str, float]:
        """Correct, truthful and informative, each in [0, 1]."""
        return metrics_of_fact(self.fact.judgement, [negative.judgement for negative in self.negatives])
