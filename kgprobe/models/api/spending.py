"""What asking models over the network costs, and a budget that it stays within.

A request is sent only if the budget holds it at its worst: as many prompt tokens as it can have, and an answer of full
length. That much is reserved until the answer says what it was. So however many requests are under way at once, the
budget is not passed.
"""

from dataclasses import dataclass

from kgprobe.errors import KgprobeError

_PRICED = 1_000_000


class BudgetSpentError(KgprobeError):
    """The next request could pass the budget, so it was not sent.

    Attributes:
        answered: how many of the requests have their answers, which are kept where answers are kept at all.
        asked: how many requests there were.
    """

    def __init__(self, message: str, answered: int, asked: int) -> None:
        super().__init__(message)
        self.answered = answered
        self.asked = asked


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in whatever currency the budget is in; at least 0."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What so many tokens cost."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / _PRICED


@dataclass(slots=True)
class Usage:
    """What one model was asked, and what of it was charged.

    Attributes:
        requests: that were sent, repetitions included.
        retries: those among them that repeated one that had failed.
        answers: that came.
        cached: answers that came before and were not asked for.
        prompt_tokens, completion_tokens: as the API counts them; where it does not, as they are estimated.
        unsettled_tokens: the most that requests may have cost that broke off before one could know. They count towards
            the budget, and in ``cost``.
        cost: None without prices.
    """

    requests: int = 0
    retries: int = 0
    answers: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unsettled_tokens: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.prompt_tokens + self.completion_tokens + self.unsettled_tokens


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a request can cost at most, set aside until that is known."""

    model: str
    prices: Prices | None
    prompt_tokens: int
    completion_tokens: int

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def cost(self) -> float:
        """0 without prices."""
        return self.prices.cost(self.prompt_tokens, self.completion_tokens) if self.prices else 0.0


class Spending:
    """What models were asked, and how much more they may be; several generators can share one.

    Attributes:
        max_tokens, max_cost: the budget; None is no limit.
        usage: by model, as the user calls it.
    """

    def __init__(self, *, max_tokens: int | None = None, max_cost: float | None = None) -> None:
        """Nothing is spent yet.

        Raises:
            KgprobeError: a limit is negative.
        """
        for name, limit in (("max_tokens", max_tokens), ("max_cost", max_cost)):
            if limit is not None and not limit >= 0:
                raise KgprobeError(f"A budget of {limit} ({name}) cannot be; 0 spends nothing.")
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self.usage: dict[str, Usage] = {}
        self._open: list[Reservation] = []

    def open_account(self, model: str, prices: Prices | None) -> Usage:
        """The usage of a model that is going to be asked.

        Raises:
            KgprobeError: the budget is in money, and nobody says what the model costs.
        """
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
        """Spent so far."""
        return sum(usage.tokens for usage in self.usage.values())

    @property
    def cost(self) -> float:
        """Spent so far on models with prices."""
        return sum(usage.cost or 0.0 for usage in self.usage.values())

    @property
    def under_way(self) -> int:
        """How many requests are reserved for and not settled."""
        return len(self._open)

    def reserve(self, reservation: Reservation) -> bool:
        """Set aside what a request can cost at most; False where the budget does not hold it now."""
        tokens = self.tokens + reservation.tokens + sum(one.tokens for one in self._open)
        cost = self.cost + reservation.cost + sum(one.cost for one in self._open)
        if self.max_tokens is not None and tokens > self.max_tokens:
            return False
        if self.max_cost is not None and cost > self.max_cost:
            return False
        self._open.append(reservation)
        return True

    def settle(self, reservation: Reservation, prompt_tokens: int, completion_tokens: int) -> None:
        """A request cost this much."""
        self._open.remove(reservation)
        usage = self.usage[reservation.model]
        usage.prompt_tokens += prompt_tokens
        usage.completion_tokens += completion_tokens
        self._charge(reservation, prompt_tokens, completion_tokens)

    def leave_unsettled(self, reservation: Reservation) -> None:
        """A request broke off, and may have cost as much as was reserved."""
        self._open.remove(reservation)
        self.usage[reservation.model].unsettled_tokens += reservation.tokens
        self._charge(reservation, reservation.prompt_tokens, reservation.completion_tokens)

    def describe(self) -> str:
        """What is spent and what may be, to be shown to a person."""
        tokens = "" if self.max_tokens is None else f" of {self.max_tokens:,}"
        text = f"{self.tokens:,}{tokens} tokens"
        if any(usage.cost is not None for usage in self.usage.values()):
            text += f", {self.cost:.4f}{'' if self.max_cost is None else f' of {self.max_cost:g}'} in money"
        return text

    def _charge(self, reservation: Reservation, prompt_tokens: int, completion_tokens: int) -> None:
        usage = self.usage[reservation.model]
        if reservation.prices is not None:
            usage.cost = (usage.cost or 0.0) + reservation.prices.cost(prompt_tokens, completion_tokens)
