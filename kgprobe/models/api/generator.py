"""Answers of a model behind an OpenAI-compatible API (chat completions), by the official client.

No request is sent that could pass the budget (:mod:`kgprobe.models.api.spending`), and none that has its answer on disk
(:mod:`kgprobe.models.api.cache`). How the others are sent, and repeated, is :mod:`.session`'s.
"""

from collections import deque
from collections.abc import Callable, Sequence

from kgprobe.errors import KgprobeError
from kgprobe.models.api.address import Address
from kgprobe.models.api.cache import AnswerCache
from kgprobe.models.api.options import ApiOptions
from kgprobe.models.api.parameters import Parameters
from kgprobe.models.api.session import Session
from kgprobe.models.api.spending import Spending
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.scoring.tokens import not_unicode
from kgprobe.waiting import wait_for_coroutine


class ApiGenerator:
    """A model behind an API that answers.

    Attributes:
        spending: what it used, and may use.
        parameters: what this model takes, found out while it was asked.
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
            address: the server and the model.
            options: None for the usual ones.
            spending: shared with others where a budget is for all of them.
            cache: where answers are kept; None for nowhere.

        Raises:
            KgprobeError: an option cannot be, or the budget is in money and there are no prices.
        """
        self._address = address
        self._options = options or ApiOptions()
        if self._options.concurrency < 1 or self._options.attempts < 1 or not self._options.timeout > 0:
            raise KgprobeError(
                "An API is asked one request at a time at least, once at least, for more than 0 seconds."
            )
        self.spending = spending or Spending()
        self._usage = self.spending.open_account(self.name, self._options.prices)
        # What was asked anew since this generator was made; kept only where that matters.
        self._refreshed: set[Request] = set()
        self._cache = cache
        self.parameters = Parameters(address)

    @property
    def name(self) -> str:
        """The model's spec."""
        return self._address.name

    def describe(self) -> dict[str, object]:
        """Model, address, and in which form it is asked."""
        return {
            "name": self.name,
            "model": self._address.model,
            "url": self._address.url,
            "prompt": "one message of a user",
        }

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        """An answer to each request, or why there is none, in their order; equal requests are sent once.

        Raises:
            BudgetSpentError: the budget does not hold the next request. What was under way has been waited for.
            KgprobeError: the server takes no request at all (key, name, address), cannot be reached, or the file of
                answers cannot be used.
        """
        copies: dict[Request, int] = {}
        for request in requests:
            key = request.normalized()
            copies[key] = copies.get(key, 0) + 1
        found: dict[Request, Answer | Unanswered] = {}

        def done(request: Request, answer: Answer | Unanswered) -> None:
            found[request] = answer
            if isinstance(answer, Answer) and answer.cached:
                self._usage.cached += 1
            elif isinstance(answer, Answer):
                self._usage.answers += 1
                if self._cache is not None:
                    self._cache.put(self._whole(request), answer)
                    if self._options.refresh:
                        self._refreshed.add(request)
            if progress is not None:
                progress(copies[request])

        missing: deque[Request] = deque()
        for request in copies:
            kept = None
            if self._cache is not None and not (self._options.refresh and request not in self._refreshed):
                kept = self._cache.get(self._whole(request))
            if kept is not None:
                done(request, kept)
            elif not_unicode([request.prompt]):
                done(request, Unanswered("its prompt is no Unicode: it holds half of a surrogate pair"))
            else:
                missing.append(request)
        if missing:
            session = Session(
                self._address,
                self._options,
                self.parameters,
                self.spending,
                waiting=missing,
                done=done,
                asked=len(copies),
            )
            wait_for_coroutine(session.ask())
        return [found[request.normalized()] for request in requests]

    def _whole(self, request: Request) -> dict[str, object]:
        """Everything that an answer depends on, as far as one can say."""
        whole: dict[str, object] = {"model": self._address.model, "url": self._address.url, "prompt": request.prompt}
        whole |= {"max_tokens": request.max_tokens, "temperature": request.temperature}
        return whole | ({"seed": request.seed} if request.temperature > 0 else {})
