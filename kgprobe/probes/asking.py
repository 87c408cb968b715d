"""Shared steps of asking a graph's facts: reasons not to ask, and outcomes in order."""

from collections.abc import Iterable

from kgprobe.base.dates import first_day
from kgprobe.probes.outcome import Outcome, unaskable
from kgprobe.sampling.facts import AskedFact


def nameless(fact: AskedFact) -> str | None:
    """Return why a fact cannot be asked by its labels; None if both ends have one."""
    if not fact.subject_label.strip():
        return "its subject's label is white space"
    return None if fact.object_label.strip() else "its object's label is white space"


def not_begun(fact: AskedFact, as_of: int) -> str | None:
    """Return why a fact cannot be asked at a date (``yyyymmdd``) by its start; None if it has begun."""
    if fact.start is not None and first_day(fact.start) > as_of:
        return f"it begins in {fact.start}, after {as_of}"
    return None


def in_order(facts: Iterable[AskedFact], reasons: Iterable[str | None], outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return an outcome for each fact, in order: unaskable for its reason, or without one the next of the outcomes."""
    answered = iter(outcomes)
    ordered = []
    for fact, reason in zip(facts, reasons, strict=True):
        ordered.append(next(answered) if reason is None else unaskable(fact.key, fact.relation, reason))
    return ordered
