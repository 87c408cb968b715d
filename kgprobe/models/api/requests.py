"""Requests to a model behind an API: concurrent, repeated, within rate limits and a budget, with cached answers.

A failed request is repeated after an exponential back-off with full jitter, up to a number of attempts. If the server
limits the rate (429), all requests wait as long as it says; this does not count as a failure while other requests are
answered. An empty answer is repeated like a failure, unless its thought was cut.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import httpx2
import openai

from kgprobe.base.errors import KgprobeError
from kgprobe.base.waiting import LONGEST_ASKED_WAIT, back_off, wait_for_coroutine
from kgprobe.models.api.address import Address
from kgprobe.models.api.batch_client import PendingBatches
from kgprobe.models.api.batches import BatchSession
from kgprobe.models.api.cache import AnswerCache, answer_key
from kgprobe.models.api.connection import Declined, Fault, Form, classify_error, fatal_message, open_async_client
from kgprobe.models.api.spending import ApiOptions, BudgetSpentError, Reservation, Spending
from kgprobe.models.generating.generator import Answer, Unanswered

# Seconds of the first back-off.
_FIRST_WAIT = 0.5
# Requests without an answer, of which none has one, after which no further ones are sent.
_MOST_SILENT = 100
# Jitter after a common wait, as a share of it.
_SPREAD = 0.1

RequestT = TypeVar("RequestT", bound=Hashable)


class Session(Generic[RequestT]):
    """Concurrent requests in one event loop."""

    def __init__(
        self,
        asker: "Asker",
        form: Form[RequestT],
        waiting: deque[RequestT],
        done: Callable[[RequestT, Answer | Unanswered], None],
        total: int,
    ) -> None:
        """Create a session of waiting requests, which are removed one by one; ``total`` includes cached ones."""
        self._address = asker.address
        self._options = asker.options
        self._form = form
        self._spending = asker.spending
        self._usage = asker.spending.usage[asker.address.name]
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
        # Requests that were given up.
        self._silent = 0

    async def ask(self) -> None:
        """Send all requests."""
        async with open_async_client(self._address, self._options.timeout) as client:
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
                parameter = result.declined_of(body or {})
                # Requests that were sent at the same time are declined for the same reason.
                if parameter is not None and (
                    self._form.body(request) != body or self._form.adapt(parameter, result.reason)
                ):
                    self._usage.declined.add(parameter)
                    continue
                return self._decline(result)
            fault = self._checked(result)
            if isinstance(fault, Answer):
                return fault
            if fault.wait > LONGEST_ASKED_WAIT:
                self._stop(KgprobeError(f"{self._address.name} asks to wait for {fault.wait:,.0f} seconds."))
                return None
            # A rate limit is not a failure while other requests are answered.
            failed += not (fault.limited and self._answers > answers)
            answers = self._answers
            if failed >= self._options.attempts:
                return self._given_up(fault, sent)
            await self._back_off(fault, failed, clock)
            if self._reason is not None:
                return None

    def _checked(self, result: Answer | Fault) -> Answer | Fault:
        """Return a result, or a fault in place of an empty answer."""
        if isinstance(result, Fault):
            return result
        self._limited_in_a_row = 0
        return result if self._form.is_complete(result) else Fault("the answer was empty")

    def _decline(self, declined: Declined) -> Unanswered | None:
        """Return the result of a declined request; stop the session if the server declines all requests."""
        if not declined.fatal or (declined.missing and self._form.dispensable):
            return Unanswered(self._address.without_key(declined.reason))
        self._stop(KgprobeError(fatal_message(self._address, declined, self._form.needs)))
        return None

    def _given_up(self, fault: Fault, sent: int) -> Unanswered | None:
        reason = f"{self._address.without_key(fault.reason)} ({sent} attempts)"
        if not fault.reached and not fault.limited and not self._answers:
            self._stop(KgprobeError(f"{self._address.name} cannot be reached: {reason}. Is {self._address.url} right?"))
            return None
        self._silent += 1
        if not self._answers and self._silent >= _MOST_SILENT:
            name = self._address.name
            self._stop(
                KgprobeError(f"{name} answers none of {self._silent} requests: {reason}. Is it the right model?")
            )
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
        if body is None:
            return await client.get(self._form.path, cast_to=httpx2.Response)
        return await client.post(self._form.path, cast_to=httpx2.Response, body=body)

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
                if not answered and self._spending.is_too_small:
                    self._stop(KgprobeError(self._too_small(reservation)))
                    break
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

    def _too_small(self, reservation: Reservation) -> str:
        cost = "" if reservation.prices is None else f" ({reservation.cost:.4f} in money)"
        return (
            f"The budget does not cover a single request to {self._address.name}, which may take"
            f" {reservation.tokens:,} tokens{cost}: {self._spending.describe()} are spent. Raise the budget."
        )

    async def _back_off(self, fault: Fault, failed: int, sent_at: float) -> None:
        """Wait after a fault; after a rate limit, make all requests wait."""
        loop = asyncio.get_running_loop()
        if not fault.limited:
            await self._sleep(max(fault.wait, back_off(failed - 1, _FIRST_WAIT)))
            return
        # Rate limits of requests that were sent before the common wait began do not extend it.
        wait = fault.wait
        if sent_at >= self._limited_at:
            self._limited_in_a_row += 1
            self._limited_at = loop.time()
            wait = max(wait, back_off(self._limited_in_a_row - 1, _FIRST_WAIT))
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


class Asker:
    """Client of one model for requests of any form."""

    def __init__(
        self,
        address: Address,
        options: ApiOptions | None = None,
        *,
        spending: Spending | None = None,
        cache: AnswerCache | None = None,
    ) -> None:
        """Create a client; nothing is sent yet.

        Args:
            cache: cache of answers; None to store nothing.

        Raises:
            KgprobeError: An option is invalid; the budget is in money and there are no prices; or a batch API has no
                cache to find its batches again.
        """
        self.address = address
        self.options = options or ApiOptions()
        if self.options.concurrency < 1 or self.options.attempts < 1 or not self.options.timeout > 0:
            raise KgprobeError(
                "Invalid options of an API: concurrency and attempts must be at least 1, timeout more than 0 seconds."
            )
        if self.options.batch_api and cache is None:
            raise KgprobeError("A batch API needs a cache of answers, next to which its batches are stored.")
        self.spending = spending or Spending()
        self._usage = self.spending.open_account(address.name, self.options.prices)
        # Requests already refreshed; used only if refresh is set.
        self._refreshed: set[Hashable] = set()
        self._cache = cache

    def recall(self, key: Mapping[str, object]) -> str:
        """Return a text about the model from the cache; empty if there is none, or if answers are refreshed."""
        answer = None if self._cache is None or self.options.refresh else self._cache.get(self._full_key(key))
        return "" if answer is None else answer.text

    def remember(self, key: Mapping[str, object], text: str) -> None:
        """Store a text about the model in the cache, if there is one."""
        if self._cache is not None:
            self._cache.put(self._full_key(key), Answer(text))

    def _full_key(self, key: Mapping[str, object]) -> dict[str, object]:
        return {"model": self.address.model, "url": self.address.url, **key}

    def ask(
        self,
        form: Form[RequestT],
        requests: Sequence[RequestT],
        cache_key: Callable[[RequestT], dict[str, Any]] | None = None,
        done: Callable[[RequestT], None] = lambda _: None,
    ) -> dict[RequestT, Answer | Unanswered]:
        """Return an answer to each request, or the reason why there is none; equal requests are sent once.

        With the option ``batch_api``, forms that allow it are sent in batches, see :mod:`.batches`.

        Args:
            cache_key: returns everything that an answer depends on, except model and address, as JSON values; None to
                bypass the cache.
            done: called with each request when its answer has arrived.

        Raises:
            BudgetSpentError: The budget does not cover the next request; pending requests have been completed.
        """
        cache = self._cache if cache_key is not None else None
        answers: dict[RequestT, Answer | Unanswered] = {}

        def full_key(request: RequestT) -> dict[str, object]:
            return self._full_key(cache_key(request) if cache_key is not None else {})

        def settle(request: RequestT, answer: Answer | Unanswered) -> None:
            answers[request] = answer
            if isinstance(answer, Answer) and answer.cached:
                self._usage.cached += 1
            elif isinstance(answer, Answer):
                self._usage.answers += 1
                if cache is not None:
                    cache.put(full_key(request), answer)
                    if self.options.refresh:
                        self._refreshed.add(request)
            done(request)

        def find(request: RequestT) -> Answer | None:
            return cache.get(full_key(request)) if cache is not None else None

        missing: deque[RequestT] = deque()
        for request in dict.fromkeys(requests):
            fresh = self.options.refresh and request not in self._refreshed
            cached = None if fresh else find(request)
            if cached is not None:
                settle(request, cached)
            else:
                missing.append(request)
        if missing:
            if self.options.batch_api and form.in_batches and cache is not None:
                pending = PendingBatches(cache.path.with_name("batches"))
                batches = BatchSession(
                    self.address, self.options, self.spending, form, pending, cache.has, find, settle
                )
                batches.ask({answer_key(full_key(request)): request for request in missing})
                return answers
            total = len(missing) + len(answers)
            wait_for_coroutine(Session(self, form, missing, settle, total).ask())
        return answers
