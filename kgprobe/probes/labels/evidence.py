"""Evidence of the probe `labels`: repeated answers to a fact's statement and to its negatives."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from kgprobe.probes.outcome import Alternatives
from kgprobe.probes.statements.metrics import FALSE, JUDGEMENTS, NONE, TRUE, bias_of, metrics_of_fact


class AnsweredStatement(msgspec.Struct, frozen=True):
    """A statement with its answers.

    Attributes:
        answers: the model's answers.
        judgements: the judgement in each answer, as a position in ``JUDGEMENTS``; ``NONE`` if it is unreadable.
    """

    text: str
    answers: tuple[str, ...]
    judgements: tuple[int, ...]

    @property
    def judgement(self) -> int:
        """The label: the judgement of more than half of the answers; ``NONE`` without a majority."""
        ((best, count),) = Counter(self.judgements).most_common(1)
        return best if 2 * count > len(self.judgements) else NONE


class AnsweredNegative(AnsweredStatement, frozen=True):
    """A false statement: a fact with one part replaced.

    Attributes:
        replaced: the replaced part: ``subject``, ``relation`` or ``object``.
        subject, relation, object: ids of the statement's parts.
    """

    replaced: str
    subject: str
    relation: str
    object: str


class LabelEvidence(msgspec.Struct, frozen=True, tag="labels", tag_field="probe"):
    """A fact's statement and its negatives, answered.

    Attributes:
        object: id of the fact's object.
        negatives: at least one.
        wanted: requested number of negatives.
    """

    fact: AnsweredStatement
    object: str
    negatives: tuple[AnsweredNegative, ...]
    wanted: int

    @property
    def alternatives(self) -> Alternatives:
        """The answers to the fact's statement, and to each negative."""
        lines = [" / ".join(self.fact.answers)]
        lines += [f"{negative.text} {' / '.join(negative.answers)}" for negative in self.negatives]
        return Alternatives(text="\n".join(lines))

    @property
    def question(self) -> str:
        """The fact's statement."""
        return self.fact.text

    @property
    def right_answer(self) -> str:
        """The word true."""
        return JUDGEMENTS[TRUE]

    @property
    def prediction(self) -> str | None:
        """The label of the fact's statement; if that is true, of the first negative not labelled false."""
        label = self.fact.judgement
        if label == NONE:
            return " / ".join(self.fact.answers)
        if label != TRUE:
            return JUDGEMENTS[label]
        missed = next((negative for negative in self.negatives if negative.judgement not in (FALSE, NONE)), None)
        return None if missed is None else f"{JUDGEMENTS[missed.judgement]}: {missed.text}"

    @property
    def probability(self) -> float | None:
        """None: answers have no probability."""
        return None

    @property
    def chance(self) -> float | None:
        """None: the chance level of free answers is unknown."""
        return None

    @property
    def bias(self) -> float:
        """The share of labelled statements that are labelled true minus the share of true ones."""
        return bias_of(self.fact.judgement, [negative.judgement for negative in self.negatives])

    @property
    def metrics(self) -> Mapping[str, float]:
        """Correct, truthful and informative, each in [0, 1]; NaN if the fact, or every negative, lacks a label."""
        return metrics_of_fact(self.fact.judgement, [negative.judgement for negative in self.negatives])
