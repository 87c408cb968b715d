"""Shared steps of asking a graph's facts: reasons not to ask, right objects, and outcomes in order."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from kgprobe.base.dates import first_day
from kgprobe.graph.client import Graph, Row
from kgprobe.probes.outcome import Outcome, unaskable
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey


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


def read_answers(graph: Graph, facts: Sequence[FactKey], as_of: int) -> dict[str, list[Row]]:
    """Return all objects of each fact's subject and relation, by fact.

    A row has the object's id, label and aliases, and says if it is right at a date (``current``), or was before
    (``former``). Cost: a walk from each subject.
    """
    answers: defaultdict[str, list[Row]] = defaultdict(list)
    if facts:
        for row in graph.read("sample/answers", rows=list(map(FactKey._asdict, facts)), as_of=as_of):
            answers[row["fact"]].append(row)
    return answers


def in_order(facts: Iterable[AskedFact], reasons: Iterable[str | None], outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return an outcome for each fact, in order.

    Args:
        reasons: why a fact is not asked; None if it is.
        outcomes: those of the asked facts, in their order.
    """
    answered = iter(outcomes)
    ordered = []
    for fact, reason in zip(facts, reasons, strict=True):
        ordered.append(next(answered) if reason is None else unaskable(fact.key, fact.relation, reason))
    return ordered
