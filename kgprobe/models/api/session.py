"""Concurrent requests to one server, with retries, rate limits and a budget.

A failed request is repeated after an exponential back-off with full jitter, up to a number of attempts. If the server
limits the rate (429), all requests wait as long as it says; this does not count as a failure while other requests are
answered. An empty answer is repeated like a failure.
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
# Jitter after a common wait, as a share of it.
_SPREAD = 0.1

RequestT = TypeVar("RequestT")
FormRequestT = TypeVar("FormRequestT", contravariant=True)


class Form(Protocol[FormRequestT]):
    """Encoder of requests of one kind, and decoder of their answers.

    Attributes:
        dispensable: True if servers can lack the path; then the requests stay unanswered, without an error.
        may_be_empty: True if an answer without text is valid.
        needs: a sentence on the requirements for the server, or empty.
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
        """Return the path, relative to the server's address, or a URL on the same server."""

    def body(self, request: FormRequestT) -> dict[str, Any] | None:
        """Return the JSON body of a POST request; None for GET."""

    def size(self, request: FormRequestT) -> tuple[int, int]:
        """Return the maximum tokens of a request and of its answer."""

    def adapt(self, parameter: str) -> bool:
        """Drop a parameter that the server declines; return False if that is not possible."""

    def read(self, content: bytes, request: FormRequestT) -> Answer | Fault:
        """Return the answer, or a fault that may vanish in the next attempt.

        Raises:
            KgprobeError: The server's answers are unusable.
        """


