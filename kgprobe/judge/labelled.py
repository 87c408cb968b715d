"""Labelled statements for training a judge, from the stored outcomes of the probe ``labels``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.labels.evidence import AnsweredNegative, LabelEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.probes.statements.metrics import NONE

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelledStatements:
    """Statements with a model's answers, grouped by fact.

    Attributes:
        texts: the statements.
        answers: the model's answers as places in ``JUDGEMENTS``, shape (statements,).
        facts: id of the fact that each statement expresses, or was made from.
        heads, relations, tails: ids of each statement's parts.
        true: True if a statement expresses the fact itself, shape (statements,).
        unlabelled: number of further statements without a label, because their answers disagree or are unreadable.
    """

    texts: Sequence[str]
    answers: Integers
    facts: Sequence[str]
    heads: Sequence[str]
    relations: Sequence[str]
    tails: Sequence[str]
    true: NDArray[np.bool_]
    unlabelled: int

    def part(self, places: Integers) -> "LabelledStatements":
        """Return some of the statements, in this order."""
        return LabelledStatements(
            pick(self.texts, places),
            self.answers[places],
            pick(self.facts, places),
            pick(self.heads, places),
            pick(self.relations, places),
            pick(self.tails, places),
            self.true[places],
            self.unlabelled,
        )


def pick(values: Sequence[str], places: Integers) -> list[str]:
    """Return the values at these places."""
    return [values[place] for place in places.tolist()]


def labelled_statements(outcomes: Iterable[Outcome]) -> LabelledStatements:
    """Return the labelled statements of outcomes."""
    rows: list[tuple[str, int, str, str, str, str, bool]] = []
    unlabelled = 0
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, LabelEvidence):
            continue
        for statement in (evidence.fact, *evidence.negatives):
            if statement.judgement == NONE:
                unlabelled += 1
                continue
            ends = (outcome.fact.subject, outcome.relation, evidence.object)
            if isinstance(statement, AnsweredNegative):
                ends = (statement.subject, statement.relation, statement.object)
            true = statement is evidence.fact
            rows.append((statement.text, statement.judgement, outcome.fact.fact, *ends, true))
    texts, answers, facts, heads, relations, tails, is_true = zip(*rows, strict=True) if rows else ((),) * 7
    places, truth = np.array(answers, dtype=np.int64), np.array(is_true, dtype=bool)
    return LabelledStatements(texts, places, facts, heads, relations, tails, truth, unlabelled)


def set_aside(facts: Sequence[str], share: float, seed: int) -> NDArray[np.bool_]:
    """Return a mask of test statements, grouped by fact: about this share of the facts, regardless of other facts.

    The draw depends on a fact's id, so that later runs draw the same facts.
    """
    drawn = {
        fact: int.from_bytes(blake2b(f"{seed} {fact}".encode(), digest_size=8).digest(), "big") / 2**64
        for fact in dict.fromkeys(facts)
    }
    return np.array([drawn[fact] < share for fact in facts], dtype=bool)
