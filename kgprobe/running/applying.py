"""One round into the graph: its answers counted once, and what is made of them, in one transaction."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from kgprobe.beliefs.summary import belief_rows
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.probes.outcome import Outcome, Verdict

# What a run counts of its outcomes; each is counted as one of these.
COUNTS = ("asked", "unaskable", "unanswered")

# What is made of a round's answers within its transaction: rows of the facts that were asked, and their answers, in;
# rows of all facts whose beliefs changed out, each once, with subject, fact, alpha, beta, right, wrong and chances.
Follow = Callable[[Transaction, list[Row], list[Row]], list[Row]]


class RoundTakenError(KgprobeError):
    """A round was applied, or its run was forgotten, by somebody else in the meantime."""


def counted_as(outcome: Outcome) -> str:
    """Under which of ``COUNTS``."""
    return "asked" if outcome.verdict.counts else outcome.verdict.value


def apply_round(
    graph: Graph,
    run: Row,
    labels: Mapping[str, str],
    number: int,
    outcomes: Sequence[Outcome],
    chances: Sequence[float | None],
    follow: Follow,
) -> tuple[list[Row], dict[str, float]]:
    """Count a round's answers, and write what follows of them.

    Args:
        run: its properties.
        labels: of the relations that can be asked, by their ids. A belief keeps the one that it is made with: a
            relation that gets another label is found by its id.
        chances: of each outcome, how probably its answer is right without knowing the fact; None where unknown.

    Returns:
        what ``follow`` gave, and the seconds of each part.

    Raises:
        RoundTakenError: the round was applied already, by another process, or the run was forgotten.
    """
    rows = [_row(outcome, chance) for outcome, chance in zip(outcomes, chances, strict=True)]
    counts = Counter(map(counted_as, outcomes))
    seconds: dict[str, float] = {}

    def work(transaction: Transaction) -> list[Row]:
        clock = time.monotonic()
        guard = transaction.run(
            "beliefs/guard_round", id=run["id"], round=number, **{name: counts[name] for name in COUNTS}
        )
        if not guard:
            gone = not transaction.run("beliefs/run", id=run["id"])
            what = "was forgotten" if gone else f"has round {number} already: is somebody else at it?"
            raise RoundTakenError(f"The run {run['id']!r} {what}")
        applied = transaction.run("beliefs/apply", rows=rows, run=run["id"], model=run["model"], labels=dict(labels))
        seconds["apply"] = time.monotonic() - clock
        clock = time.monotonic()
        touched = follow(transaction, applied, [row for row in rows if row["right"] + row["wrong"]])
        seconds["follow"] = time.monotonic() - clock
        clock = time.monotonic()
        for part in belief_rows(run["id"], touched):
            transaction.run("beliefs/summarize", rows=part)
        seconds["summarize"] = time.monotonic() - clock
        return touched

    return graph.transaction(work), seconds


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
