"""What all ways of asking share: who watches and may end it, why it ended, and what to make of silence."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from kgprobe.probes.outcome import Outcome, Probe, Verdict
from kgprobe.progress import hearing_shares
from kgprobe.sampling.keys import FactKey


class Stop(str, Enum):
    """Why asking ended.

    ``NO_ANSWERS``: not one question of a batch got an answer, and so it would go on. ``BUDGET_SPENT``: another batch
    could cost more than is left; what was answered of it is kept for when it is asked again.
    """

    DONE = "done"
    ASKED_TO = "asked to"
    BUDGET_SPENT = "budget spent"
    NO_ANSWERS = "no answers"
    SURE_ENOUGH = "sure enough"
    NOTHING_LEFT = "nothing left to ask"

    @property
    def can_go_on(self) -> bool:
        """Whether the same call goes on where it ended."""
        return self in (Stop.ASKED_TO, Stop.BUDGET_SPENT, Stop.NO_ANSWERS)


@dataclass(frozen=True, slots=True)
class Start:
    """Where asking begins.

    Attributes:
        facts: how many can be asked.
        done: how much of ``total`` was done before: facts of a measurement, rounds of a run.
        total: how much there is to do.
        changed: whether something was loaded into the graph since it was begun.
        batch: how many facts one of ``total`` asks, at most: 1, or those of a round.
        title: what is asked, where one call asks several things, one after the other: each begins and ends by itself.
    """

    facts: int
    done: int
    total: int
    changed: bool = False
    title: str = ""
    batch: int = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Outcomes that came together.

    Attributes:
        outcomes: none where what is done has none, such as a replay.
        done: how much of the total is done with them.
    """

    outcomes: Sequence[Outcome]
    done: int


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Who is told how asking gets on, and may end it.

    Attributes:
        on_start: called once, or once for each thing that one call asks.
        on_part: called while a batch is asked, by probes that tell it, with how many of its facts are as good as done:
            answers that came, in terms of facts. It never falls within a batch.
        on_batch: called after each batch, which is kept by then.
        should_stop: asked after each batch.
    """

    on_start: Callable[[Start], None] = lambda start: None
    on_part: Callable[[float], None] = lambda facts: None
    on_batch: Callable[[Batch], None] = lambda batch: None
    should_stop: Callable[[], bool] = lambda: False


NO_CALLBACKS = Callbacks()


def ask_with_callbacks(
    probe: Probe, facts: Sequence[FactKey], seed: Sequence[int], callbacks: Callbacks
) -> list[Outcome]:
    """What a probe answers to a batch; ``watch.on_part`` hears how far it is."""
    with hearing_shares(lambda share: callbacks.on_part(share * len(facts))):
        return probe.ask(facts, seed)


def why_silent(outcomes: Sequence[Outcome]) -> str | None:
    """Why no question of a batch got an answer; None where one did, or none was put."""
    if not outcomes or any(outcome.verdict is not Verdict.UNANSWERED for outcome in outcomes):
        return None
    reason, often = Counter(outcome.reason for outcome in outcomes).most_common(1)[0]
    return f"None of the last {len(outcomes)} questions got an answer; {often} times because: {reason}."
