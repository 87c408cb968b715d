"""Asking ahead: while the device computes for one batch, the next one is drawn and put into sentences.

Each batch is asked in a thread of its own. Its computations (:func:`kgprobe.models.computing.in_turn`) run in the
calling thread, in the order of the batches, so a model gets the same calls as without a batch ahead. Only one batch is
drawn at a time: a lock is free only during a computation. A computation also prepares its arrays on the host; what it
shares with drawing, the cache of tokens, has a lock of its own.

A batch that computes nothing, such as one behind an API, is asked after the one before it.
"""

import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from kgprobe.models.computing import COMPUTER

T = TypeVar("T")


class _AbandonedError(BaseException):
    """Error: the batch is not asked any more. No probe catches it."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A computation, and its result for the thread that waits for it."""

    compute: Callable[[], Any]
    computed: "Future[Any]"

    def run(self) -> None:
        try:
            result = self.compute()
        except Exception as error:
            self.computed.set_exception(error)
        except BaseException:
            self.computed.set_exception(_AbandonedError())
            raise
        else:
            self.computed.set_result(result)


class _Batch(Generic[T]):
    """A batch that is asked in its own thread; see :class:`kgprobe.models.computing.Computer`."""

    def __init__(self, ask: Callable[[], T], host: threading.Lock) -> None:
        """Begin to ask it, as soon as the host is free."""
        self._host = host
        self._caller = threading.get_ident()
        self._events: SimpleQueue[_Call | Callable[[], None] | None] = SimpleQueue()
        self._result: Future[T] = Future()
        self._has_turn = self._abandoned = False
        # With the caller's listeners to progress.
        run = copy_context().run
        threading.Thread(target=run, args=(self._ask, ask), name="kgprobe-ahead", daemon=True).start()

    def _ask(self, ask: Callable[[], T]) -> None:
        COMPUTER.set(self)
        with self._host:
            try:
                self._result.set_result(ask())
            except BaseException as error:
                self._result.set_exception(error)
        self._events.put(None)

    def compute(self, call: Callable[[], Any]) -> Any:
        """Return the result of a computation, in the calling thread at this batch's turn."""
        computed: Future[Any] = Future()
        self._host.release()
        try:
            if self._abandoned:
                raise _AbandonedError
            self._events.put(_Call(call, computed))
            return computed.result()
        finally:
            self._host.acquire()

    def report(self, call: Callable[[], None]) -> None:
        """Call a function in the calling thread, if it is this batch's turn."""
        if threading.get_ident() == self._caller:
            call()
        elif self._has_turn:
            self._events.put(call)

    def calls(self) -> Iterator[_Call]:
        """Yield the computations until the batch has its result."""
        self._has_turn = True
        while (event := self._events.get()) is not None:
            if isinstance(event, _Call):
                yield event
            else:
                event()

    def result(self) -> T:
        """Return the result, or raise the error, after all computations."""
        return self._result.result()

    def abandon(self, *, wait: bool) -> None:
        """End the thread at its next computation; ``wait`` until then."""
        self._abandoned = True
        while not self._result.done():
            if not wait and self._events.empty():
                return
            event = self._events.get()
            if isinstance(event, _Call):
                event.computed.set_exception(_AbandonedError())


def ask_ahead(next_ask: Callable[[], Callable[[], T] | None], *, ahead: bool) -> Generator[T]:
    """Yield the results of asking batches, in their order; close it after an error of the caller.

    Args:
        next_ask: returns the function that asks the next batch; None if there is none at present.
        ahead: False to ask each batch in this thread, after the caller has got the result of the one before it.

    An error of a batch is raised when its result is due. At the end, the thread of a batch ahead has ended too, except
    after Ctrl-C.
    """
    if not ahead:
        while (ask := next_ask()) is not None:
            yield ask()
        return
    host = threading.Lock()

    def begin() -> _Batch[T] | None:
        ask = next_ask()
        return None if ask is None else _Batch(ask, host)

    current, following = begin(), None
    try:
        while current is not None:
            for call in current.calls():
                following = following or begin()
                call.run()
            result = current.result()
            current, following = following, None
            yield result
            current = current or begin()
    except BaseException as error:
        for batch in filter(None, (current, following)):
            batch.abandon(wait=not isinstance(error, (KeyboardInterrupt, SystemExit)))
        raise
