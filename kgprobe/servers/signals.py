"""Requests to end, and terminals that close, taken in order: what is open is closed first."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end this process as ``sys.exit`` does, so that graphs in use give their leases back.

    For programs, as the command line and the benchmarks are: the library sets no handler by itself. Handlers that
    somebody else has set stay, here and afterwards; outside of the main thread nothing is set, since nothing can be.
    """

    def leave(number: int, _: object) -> None:
        sys.exit(128 + number)

    in_main = threading.current_thread() is threading.main_thread()
    requests = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [number for number in requests if in_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) is leave:
                signal.signal(number, signal.SIG_DFL)
