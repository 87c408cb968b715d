"""What is told of many statements: is the model correct, truthful, informative, and what does it say anyhow?

docs/methods/statements.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgprobe.probes.outcome import Headline, Outcome
from kgprobe.probes.statements.evidence import StatementEvidence
from kgprobe.probes.statements.metrics import JUDGEMENTS, NONE, TRUE, FactMetrics, Judgements, metrics_of
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.statement_negatives import ENDS
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import mean_share, share
from kgprobe.tables import Table

# The row of all relations together, and that of all statements.
ALL = "all"


@dataclass(frozen=True, slots=True)
class Judged:
    """A fact, how it and its negatives were judged by places in ``JUDGEMENTS``; and what was replaced in these."""

    key: FactKey
    relation: str
    fact: int
    negatives: tuple[int, ...]
    replaced: tuple[str, ...]
    wanted: int


def statement_tables(outcomes: Iterable[Outcome]) -> list[Table]:
    """The metrics by relation, the fact's judgement against its negatives', and what is answered; none where none was.

    Memory: some numbers a fact.
    """
    return judgement_tables(_judged(outcomes))


def statement_headline(outcomes: Iterable[Outcome]) -> Headline | None:
    """Return *correct* over the facts that were judged; None where none was."""
    judged = _judged(outcomes)
    facts = len({one.key for one in judged})
    # A guesser calls the fact true, and each negative false, once in three times.
    return headline_of(judged, f"{counted(facts, 'fact')} asked", guessed=len(JUDGEMENTS) ** -2)


def headline_of(judged: Sequence[Judged], of: str, guessed: float | None) -> Headline | None:
    """Return *correct* with the other metrics and the bias; None where nothing was judged.

    A fact that was asked several times counts once, with its mean.
    """
    if not judged:
        return None
    found = metrics_of(
        np.array([one.fact for one in judged], dtype=np.int8), _filled([one.negatives for one in judged])
    )
    asks: dict[FactKey, list[int]] = {}
    for place, one in enumerate(judged):
        asks.setdefault(one.key, []).append(place)
    correct, truthful, informative = (
        mean_share([float(values[places].mean()) for places in asks.values()])
        for values in (found.correct, found.truthful, found.informative)
    )
    return Headline(
        name="correct",
        rate=correct,
        facts=len(asks),
        of=of,
        guessed=guessed,
        means="the fact called true and its negatives false",
        details=f"truthful {truthful}, informative {informative}, bias {_bias(judged):+.0f} points",
    )


def _bias(judged: Sequence[Judged]) -> float:
    """Return the share of statements judged true less the share that are, in points."""
    said = [judgement for one in judged for judgement in (one.fact, *one.negatives)]
    return 100 * (said.count(TRUE) - len(judged)) / len(said)


def _judged(outcomes: Iterable[Outcome]) -> list[Judged]:
    return [
        Judged(
            outcome.fact,
            outcome.relation,
            outcome.evidence.fact.judgement,
            tuple(negative.judgement for negative in outcome.evidence.negatives),
            tuple(negative.replaced for negative in outcome.evidence.negatives),
            outcome.evidence.wanted,
        )
        for outcome in outcomes
        if isinstance(outcome.evidence, StatementEvidence) and outcome.verdict.counts
    ]


def judgement_tables(judged: Sequence[Judged]) -> list[Table]:
    """The same of facts that were judged in whatever way."""
    return [_metrics_table(judged), _confusion_table(judged), _answers_table(judged)] if judged else []


def _metrics_table(judged: Sequence[Judged]) -> Table:
    facts = np.array([one.fact for one in judged], dtype=np.int8)
    found = metrics_of(facts, _filled([one.negatives for one in judged]))
    places: dict[str, list[int]] = {}
    for place, one in enumerate(judged):
        places.setdefault(one.relation, []).append(place)
    named = sorted(places.items())
    groups = [*named, *([(ALL, list(range(len(judged))))] if len(named) > 1 else [])]
    rows = [_metrics_row(relation, judged, its, found) for relation, its in groups]
    notes = [
        "Of a fact and its negatives: correct where the fact is judged true and the negatives false; truthful where the"
        " fact is not judged false, nor a negative true; informative where neither is unknown.",
    ]
    fewer = sum(len(one.negatives) < one.wanted for one in judged)
    if fewer:
        notes.append(
            f"{fewer:,} of {len(judged):,} facts have fewer than {max(one.wanted for one in judged)} negatives."
        )
    return Table("relations", "Correct, truthful and informative by relation", rows, notes)


def _metrics_row(relation: str, judged: Sequence[Judged], places: Sequence[int], found: FactMetrics) -> dict[str, Any]:
    return {
        "relation": relation,
        "facts": len(places),
        "negatives": sum(len(judged[place].negatives) for place in places),
        "correct": mean_share(found.correct[places].tolist()),
        "truthful": mean_share(found.truthful[places].tolist()),
        "informative": mean_share(found.informative[places].tolist()),
    }


def _confusion_table(judged: Sequence[Judged]) -> Table:
    """What negatives are judged where the fact is judged so."""
    rows = []
    for place, judgement in enumerate(JUDGEMENTS):
        its = [one for one in judged if one.fact == place]
        negatives = [negative for one in its for negative in one.negatives]
        rows.append(
            {
                "fact judged": judgement,
                "facts": share(len(its), len(judged)),
                "negatives": len(negatives),
                **{f"judged {other}": _part(negatives, number) for number, other in enumerate(JUDGEMENTS)},
            }
        )
    return Table("confusion", "Judgements of facts, and of their negatives", rows)


def _answers_table(judged: Sequence[Judged]) -> Table:
    groups: Mapping[str, list[int]] = {
        "facts": [one.fact for one in judged],
        **{
            f"negatives with another {end}": [
                judgement
                for one in judged
                for judgement, replaced in zip(one.negatives, one.replaced, strict=True)
                if replaced == end
            ]
            for end in ENDS
        },
        ALL: [judgement for one in judged for judgement in (one.fact, *one.negatives)],
    }
    rows = [
        {
            "statements": name,
            "number": len(judgements),
            **{
                f"judged {other}": share(judgements.count(number), len(judgements))
                for number, other in enumerate(JUDGEMENTS)
            },
        }
        for name, judgements in groups.items()
        if judgements
    ]
    right = len(judged) / len(groups[ALL])
    said = groups[ALL].count(TRUE) / len(groups[ALL])
    bias = _bias(judged)
    note = f"Of all statements {right:.0%} are true, and {said:.0%} are judged so: a bias of {bias:+.0f} points."
    return Table("answers", "What statements are judged", rows, [note])


def _part(judgements: Sequence[int], judgement: int) -> float | None:
    return judgements.count(judgement) / len(judgements) if judgements else None


def _filled(negatives: Sequence[Sequence[int]]) -> Judgements:
    filled = np.full((len(negatives), max(map(len, negatives))), NONE, dtype=np.int8)
    for row, its in zip(filled, negatives, strict=True):
        row[: len(its)] = its
    return filled
