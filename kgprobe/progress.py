"""Signs of life on stderr while something lasts: bars with a rate and an end, and waits with what they took last time.

On a terminal they are drawn in its last lines, and what others write meanwhile comes above them. Elsewhere, in a file
or a pipe, each is a plain line twice a minute. What is over sooner says nothing there.
"""

import contextlib
import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from kgprobe.drawing import OnTerminal
from kgprobe.errors import KgprobeError
from kgprobe.files import home, replacing
from kgprobe.sanitize import visible_lines

# Seconds between two lines where stderr is no terminal.
LINE_SECONDS = 30.0
# A wait that is over sooner is not shown; a rate of less says little.
SOON = 2.0

# What waits took last time, in seconds by their titles.
_DURATIONS = "durations.json"
_DURATIONS_KEPT = 200


@dataclass(slots=True)
class Wait:
    """Something that lasts, and of which nobody knows how long it will.

    Attributes:
        title: what it is.
        clock: seconds, from any beginning.
        usual: how many seconds it took last time; None if unknown.
        note: what is going on.
        over: whether it lasts no longer.
    """

    title: str
    clock: Callable[[], float]
    usual: float | None = None
    note: str = ""
    over: bool = field(init=False, default=False)
    began: float = field(init=False)
    told: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.told = self.clock()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return self.clock() - self.began

    @property
    def share(self) -> float | None:
        """How much of it is done; nobody knows."""
        return None

    def is_shown(self) -> bool:
        """Whether it has lasted long enough to be drawn."""
        return self.elapsed >= SOON

    def text(self, short: bool = False) -> str:  # noqa: ARG002
        """How it stands, without its title."""
        left = None if self.usual is None else self.usual - self.elapsed
        parts = [f"{_duration(self.elapsed)} so far"]
        if left is not None:
            parts.append(f"about {_duration(left)} left" if left >= 1 else "longer than last time")
        return ", ".join([*parts, *([self.note] if self.note else [])])


