"""What a user chooses of how models behind APIs are asked."""

from dataclasses import dataclass

from kgprobe.models.api.spending import Prices


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """How an API is asked.

    Attributes:
        concurrency: the most requests under way at once.
        timeout: seconds until a request without an answer has failed.
        attempts: how often a request is sent, at most, until it is unanswered.
        prices: None where nobody asks what it costs.
        refresh: whether what was answered before is asked again; the new answers are kept.
        tokenizer: spec of the model whose tokenizer the server has, for scoring; None asks the server for tokens.
        scoring_way: how log-probabilities are asked for, see :mod:`.next_tokens`; None finds it out.
    """

    concurrency: int = 32
    timeout: float = 120.0
    attempts: int = 8
    prices: Prices | None = None
    refresh: bool = False
    tokenizer: str | None = None
    scoring_way: str | None = None
