"""Asking by a command: models, with their loading and their API usage on stderr; progress, and Ctrl-C.

Progress is a bar with rate and total. Ctrl-C keeps all answers.
"""

import math
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from kgprobe.api.options import ApiLimits
from kgprobe.base.options import make_options
from kgprobe.base.progress import OnProgress, StepProgress, Task, print_message, progress_bar, waiting
from kgprobe.cli.commands import Command, decorated_by, given_options, prepared_by
from kgprobe.models.spec_forms import LocalOptions

if TYPE_CHECKING:
    from kgprobe.answers.callbacks import Batch, Callbacks, Start, Stop
    from kgprobe.models.model import Models
    from kgprobe.models.scoring.contract import TextScorer

# Options by name that the user gave.
Given: TypeAlias = Mapping[str, Any]
NOTHING: Given = MappingProxyType({})


def with_models(*, api: Sequence[str] | None = None) -> Callable[[Command], Command]:
    """Return a decorator: the command gets ``models``, which are loaded as its options say, each at first use.

    Args:
        api: options of models behind an API that the command lacks; None for a command without such models.
    """

    def open_them(values: dict[str, Any]) -> None:
        own = {name: values.pop(name) for name in ("local", "workers", "explain", "api") if name in values}
        values["models"] = click.get_current_context().with_resource(open_models(**own))

    opened = prepared_by(open_them)
    return opened if api is None else decorated_by(api_options(api), opened)


