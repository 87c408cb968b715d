"""Evidence of the probe `true-false`: repeated answers to a fact's statement and to its negatives, and their tables."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import pandas as pd

from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Table
from kgprobe.probes.confidence import agreement_of, share_of
from kgprobe.probes.outcome import Alternatives, Outcome, ProbeResults, RatedAnswer, answered
from kgprobe.probes.stated import StatedConfidence, stated_tables
from kgprobe.probes.statements.evidence import JudgementEvidence, judgement_results
from kgprobe.probes.statements.metrics import FALSE, JUDGEMENTS, NONE, TRUE
from kgprobe.probes.thoughts import thought_tables


class AnsweredStatement(msgspec.Struct, frozen=True):
    """A statement with its answers; a judgement is a position in ``JUDGEMENTS``, ``NONE`` for an unreadable answer."""

    text: str
    answers: tuple[str, ...]
    judgements: tuple[int, ...]

    @property
    def judgement(self) -> int:
        """The label: the judgement of more than half of the answers; ``NONE`` without a majority."""
        return _label(self.judgements)


def _label(judgements: Sequence[int]) -> int:
    """Return the judgement of more than half of the answers; ``NONE`` without a majority."""
    ((best, count),) = Counter(judgements).most_common(1)
    return best if 2 * count > len(judgements) else NONE


class AnsweredNegative(AnsweredStatement, frozen=True):
    """A false statement: a fact with one part (``subject``, ``relation`` or ``object``) replaced; ids of all parts."""

    replaced: str
    subject: str
    relation: str
    object: str


class TrueFalseEvidence(JudgementEvidence, frozen=True, eq=True, tag="true-false"):
    """A fact's statement and its negatives, answered.

    Attributes:
        wanted: requested number of negatives.
        thought_tokens: tokens of the thought before each answer, over all statements; empty if there are none.
        thoughts_cut: number of thoughts that the model did not end by itself.
        stated: stated confidence of each answer, by statement, the fact's first; empty if there are none.
    """

    fact: AnsweredStatement
    object: str
    negatives: tuple[AnsweredNegative, ...]
    wanted: int
    thought_tokens: tuple[int, ...] = ()
    thoughts_cut: int = 0
    stated: tuple[tuple[StatedConfidence, ...], ...] = ()

    @property
    def alternatives(self) -> Alternatives:
        """The answers to the fact's statement, and to each negative."""
        lines = [" / ".join(self.fact.answers)]
        lines += [f"{negative.text} {' / '.join(negative.answers)}" for negative in self.negatives]
        return Alternatives(text="\n".join(lines))

    @property
    def rated(self) -> Sequence[RatedAnswer]:
        """Each statement's most frequent judgement by its agreement, and each answer by its stated confidence.

        Unknown is an abstention.
        """
        rated = []
        every = ((self.fact, TRUE), *((negative, FALSE) for negative in self.negatives))
        for place, (statement, truth) in enumerate(every):
            judgements = [judgement if judgement in (TRUE, FALSE) else None for judgement in statement.judgements]
            rated.append(agreement_of(judgements, [truth]))
            for judgement, each in zip(judgements, self.stated[place] if self.stated else (), strict=False):
                rated.append(each.rated(right=judgement == truth, abstains=judgement is None))
        return rated

    @property
    def right_answer(self) -> str:
        """The word true."""
        return JUDGEMENTS[TRUE]

    def answer(self, statement: AnsweredStatement) -> str:  # type: ignore[override]
        """Return the label, or the answers without one."""
        label = statement.judgement
        return " / ".join(statement.answers) if label == NONE else JUDGEMENTS[label]

    @property
    def counts(self) -> Mapping[str, int]:
        """The answers to all statements, and those without a judgement."""
        judgements = list(chain.from_iterable(map(attrgetter("judgements"), (self.fact, *self.negatives))))
        return {"texts": len(judgements), "unplaced": judgements.count(NONE)}

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:
        """Return the results of ``statements`` over facts with a label and a labelled negative, and the agreement.

        The headline is *correct* over the same facts. It is empty without answers. Memory: a few numbers per fact.
        """
        asked: set[tuple[str, str]] = set()
        facts: list[tuple[int, ...]] = []
        negatives: list[tuple[int, ...]] = []
        tokens: list[int] = []
        cut: list[int] = []
        rated: list[RatedAnswer] = []

        def complete() -> Iterator[tuple[Outcome, TrueFalseEvidence]]:
            for outcome, evidence in answered(outcomes, cls):
                asked.add(outcome.fact)
                own = [statement.judgements for statement in (evidence.fact, *evidence.negatives)]
                facts.append(own[0])
                negatives.extend(own[1:])
                tokens.extend(evidence.thought_tokens or [0] * sum(map(len, own)))
                cut.append(evidence.thoughts_cut)
                rated.extend(evidence.rated if evidence.stated else ())
                # The metrics of other facts are undefined.
                if not math.isnan(evidence.values["correct"]):
                    yield outcome, evidence

        results = judgement_results(complete(), guessed=None)
        if not asked:
            return results
        headline = results.headline
        if headline is not None and headline.facts < len(asked):
            labelled = counted(headline.facts, "fact")
            headline = replace(headline, of=f"{labelled} with labels, of {len(asked):,} asked")
        thoughts = thought_tables(tokens, sum(cut), described)
        agreement = _agreement_table(facts, negatives)
        return ProbeResults([*results.tables, agreement, *stated_tables(rated), *thoughts], headline)


def _agreement_table(facts: Sequence[tuple[int, ...]], negatives: Sequence[tuple[int, ...]]) -> Table:
    """Return the agreement of the judgements of each statement."""
    rows = []
    for name, statements in (("facts", facts), ("negatives", negatives)):
        readings = pd.Series(list(chain.from_iterable(statements)))
        labels = pd.Series(list(map(_label, statements)))
        kinds = pd.Series([len(set(judgements)) for judgements in statements])
        rows.append(
            {
                "statements": name,
                "number": len(statements),
                "labelled": share_of(labels != NONE),
                "all answers agree": share_of((labels != NONE) & (kinds == 1)),
                "answers read": share_of(readings != NONE),
            }
        )
    note = f"The label is the answer of more than half of a statement's answers: {', '.join(JUDGEMENTS)}."
    return Table("agreement", "Agreement of answers", rows, [note])
