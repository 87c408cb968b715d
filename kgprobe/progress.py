"""Progress bars on stderr: with a rate and an end, silent where nobody watches."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgprobe.texts import visible, visible_lines

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@dataclass(slots=True)
class Bar:
    """A progress bar that counts things, while its length may be of something else, such as bytes."""

    _progress: "Progress"
    _task: "TaskID"
    _unit: str
    _things: int = 0

    def advance_to(self, done: float, things: int, note: str = "") -> None:
        """Move on.

        Args:
            done: where the bar stands, of its total.
            things: how many more things are done.
            note: what is going on.
        """
        self._things += things
        elapsed = self._progress.tasks[0].elapsed or 0
        rate = f"{self._things / elapsed:,.0f} {self._unit}/s" if elapsed >= 1 else ""
        if elapsed >= 1 and self._things / elapsed < 10:
            rate = f"{self._things / elapsed:.1f} {self._unit}/s"
        self._progress.update(self._task, completed=done, things=f"{self._things:,} {self._unit}", rate=rate, note=note)


@contextmanager
def progress_bar(title: str, total: float, unit: str, start: float = 0) -> Iterator[Bar]:
    """A bar that goes from ``start`` to ``total`` and says how many things are done, how fast, and when it will end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[things]}", markup=False),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
        disable=not console.is_terminal,
    )
    with progress:
        task = progress.add_task(visible(title), total=total, completed=int(start), things="", rate="", note="")
        yield Bar(progress, task, unit)


def tell(message: str) -> None:
    """Write one line to stderr, where messages go; stdout belongs to data."""
    sys.stderr.write(f"{visible_lines(message)}\n")
    sys.stderr.flush()
