"""What a model said to a fact's statement and to its negatives, each asked several times."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from kgprobe.probes.outcome import Alternatives
from kgprobe.probes.statements.metrics import FALSE, JUDGEMENTS, NONE, TRUE, bias_of, metrics_of_fact


class SaidStatement(msgspec.Struct, frozen=True):
    """A statement with the answers to it.

    Attributes:
        answers: what the model said, each time.
        judgements: what each answer says, by its place in ``JUDGEMENTS``; ``NONE`` where nothing can be read from it.
    """

    text: str
    answers: tuple[str, ...]
    judgements: tuple[int, ...]

    @property
    def judgement(self) -> int:
        """The label: what more than half of the answers say; ``NONE`` where they do not agree so far."""
        ((best, count),) = Counter(self.judgements).most_common(1)
        return best if 2 * count > len(self.judgements) else NONE


class SaidNegative(SaidStatement, frozen=True):
    """A statement that is false: of a fact with one part replaced.

    Attributes:
        replaced: which part: ``subject``, ``relation`` or ``object``.
        subject, relation, object: ids of what the statement says.
    """

    replaced: str
    subject: str
    relation: str
    object: str


class LabelEvidence(msgspec.Struct, frozen=True, tag="labels", tag_field="probe"):
    """A fact's statement and its negatives, answered.

    Attributes:
        object: the fact's, by its id.
        negatives: at least one.
        wanted: how many negatives were wanted.
    """

    fact: SaidStatement
    object: str
    negatives: tuple[SaidNegative, ...]
    wanted: int

    @property
    def alternatives(self) -> Alternatives:
        """What was said of the fact's statement, and of each negative."""
        said = [" / ".join(self.fact.answers)]
        said += [f"{negative.text} {' / '.join(negative.answers)}" for negative in self.negatives]
        return Alternatives(text="\n".join(said))

    @property
    def question(self) -> str:
        """The fact's statement."""
        return self.fact.text

    @property
    def right_answer(self) -> str:
        """That it is true."""
        return JUDGEMENTS[TRUE]

    @property
    def prediction(self) -> str | None:
        """What was said of the fact's statement; where that is true, of the first negative not labelled false."""
        label = self.fact.judgement
        if label == NONE:
            return " / ".join(self.fact.answers)
        if label != TRUE:
            return JUDGEMENTS[label]
        missed = next((negative for negative in self.negatives if negative.judgement not in (FALSE, NONE)), None)
        return None if missed is None else f"{JUDGEMENTS[missed.judgement]}: {missed.text}"

    @property
    def probability(self) -> float | None:
        """None: answers tell no probability."""
        return None

    @property
    def chance(self) -> float | None:
        """None: nobody knows how a guesser would put it."""
        return None

    @property
    def bias(self) -> float:
        """The share of the labelled statements that are labelled true, less the share that are true."""
        return bias_of(self.fact.judgement, [negative.judgement for negative in self.negatives])

    @property
    def metrics(self) -> Mapping[str, float]:
        """Correct, truthful and informative, each in [0, 1]; NaN where the fact, or every negative, has no label."""
        return metrics_of_fact(self.fact.judgement, [negative.judgement for negative in self.negatives])
