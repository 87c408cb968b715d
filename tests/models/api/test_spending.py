"""Budgets: never passed, whatever is under way at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError
from kgprobe.models.api.spending import Prices, Reservation, Spending

PRICES = {"cheap": Prices(1.0, 2.0), "dear": Prices(30.0, 60.0), "free": Prices(0.0, 0.0)}

# A model, what a request can cost at most, how much of that it does cost (None: nobody knows), and when it ends.
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(sorted(PRICES)),
        st.integers(0, 100),
        st.integers(0, 100),
        st.none() | st.floats(0, 1),
        st.integers(0, 5),
    ),
    max_size=40,
)


@given(requests=REQUESTS, max_tokens=st.none() | st.integers(0, 1500), max_cost=st.none() | st.floats(0, 0.02))
def test_budget_holds(requests: list, max_tokens: int | None, max_cost: float | None) -> None:
    spending = Spending(max_tokens=max_tokens, max_cost=max_cost)
    for model, prices in PRICES.items():
        spending.open_account(model, prices)
    tokens = dict.fromkeys(PRICES, 0)
    cost = 0.0
    open_requests: list[tuple[int, Reservation, float | None]] = []
    for turn, (model, prompt, completion, share, lasts) in enumerate(requests):
        for end, reservation, its in [one for one in open_requests if one[0] <= turn]:
            open_requests.remove((end, reservation, its))
            real = [reservation.prompt_tokens, reservation.completion_tokens]
            if its is None:
                spending.leave_unsettled(reservation)
            else:
                real = [int(amount * its) for amount in real]
                spending.settle(reservation, *real)
            tokens[reservation.model] += sum(real)
            cost += PRICES[reservation.model].cost(*real)
        reservation = Reservation(model, PRICES[model], prompt, completion)
        worst = sum(one.tokens for _, one, _ in open_requests) + reservation.tokens + sum(tokens.values())
        worst_cost = sum(one.cost for _, one, _ in open_requests) + reservation.cost + cost
        held = spending.reserve(reservation)
        assert held or max_tokens is not None or max_cost is not None
        if max_tokens is not None and max_cost is None:
            assert held == (worst <= max_tokens)
        if held:
            open_requests.append((turn + lasts, reservation, share))
            assert max_tokens is None or worst <= max_tokens
            assert max_cost is None or worst_cost <= max_cost * (1 + 1e-9) + 1e-12
        assert {model: usage.tokens for model, usage in spending.usage.items()} == tokens
        assert spending.cost == pytest.approx(cost)
        assert spending.under_way == len(open_requests)


def test_budget_in_money_wants_prices() -> None:
    with pytest.raises(KgprobeError, match=r"gpt.*--input-price and --output-price"):
        Spending(max_cost=1.0).open_account("gpt", None)
    assert Spending(max_tokens=5).open_account("gpt", None).cost is None
    assert Spending(max_cost=1.0).open_account("gpt", PRICES["free"]).cost == 0.0


@pytest.mark.parametrize("limits", [{"max_tokens": -1}, {"max_cost": -0.5}, {"max_cost": float("nan")}])
def test_budget_that_cannot_be(limits: dict) -> None:
    with pytest.raises(KgprobeError, match="cannot be"):
        Spending(**limits)


def test_it_says_what_is_spent() -> None:
    spending = Spending(max_tokens=2000, max_cost=0.5)
    spending.open_account("dear", PRICES["dear"])
    reservation = Reservation("dear", PRICES["dear"], 1000, 500)
    assert spending.reserve(reservation)
    spending.settle(reservation, 1000, 200)
    assert spending.describe() == "1,200 of 2,000 tokens, 0.0420 of 0.5 in money"
