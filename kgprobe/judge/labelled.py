"""Labelled statements as a judge takes them, out of what a measurement of the probe ``labels`` has kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kgprobe.probes.labels.evidence import LabelEvidence, SaidNegative
from kgprobe.probes.outcome import Outcome
from kgprobe.probes.statements.metrics import NONE

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelledStatements:
    """Statements with what a model says of them; those of one fact stand together.

    Attributes:
        texts: the statements.
        answers: what the model says, by its place in ``JUDGEMENTS``, shape (statements,).
        facts: for each statement the id of the fact that it is, or was made of.
        heads, relations, tails: ids of what each statement says.
        true: whether each says the fact itself, shape (statements,).
        unlabelled: how many further statements have no label, since answers to them do not agree or cannot be read.
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
        """Some of the statements, in this order."""

        def taken(values: Sequence[str]) -> list[str]:
            return [values[place] for place in places.tolist()]

        return LabelledStatements(
            taken(self.texts),
            self.answers[places],
            taken(self.facts),
            taken(self.heads),
            taken(self.relations),
            taken(self.tails),
            self.true[places],
            self.unlabelled,
        )


def labelled_statements(outcomes: Iterable[Outcome]) -> LabelledStatements:
    """The statements of outcomes that have a label."""
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
            if isinstance(statement, SaidNegative):
                ends = (statement.subject, statement.relation, statement.object)
            true = statement is evidence.fact
            rows.append((statement.text, statement.judgement, outcome.fact.fact, *ends, true))
    texts, answers, facts, heads, relations, tails, true_ones = zip(*rows, strict=True) if rows else ((),) * 7
    return LabelledStatements(
        texts,
        np.array(answers, dtype=np.int64),
        facts,
        heads,
        relations,
        tails,
        np.array(true_ones, dtype=bool),
        unlabelled,
    )


def set_aside(facts: Sequence[str], share: float, seed: int) -> NDArray[np.bool_]:
    """Which statements no judge learns from, fact by fact: about this share of the facts, whatever the others are.

    A fact's place is drawn by its id, so that it is known again wherever it is met.
    """
    drawn = {
        fact: int.from_bytes(blake2b(f"{seed} {fact}".encode(), digest_size=8).digest(), "big") / 2**64
        for fact in dict.fromkeys(facts)
    }
    return np.array([drawn[fact] < share for fact in facts], dtype=bool)