def api_options(left_out: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of models behind an API, as ``api``."""
    return given_options(("Models behind an API", ApiLimits), argument="api", left_out=left_out)


@contextmanager
def open_models(
    local: Given = NOTHING, workers: Given = NOTHING, explain: bool = False, api: Given = NOTHING
) -> Iterator["Models"]:
    """Yield models, each loaded at first use; at the end, print the API usage, and the device's time if explained."""
    from kgprobe.api.models import models_within
    from kgprobe.models.computing import ALL_ASKING, DeviceTime

    limits = make_options(ApiLimits, api, "models behind an API")
    on_this_machine = make_options(LocalOptions, local, "models")
    before = replace(ALL_ASKING)
    with models_within(limits, partial(_load, explain), on_this_machine, **workers) as models:
        try:
            yield models
        finally:
            asking = DeviceTime(ALL_ASKING.seconds - before.seconds, ALL_ASKING.computed - before.computed)
            if explain and asking.waited is not None:
                computed = f"computed {1 - asking.waited:.0%} of {asking.seconds:,.1f} s of asking"
                click.echo(f"device  {computed}, waited {asking.waited:.0%}", err=True)
            for name, usage in models.spending.usage.items():
                cost = "" if usage.cost is None else f", {usage.cost:.4f} in money"
                sent = f"{usage.requests:,} requests ({usage.retries:,} of them repeated)"
                answers = f"{usage.cached:,} answers from before, {usage.tokens:,} tokens{cost}"
                noun = "batch" if usage.batches == 1 else "batches"
                batches = f" in {usage.batches:,} {noun}" if usage.batches else ""
                click.echo(f"{name}: {sent}{batches}, {answers}.", err=True)
                if usage.declined:
                    changed = ", ".join(sorted(usage.declined))
                    click.echo(f"{name} declined parameters, which were left out or replaced: {changed}.", err=True)


def _load(explained: bool, spec: str, **options: Any) -> "TextScorer":
    with waiting(f"Loading {spec}"):
        from kgprobe.models.spec import load_scoring_model

        scorer = load_scoring_model(spec, **options)
    lines = scorer.explain() if explained else []
    width = max((len(name) for name, _ in lines), default=0)
    for name, text in lines:
        click.echo(f"{name:{width}}  {text}", err=True)
    return scorer


@contextmanager
def watched(
    title: str, things: str, began: Callable[["Start"], str] | None = None, unit: str = ""
) -> Iterator["Callbacks"]:
    """Show progress on stderr, and stop on Ctrl-C: after the current unit, or at once without one.

    Consecutive measurements get one bar each; before the first and after the last bar, a spinner is shown.

    Args:
        things: unit of the count next to the bar.
        began: returns the message at the start; None prints none.
        unit: unit that Ctrl-C finishes first.
    """
    from kgprobe.answers.callbacks import Callbacks

    bar: Task
    begun: Start
    interrupted: Callable[[], bool] = bool
    right = answered = done = counted = 0
    with ExitStack() as shown:
        shown.enter_context(waiting(f"{title}: getting ready"))

        def on_start(start: "Start") -> None:
            nonlocal bar, begun, interrupted, right, answered, done, counted
            shown.close()
            begun, right, answered, done, counted = start, 0, 0, start.done, 0
            if began is not None:
                click.echo(began(start), err=True)
            if start.changed:
                click.echo(
                    f"Since the run began, {start.changed}. It continues with the facts and sentences of its start;"
                    " a new run takes those of now.",
                    err=True,
                )
            total, counts_units = start.total * start.batch, start.batch == 1
            bar = shown.enter_context(
                progress_bar(_titled(title, start), total, things, done * start.batch, counted=counts_units)
            )
            if unit:
                # Only now: Ctrl-C stops the conversion of a model at once.
                interrupted = shown.enter_context(interruptible(unit))

        def on_facts(facts: float) -> None:
            bar.move_to(done * begun.batch + facts, counted + facts, bar.note)

        def on_batch(batch: "Batch") -> None:
            nonlocal right, answered, done, counted
            verdicts = [outcome.verdict for outcome in batch.outcomes]
            right += sum(verdict.value == "right" for verdict in verdicts)
            answered += sum(map(attrgetter("counts"), verdicts))
            counted += len(verdicts) or batch.done - done
            done = batch.done
            notes = [f"{done} of {begun.total} rounds"] if begun.batch > 1 else []
            if answered:
                notes.append(f"{right / answered:.0%} right")
            bar.move_to(done * begun.batch, counted, ", ".join(notes))
            if done >= begun.total:
                shown.close()
                shown.enter_context(waiting(f"{title}: preparing results"))

        yield Callbacks(on_start, on_facts, on_batch, lambda: interrupted())


@contextmanager
def progress_bars(title: str = "") -> Iterator[OnProgress]:
    """Yield a function that shows progress on stderr, with a bar for each title; its default is the step's."""
    current: dict[str, Task] = {}
    with ExitStack() as opened:

        def on_progress(now: StepProgress) -> None:
            key, things = now.title or now.stage, now.things
            if key not in current:
                # The bar of the step before ends.
                opened.close()
                bar = progress_bar(title or key, now.total, now.unit, counted=things is None)
                current[key] = opened.enter_context(bar)
            current[key].total = now.total
            current[key].move_to(now.done, now.done if things is None else things, now.stage if now.title else "")

        yield on_progress


@contextmanager
def measuring(title: str, models: "Models") -> Iterator["Callbacks"]:
    """Show the progress of a measurement; see :func:`watched`. With a batch API, Ctrl-C stops at once.

    If Ctrl-C stops at once, print that the answers so far are stored, and how to continue.
    """

    def began(start: "Start") -> str:
        return f"{_titled(title, start)}: {start.total:,} facts, {start.done:,} of them measured before."

    try:
        with watched(title, "facts", began, "" if models.in_batches else "batch") as callbacks:
            yield callbacks
    except KeyboardInterrupt:
        click.echo("The answers to finished batches are stored. Repeat the command to continue.", err=True)
        raise


def judging(title: str) -> AbstractContextManager["Callbacks"]:
    """Show the progress of judging a graph, shard by shard; see :func:`watched`."""

    def began(start: "Start") -> str:
        own = "" if start.total == start.facts else f" {start.total:,} of them in this share,"
        return f"{title}: {start.facts:,} facts,{own} {start.done:,} of them judged before."

    return watched(title, "facts", began, "shard")


def running(title: str) -> AbstractContextManager["Callbacks"]:
    """Show the progress of rounds; see :func:`watched`."""

    def began(start: "Start") -> str:
        message = f"{start.facts:,} facts can be asked; {start.done} of {start.total} rounds are done."
        questions = start.total * start.batch
        if questions > start.facts > 0:
            message += (
                f" {start.total:,} rounds of {start.batch:,} are {questions:,} questions, more than one per fact;"
                f" --rounds {math.ceil(start.facts / start.batch):,} asks about one per fact."
            )
        return message

    return watched(title, "questions", began, "round")


def _titled(title: str, start: "Start") -> str:
    return f"{title} · {start.title}" if start.title else title


def report_end(stopped: "Stop", reason: str | None, position: str, advice: str) -> None:
    """Print on stderr why asking stopped early (after a position such as "round 3"), and how to continue."""
    from kgprobe.answers.callbacks import Stop

    causes = {
        Stop.ASKED_TO: "",
        Stop.BUDGET_SPENT: ": the budget is spent",
        Stop.NO_ANSWERS: ": the server returns no answers",
        Stop.SURE_ENOUGH: ": the intervals are narrow enough",
        Stop.CONVERGED: ": win rate and zero-sense rate have converged",
        Stop.NOTHING_LEFT: ": no facts are left to ask",
    }
    if stopped in causes:
        parts = [f"Stopped after {position}{causes[stopped]}.", reason, advice if stopped.can_go_on else None]
        click.echo(" ".join(filter(None, parts)), err=True)


def exit_without_answers(*stopped: "Stop | None") -> None:
    """Exit with status 1 if asking stopped because the server returned no answers; what was answered is stored."""
    from kgprobe.answers.callbacks import Stop

    if Stop.NO_ANSWERS in stopped:
        raise click.exceptions.Exit(1)


@contextmanager
def interruptible(unit: str) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True after Ctrl-C; a second Ctrl-C stops at once."""
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        print_message(f"Finishing this {unit}; Ctrl-C again stops at once.")

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
