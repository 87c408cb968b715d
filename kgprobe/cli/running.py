"""What commands that take their time share: a model that is loaded first, and Ctrl-C that loses nothing."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kgprobe.models.scorer import Scorer


def load_model(spec: str) -> "Scorer":
    """The scorer of a model, with a word on stderr while it loads."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(f"Loading {spec}"):
        from kgprobe.models.spec import load_scorer

        return load_scorer(spec)


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
