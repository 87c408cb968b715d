"""What is told of many labels: how facts and their negatives are labelled, and how well answers agree."""

from collections.abc import Iterable, Sequence

from kgprobe.probes.labels.evidence import LabelEvidence, SaidStatement
from kgprobe.probes.outcome import Headline, Outcome
from kgprobe.probes.statements.metrics import JUDGEMENTS, NONE
from kgprobe.probes.statements.tables import Judged, headline_of, judgement_tables
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import share
from kgprobe.tables import Table


def label_tables(outcomes: Iterable[Outcome]) -> list[Table]:
    """As of the probe ``statements``, for facts that have a label and a labelled negative; and how answers agree.

    Memory: some numbers a fact.
    """
    judged, said = [], []
    for outcome in outcomes:
        if isinstance(outcome.evidence, LabelEvidence):
            said.append((outcome.evidence.fact, *outcome.evidence.negatives))
            judged += _judged(outcome, outcome.evidence)
    return [*judgement_tables(judged), _agreement_table(said)] if said else []


def label_headline(outcomes: Iterable[Outcome]) -> Headline | None:
    """Return *correct* over the facts that have a label and a labelled negative; None where there is none."""
    judged, asked = [], set()
    for outcome in outcomes:
        if isinstance(outcome.evidence, LabelEvidence):
            asked.add(outcome.fact)
            judged += _judged(outcome, outcome.evidence)
    labelled = len({one.key for one in judged})
    of = counted(labelled, "fact") + (" asked" if labelled == len(asked) else f" with labels, of {len(asked):,} asked")
    return headline_of(judged, of, guessed=None)


def _judged(outcome: Outcome, evidence: LabelEvidence) -> list[Judged]:
    """Return the judgements of an outcome; none where the fact, or every negative, has no label."""
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


def _agreement_table(said: Sequence[Sequence[SaidStatement]]) -> Table:
    groups = {
        "facts": [statements[0] for statements in said],
        "negatives": [one for statements in said for one in statements[1:]],
    }
    rows = [
        {
            "statements": name,
            "number": len(statements),
            "labelled": share(sum(one.judgement != NONE for one in statements), len(statements)),
            "all answers agree": share(sum(_agree(one) for one in statements), len(statements)),
            "answers read": share(
                sum(judged != NONE for one in statements for judged in one.judgements),
                sum(len(one.judgements) for one in statements),
            ),
        }
        for name, statements in groups.items()
        if statements
    ]
    note = f"A label is what more than half of a statement's answers say: {', '.join(JUDGEMENTS)}."
    return Table("agreement", "How answers agree", rows, [note])


def _agree(statement: SaidStatement) -> bool:
    return statement.judgement != NONE and len(set(statement.judgements)) == 1
