"""Results over many labels: metrics of facts and their negatives, and the agreement of answers."""

from collections.abc import Iterable, Sequence
from itertools import chain

from kgprobe.probes.labels.evidence import AnsweredStatement, LabelEvidence
from kgprobe.probes.outcome import Outcome, ProbeResults
from kgprobe.probes.statements.metrics import JUDGEMENTS, NONE
from kgprobe.probes.statements.tables import Judged, headline_of, judgement_tables
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import share
from kgprobe.tables import Table


def label_results(outcomes: Iterable[Outcome]) -> ProbeResults:
    """Return the results of ``statements`` over facts with a label and a labelled negative, and the agreement.

    The headline is *correct* over the same facts. It is empty without answers.

    Memory: a few numbers per fact.
    """
    judged: list[Judged] = []
    facts: list[AnsweredStatement] = []
    negatives: list[AnsweredStatement] = []
    keys = set()
    for outcome in outcomes:
        if isinstance(outcome.evidence, LabelEvidence):
            keys.add(outcome.fact)
            facts.append(outcome.evidence.fact)
            negatives += outcome.evidence.negatives
            judged += _judged(outcome, outcome.evidence)
    if not facts:
        return ProbeResults()
    labelled = len({fact.key for fact in judged})
    of = counted(labelled, "fact") + (" asked" if labelled == len(keys) else f" with labels, of {len(keys):,} asked")
    tables = [*judgement_tables(judged), _agreement_table(facts, negatives)]
    return ProbeResults(tables, headline_of(judged, of, guessed=None))


def _judged(outcome: Outcome, evidence: LabelEvidence) -> list[Judged]:
    """Return the judgements of an outcome; none if the fact, or every negative, lacks a label."""
    labelled = [negative for negative in evidence.negatives if negative.judgement != NONE]
    if not labelled or evidence.fact.judgement == NONE:
        return []
    return [
        Judged(
            outcome.fact,
            outcome.relation,
            evidence.fact.judgement,
            tuple(negative.judgement for negative in labelled),
            tuple(negative.replaced for negative in labelled),
            evidence.wanted,
        )
    ]


def _agreement_table(facts: Sequence[AnsweredStatement], negatives: Sequence[AnsweredStatement]) -> Table:
    rows = []
    for name, statements in (("facts", facts), ("negatives", negatives)):
        if statements:
            judgements = list(chain.from_iterable(statement.judgements for statement in statements))
            labelled = sum(statement.judgement != NONE for statement in statements)
            rows.append(
                {
                    "statements": name,
                    "number": len(statements),
                    "labelled": share(labelled, len(statements)),
                    "all answers agree": share(sum(map(_agree, statements)), len(statements)),
                    "answers read": share(len(judgements) - judgements.count(NONE), len(judgements)),
                }
            )
    note = f"The label is the answer of more than half of a statement's answers: {', '.join(JUDGEMENTS)}."
    return Table("agreement", "Agreement of answers", rows, [note])


def _agree(statement: AnsweredStatement) -> bool:
    return statement.judgement != NONE and len(set(statement.judgements)) == 1
