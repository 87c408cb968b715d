"""User options for models behind APIs."""

from dataclasses import dataclass

from kgprobe.models.api.spending import Prices


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
        scoring_way: method to obtain log-probabilities, see :mod:`.next_tokens`; None detects it.
    """

    concurrency: int = 32
    timeout: float = 120.0
    attempts: int = 8
    prices: Prices | None = None
    refresh: bool = False
    tokenizer: str | None = None
    scoring_way: str | None = None
