"""Callbacks of measurements and rounds, and the reasons for which they stop."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum
from operator import attrgetter

from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import hearing_shares
from kgprobe.models.computing import reported_in_turn
from kgprobe.probes.outcome import Outcome, Verdict


class Stop(str, Enum):
    """Reason for which a measurement or a run stopped.

    ``NO_ANSWERS``: no question of a batch got an answer. ``BUDGET_SPENT``: the next batch could cost more than is left;
    its answers so far are cached.
    """

    DONE = "done"
    ASKED_TO = "asked to"
    BUDGET_SPENT = "budget spent"
    NO_ANSWERS = "no answers"
    SURE_ENOUGH = "sure enough"
    CONVERGED = "converged"
    NOTHING_LEFT = "nothing left to ask"

    @property
    def can_go_on(self) -> bool:
        """True if the same call resumes the work."""
        return self in (Stop.ASKED_TO, Stop.BUDGET_SPENT, Stop.NO_ANSWERS)


@dataclass(frozen=True, slots=True)
class Start:
    """State at the start of a measurement or a run.

    Attributes:
        facts: number of facts that can be asked.
        done: part of ``total`` done before: facts of a measurement, rounds of a run.
        total: number of facts or rounds.
        changed: how the graph and its templates have changed since the first start, in phrases.
        batch: maximum number of facts per unit of ``total``: 1, or the facts of a round.
        title: name of the measurement, if one call makes several in sequence.
    """

    facts: int
    done: int
    total: int
    changed: str = ""
    title: str = ""
    batch: int = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Outcomes of a batch.

    Attributes:
        outcomes: empty for work without outcomes, such as a replay.
        done: part of the total done so far.
    """

    outcomes: Sequence[Outcome]
    done: int


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Functions that are called with the progress of a measurement or a run.

    Attributes:
        on_start: called once, or once for each measurement of a call.
        on_part: called during a batch with the number of its answered facts (a fraction counts for a fact with some
            of its answers); never decreases within a batch. Not every probe calls it.
        on_batch: called after each batch is stored.
        should_stop: called after each batch; True stops.
    """

    on_start: Callable[[Start], None] = lambda start: None
    on_part: Callable[[float], None] = lambda facts: None
    on_batch: Callable[[Batch], None] = lambda batch: None
    should_stop: Callable[[], bool] = lambda: False

    def titled(self, title: str) -> "Callbacks":
        """Return the callbacks of one measurement or run of a call that makes several."""
        return replace(self, on_start=lambda start: self.on_start(replace(start, title=title)))

    def hearing(self, facts: int, before: int = 0) -> AbstractContextManager[None]:
        """Call ``on_part`` with the progress of facts that are asked or judged inside the context.

        Args:
            before: number of facts of the batch that come before these.
        """
        return hearing_shares(reported_in_turn(lambda share: self.on_part(before + share * facts)))


NO_CALLBACKS = Callbacks()


def count_work(callbacks: Callbacks, facts: int, total: int, unit: str, title: str = "") -> Callable[..., None]:
    """Report the start of some work; return the function to call after each part of it, with its size (1).

    Args:
        unit: noun for its parts, in the message of an interruption.

    Raises:
        KgprobeError: from the returned function, if a callback stops the work.
    """
    done = 0
    callbacks.on_start(Start(facts, 0, total, title=title))

    def on_part(size: int = 1) -> None:
        nonlocal done
        done += size
        callbacks.on_batch(Batch((), done))
        if done < total and callbacks.should_stop():
            raise KgprobeError(f"Stopped after {done:,} of {total:,} {unit}; nothing is stored.")

    return on_part


def why_silent(outcomes: Sequence[Outcome]) -> str | None:
    """Return why a batch got no answers at all; None if it got any, or is empty."""
    if not outcomes or any(outcome.verdict is not Verdict.UNANSWERED for outcome in outcomes):
        return None
    reason, count = Counter(map(attrgetter("reason"), outcomes)).most_common(1)[0]
    return f"None of the last {len(outcomes)} questions got an answer; {count} times because: {reason}."
