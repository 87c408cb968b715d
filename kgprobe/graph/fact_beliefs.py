"""What a run believes of facts, as it stands in the graph."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from kgprobe.graph.client import Graph

# One statement's worth of look-ups.
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class FactBelief:
    """What a run believes of a fact.

    Attributes:
        theta: E[θ], the probability that the model fails on it, in (0, 1).
        low, high: the 90% credible interval of θ.
        right, wrong: the fact's own answers; none where the run only heard of it from others.
        believed: ``surely known``, ``leans known``, ``leans unknown`` or ``surely unknown``.
        question: the last one that was asked of the fact itself; None where there was none.
    """

    theta: float
    low: float
    high: float
    right: int
    wrong: int
    believed: str
    question: str | None


def read_beliefs(graph: Graph, run: str, facts: Iterable[str]) -> dict[str, FactBelief]:
    """The beliefs of a run about facts, by the facts' ids; none of those that it never came near.

    >>> read_beliefs(graph, "first-look", ["Q142-P36-Q90"])["Q142-P36-Q90"].theta < 0.5
    True

    Cost: a look-up a fact.
    """
    remaining = iter(dict.fromkeys(facts))
    found: dict[str, FactBelief] = {}
    while part := list(islice(remaining, _AT_ONCE)):
        for row in graph.read("explore/beliefs_of_facts", run=run, facts=part):
            fact = row.pop("fact")
            found[fact] = FactBelief(**row)
    return found
