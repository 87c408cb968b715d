"""Requests to one server at once: turns, repetitions, common waits, and the budget that none may pass.

Many requests are under way at once, up to a limit. One that fails is repeated after an exponential back-off with full
jitter, up to a number of attempts; one that is told to wait (429) makes all of them wait, for as long as the server
says, and does not count as failed as long as others get their answers. An empty answer is repeated like a failure.
"""

import asyncio
import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

import httpx2
import openai

from kgprobe.errors import KgprobeError
from kgprobe.models.api.address import Address
from kgprobe.models.api.faults import Declined, Fault, classify_error
from kgprobe.models.api.options import ApiOptions
from kgprobe.models.api.spending import BudgetSpentError, Reservation, Spending
from kgprobe.models.api.transport import NO_COMPRESSION, careful_client
from kgprobe.models.generating.generator import Answer, Unanswered
from kgprobe.waiting import LONGEST_ASKED_WAIT, back_off

# Seconds of the first back-off.
_FIRST_WAIT = 0.5
# After a common wait, requests do not all come in the same instant.
_SPREAD = 0.1

Asked = TypeVar("Asked")
AskedOf = TypeVar("AskedOf", contravariant=True)


class Form(Protocol[AskedOf]):
    """How requests of one kind are sent, and their answers read.

    Attributes:
        dispensable: whether a server need not know of them: then a path that it does not have is no fault of an
            address, and leaves a request unanswered.
        may_be_empty: whether an answer without a text is one.
        needs: what a server has to offer for them, as a sentence; empty where that goes without saying.
    """

    @property
    def dispensable(self) -> bool:
        """See the attributes."""

    @property
    def may_be_empty(self) -> bool:
        """See the attributes."""

    @property
    def needs(self) -> str:
        """See the attributes."""

    def path(self) -> str:
        """Where they are sent: relative to the server's address, or a whole URL on the same server."""

    def body(self, request: AskedOf) -> dict[str, Any] | None:
        """What is sent as JSON; None only asks."""

    def size(self, request: AskedOf) -> tuple[int, int]:
        """The most tokens that a request and its answer can have."""

    def adapt(self, parameter: str) -> bool:
        """Do without a parameter that the server declines from now on; False where there is no way to."""

    def read(self, content: bytes, request: AskedOf) -> Answer | Fault:
        """The answer, or what is wrong with it and may be right the next time.

        Raises:
            KgprobeError: nothing that this server says can be used.
        """


