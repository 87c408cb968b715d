"""What commands that take their time share: a model that is loaded first, and Ctrl-C that loses nothing."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kgprobe.cli.options import is_explained

if TYPE_CHECKING:
    from kgprobe.models.scorer import Scorer


# Continuations that a command's model need not be asked about again, some 200 bytes each.
REMEMBERED = 1_000_000


def load_model(spec: str) -> "Scorer":
    """The scorer of a model, with a word on stderr while it loads, and more where the user asked for it."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(f"Loading {spec}"):
        from kgprobe.models.spec import load_scorer

        scorer = load_scorer(spec, remembered=REMEMBERED)
    if is_explained():
        explained = scorer.explain()
        width = max(len(name) for name, _ in explained)
        for name, text in explained:
            click.echo(f"{name:{width}}  {text}", err=True)
    return scorer


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
