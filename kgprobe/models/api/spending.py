"""Costs of requests to models behind APIs, and a budget for them.

A request is sent only if the budget covers its maximum: the most prompt tokens that it can have, and an answer of full
length. That amount is reserved until the answer reports the actual tokens. So concurrent requests never exceed the
budget.

User options for models behind APIs.
"""

from dataclasses import dataclass, field
from operator import attrgetter

from kgprobe.base.errors import KgprobeError

# Maximum number of requests in a batch of a batch API, and its price as a share of the price of direct requests.
MOST_REQUESTS = 50_000
BATCH_PRICE = 0.5

_PRICED = 1_000_000


class BudgetSpentError(KgprobeError):
    """Raised instead of sending a request that could exceed the budget.

    Attributes:
        answered: number of answered requests, whose answers are in the cache if there is one.
        asked: number of all requests.
    """

    def __init__(self, message: str, answered: int, asked: int) -> None:
        super().__init__(message)
        self.answered = answered
        self.asked = asked


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per million tokens, at least 0, in the currency of the budget."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of tokens."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / _PRICED

    def at(self, share: float) -> "Prices":
        """Return a share of these prices.

        >>> Prices(2.0, 8.0).at(0.5)
        Prices(prompt=1.0, completion=4.0)
        """
        return Prices(self.prompt * share, self.completion * share)


@dataclass(slots=True)
class Usage:
    """Requests to one model, and their cost.

    Attributes:
        requests: sent requests, repetitions included.
        retries: repetitions of failed requests.
        answers: received answers.
        cached: answers from the cache.
        batches: batches of a batch API, submitted or found again.
        prompt_tokens, completion_tokens: counts of the API, or else estimates.
        unsettled_tokens: maximum tokens of requests that broke off; they count towards the budget and ``cost``.
        cost: cost so far; None without prices.
        declined: parameters that the server declined, and that were left out or replaced.
    """

    requests: int = 0
    retries: int = 0
    answers: int = 0
    cached: int = 0
    batches: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unsettled_tokens: int = 0
    cost: float | None = None
    declined: set[str] = field(default_factory=set)

    @property
    def tokens(self) -> int:
        """Sum of all tokens."""
        return self.prompt_tokens + self.completion_tokens + self.unsettled_tokens


@dataclass(frozen=True, slots=True)
class Reservation:
    """Maximum cost of a request, reserved until the actual cost is known."""

    model: str
    prices: Prices | None
    prompt_tokens: int
    completion_tokens: int

    @property
    def tokens(self) -> int:
        """Sum of all tokens."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def cost(self) -> float:
        """Cost of all tokens; 0 without prices."""
        return self.prices.cost(self.prompt_tokens, self.completion_tokens) if self.prices else 0.0


class Spending:
    """Usage of models, and a common budget; several generators can share it.

    Attributes:
        max_tokens, max_cost: budget; None for no limit.
        usage: usage by spec of the model.
    """

    def __init__(self, *, max_tokens: int | None = None, max_cost: float | None = None) -> None:
        """Start without usage.

        Raises:
            KgprobeError: A limit is negative.
        """
        for name, limit in (("max_tokens", max_tokens), ("max_cost", max_cost)):
            if limit is not None and not limit >= 0:
                raise KgprobeError(f"A budget cannot be negative: {name} is {limit}; 0 spends nothing.")
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self.usage: dict[str, Usage] = {}
        self._open: list[Reservation] = []

    def open_account(self, model: str, prices: Prices | None) -> Usage:
        """Return the usage of a model, new if necessary; raise KgprobeError if a budget in money lacks its prices."""
        if self.max_cost is not None and prices is None:
            raise KgprobeError(
                f"A budget in money needs to know what {model} costs: give both its prices (--input-price and"
                " --output-price, per million tokens), or a budget in tokens instead."
            )
        usage = self.usage.setdefault(model, Usage())
        if prices is not None and usage.cost is None:
            usage.cost = 0.0
        return usage

    @property
    def tokens(self) -> int:
        """Tokens spent so far."""
        return sum(usage.tokens for usage in self.usage.values())

    @property
    def cost(self) -> float:
        """Cost so far of models with prices."""
        return sum(usage.cost or 0.0 for usage in self.usage.values())

    @property
    def is_too_small(self) -> bool:
        """True if nothing was spent of a budget above 0, where it does not cover a request."""
        return not self.tokens and not self.cost and (self.max_tokens != 0 and self.max_cost != 0)

    @property
    def declined(self) -> dict[str, set[str]]:
        """Parameters that servers declined, by the model's name."""
        return {model: usage.declined for model, usage in self.usage.items()}

    @property
    def under_way(self) -> int:
        """Number of unsettled reservations."""
        return len(self._open)

    def reserve(self, reservation: Reservation) -> bool:
        """Reserve the maximum cost of a request; return False if the budget does not cover it now."""
        tokens = self.tokens + reservation.tokens + sum(map(attrgetter("tokens"), self._open))
        cost = self.cost + reservation.cost + sum(map(attrgetter("cost"), self._open))
        if self.max_tokens is not None and tokens > self.max_tokens:
            return False
        if self.max_cost is not None and cost > self.max_cost:
            return False
        self.hold(reservation)
        return True

    def hold(self, reservation: Reservation) -> None:
        """Reserve the maximum cost of requests that were sent before, whether or not the budget covers it."""
        self._open.append(reservation)

    def settle(self, reservation: Reservation, prompt_tokens: int, completion_tokens: int) -> None:
        """Replace a reservation by the actual tokens."""
        usage = self._charge(reservation, prompt_tokens, completion_tokens)
        usage.prompt_tokens += prompt_tokens
        usage.completion_tokens += completion_tokens

    def leave_unsettled(self, reservation: Reservation) -> None:
        """Charge the reserved maximum for a request that broke off."""
        usage = self._charge(reservation, reservation.prompt_tokens, reservation.completion_tokens)
        usage.unsettled_tokens += reservation.tokens

    def describe(self) -> str:
        """Return a phrase with usage and budget."""
        tokens = "" if self.max_tokens is None else f" of {self.max_tokens:,}"
        text = f"{self.tokens:,}{tokens} tokens"
        if any(usage.cost is not None for usage in self.usage.values()):
            text += f", {self.cost:.4f}{'' if self.max_cost is None else f' of {self.max_cost:g}'} in money"
        return text

    def _charge(self, reservation: Reservation, prompt_tokens: int, completion_tokens: int) -> Usage:
        self._open.remove(reservation)
        usage = self.usage[reservation.model]
        if reservation.prices is not None:
            usage.cost = (usage.cost or 0.0) + reservation.prices.cost(prompt_tokens, completion_tokens)
        return usage


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """Options of requests to an API.

    Attributes:
        concurrency: maximum concurrent requests.
        timeout: seconds until a request without answer fails.
        attempts: maximum attempts per request.
        prices: token prices; None if unknown.
        refresh: True to ignore cached answers and replace them.
        tokenizer: spec of the model with the server's tokenizer, for scoring; None tokenizes on the server.
        scoring_method: method to obtain log-probabilities, see :mod:`.next_tokens`; None detects it.
        batch_api: True to send requests for text through the server's batch API, see :mod:`.batches`.
    """

    concurrency: int = 32
    timeout: float = 120.0
    attempts: int = 8
    prices: Prices | None = None
    refresh: bool = False
    tokenizer: str | None = None
    scoring_method: str | None = None
    batch_api: bool = False
