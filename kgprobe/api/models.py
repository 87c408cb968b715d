"""Models with limits on API costs."""

from collections.abc import Callable

from kgprobe.api.options import ApiLimits
from kgprobe.base.errors import ArgumentError
from kgprobe.models.api.spending import ApiOptions, Prices, Spending
from kgprobe.models.model import Models
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.spec_forms import LocalOptions


def models_within(
    limits: ApiLimits,
    load: Callable[..., TextScorer] | None = None,
    local: LocalOptions | None = None,
    ray: int | None = None,
) -> Models:
    """Return models that open by spec; those behind APIs share limits on tokens and costs.

    >>> with models_within(ApiLimits(max_tokens=100_000)) as models:
    ...     models.open("demo").name
    'demo'

    Raises:
        ArgumentError: a price is missing.
        KgprobeError: Ray is not installed, or no cluster answers.
    """
    prices = None
    if limits.input_price is not None and limits.output_price is not None:
        prices = Prices(limits.input_price, limits.output_price)
    elif limits.input_price is not None or limits.output_price is not None:
        missing = "input_price" if limits.input_price is None else "output_price"
        raise ArgumentError(missing, "is missing: give both `input_price` and `output_price`.")
    elif limits.max_cost is not None:
        raise ArgumentError("max_cost", "needs the prices of tokens: `input_price` and `output_price`.")
    return Models(
        local=local,
        api=ApiOptions(
            limits.concurrency,
            limits.timeout,
            prices=prices,
            refresh=limits.refresh,
            tokenizer=limits.tokenizer,
            scoring_method=limits.scoring_method,
            batch_api=limits.batch_api,
        ),
        spending=Spending(max_tokens=limits.max_tokens, max_cost=limits.max_cost),
        load=load,
        ray=ray,
    )
