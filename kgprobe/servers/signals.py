"""Requests to end, and terminals that close, taken in order: what is open is closed first."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

from kgprobe.progress import tell


@contextlib.contextmanager
def undisturbed(message: str) -> Iterator[None]:
    """Let Ctrl-C and requests to end wait until something short has been done that must not be left half done.

    Args:
        message: told to whoever asks.

    What came in between is acted on afterwards, unless an exception is on its way that ends the program anyway.
    Outside of the main thread nothing changes: signals do not come there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, _: object) -> None:
        if not came:
            tell(message)
        came.append(number)

    ending = sys.exc_info()[0] is not None
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # A handler that Python has not set cannot be set again.
    before = {number: handler for number in numbers if (handler := signal.getsignal(number)) is not None}
    for number in before:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came and not ending:
        signal.raise_signal(came[0])


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