class Session(Generic[RequestT]):
    """Concurrent requests in one event loop."""

    def __init__(
        self,
        address: Address,
        options: ApiOptions,
        form: Form[RequestT],
        spending: Spending,
        *,
        waiting: deque[RequestT],
        done: Callable[[RequestT, Answer | Unanswered], None],
        total: int,
    ) -> None:
        """Create a session; nothing is sent yet.

        Args:
            form: form of the requests; adapted when the server declines a parameter.
            spending: usage and budget, with an account of this model.
            waiting: requests to be sent; removed one by one.
            done: called with each request and its final result.
            total: number of all requests, cached ones included.
        """
        self._address = address
        self._options = options
        self._form = form
        self._spending = spending
        self._usage = spending.usage[address.name]
        self._waiting = waiting
        self._done = done
        self._total = total
        # Waiting and pending requests.
        self._open = len(waiting)
        self._answers = 0
        # Error that stops the session.
        self._reason: KgprobeError | None = None
        self._stopped = asyncio.Event()
        self._settled = asyncio.Event()
        # End and beginning of a common wait, in the loop's time.
        self._free_at = 0.0
        self._limited_at = -1.0
        self._limited_in_a_row = 0

    async def ask(self) -> None:
        """Send all requests.

        Raises:
            KgprobeError: As in :meth:`.asking.Asker.ask`.
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
                # The client requires a key.
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

    async def _answer(self, client: openai.AsyncOpenAI, request: RequestT) -> Answer | Unanswered | None:
        """Return the result of a request after all necessary attempts; None if the session stops before."""
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
            if isinstance(result, Declined):
                if self._adapt(result, body):
                    continue
                return self._decline(result)
            fault = self._checked(result)
            if isinstance(fault, Answer):
                return fault
            if fault.wait is not None and fault.wait > LONGEST_ASKED_WAIT:
                self._stop(KgprobeError(f"{self._address.name} asks to wait for {fault.wait:,.0f} seconds."))
                return None
            # A rate limit is not a failure while other requests are answered.
            failed += not (fault.limited and self._answers > answers)
            answers = self._answers
            if failed >= self._options.attempts:
                return self._given_up(result, fault, sent)
            await self._back_off(fault, failed, clock)
            if self._reason is not None:
                return None

    def _checked(self, result: Answer | Fault) -> Answer | Fault:
        """Return a result, or a fault in place of an empty answer."""
        if isinstance(result, Fault):
            return result
        self._limited_in_a_row = 0
        is_complete = result.text or result.refused or not result.ended or self._form.may_be_empty
        return result if is_complete else Fault("the answer was empty")

    def _adapt(self, declined: Declined, body: dict[str, Any] | None) -> bool:
        """Drop the declined parameter; return False if the request was declined for another reason."""
        return bool(body and declined.parameter in body and self._form.adapt(declined.parameter))

    def _decline(self, declined: Declined) -> Unanswered | None:
        """Return the result of a declined request; stop the session if the server declines all requests."""
        if not declined.fatal or (declined.missing and self._form.dispensable):
            return Unanswered(self._address.without_key(declined.reason))
        self._stop(KgprobeError(self._fatal_message(declined)))
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
        self, client: openai.AsyncOpenAI, request: RequestT, body: dict[str, Any] | None, reservation: Reservation
    ) -> Answer | Fault | Declined:
        """Send a request once, and settle its reservation."""
        # The result in case of cancellation.
        result: Answer | Fault | Declined = Fault("it was given up before the answer came")
        try:
            response = await asyncio.wait_for(self._send(client, body), self._options.timeout)
            result = self._form.read(response.content, request)
        # Two classes before Python 3.11.
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
        """Wait until the end of a common wait."""
        loop = asyncio.get_running_loop()
        while self._reason is None and (wait := self._free_at - loop.time()) > 0:
            await self._sleep(wait + random.uniform(0, _SPREAD * wait))  # noqa: S311

    async def _reserve(self, request: RequestT) -> Reservation | None:
        """Reserve the maximum cost of a request when the budget covers it; return None if it never will."""
        reservation = Reservation(self._address.name, self._options.prices, *self._form.size(request))
        while self._reason is None:
            if self._spending.reserve(reservation):
                return reservation
            if not self._spending.under_way:
                answered = self._total - self._open
                message = (
                    f"The budget does not cover another request to {self._address.name}: {self._spending.describe()}"
                    f" are spent, and the next may take {reservation.tokens:,} tokens. {answered:,} of"
                    f" {self._total:,} requests are done."
                )
                self._stop(BudgetSpentError(message, answered, self._total))
                break
            # Pending requests usually cost less than their reservations.
            self._settled.clear()
            await self._settled.wait()
        return None

    async def _back_off(self, fault: Fault, failed: int, sent_at: float) -> None:
        """Wait after a fault; after a rate limit, make all requests wait."""
        loop = asyncio.get_running_loop()
        if not fault.limited:
            await self._sleep(max(fault.wait or 0.0, back_off(failed - 1, _FIRST_WAIT)))
            return
        # Rate limits of requests that were sent before the common wait began do not extend it.
        fresh = sent_at >= self._limited_at
        if fresh:
            self._limited_in_a_row += 1
            self._limited_at = loop.time()
        if fresh or fault.wait is not None:
            wait = max(fault.wait or 0.0, back_off(self._limited_in_a_row - 1, _FIRST_WAIT) if fresh else 0.0)
            self._free_at = max(self._free_at, loop.time() + wait)

    async def _sleep(self, seconds: float) -> None:
        """Wait, unless the session is stopped."""
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds)
        except (asyncio.TimeoutError, TimeoutError):
            return

    def _stop(self, reason: KgprobeError) -> None:
        """Stop sending requests; the first reason counts."""
        self._reason = self._reason or reason
        self._stopped.set()
        self._settled.set()

    def _fatal_message(self, declined: Declined) -> str:
        text = f"{self._address.name} declines all requests: {self._address.without_key(declined.reason)}."
        if declined.about_key:
            state = "was sent" if self._address.key else "is not set"
            text += f" The key comes from the environment variable {self._address.key_variable}, which {state}."
        elif self._form.needs:
            text += f" {self._form.needs}"
        return f"{text} The address is {self._address.url}."


@contextmanager
def _openai_environment(is_openai: bool) -> Iterator[None]:
    """Hide OpenAI's environment variables from the official client, which would send them to any server."""
    names = [] if is_openai else [name for name in os.environ if name.startswith("OPENAI_")]
    hidden = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(hidden)
