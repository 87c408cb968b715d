"""Progress on stderr: bars with a rate and the time left, and waits.

On a terminal they are drawn in its last lines, below all other output. In a file or a pipe, each prints a plain line
twice a minute.
"""

import contextlib
import io
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO, TypeAlias

from kgprobe.base.sanitize import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text


@dataclass(frozen=True, slots=True)
class StepProgress:
    """State of a long call.

    Attributes:
        stage: the current step.
        done, total: position and length of the step, or of all steps with the same title.
        unit: plural noun for what is counted.
        title: title of the bar that several steps share; empty if each step has its own.
        things: number of completed things if ``done`` is in another unit, such as bytes; None if it is their number.
    """

    stage: str
    done: int
    total: int
    unit: str
    title: str = ""
    things: int | None = None


# Called by long functions with their progress.
OnProgress: TypeAlias = Callable[[StepProgress], None]

# Seconds between two lines where stderr is not a terminal.
LINE_SECONDS = 30.0
# Shortest wait that is shown, and shortest time for a rate, in seconds.
SOON = 2.0

# Columns left free for the echo of Ctrl-C.
_ECHO = 4
_LEAST_BAR, _MOST_BAR = 8, 40
_LEAST_TITLE = 16


def no_progress(now: StepProgress) -> None:
    """Ignore progress."""


