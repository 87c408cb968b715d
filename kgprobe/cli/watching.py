"""How asking is followed on the terminal: a bar with a rate and an end, and Ctrl-C that loses nothing."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kgprobe.asking.watch import Batch, Start, Stop, Watch

_CHANGED = "The graph was loaded into since the run began; it goes on with what is there now."


@contextmanager
def watched(title: str, began: Callable[["Start"], str], unit: str, things: str) -> Iterator["Watch"]:
    """Show on stderr how asking gets on, and let Ctrl-C end it after the batch at work.

    What begins after something else, by the same watch, gets a bar of its own.

    Args:
        began: what is said when it begins.
        unit: what is finished first when Ctrl-C is pressed.
        things: what is counted beside the bar.
    """
    from kgprobe.asking.watch import Watch
    from kgprobe.progress import Bar, progress_bar

    bar: Bar
    interrupted: Callable[[], bool]
    right = answered = 0
    with ExitStack() as stack:

        def on_start(start: "Start") -> None:
            nonlocal bar, interrupted, right, answered
            stack.close()
            right = answered = 0
            click.echo(began(start), err=True)
            if start.changed:
                click.echo(_CHANGED, err=True)
            # Not before: the conversion of a model has a bar of its own, and Ctrl-C ends it at once.
            bar = stack.enter_context(progress_bar(_titled(title, start), start.total, things, start.done))
            interrupted = stack.enter_context(interruptible(unit))

        def on_batch(batch: "Batch") -> None:
            nonlocal right, answered
            verdicts = [outcome.verdict for outcome in batch.outcomes]
            right += sum(verdict.value == "right" for verdict in verdicts)
            answered += sum(verdict.counts for verdict in verdicts)
            bar.advance_to(batch.done, len(verdicts), f"{right / answered:.0%} right" if answered else "")

        yield Watch(on_start, on_batch, lambda: interrupted())


@contextmanager
def measuring(title: str) -> Iterator["Watch"]:
    """:func:`watched` for facts that are each asked once."""

    def began(start: "Start") -> str:
        return f"{_titled(title, start)}: {start.total:,} facts, {start.done:,} of them measured before."

    with watched(title, began, "batch", "facts") as watch:
        yield watch


@contextmanager
def counting(title: str, things: str) -> Iterator["Watch"]:
    """Show on stderr how something gets on of which nothing is kept before its end; Ctrl-C ends it at once.

    Args:
        things: what is counted.
    """
    from kgprobe.asking.watch import Watch
    from kgprobe.progress import Bar, progress_bar

    bar: Bar
    done = 0
    with ExitStack() as stack:

        def on_start(start: "Start") -> None:
            nonlocal bar, done
            stack.close()
            done = start.done
            bar = stack.enter_context(progress_bar(_titled(title, start), start.total, things, start.done))

        def on_batch(batch: "Batch") -> None:
            nonlocal done
            bar.advance_to(batch.done, batch.done - done)
            done = batch.done

        yield Watch(on_start, on_batch)


@contextmanager
def running(run: str) -> Iterator["Watch"]:
    """:func:`watched` for the rounds of a run."""

    def began(start: "Start") -> str:
        return f"{start.facts:,} facts can be asked; {start.done} of {start.total} rounds are done."

    with watched(f"Run {run}", began, "round", "questions") as watch:
        yield watch


def _titled(title: str, start: "Start") -> str:
    return f"{title} · {start.title}" if start.title else title


def tell_end(stopped: "Stop", reason: str | None, where: str, how: str) -> None:
    """Say on stderr why asking ended before its end, and how to go on.

    Args:
        reason: more on why, in a sentence.
        where: it stands.
        how: to go on, in a sentence.
    """
    from kgprobe.asking.watch import Stop

    ends = {
        Stop.ASKED_TO: f"Stopped after {where}.",
        Stop.BUDGET_SPENT: f"The budget does not last for more than {where}.",
        Stop.NO_ANSWERS: f"Ended after {where}: no answers come.",
        Stop.SURE_ENOUGH: f"Sure enough after {where}: the intervals are no broader than asked for.",
        Stop.NOTHING_LEFT: f"Nothing is left to ask after {where}.",
    }
    if stopped in ends:
        parts = [ends[stopped], *([reason] if reason else []), *([how] if stopped.can_go_on else [])]
        click.echo(" ".join(parts), err=True)


@contextmanager
def interruptible(unit: str) -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed; pressed twice, it stops at once.

    Args:
        unit: what is finished first.
    """
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        click.echo(f"Finishing this {unit}; Ctrl-C again stops at once.", err=True)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
