"""Handling of Ctrl-C, SIGTERM and SIGHUP so that graphs are closed first."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

from kgprobe.base.progress import print_message

# Requests to end the process; Windows has no SIGHUP.
_REQUESTS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextlib.contextmanager
def undisturbed(message: str) -> Iterator[None]:
    """Delay Ctrl-C, SIGTERM and SIGHUP until the end of a short context that must not be interrupted.

    The first signal is raised again afterwards, unless an exception is being handled that ends the program anyway.
    Nothing changes outside of the main thread, which receives no signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def note(number: int, _: object) -> None:
        if not received:
            print_message(message)
        received.append(number)

    ending = sys.exc_info()[0] is not None
    before = {}
    for number in (signal.SIGINT, *_REQUESTS):
        # A handler that was not set from Python cannot be restored.
        if signal.getsignal(number) is not None:
            before[number] = signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received and not ending:
        signal.raise_signal(received[0])


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Make SIGTERM and SIGHUP end this process as ``sys.exit`` does, so that graphs are closed.

    This is for programs, such as the command line; the library itself sets no handlers. Handlers of other code are
    not replaced. Outside of the main thread, where handlers cannot be set, nothing changes.
    """

    def leave(number: int, _: object) -> None:
        sys.exit(128 + number)

    in_main = threading.current_thread() is threading.main_thread()
    ours = [number for number in _REQUESTS if in_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) is leave:
                signal.signal(number, signal.SIG_DFL)