@dataclass(slots=True)
class Task:
    """A task: a bar of known length that counts things, or a wait of unknown length.

    Attributes:
        title: the task's name.
        clock: returns seconds since any fixed time.
        total: length, which may have another unit than the things, such as bytes; None for a wait.
        unit: plural noun for the counted things.
        start: position at the beginning, in [0, total].
        counted: True if the length is in ``unit``.
        note: description of the current step.
        done: current position, in [0, total].
        things: number of things completed since the beginning.
        over: True once the task has ended.
        printed: time of the last printed line.
    """

    title: str
    clock: Callable[[], float]
    total: float | None = None
    unit: str = ""
    start: float = 0.0
    counted: bool = True
    note: str = ""
    done: float = field(init=False)
    things: float = 0.0
    over: bool = field(init=False, default=False)
    began: float = field(init=False)
    printed: float = field(init=False)

    def __post_init__(self) -> None:
        self.done = self.start
        self.began = self.printed = self.clock()

    def move_to(self, done: float, things: float, note: str = "") -> None:
        """Set the position (of the total), the number of completed things, and the note."""
        self.done, self.things, self.note = done, things, note

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self.clock() - self.began

    def text(self, short: bool = False) -> str:
        """Return the state as text, without the title; ``short`` for a row with a drawn bar."""
        things, elapsed = int(self.things), self.elapsed
        if self.total is None:
            return ", ".join(filter(None, [f"{_duration(elapsed)} so far", self.note]))
        count = f"{things:,} {self.unit}"
        if self.counted:
            between = "/" if short else " of "
            count = f"{int(self.done):,}{between}{int(self.total):,} {self.unit}"
        share = min(max(self.done / self.total, 0.0), 1.0) if self.total > 0 else 0.0
        parts = [count, f"{math.floor(share * 100)}%"]
        if elapsed >= SOON:
            if self.things > 0:
                rate = self.things / elapsed
                parts.append(f"{rate:,.{0 if rate >= 100 else 1}f}{'' if short else ' ' + self.unit}/s")
            moved, rest = self.done - self.start, self.total - self.done
            if self.over or rest <= 0:
                parts.append(f"in {_duration(elapsed)}")
            elif moved > 0:
                # At the pace so far.
                parts.append(f"about {_duration(elapsed * rest / moved)} left")
        return (" " if short else ", ").join(filter(None, [*parts, self.note]))


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{max(whole, 1)} s"
    if whole < 3600:
        return f"{round(whole / 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class OnTerminal:
    """Progress rows in the last lines of a terminal."""

    def __init__(self, rows: Callable[[], Sequence[Task]], console: "Console") -> None:
        """Draw rows until :meth:`close`.

        Args:
            rows: returns the tasks to draw now, from top to bottom.
        """
        from rich.live import Live

        self._rows, self._console = rows, console
        self._above: list[_StreamAbove] = []
        self._live: Live = Live(
            get_renderable=self._draw,
            console=console,
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._streams: dict[str, TextIO] = {"stderr": sys.stderr}
        # A closed stream is no terminal.
        with contextlib.suppress(ValueError):
            if sys.stdout.isatty():
                self._streams["stdout"] = sys.stdout
        self._live.start()
        for name, stream in self._streams.items():
            self._above.append(_StreamAbove(console, stream))
            setattr(sys, name, self._above[-1])

    def keep(self, bar: Task) -> None:
        """Print a finished bar above the rows."""
        self._console.print(self.table([bar]))

    def close(self) -> None:
        """Stop drawing, and restore the terminal's streams."""
        for name, stream in self._streams.items():
            proxy = getattr(sys, name)
            # Other code may have replaced the stream in the meantime.
            if isinstance(proxy, _StreamAbove):
                proxy.end()
                setattr(sys, name, stream)
        self._live.stop()

    def _draw(self) -> "RenderableType":
        from rich.console import Group

        half_lines = [stream.half_line(self._console.width - _ECHO) for stream in self._above if stream.half]
        return Group(self.table(self._rows()), *half_lines)

    def table(self, tasks: Sequence[Task]) -> "RenderableType":
        """Return the rows of tasks, narrower than the terminal."""
        from rich.constrain import Constrain
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column
        from rich.text import Text

        room = self._console.width - _ECHO
        progress = Progress(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            BarColumn(None, table_column=Column(max_width=_MOST_BAR)),
            TextColumn("{task.fields[state]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=self._console,
        )
        for task in tasks:
            title, state = Text(visible(task.title)), Text(visible(task.text(short=True)))
            # The bar shrinks first, then the title, then the state.
            title.truncate(max(room - state.cell_len - _LEAST_BAR - 2, _LEAST_TITLE), overflow="ellipsis")
            state.truncate(max(room - title.cell_len - 2, 0), overflow="ellipsis")
            progress.add_task(title.plain, total=task.total, completed=int(task.done), state=state.plain)
        return Constrain(progress.get_renderable(), room)


class _StreamAbove(io.TextIOBase):
    """A terminal's stream whose lines are printed above the rows.

    An unfinished line, such as the bar of another library, is drawn below the rows until it ends.
    """

    def __init__(self, console: "Console", stream: TextIO) -> None:
        self._console, self._stream = console, stream
        self.half = ""

    # Without these two, click would write to the terminal itself, over the rows.
    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return self._stream.errors or "strict"

    @property
    def rich_proxied_file(self) -> TextIO:
        """Original stream, for consoles of rich."""
        return self._stream

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() takes text, not {type(text).__name__}")
        *lines, half = (self.half + text).split("\n")
        # A carriage return overwrites the line.
        self.half = half.rstrip("\r").rpartition("\r")[2]
        for line in lines:
            self._print(line.rstrip("\r").rpartition("\r")[2])
        return len(text)

    def half_line(self, width: int) -> "Text":
        """Return the unfinished line, truncated to a number of columns."""
        from rich.text import Text

        line = Text.from_ansi(self.half, no_wrap=True)
        line.truncate(width, overflow="ellipsis")
        return line

    def end(self) -> None:
        """Print the unfinished line."""
        if self.half:
            self._print(self.half)
            self.half = ""

    def _print(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text.from_ansi(line), soft_wrap=True)


class _InLines:
    """A printed line for each task, twice a minute."""

    def __init__(self, waits: list[Task]) -> None:
        self._waits = waits
        self._over = threading.Event()
        self._writing = threading.Lock()
        threading.Thread(target=self._run, name="kgprobe-progress", daemon=True).start()

    def _run(self) -> None:
        while not self._over.wait(min(LINE_SECONDS, 1.0)):
            self.print_due()

    def print_due(self) -> None:
        with self._writing:
            for wait in _informative(self._waits):
                now = wait.clock()
                if not self._over.is_set() and now - wait.printed >= LINE_SECONDS:
                    wait.printed = now
                    # Stderr may be closed.
                    with contextlib.suppress(OSError, ValueError):
                        print_message(f"{wait.title}: {wait.text()}")

    def close(self) -> None:
        self._over.set()


class Display:
    """The current tasks, innermost last, and the place where they are shown."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.RLock()
        self._waits: list[Task] = []
        self._place: OnTerminal | _InLines | None = None

    @contextmanager
    def showing(self, wait: Task) -> Iterator[None]:
        """Show a task until the context ends."""
        with self._lock:
            self._waits.append(wait)
            if self._place is None:
                # From Python 3.12 on, no thread can start while the interpreter ends: then nothing is shown.
                with contextlib.suppress(RuntimeError):
                    self._place = _open_place(self._waits)
        try:
            yield
        finally:
            with self._lock:
                self._waits.remove(wait)
                wait.over = True
                for outer in self._waits:
                    # A printed line of the inner task counts as one of the outer wait.
                    if outer.total is None and wait.printed > wait.began:
                        outer.printed = max(outer.printed, wait.printed)
                if isinstance(self._place, OnTerminal) and wait.total is not None:
                    self._place.keep(wait)
                if self._place is not None and not self._waits:
                    self._place.close()
                    self._place = None

    def print_due(self) -> None:
        """Print the lines that are due, without a terminal; a thread does this every second."""
        if isinstance(self._place, _InLines):
            self._place.print_due()


def _open_place(waits: list[Task]) -> "OnTerminal | _InLines":
    from rich.console import Console

    console = Console(file=sys.stderr)
    if not console.is_terminal:
        return _InLines(waits)
    # A bar is drawn from the beginning, a wait once it has lasted.
    return OnTerminal(
        lambda: [wait for wait in _informative(waits) if wait.total is not None or wait.elapsed >= SOON], console
    )


def _informative(waits: list[Task]) -> list[Task]:
    """Return the bars and the innermost wait; an outer wait only waits for the inner task."""
    present = list(waits)
    return [wait for wait in present if wait.total is not None or wait is present[-1]]


DISPLAY = Display()


@contextmanager
def progress_bar(title: str, total: float, unit: str, start: float = 0, *, counted: bool = True) -> Iterator[Task]:
    """Show a bar from ``start`` to ``total`` with the number of things done, the rate and the time left."""
    bar = Task(title, DISPLAY.clock, total=total, unit=unit, start=start, counted=counted)
    with DISPLAY.showing(bar):
        yield bar


@contextmanager
def waiting(title: str) -> Iterator[Task]:
    """Show the elapsed time of a task of unknown length."""
    wait = Task(title, DISPLAY.clock)
    with DISPLAY.showing(wait):
        yield wait


@dataclass(slots=True)
class _Shares:
    listener: Callable[[float], None]
    latest: float = 0.0


_current_shares: ContextVar[_Shares | None] = ContextVar("_current_shares", default=None)


@contextmanager
def hearing_shares(listener: Callable[[float], None]) -> Iterator[None]:
    """Call a listener with the completed share of the work inside the context.

    Args:
        listener: called with a share in [0, 1] that never falls, by the counters of :func:`share_counter`.
    """
    before = _current_shares.set(_Shares(listener))
    try:
        yield
    finally:
        _current_shares.reset(before)


def share_counter(total: int, until: float = 1.0) -> Callable[[int], None]:
    """Return a counter that reports the completed share to the listener of :func:`hearing_shares`.

    Args:
        total: number of things.
        until: completed share after the last of them; the counter begins at the latest reported share.

    Returns:
        Function to call with the number of things done since its last call.
    """
    shares, done = _current_shares.get(), 0
    first = shares.latest if shares is not None else 0.0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if shares is not None and total > 0:
            share = min(first + (until - first) * done / total, 1.0)
            if share > shares.latest:
                shares.latest = share
                shares.listener(share)

    return count


def print_message(message: str) -> None:
    """Print one line to stderr; stdout is for data."""
    sys.stderr.write(f"{visible_lines(message)}\n")
    sys.stderr.flush()
