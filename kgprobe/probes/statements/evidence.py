"""Evidence of the probe `statements`: judgements of a fact's statement and of its negatives, and tables of many facts.

docs/methods/statements.md. The probe `true-false` has judgements from answers in words, and the same tables.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Table
from kgprobe.probes.confidence import ALL, by_relation, mean_by_fact, mean_of, normalized, share_of
from kgprobe.probes.outcome import (
    PROBABILITY,
    Alternatives,
    Evidence,
    Headline,
    Outcome,
    ProbeResults,
    RatedAnswer,
    answered,
)
from kgprobe.probes.statements.metrics import (
    FALSE,
    JUDGEMENTS,
    NONE,
    TRUE,
    UNKNOWN,
    bias_of,
    metrics_of_fact,
)
from kgprobe.sampling.statement_negatives import ENDS
from kgprobe.stats.proportions import mean_share

Floats = NDArray[np.float64]

_METRICS = ("correct", "truthful", "informative")
# Kind of the facts' own statements in tables.
_FACTS = "facts"


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
        fact, negatives = self.fact.judgement, list(map(attrgetter("judgement"), self.negatives))
        return {**metrics_of_fact(fact, negatives), "bias": bias_of(fact, negatives)}


class JudgedStatement(msgspec.Struct, frozen=True, eq=False):
    """A statement with the model's judgement: natural log-probabilities of true, false, unknown, shape (3,)."""

    text: str
    log_probabilities: Floats

    @property
    def judgement(self) -> int:
        """The most probable answer, as a position in ``JUDGEMENTS``; unknown if there is a tie."""
        best = np.flatnonzero(self.log_probabilities == self.log_probabilities.max())
        return int(best[0]) if len(best) == 1 else UNKNOWN


class NegativeStatement(JudgedStatement, frozen=True, eq=False):
    """A false statement: a fact with one part (``subject``, ``relation`` or ``object``) replaced; ids of all parts."""

    replaced: str
    subject: str
    relation: str
    object: str


class StatementEvidence(JudgementEvidence, frozen=True, eq=False, tag="statements"):
    """The fact's statement and its negatives, judged.

    Attributes:
        answers: the words for true, false and unknown.
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
    def rated(self) -> Sequence[RatedAnswer]:
        """Each statement's judgement with its probability among true and false: a statement is one of the two."""
        rated = []
        for statement, truth in ((self.fact, TRUE), *((negative, FALSE) for negative in self.negatives)):
            judgement = statement.judgement
            if judgement == UNKNOWN:
                rated.append(RatedAnswer(PROBABILITY, None, reason="judged unknown"))
                continue
            confidence = float(normalized(statement.log_probabilities[[TRUE, FALSE]])[judgement])
            rated.append(RatedAnswer(PROBABILITY, confidence, judgement == truth))
        return rated

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
        # A guess judges the fact true, and a negative false, with a probability of 1/3 each.
        return judgement_results(answered(outcomes, cls), len(JUDGEMENTS) ** -2)


def judgement_results(judged: Iterable[tuple[Outcome, JudgementEvidence]], guessed: float | None) -> ProbeResults:
    """Return the tables of judged facts, and *correct* with the other metrics and the bias; empty without facts.

    In the headline, a fact that was asked several times counts once, with its mean.

    Each fact and at least one of its negatives are judged.
    """
    fact_rows: list[dict[str, Any]] = []
    statement_rows: list[dict[str, Any]] = []
    for outcome, evidence in judged:
        fact, values = evidence.fact.judgement, evidence.values
        row = {"fact": fact, "key": outcome.fact, "relation": outcome.relation, "requested": evidence.wanted, **values}
        statement_rows.append({"fact": fact, "kind": _FACTS, "judgement": fact})
        before = len(statement_rows)
        for negative in evidence.negatives:
            if negative.judgement != NONE:
                kind = f"negatives with another {negative.replaced}"
                statement_rows.append({"fact": fact, "kind": kind, "judgement": negative.judgement})
        fact_rows.append({**row, "negatives": len(statement_rows) - before})
    if not fact_rows:
        return ProbeResults()
    facts, statements = pd.DataFrame(fact_rows), pd.DataFrame(statement_rows)
    keys = facts["key"].tolist()
    means = {name: mean_share(mean_by_fact(keys, facts[name].to_numpy()).tolist()) for name in _METRICS}
    answers, bias = _answers_table(statements)
    headline = Headline(
        name="correct",
        rate=means["correct"],
        facts=len(set(keys)),
        of=f"{counted(len(set(keys)), 'fact')} asked",
        guessed=guessed,
        means="the fact called true and its negatives false",
        details=f"truthful {means['truthful']}, informative {means['informative']}, bias {bias} points",
    )
    return ProbeResults([_metrics_table(facts), _confusion_table(facts, statements), answers], headline)


def _metrics_table(facts: pd.DataFrame) -> Table:
    rows = []
    for relation, group in by_relation(facts):
        row: dict[str, Any] = {"relation": relation, "facts": len(group), "negatives": int(group["negatives"].sum())}
        rows.append(row | {name: mean_share(group[name].tolist()) for name in _METRICS})
    notes = [
        "Correct: the fact is judged true and its negatives false. Truthful: the fact is not judged false, nor a"
        " negative true. Informative: neither is judged unknown.",
    ]
    fewer = int((facts["negatives"] < facts["requested"]).sum())
    if fewer:
        notes.append(f"{fewer:,} of {len(facts):,} facts have fewer than {facts['requested'].max()} negatives.")
    return Table("relations", "Correct, truthful and informative by relation", rows, notes)


def _confusion_table(facts: pd.DataFrame, statements: pd.DataFrame) -> Table:
    """Return the judgements of negatives by the judgement of the fact."""
    rows = []
    for place, judgement in enumerate(JUDGEMENTS):
        negatives = statements[(statements["fact"] == place) & (statements["kind"] != _FACTS)]["judgement"]
        row: dict[str, Any] = {"fact judged": judgement, "facts": share_of(facts["fact"] == place)}
        row["negatives"] = len(negatives)
        for number, other in enumerate(JUDGEMENTS):
            row[f"judged {other}"] = mean_of(negatives == number) if len(negatives) else None
        rows.append(row)
    return Table("confusion", "Judgements of facts, and of their negatives", rows)


def _answers_table(statements: pd.DataFrame) -> tuple[Table, str]:
    """Return all judgements by kind of statement, and the bias: the share judged true minus the share of true ones."""
    groups = dict(list(statements.groupby("kind")["judgement"]))
    groups[ALL] = statements["judgement"]
    rows = []
    for name in (_FACTS, *(f"negatives with another {end}" for end in ENDS), ALL):
        if name in groups:
            row: dict[str, Any] = {"statements": name, "number": len(groups[name])}
            for number, other in enumerate(JUDGEMENTS):
                row[f"judged {other}"] = share_of(groups[name] == number)
            rows.append(row)
    count, facts, judged_true = len(statements), len(groups[_FACTS]), int((groups[ALL] == TRUE).sum())
    bias = f"{100 * (judged_true - facts) / count:+.0f}"
    shares = f"{facts / count:.0%} of all statements are true, and {judged_true / count:.0%} are judged"
    note = f"{shares} true: a bias of {bias} points."
    return Table("answers", "Judgements of all statements", rows, [note]), bias
