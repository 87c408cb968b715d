"""Requests to a model behind an API, with a cache of answers (:mod:`.cache`) and a budget (:mod:`.spending`).

:mod:`.session` sends and repeats the requests that are not cached.
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from kgprobe.errors import KgprobeError
from kgprobe.models.api.address import Address
from kgprobe.models.api.cache import AnswerCache
from kgprobe.models.api.options import ApiOptions
from kgprobe.models.api.session import Form, Session
from kgprobe.models.api.spending import Spending
from kgprobe.models.generating.generator import Answer, Unanswered
from kgprobe.waiting import wait_for_coroutine

RequestT = TypeVar("RequestT", bound=Hashable)


class Asker:
    """Client of one model for requests of any form.

    Attributes:
        spending: usage and budget.
    """

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
            options: options of the requests; None for the defaults.
            spending: usage and budget, possibly shared.
            cache: cache of answers; None to store nothing.

        Raises:
            KgprobeError: An option is invalid, or the budget is in money and there are no prices.
        """
        self.address = address
        self._options = options or ApiOptions()
        if self._options.concurrency < 1 or self._options.attempts < 1 or not self._options.timeout > 0:
            raise KgprobeError(
                "Invalid options of an API: concurrency and attempts must be at least 1, timeout more than 0 seconds."
            )
        self.spending = spending or Spending()
        self._usage = self.spending.open_account(address.name, self._options.prices)
        # Requests already refreshed; used only if refresh is set.
        self._refreshed: set[Hashable] = set()
        self._cache = cache

    def ask(
        self,
        form: Form[RequestT],
        requests: Sequence[RequestT],
        cache_key: Callable[[RequestT], dict[str, Any]] | None = None,
        done: Callable[[RequestT], None] = lambda _: None,
    ) -> dict[RequestT, Answer | Unanswered]:
        """Return an answer to each request, or the reason why there is none; equal requests are sent once.

        Args:
            cache_key: returns everything that an answer depends on, except model and address, as JSON values; None to
                bypass the cache.
            done: called with each request when its answer has arrived.

        Raises:
            BudgetSpentError: The budget does not cover the next request; pending requests have been completed.
            KgprobeError: The server declines all requests (key, name, address), cannot be reached or gives unusable
                answers, or the cache cannot be used.
        """
        cache = self._cache if cache_key is not None else None
        answers: dict[RequestT, Answer | Unanswered] = {}

        def full_key(request: RequestT) -> dict[str, object]:
            specific = cache_key(request) if cache_key is not None else {}
            return {"model": self.address.model, "url": self.address.url, **specific}

        def settle(request: RequestT, answer: Answer | Unanswered) -> None:
            answers[request] = answer
            if isinstance(answer, Answer) and answer.cached:
                self._usage.cached += 1
            elif isinstance(answer, Answer):
                self._usage.answers += 1
                if cache is not None:
                    cache.put(full_key(request), answer)
                    if self._options.refresh:
                        self._refreshed.add(request)
            done(request)

        missing: deque[RequestT] = deque()
        for request in dict.fromkeys(requests):
            fresh = self._options.refresh and request not in self._refreshed
            cached = cache.get(full_key(request)) if cache is not None and not fresh else None
            if cached is not None:
                settle(request, cached)
            else:
                missing.append(request)
        if missing:
            total = len(missing) + len(answers)
            session = Session(
                self.address, self._options, form, self.spending, waiting=missing, done=settle, total=total
            )
            wait_for_coroutine(session.ask())
        return answers
