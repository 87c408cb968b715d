"""Waits on a graph's server end when it answers nobody any more, however long a query may take.

The driver waits for an answer without an end, since a query may take hours, and a process that was stopped keeps its
connections. So while one waits, a thread asks the server now and then whether it takes new connections; where it does
not, time and again, the connections are cut, and whoever waits gets the driver's error.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Seconds. All in all a wait ends well within a minute, the driver's own further attempts included.
FIRST_LOOK = 5.0
LOOK_AGAIN = 3.0
PATIENCE = 8.0
FAILED_LOOKS = 2

_TICK = 0.5
# After so long without a wait the thread ends; the next wait begins another.
_IDLE_SECONDS = 10.0


class Watchdog:
    """Looks after one driver's connections.

    Attributes:
        has_cut: whether it has ended them.
    """

    def __init__(self, answers: Callable[[], bool], cut: Callable[[], None]) -> None:
        """Watch nothing yet.

        Args:
            answers: whether the server takes a new connection; it may take as long as it likes.
            cut: ends all connections; called once at most.
        """
        self.has_cut = False
        self._answers = answers
        self._cut = cut
        self._lock = threading.Lock()
        self._waits = 0
        # When the number of waits last became 1, or 0.
        self._since = 0.0
        self._watching = False

    @contextmanager
    def wait(self) -> Iterator[None]:
        """What goes on within needs the server."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._lock:
            self._waits += more
            if self._waits == max(more, 0):
                self._since = time.monotonic()
            begins = self._waits > 0 and not self._watching and not self.has_cut
            self._watching = self._watching or begins
        if begins:
            threading.Thread(target=self._watch, name="kgprobe-watchdog", daemon=True).start()

    def _watch(self) -> None:
        failed = 0
        look_at = 0.0
        while not self._idle():
            time.sleep(_TICK)
            waiting, since = self._waits > 0, self._since
            if not waiting or time.monotonic() < max(since + FIRST_LOOK, look_at):
                continue
            failed = 0 if self._looks_alive() else failed + 1
            look_at = time.monotonic() + LOOK_AGAIN
            if failed == FAILED_LOOKS:
                self.has_cut = True
                self._cut()

    def _idle(self) -> bool:
        with self._lock:
            idle = not self._waits and time.monotonic() > self._since + _IDLE_SECONDS
            self._watching = not idle and not self.has_cut
            return not self._watching

    def _looks_alive(self) -> bool:
        alive: list[bool] = []
        # In a thread of its own, since a look may hang as well.
        look = threading.Thread(target=lambda: alive.append(self._answers()), name="kgprobe-look", daemon=True)
        look.start()
        look.join(PATIENCE)
        return alive == [True]
