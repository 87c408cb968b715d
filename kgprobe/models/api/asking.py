"""Requests to a model behind an API, each sent once, and never past a budget or where its answer is on disk.

Kept answers are :mod:`.cache`'s, the budget is :mod:`.spending`'s; how the others are sent, and repeated, is
:mod:`.session`'s.
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

Asked = TypeVar("Asked", bound=Hashable)


class Asker:
    """Asks one model, whatever the form of the requests.

    Attributes:
        address: of the model.
        spending: what it used, and may use.
    """

    def __init__(
        self,
        address: Address,
        options: ApiOptions | None = None,
        *,
        spending: Spending | None = None,
        cache: AnswerCache | None = None,
    ) -> None:
        """Sends nothing yet.

        Args:
            options: None for the usual ones.
            spending: shared with others where a budget is for all of them.
            cache: where answers are kept; None for nowhere.

        Raises:
            KgprobeError: an option cannot be, or the budget is in money and there are no prices.
        """
        self.address = address
        self._options = options or ApiOptions()
        if self._options.concurrency < 1 or self._options.attempts < 1 or not self._options.timeout > 0:
            raise KgprobeError(
                "An API is asked one request at a time at least, once at least, for more than 0 seconds."
            )
        self.spending = spending or Spending()
        self._usage = self.spending.open_account(address.name, self._options.prices)
        # What was asked anew since this was made; kept only where that matters.
        self._refreshed: set[Hashable] = set()
        self._cache = cache

    def ask(
        self,
        form: Form[Asked],
        requests: Sequence[Asked],
        kept_as: Callable[[Asked], dict[str, Any]] | None = None,
        done: Callable[[Asked], None] = lambda _: None,
    ) -> dict[Asked, Answer | Unanswered]:
        """An answer to each request, or why there is none; equal requests are sent once.

        Args:
            kept_as: everything that an answer depends on beside model and address, as JSON has it; None asks anew and
                keeps nothing.
            done: called with each request as soon as its answer is there.

        Raises:
            BudgetSpentError: the budget does not hold the next request. What was under way has been waited for.
            KgprobeError: the server takes no request at all (key, name, address), cannot be reached, says what the form
                cannot use, or the file of answers cannot be used.
        """
        cache = self._cache if kept_as is not None else None
        found: dict[Asked, Answer | Unanswered] = {}

        def whole(request: Asked) -> dict[str, object]:
            return {
                "model": self.address.model,
                "url": self.address.url,
                **(kept_as(request) if kept_as is not None else {}),
            }

        def settle(request: Asked, answer: Answer | Unanswered) -> None:
            found[request] = answer
            if isinstance(answer, Answer) and answer.cached:
                self._usage.cached += 1
            elif isinstance(answer, Answer):
                self._usage.answers += 1
                if cache is not None:
                    cache.put(whole(request), answer)
                    if self._options.refresh:
                        self._refreshed.add(request)
            done(request)

        missing: deque[Asked] = deque()
        for request in dict.fromkeys(requests):
            fresh = self._options.refresh and request not in self._refreshed
            kept = cache.get(whole(request)) if cache is not None and not fresh else None
            if kept is not None:
                settle(request, kept)
            else:
                missing.append(request)
        if missing:
            asked = len(missing) + len(found)
            session = Session(
                self.address, self._options, form, self.spending, waiting=missing, done=settle, asked=asked
            )
            wait_for_coroutine(session.ask())
        return found