class Session(Generic[Asked]):
    """Requests being asked in one event loop."""

    def __init__(
        self,
        address: Address,
        options: ApiOptions,
        form: Form[Asked],
        spending: Spending,
        *,
        waiting: deque[Asked],
        done: Callable[[Asked, Answer | Unanswered], None],
        asked: int,
    ) -> None:
        """Sends nothing yet.

        Args:
            form: of the requests; learns what the model does not take.
            spending: with an account of this model.
            waiting: what is to be asked; taken from it one by one.
            done: called with each request that has its answer, or none for good.
            asked: how many requests there are, with those that need not be sent.
        """
        self._address = address
        self._options = options
        self._form = form
        self._spending = spending
        self._usage = spending.usage[address.name]
        self._waiting = waiting
        self._done = done
        self._asked = asked
        # Not yet done: those that wait, and those that are under way.
        self._open = len(waiting)
        self._answers = 0
        # Why no further request is sent.
        self._reason: KgprobeError | None = None
        self._stopped = asyncio.Event()
        self._settled = asyncio.Event()
        # When requests may be sent again after a common wait, and when that began, in the loop's time.
        self._free_at = 0.0
        self._limited_at = -1.0
        self._limited_in_a_row = 0

    async def ask(self) -> None:
        """Ask all, with several at once.

        Raises:
            KgprobeError: see :meth:`.asking.Asker.ask`.
        """
        async with self._client() as client:
            size = min(self._options.concurrency, len(self._waiting))
            workers = [asyncio.create_task(self._work(client)) for _ in range(size)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        if self._reason is not None:
            raise self._reason

    def _client(self) -> openai.AsyncOpenAI:
        with _openai_environment(self._address.is_openai):
            return openai.AsyncOpenAI(
                # The client wants one in any case; an empty one is no key.
                api_key=self._address.key or "none",
                base_url=self._address.url,
                timeout=self._options.timeout,
                max_retries=0,
                default_headers=NO_COMPRESSION,
                http_client=careful_client(),
            )

    async def _work(self, client: openai.AsyncOpenAI) -> None:
        while self._waiting and self._reason is None:
            request = self._waiting.popleft()
            answer = await self._answer(client, request)
            if answer is None:
                return
            self._open -= 1
            self._answers += isinstance(answer, Answer)
            self._done(request, answer)

    async def _answer(self, client: openai.AsyncOpenAI, request: Asked) -> Answer | Unanswered | None:
        """The answer to a request after as many attempts as that takes; None where it was stopped before."""
        failed = sent = 0
        answers = self._answers
        while True:
            await self._take_turn()
            reservation = await self._reserve(request)
            if reservation is None:
                return None
            self._usage.requests += 1
            self._usage.retries += sent > 0
            sent += 1
            clock = asyncio.get_running_loop().time()
            body = self._form.body(request)
            result = await self._attempt(client, request, body, reservation)
            if isinstance(result, Answer):
                self._limited_in_a_row = 0
                if result.text or result.refused or not result.ended or self._form.may_be_empty:
                    return result
                fault = Fault("the answer was empty")
            elif isinstance(result, Declined):
                if body and result.parameter in body and self._form.adapt(result.parameter):
                    continue
                if not result.fatal or (result.missing and self._form.dispensable):
                    return Unanswered(self._address.without_key(result.reason))
                self._stop(KgprobeError(self._fatal_message(result)))
                return None
            else:
                fault = result
            if fault.wait is not None and fault.wait > LONGEST_ASKED_WAIT:
                self._stop(KgprobeError(f"{self._address.name} asks to be left alone for {fault.wait:,.0f} seconds."))
                return None
            # Who stands in a line that moves has not failed.
            failed += not (fault.limited and self._answers > answers)
            answers = self._answers
            if failed >= self._options.attempts:
                return self._given_up(result, fault, sent)
            await self._back_off(fault, failed, clock)
            if self._reason is not None:
                return None

    def _given_up(self, result: Answer | Fault, fault: Fault, sent: int) -> Answer | Unanswered | None:
        if isinstance(result, Answer):
            return result
        reason = f"{self._address.without_key(fault.reason)} ({sent} attempts)"
        if not fault.reached and not fault.limited and not self._answers:
            self._stop(KgprobeError(f"{self._address.name} cannot be reached: {reason}. Is {self._address.url} right?"))
            return None
        return Unanswered(reason)

    async def _attempt(
        self, client: openai.AsyncOpenAI, request: Asked, body: dict[str, Any] | None, reservation: Reservation
    ) -> Answer | Fault | Declined:
        """Send a request once, and settle what it cost."""
        # Until something else is known.
        result: Answer | Fault | Declined = Fault("it was given up before the answer came")
        try:
            response = await asyncio.wait_for(self._send(client, body), self._options.timeout)
            result = self._form.read(response.content, request)
        # They are two classes before Python 3.11.
        except (asyncio.TimeoutError, TimeoutError):
            result = Fault(f"the server did not answer within {self._options.timeout:g} seconds")
        except openai.APIError as error:
            result = classify_error(error, time.time())
        except KgprobeError as error:
            self._stop(error)
        finally:
            if isinstance(result, Answer):
                self._spending.settle(reservation, result.prompt_tokens, result.completion_tokens)
            elif isinstance(result, Fault) and result.reached:
                self._spending.leave_unsettled(reservation)
            else:
                self._spending.settle(reservation, 0, 0)
            self._settled.set()
        return result

    async def _send(self, client: openai.AsyncOpenAI, body: dict[str, Any] | None) -> httpx2.Response:
        path = self._form.path()
        if body is None:
            return await client.get(path, cast_to=httpx2.Response)
        return await client.post(path, cast_to=httpx2.Response, body=body)

    async def _take_turn(self) -> None:
        """Wait as long as all have to."""
        loop = asyncio.get_running_loop()
        while self._reason is None and (wait := self._free_at - loop.time()) > 0:
            await self._sleep(wait + random.uniform(0, _SPREAD * wait))  # noqa: S311

    async def _reserve(self, request: Asked) -> Reservation | None:
        """Set aside what a request can cost, as soon as the budget holds it; None where it never will."""
        reservation = Reservation(
            self._address.name,
            self._options.prices,
            *self._form.size(request),
        )
        while self._reason is None:
            if self._spending.reserve(reservation):
                return reservation
            if not self._spending.under_way:
                answered = self._asked - self._open
                self._stop(
                    BudgetSpentError(
                        f"The budget does not hold another request to {self._address.name}: {self._spending.describe()}"
                        f" are spent, and the next may take {reservation.tokens:,} tokens. {answered:,} of"
                        f" {self._asked:,} requests are done.",
                        answered,
                        self._asked,
                    )
                )
                break
            # What is under way mostly costs less than was set aside for it.
            self._settled.clear()
            await self._settled.wait()
        return None

    async def _back_off(self, fault: Fault, failed: int, sent_at: float) -> None:
        """Wait after a fault: alone, or where the server is asked too much, together with all others."""
        loop = asyncio.get_running_loop()
        if not fault.limited:
            await self._sleep(max(fault.wait or 0.0, back_off(failed - 1, _FIRST_WAIT)))
            return
        # Requests that were under way when a common wait began say nothing new with their own.
        fresh = sent_at >= self._limited_at
        if fresh:
            self._limited_in_a_row += 1
            self._limited_at = loop.time()
        if fresh or fault.wait is not None:
            wait = max(fault.wait or 0.0, back_off(self._limited_in_a_row - 1, _FIRST_WAIT) if fresh else 0.0)
            self._free_at = max(self._free_at, loop.time() + wait)

    async def _sleep(self, seconds: float) -> None:
        """Wait, unless everything is stopped."""
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds)
        except (asyncio.TimeoutError, TimeoutError):
            return

    def _stop(self, reason: KgprobeError) -> None:
        """Send no further request; the first reason counts."""
        self._reason = self._reason or reason
        self._stopped.set()
        self._settled.set()

    def _fatal_message(self, declined: Declined) -> str:
        text = f"{self._address.name} takes no request: {self._address.without_key(declined.reason)}."
        if declined.about_key:
            told = "was sent" if self._address.key else "is not set"
            text += f" The key comes from the environment variable {self._address.key_variable}, which {told}."
        if self._form.needs and not declined.about_key:
            text += f" {self._form.needs}"
        return f"{text} Asked was {self._address.url}."


@contextmanager
def _openai_environment(meant: bool) -> Iterator[None]:
    """The official client reads keys, headers and names of accounts from the environment, and sends them anywhere."""
    hidden = {} if meant else {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("OPENAI_")}
    try:
        yield
    finally:
        os.environ.update(hidden)
