"""Beliefs that follow from the counts of each fact's own answers, for measurements: no learner is involved."""

from kgprobe.beliefs.summary import summarize
from kgprobe.graph.client import Row
from kgprobe.running.collected import CollectedAnswers


def counted_beliefs(answers: CollectedAnswers) -> list[Row]:
    """Return the answers to each fact with the beliefs that follow from their counts."""
    rows = []
    for fact in answers.facts.values():
        counts = {name: getattr(fact, name) for name in ("right", "wrong", "refused", "off_format")}
        beta = {"alpha": 1 + fact.wrong, "beta": 1 + fact.right}
        rows.append({**fact.key._asdict(), **counts, **beta, "chances": fact.chances, "unaskable": fact.unaskable})
    beliefs = summarize(rows)
    ends = zip(beliefs.theta.tolist(), beliefs.low.tolist(), beliefs.high.tolist(), strict=True)
    for row, (theta, low, high), word in zip(rows, ends, beliefs.words, strict=True):
        row |= {"theta": theta, "low": low, "high": high, "believed": word.value}
    return rows
