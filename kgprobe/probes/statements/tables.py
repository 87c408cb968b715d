"""Results over many statements: correct, truthful, informative, and the frequencies of the judgements.

docs/methods/statements.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from kgprobe.probes.confidence_tables import ALL, by_relation
from kgprobe.probes.outcome import Headline, Outcome, ProbeResults
from kgprobe.probes.statements.evidence import StatementEvidence
from kgprobe.probes.statements.metrics import JUDGEMENTS, NONE, TRUE, FactMetrics, Floats, Judgements, metrics_of
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.statement_negatives import ENDS
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import Share, mean_share, share
from kgprobe.tables import Table


@dataclass(frozen=True, slots=True)
class Judged:
    """Judgements of a fact and of its negatives, as positions in ``JUDGEMENTS``.

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

    @property
    def all(self) -> tuple[int, ...]:
        """The judgements of the fact and of its negatives."""
        return (self.fact, *self.negatives)


def statement_results(outcomes: Iterable[Outcome]) -> ProbeResults:
    """Return the metrics by relation, the facts' judgements against their negatives', and all judgements.

    The headline is *correct* over the judged facts. All are empty without judged facts.

    Memory: a few numbers per fact.
    """
    judged = _judged(outcomes)
    facts = len({fact.key for fact in judged})
    # A guess judges the fact true, and a negative false, with a probability of 1/3 each.
    headline = headline_of(judged, f"{counted(facts, 'fact')} asked", guessed=len(JUDGEMENTS) ** -2)
    return ProbeResults(judgement_tables(judged), headline)


def headline_of(judged: Sequence[Judged], of: str, guessed: float | None) -> Headline | None:
    """Return *correct* with the other metrics and the bias; None without judged facts.

    A fact that was asked several times counts once, with its mean.
    """
    if not judged:
        return None
    metrics = _metrics(judged)
    asks: dict[FactKey, list[int]] = {}
    for place, fact in enumerate(judged):
        asks.setdefault(fact.key, []).append(place)
    places = list(asks.values())
    correct, truthful, informative = (
        _mean_over_facts(values, places) for values in (metrics.correct, metrics.truthful, metrics.informative)
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


def _mean_over_facts(values: Floats, places: Sequence[Sequence[int]]) -> Share:
    """Return the mean over facts of the means of each fact's values."""
    return mean_share([float(values[of_fact].mean()) for of_fact in places])


def _bias(judged: Sequence[Judged]) -> float:
    """Return the share of statements judged true minus the share of true ones, in percentage points."""
    judgements = _all_judgements(judged)
    return 100 * (judgements.count(TRUE) - len(judged)) / len(judgements)


def _all_judgements(judged: Iterable[Judged]) -> list[int]:
    return list(chain.from_iterable(fact.all for fact in judged))


def _metrics(judged: Sequence[Judged]) -> FactMetrics:
    facts = np.array([fact.fact for fact in judged], dtype=np.int8)
    return metrics_of(facts, _filled([fact.negatives for fact in judged]))


def _judged(outcomes: Iterable[Outcome]) -> list[Judged]:
    judged = []
    for outcome in outcomes:
        evidence = outcome.evidence
        if isinstance(evidence, StatementEvidence) and outcome.verdict.counts:
            negatives = tuple(negative.judgement for negative in evidence.negatives)
            replaced = tuple(negative.replaced for negative in evidence.negatives)
            fact = evidence.fact.judgement
            judged.append(Judged(outcome.fact, outcome.relation, fact, negatives, replaced, evidence.wanted))
    return judged


def judgement_tables(judged: Sequence[Judged]) -> list[Table]:
    """Return the tables of judged facts, from any probe."""
    return [_metrics_table(judged), _confusion_table(judged), _answers_table(judged)] if judged else []


def _metrics_table(judged: Sequence[Judged]) -> Table:
    rows = [_metrics_row(relation, facts) for relation, facts in by_relation(judged)]
    notes = [
        "Correct: the fact is judged true and its negatives false. Truthful: the fact is not judged false, nor a"
        " negative true. Informative: neither is judged unknown.",
    ]
    fewer = sum(len(fact.negatives) < fact.requested for fact in judged)
    if fewer:
        most = max(fact.requested for fact in judged)
        notes.append(f"{fewer:,} of {len(judged):,} facts have fewer than {most} negatives.")
    return Table("relations", "Correct, truthful and informative by relation", rows, notes)


def _metrics_row(relation: str, judged: Sequence[Judged]) -> dict[str, Any]:
    metrics = _metrics(judged)
    return {
        "relation": relation,
        "facts": len(judged),
        "negatives": sum(len(fact.negatives) for fact in judged),
        "correct": mean_share(metrics.correct.tolist()),
        "truthful": mean_share(metrics.truthful.tolist()),
        "informative": mean_share(metrics.informative.tolist()),
    }


def _confusion_table(judged: Sequence[Judged]) -> Table:
    """Return the judgements of negatives by the judgement of the fact."""
    rows = []
    for place, judgement in enumerate(JUDGEMENTS):
        facts = [fact for fact in judged if fact.fact == place]
        negatives = list(chain.from_iterable(fact.negatives for fact in facts))
        parts = {f"judged {other}": _part(negatives, number) for number, other in enumerate(JUDGEMENTS)}
        row = {"fact judged": judgement, "facts": share(len(facts), len(judged)), "negatives": len(negatives)}
        rows.append(row | parts)
    return Table("confusion", "Judgements of facts, and of their negatives", rows)


def _answers_table(judged: Sequence[Judged]) -> Table:
    by_part: dict[str, list[int]] = {end: [] for end in ENDS}
    for fact in judged:
        for judgement, replaced in zip(fact.negatives, fact.replaced, strict=True):
            by_part[replaced].append(judgement)
    groups = {"facts": [fact.fact for fact in judged]}
    groups |= {f"negatives with another {end}": judgements for end, judgements in by_part.items()}
    groups[ALL] = _all_judgements(judged)
    rows: list[dict[str, Any]] = []
    for name, judgements in groups.items():
        if judgements:
            rows.append({"statements": name, "number": len(judgements)})
            for number, other in enumerate(JUDGEMENTS):
                rows[-1][f"judged {other}"] = share(judgements.count(number), len(judgements))
    true = len(judged) / len(groups[ALL])
    judged_true = groups[ALL].count(TRUE) / len(groups[ALL])
    note = f"{true:.0%} of all statements are true, and {judged_true:.0%} are judged true: a bias of"
    return Table("answers", "Judgements of all statements", rows, [f"{note} {_bias(judged):+.0f} points."])


def _part(judgements: Sequence[int], judgement: int) -> float | None:
    return judgements.count(judgement) / len(judgements) if judgements else None


def _filled(negatives: Sequence[Sequence[int]]) -> Judgements:
    filled = np.full((len(negatives), max(map(len, negatives))), NONE, dtype=np.int8)
    for row, judgements in zip(filled, negatives, strict=True):
        row[: len(judgements)] = judgements
    return filled
