"""Evidence of the probe `statements`: judgements of a fact's statement and of its negatives, and tables of many facts.

docs/methods/statements.md. The probe `labels` has judgements from answers in words, and the same tables.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.confidence import ALL, by_relation, mean_by_fact, normalized
from kgprobe.probes.outcome import Alternatives, Evidence, Headline, Outcome, ProbeResults, answered
from kgprobe.probes.statements.metrics import (
    FALSE,
    JUDGEMENTS,
    NONE,
    TRUE,
    UNKNOWN,
    FactMetrics,
    bias_of,
    metrics_of,
    metrics_of_fact,
)
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.statement_negatives import ENDS
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import mean_share, share
from kgprobe.tables import Table

Floats = NDArray[np.float64]


class _Statement(Protocol):
    """A statement with its judgement, a position in ``JUDGEMENTS``; ``NONE`` for none."""

    @property
    def text(self) -> str: ...
    @property
    def judgement(self) -> int: ...


class _Negative(_Statement, Protocol):
    """A false statement with its replaced part: ``subject``, ``relation`` or ``object``."""

    @property
    def replaced(self) -> str: ...


class JudgementEvidence(Evidence, frozen=True, eq=False):
    """Judgements of a fact's statement and of its negatives, from any probe."""

    @property
    def fact(self) -> _Statement:
        """The fact's statement."""
        raise NotImplementedError

    @property
    def negatives(self) -> Sequence[_Negative]:
        """At least one negative."""
        raise NotImplementedError

    @property
    def wanted(self) -> int:
        """The requested number of negatives."""
        raise NotImplementedError

    def answer(self, statement: _Statement) -> str:
        """Return the model's answer to a statement."""
        raise NotImplementedError

    @property
    def question(self) -> str:
        """The fact's statement."""
        return self.fact.text

    @property
    def prediction(self) -> str | None:
        """The answer to the fact's statement; if that is true, to the first negative that is judged, but not false."""
        if self.fact.judgement != TRUE:
            return self.answer(self.fact)
        for negative in self.negatives:
            if negative.judgement not in (FALSE, NONE):
                return f"{self.answer(negative)}: {negative.text}"
        return None

    @property
    def values(self) -> Mapping[str, float]:
        """Correct, truthful, informative and bias; NaN if the fact, or every negative, has no judgement."""
        fact, negatives = self.judgements
        return {**metrics_of_fact(fact, negatives), "bias": bias_of(fact, negatives)}

    @property
    def judgements(self) -> tuple[int, list[int]]:
        """The judgement of the fact's statement, and those of its negatives."""
        return self.fact.judgement, [negative.judgement for negative in self.negatives]


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


class StatementEvidence(JudgementEvidence, frozen=True, eq=False, tag="statements"):
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
    def right_answer(self) -> str:
        """The word for true."""
        return self.answers[TRUE]

    def answer(self, statement: _Statement) -> str:
        """Return the word for the judgement."""
        return self.answers[statement.judgement]

    @property
    def probability(self) -> float:
        """The probability of true for the fact's statement, among the three answers."""
        return float(normalized(self.fact.log_probabilities)[TRUE])

    @property
    def chance(self) -> float:
        """The chance level: guesses are right for the fact and all of its negatives."""
        return float(len(JUDGEMENTS)) ** -(1 + len(self.negatives))

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:  # noqa: ARG003
        """Return the metrics by relation, the facts' judgements against their negatives', and all judgements.

        The headline is *correct* over the judged facts. Memory: a few numbers per fact.
        """
        judged = [Judged.of(outcome, evidence) for outcome, evidence in answered(outcomes, cls)]
        facts = len({fact.key for fact in judged})
        # A guess judges the fact true, and a negative false, with a probability of 1/3 each.
        return judgement_results(judged, f"{counted(facts, 'fact')} asked", len(JUDGEMENTS) ** -2)


@dataclass(frozen=True, slots=True)
class Judged:
    """Judgements of a fact and of its judged negatives, as positions in ``JUDGEMENTS``.

    Attributes:
        replaced: the replaced part of each negative.
        requested: requested number of negatives.
    """

    key: FactKey
    relation: str
    fact: int
    negatives: tuple[int, ...]
    replaced: tuple[str, ...]
    requested: int

    @classmethod
    def of(cls, outcome: Outcome, evidence: JudgementEvidence) -> "Judged":
        """Return the judgements of an outcome."""
        judged = [negative for negative in evidence.negatives if negative.judgement != NONE]
        negatives = tuple(negative.judgement for negative in judged)
        replaced = tuple(negative.replaced for negative in judged)
        return cls(outcome.fact, outcome.relation, evidence.fact.judgement, negatives, replaced, evidence.wanted)

    @property
    def is_complete(self) -> bool:
        """True if the fact and at least one negative are judged."""
        return self.fact != NONE and bool(self.negatives)


