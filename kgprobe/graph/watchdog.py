"""End waits for a graph's server that no longer answers, without limiting the time of queries.

The driver waits for an answer without limit, since a query may take hours, and a stopped process keeps its connections.
During a wait, a thread checks regularly whether the server accepts new connections. After repeated failures it closes
the connections, and the waiting call raises the driver's error.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Seconds. A wait ends within a minute, including the driver's retries.
FIRST_LOOK = 5.0
LOOK_AGAIN = 3.0
PATIENCE = 8.0
FAILED_LOOKS = 2

_TICK = 0.5
# The thread ends after this time without a wait; the next wait starts another.
_IDLE_SECONDS = 10.0


class Watchdog:
    """Watchdog of one driver's connections.

    Attributes:
        has_cut: True once it has closed them.
    """

    def __init__(self, answers: Callable[[], bool], cut: Callable[[], None]) -> None:
        """Create a watchdog; it watches during :meth:`wait`.

        Args:
            answers: returns True if the server accepts a new connection; may take any time.
            cut: closes all connections; called at most once.
        """
        self.has_cut = False
        self._answers = answers
        self._cut = cut
        self._lock = threading.Lock()
        self._waits = 0
        # Time at which the number of waits last became 1 or 0.
        self._since = 0.0
        self._watching = False

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Watch the server inside the context."""
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
        # In a thread, because the check may hang as well.
        look = threading.Thread(target=lambda: alive.append(self._answers()), name="kgprobe-look", daemon=True)
        look.start()
        look.join(PATIENCE)
        return alive == [True]