@dataclass(slots=True)
class Bar(Wait):
    """Something with a known end, which counts things, while its length may be of something else, such as bytes.

    Attributes:
        total: its length.
        unit: what is counted.
        start: where it began, of ``total``.
        counted: whether its length is in ``unit``.
        done: where it stands, of ``total``.
        things: how many things were done since it began.
    """

    total: float = 0.0
    unit: str = ""
    start: float = 0.0
    counted: bool = True
    done: float = field(init=False)
    things: float = 0.0

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is made anew, and is no longer the class that super() looks for.
        Wait.__post_init__(self)
        self.done = self.start

    def move_to(self, done: float, things: float, note: str = "") -> None:
        """Move on.

        Args:
            done: where the bar stands, of its total.
            things: how many things are done since it began.
            note: what is going on.
        """
        self.done, self.things, self.note = done, things, note

    @property
    def share(self) -> float:
        """How much of it is done, in [0, 1]."""
        return min(max(self.done / self.total, 0.0), 1.0) if self.total > 0 else 0.0

    def is_shown(self) -> bool:
        """Whether it is drawn: from the beginning."""
        return True

    def text(self, short: bool = False) -> str:
        """How it stands, without its title.

        Args:
            short: for a line that has a bar in it.
        """
        things, elapsed = int(self.things), self.elapsed
        count = f"{things:,} {self.unit}"
        if self.counted:
            between = "/" if short else " of "
            count = f"{int(self.done):,}{between}{int(self.total):,} {self.unit}"
        parts = [count, f"{math.floor(self.share * 100)}%"]
        if elapsed >= SOON and self.things > 0:
            rate = self.things / elapsed
            parts.append(f"{rate:,.{0 if rate >= 100 else 1}f}{'' if short else ' ' + self.unit}/s")
        left = self.seconds_left()
        if left is not None:
            parts.append(f"about {_duration(left)} left")
        elif (self.over or self.done >= self.total) and elapsed >= SOON:
            parts.append(f"in {_duration(elapsed)}")
        return (" " if short else ", ").join([*parts, *([self.note] if self.note else [])])

    def seconds_left(self) -> float | None:
        """What the rest takes at the pace so far; None where that says nothing yet, or nothing is left."""
        moved, rest = self.done - self.start, self.total - self.done
        known = moved > 0 and rest > 0 and self.elapsed >= SOON and not self.over
        return self.elapsed * rest / moved if known else None


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{max(whole, 1)} s"
    if whole < 3600:
        return f"{round(whole / 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Display:
    """What lasts at present, innermost last, and where it is shown."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, line_seconds: float | None = None) -> None:
        """Nothing lasts yet.

        Args:
            clock: seconds, from any beginning.
            line_seconds: between two lines where there is no terminal; None for ``LINE_SECONDS``.
        """
        self.clock = clock
        self._line_seconds = line_seconds
        self._lock = threading.RLock()
        self._waits: list[Wait] = []
        self._shown: OnTerminal | _InLines | None = None

    @contextmanager
    def showing(self, wait: Wait) -> Iterator[None]:
        """Show something as long as it lasts."""
        with self._lock:
            self._waits.append(wait)
            if self._shown is None:
                seconds = LINE_SECONDS if self._line_seconds is None else self._line_seconds
                # From Python 3.12 on, an interpreter that ends starts no threads: then nothing is shown.
                with contextlib.suppress(RuntimeError):
                    self._shown = _shown(self._waits, seconds)
        try:
            yield
        finally:
            with self._lock:
                self._waits.remove(wait)
                wait.over = True
                for outer in self._waits:
                    # A line about what it waited for was one about itself.
                    if not isinstance(outer, Bar) and wait.told > wait.began:
                        outer.told = max(outer.told, wait.told)
                shown = self._shown
                if shown is not None and isinstance(wait, Bar):
                    shown.keep(wait)
                if shown is not None and not self._waits:
                    shown.close()
                    self._shown = None

    def tell_due(self) -> None:
        """Write the lines that are due, where there is no terminal; called by itself now and then."""
        if isinstance(self._shown, _InLines):
            self._shown.tell_due()


def _shown(waits: list[Wait], line_seconds: float) -> "OnTerminal | _InLines":
    from rich.console import Console

    console = Console(file=sys.stderr)
    if not console.is_terminal:
        return _InLines(waits, line_seconds)
    return OnTerminal(lambda: [wait for wait in _telling(waits) if wait.is_shown()], console)


def _telling(waits: list[Wait]) -> list[Wait]:
    """Those that have something to say: what waits for something else that lasts, and counts nothing, has not."""
    present = list(waits)
    return [wait for wait in present if isinstance(wait, Bar) or wait is present[-1]]


class _InLines:
    """A line for everything that lasts, twice a minute."""

    def __init__(self, waits: list[Wait], seconds: float) -> None:
        self._waits, self._seconds = waits, seconds
        self._over = threading.Event()
        self._writing = threading.Lock()
        threading.Thread(target=self._run, name="kgprobe-progress", daemon=True).start()

    def _run(self) -> None:
        while not self._over.wait(min(self._seconds, 1.0)):
            self.tell_due()

    def tell_due(self) -> None:
        with self._writing:
            for wait in _telling(self._waits):
                now = wait.clock()
                if not self._over.is_set() and now - wait.told >= self._seconds:
                    wait.told = now
                    # Whoever closed stderr wants no lines, and a thread has nobody to tell so.
                    with contextlib.suppress(OSError, ValueError):
                        tell(f"{wait.title}: {wait.text()}")

    def keep(self, bar: Bar) -> None:
        """Nothing of a bar stays: what came of it is told by others."""

    def close(self) -> None:
        self._over.set()


DISPLAY = Display()


@contextmanager
def progress_bar(title: str, total: float, unit: str, start: float = 0, *, counted: bool = True) -> Iterator[Bar]:
    """A bar that goes from ``start`` to ``total`` and says how many things are done, how fast, and when it will end.

    Args:
        unit: what is counted.
        counted: whether ``total`` is in that unit.
    """
    bar = Bar(title, DISPLAY.clock, total=total, unit=unit, start=start, counted=counted)
    with DISPLAY.showing(bar):
        yield bar


@contextmanager
def waiting(title: str, *, remembered: bool = False) -> Iterator[Wait]:
    """A sign of life for something without a known end: how long it has lasted.

    Args:
        remembered: whether it takes about as long each time: how long it took is kept in kgprobe's folder, and tells
            the next time how much is left.
    """
    wait = Wait(title, DISPLAY.clock, _durations().get(title) if remembered else None)
    with DISPLAY.showing(wait):
        yield wait
    if remembered and wait.elapsed >= SOON:
        _remember(title, wait.elapsed)


def _durations() -> dict[str, float]:
    try:
        kept = json.loads((home() / _DURATIONS).read_bytes())
    except (OSError, ValueError, RecursionError, KgprobeError):
        return {}
    if not isinstance(kept, dict):
        return {}
    return {title: float(seconds) for title, seconds in kept.items() if isinstance(seconds, (int, float))}


def _remember(title: str, seconds: float) -> None:
    durations = {name: its for name, its in _durations().items() if name != title} | {title: round(seconds, 1)}
    # It is no more than a courtesy: where nothing can be written, nothing is.
    with contextlib.suppress(OSError, KgprobeError):
        if home().is_dir():
            with replacing(home() / _DURATIONS) as unfinished:
                unfinished.write_text(json.dumps(dict(list(durations.items())[-_DURATIONS_KEPT:])), encoding="utf-8")


@dataclass(slots=True)
class _Shares:
    listener: Callable[[float], None]
    told: float = 0.0


_heard: ContextVar[_Shares | None] = ContextVar("_heard", default=None)


@contextmanager
def hearing_shares(listener: Callable[[float], None]) -> Iterator[None]:
    """Hear how much of what is done within is done.

    Args:
        listener: called with a share in [0, 1] that never falls, by whoever uses :func:`share_counter`.
    """
    before = _heard.set(_Shares(listener))
    try:
        yield
    finally:
        _heard.reset(before)


def share_counter(total: int, until: float = 1.0) -> Callable[[int], None]:
    """Count things, and tell whoever hears it which share of the whole they are.

    Args:
        total: how many there are.
        until: the share of the whole that is done with the last of them; it begins where the last counter stood.

    Returns:
        called with the number of things done since the last call.
    """
    shares, done = _heard.get(), 0
    first = shares.told if shares is not None else 0.0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if shares is not None and total > 0:
            share = min(first + (until - first) * done / total, 1.0)
            if share > shares.told:
                shares.told = share
                shares.listener(share)

    return count


def tell(message: str) -> None:
    """Write one line to stderr, where messages go; stdout belongs to data."""
    sys.stderr.write(f"{visible_lines(message)}\n")
    sys.stderr.flush()