def judgement_results(judged: Sequence[Judged], of: str, guessed: float | None) -> ProbeResults:
    """Return the tables of judged facts, and *correct* with the other metrics and the bias; empty without facts.

    In the headline, a fact that was asked several times counts once, with its mean.

    Args:
        of: the noun phrase for the facts.
        guessed: chance level; None if unknown.
    """
    if not judged:
        return ProbeResults()
    metrics = _metrics(judged)
    keys = [fact.key for fact in judged]
    correct, truthful, informative = (
        mean_share(mean_by_fact(keys, values).tolist())
        for values in (metrics.correct, metrics.truthful, metrics.informative)
    )
    answers, bias = _answers_table(judged)
    headline = Headline(
        name="correct",
        rate=correct,
        facts=len(set(keys)),
        of=of,
        guessed=guessed,
        means="the fact called true and its negatives false",
        details=f"truthful {truthful}, informative {informative}, bias {bias} points",
    )
    return ProbeResults([_metrics_table(judged), _confusion_table(judged), answers], headline)


def _metrics(judged: Sequence[Judged]) -> FactMetrics:
    negatives = np.full((len(judged), max(len(fact.negatives) for fact in judged)), NONE, dtype=np.int8)
    for row, fact in zip(negatives, judged, strict=True):
        row[: len(fact.negatives)] = fact.negatives
    return metrics_of(np.array([fact.fact for fact in judged], dtype=np.int8), negatives)


def _metrics_table(judged: Sequence[Judged]) -> Table:
    rows = []
    for relation, facts in by_relation(judged):
        metrics = _metrics(facts)
        row = {
            "relation": relation,
            "facts": len(facts),
            "negatives": sum(len(fact.negatives) for fact in facts),
            "correct": mean_share(metrics.correct.tolist()),
            "truthful": mean_share(metrics.truthful.tolist()),
            "informative": mean_share(metrics.informative.tolist()),
        }
        rows.append(row)
    notes = [
        "Correct: the fact is judged true and its negatives false. Truthful: the fact is not judged false, nor a"
        " negative true. Informative: neither is judged unknown.",
    ]
    fewer = sum(len(fact.negatives) < fact.requested for fact in judged)
    if fewer:
        most = max(fact.requested for fact in judged)
        notes.append(f"{fewer:,} of {len(judged):,} facts have fewer than {most} negatives.")
    return Table("relations", "Correct, truthful and informative by relation", rows, notes)


def _confusion_table(judged: Sequence[Judged]) -> Table:
    """Return the judgements of negatives by the judgement of the fact."""
    rows = []
    for place, judgement in enumerate(JUDGEMENTS):
        facts = [fact for fact in judged if fact.fact == place]
        negatives = list(chain.from_iterable(fact.negatives for fact in facts))
        row: dict[str, Any] = {"fact judged": judgement, "facts": share(len(facts), len(judged))}
        row["negatives"] = len(negatives)
        for number, other in enumerate(JUDGEMENTS):
            row[f"judged {other}"] = negatives.count(number) / len(negatives) if negatives else None
        rows.append(row)
    return Table("confusion", "Judgements of facts, and of their negatives", rows)


def _answers_table(judged: Sequence[Judged]) -> tuple[Table, str]:
    """Return all judgements by kind of statement, and the bias: the share judged true minus the share of true ones."""
    groups = {"facts": [fact.fact for fact in judged]}
    groups |= {f"negatives with another {end}": [] for end in ENDS}
    for fact in judged:
        for judgement, replaced in zip(fact.negatives, fact.replaced, strict=True):
            groups[f"negatives with another {replaced}"].append(judgement)
    groups[ALL] = list(chain.from_iterable(groups.values()))
    rows = []
    for name, judgements in groups.items():
        row: dict[str, Any] = {"statements": name, "number": len(judgements)}
        for number, other in enumerate(JUDGEMENTS):
            row[f"judged {other}"] = share(judgements.count(number), len(judgements)) if judgements else None
        if judgements:
            rows.append(row)
    statements, judged_true = len(groups[ALL]), groups[ALL].count(TRUE)
    bias = f"{100 * (judged_true - len(judged)) / statements:+.0f}"
    shares = f"{len(judged) / statements:.0%} of all statements are true, and {judged_true / statements:.0%} are judged"
    note = f"{shares} true: a bias of {bias} points."
    return Table("answers", "Judgements of all statements", rows, [note]), bias
