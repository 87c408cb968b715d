"""The interface between rounds and the learners of :data:`kgprobe.beliefs.register.LEARNERS`.

A learner applies a round to the graph by :func:`apply_round`: its answers count once, and its beliefs change with them,
in one transaction.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.beliefs.draw import RoundChoice
from kgprobe.beliefs.summary import belief_rows, summarize, view_rows
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.graph.twins import write_twins
from kgprobe.probes.outcome import Outcome, Verdict

if TYPE_CHECKING:
    from kgprobe.sampling.columns.graph_columns import AskableFacts


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of applying a round.

    Attributes:
        touched: number of facts with updated beliefs.
        seconds: of its parts.
        hubs: labels of entities that were excluded from propagation, by their ids.
    """

    touched: int
    seconds: dict[str, float]
    hubs: dict[str, str] = field(default_factory=dict)


# Writes a round. It takes the probability of each right answer by guessing, None where unknown, and a function that it
# calls as soon as the next round can be chosen.
Write = Callable[[Sequence[float | None], Callable[[], None]], Applied]


class Learner(Protocol):
    """The beliefs of a run, in memory; the graph stores them after each round.

    A learner is constructed with the graph, the plan, the run's properties, and the labels of its relations by their
    ids.
    """

    @property
    def keys(self) -> "AskableFacts":
        """Facts that can be asked, in the order of their positions."""
        ...

    def choose(self, number: int) -> RoundChoice:
        """Draw the facts of a round from the seed and its number, from 1 on."""
        ...

    def has_askable(self) -> bool:
        """Return True if a fact is left to ask."""
        ...

    def width(self) -> float:
        """Return the mean width of the stored 90% interval of theta over all facts to ask; NaN where there are none."""
        ...

    def beliefs(self, positions: NDArray[np.int64]) -> list[Row]:
        """Return ``{subject, fact, alpha, beta}`` of facts, asked or not."""
        ...

    def apply(self, number: int, outcomes: Sequence[Outcome]) -> Write:
        """Update beliefs by a round, and return the function that writes them; call it before the next round's.

        The function raises RoundTakenError, see :func:`kgprobe.running.learner.apply_round`.
        """
        ...

    def finish(self) -> None:
        """Write all other changed beliefs after the last round for now, also onto the facts if the run is in view."""
        ...


# Counters of a run; each outcome counts in one of them.
COUNTS = ("asked", "unaskable", "unanswered")

# Update of beliefs within the round's transaction. Takes rows of the asked facts and of their answers; returns rows of
# all facts with changed beliefs, each once: subject, fact, alpha, beta, right, wrong, chances.
Follow = Callable[[Transaction, list[Row], list[Row]], list[Row]]


class RoundTakenError(KgprobeError):
    """Error: another process has applied the round or forgotten the run."""


def counted_as(outcome: Outcome) -> str:
    """Return the name in ``COUNTS`` of an outcome."""
    return "asked" if outcome.verdict.counts else outcome.verdict.value


def counted_answers(run: Row) -> int:
    """Return the number of outcomes that the graph has counted for a run."""
    return sum(run[name] for name in COUNTS)


def apply_round(
    graph: Graph,
    run: Row,
    labels: Mapping[str, str],
    number: int,
    outcomes: Sequence[Outcome],
    chances: Sequence[float | None],
    follow: Follow,
    expect: Callable[[], list[Row]] = list,
) -> tuple[list[Row], dict[str, float]]:
    """Count a round's answers and write the updated beliefs.

    Args:
        labels: labels of the askable relations by their ids. A belief stores the label; if a relation gets another
            one, its id still identifies it.
        chances: probability of each right answer by guessing; None where unknown.
        expect: returns the changed beliefs ``{subject, fact, alpha, beta}`` about unasked facts, for the view alone;
            called if the run is in view.

    Returns:
        The rows of ``follow``, and the seconds of each part.

    Raises:
        RoundTakenError: another process has applied the round, or the run was forgotten.
    """
    rows = [_row(outcome, chance) for outcome, chance in zip(outcomes, chances, strict=True)]
    counts = Counter(dict.fromkeys(COUNTS, 0))
    counts.update(map(counted_as, outcomes))
    seconds: dict[str, float] = {}

    def work(transaction: Transaction) -> list[Row]:
        clock = time.monotonic()
        guard = transaction.run("beliefs/guard_round", id=run["id"], round=number, **counts)
        if not guard:
            is_forgotten = not transaction.run("beliefs/run", id=run["id"])
            fault = "was forgotten." if is_forgotten else f"has round {number} already: another process continues it."
            raise RoundTakenError(f"The run {run['id']!r} {fault}")
        applied = transaction.run(
            "beliefs/apply", rows=rows, run=run["id"], round=number, model=run["model"], labels=dict(labels)
        )
        seconds["apply"] = time.monotonic() - clock
        clock = time.monotonic()
        touched = follow(transaction, applied, [row for row in rows if row["right"] + row["wrong"]])
        untied = {row["fact"]: None for row in [*applied, *touched] if row.get("untied")}
        if untied:
            transaction.run("beliefs/tie", run=run["id"], facts=list(untied))
        seconds["follow"] = time.monotonic() - clock
        clock = time.monotonic()
        is_in_view = guard[0]["in_view"]
        write_beliefs(transaction, run["id"], [row | {"round": number} for row in touched], on_facts=is_in_view)
        seconds["summarize"] = time.monotonic() - clock
        if is_in_view:
            clock = time.monotonic()
            expected = [row | {"round": None, "right": 0, "wrong": 0, "chances": []} for row in expect()]
            write_on_facts(transaction, view_rows(expected, summarize(expected)))
            seconds["view"] = time.monotonic() - clock
        return touched

    return graph.transaction(work), seconds


def write_beliefs(transaction: Transaction, run: str, beliefs: Sequence[Row], *, on_facts: bool) -> None:
    """Write the summaries of beliefs, and the same numbers onto their facts, whose subjects they are tied to.

    Args:
        beliefs: ``{subject, fact, alpha, beta, right, wrong, chances, round}`` of distinct facts.
        on_facts: True if the run is in view.
    """
    summaries = summarize(beliefs)
    for part in belief_rows(run, beliefs, summaries):
        transaction.run("beliefs/summarize", rows=part)
    if on_facts:
        write_on_facts(transaction, view_rows(beliefs, summaries))
        transaction.run("view/about", run=run, facts=[belief["fact"] for belief in beliefs])


def write_on_facts(transaction: Transaction, parts: Iterable[list[Row]]) -> None:
    """Write beliefs, in parts of :func:`kgprobe.beliefs.summary.view_rows`, onto the facts and their twins."""
    for rows in parts:
        transaction.run("view/facts", rows=rows)
        write_twins(transaction, rows)


def _row(outcome: Outcome, chance: float | None) -> Row:
    return {
        **outcome.fact._asdict(),
        "right": int(outcome.verdict is Verdict.RIGHT),
        "wrong": int(outcome.verdict.is_failure),
        "refused": int(outcome.verdict is Verdict.REFUSED),
        "off_format": int(outcome.verdict is Verdict.OFF_FORMAT),
        "unaskable": outcome.reason if outcome.verdict is Verdict.UNASKABLE else None,
        "chance": chance,
        "question": outcome.evidence.question if outcome.evidence else None,
    }
