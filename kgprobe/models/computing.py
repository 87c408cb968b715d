"""Computations of models: the thread that runs them, and the share of the time in which the device waits for the host.

A computation lasts from its first operation until its results are on the host, or, where nothing waits for them, until
its operations are queued. So on a GPU the waiting includes the time between a queued prefix and the batch after it.
Waits for vLLM and for Ray workers count as computing; models behind an API do not.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Computer(Protocol):
    """The computations of a batch that is asked in another thread than the one that computes."""

    def compute(self, call: Callable[[], Any]) -> Any:
        """Return the result of a computation in the thread that computes, at the batch's turn."""

    def report(self, call: Callable[[], None]) -> None:
        """Report progress in the thread that computes, if it is the batch's turn."""


# Of the current thread; None to compute in it.
COMPUTER: ContextVar[Computer | None] = ContextVar("COMPUTER", default=None)


def in_turn(compute: Callable[P, T]) -> Callable[P, T]:
    """Return a function that computes in the thread that computes, see :mod:`kgprobe.running.ahead`."""

    @wraps(compute)
    def sent(*args: P.args, **kwargs: P.kwargs) -> T:
        computer = COMPUTER.get()
        if computer is None:
            return compute(*args, **kwargs)
        result: T = computer.compute(partial(compute, *args, **kwargs))
        return result

    return sent


def reported_in_turn(listener: Callable[[float], None]) -> Callable[[float], None]:
    """Return a listener to the progress of a batch, which is called in the thread that computes."""
    computer = COMPUTER.get()
    return listener if computer is None else lambda share: computer.report(partial(listener, share))


@dataclass(slots=True)
class _Computing:
    """Seconds of computation of this process so far, and the number of computations in progress."""

    seconds: float = 0.0
    nested: int = 0


_computing = _Computing()


@dataclass(slots=True)
class DeviceTime:
    """Time of asking.

    Attributes:
        seconds: duration so far.
        computed: seconds in which a model computed.
    """

    seconds: float = 0.0
    computed: float = 0.0

    @property
    def waited(self) -> float | None:
        """Share of the time in which the device waited, in [0, 1]; None if no model of this process computed."""
        return round(max(0.0, 1 - self.computed / self.seconds), 3) if self.computed else None


# The asking of this process so far.
ALL_ASKING = DeviceTime()


@contextmanager
def computing() -> Iterator[None]:
    """Count the time inside the context as computing, once where contexts are nested."""
    _computing.nested += 1
    began = time.perf_counter()
    try:
        yield
    finally:
        _computing.nested -= 1
        if not _computing.nested:
            _computing.seconds += time.perf_counter() - began


@contextmanager
def timing_the_device() -> Iterator[DeviceTime]:
    """Yield the time of the asking inside the context; it is complete at the end of the context."""
    own, began, before = DeviceTime(), time.perf_counter(), _computing.seconds
    try:
        yield own
    finally:
        own.seconds, own.computed = time.perf_counter() - began, _computing.seconds - before
        ALL_ASKING.seconds += own.seconds
        ALL_ASKING.computed += own.computed
