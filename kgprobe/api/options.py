"""Options of calls with many parameters, from which the command line makes its flags; imports nothing heavy."""

from dataclasses import dataclass

from kgprobe.base.options import option

# Methods of kgprobe.graph.communities.
COMMUNITY_METHODS = ("louvain", "labels", "components")


@dataclass(frozen=True, slots=True)
class ApiLimits:
    """Options and limits of models behind an API."""

    concurrency: int = option(32, "Maximum number of parallel API requests.", minimum=1)
    timeout: float = option(120.0, "Timeout of an API request; it is repeated then.", above=0, metavar="SECONDS")
    max_tokens: int | None = option(None, "Maximum number of API tokens.", minimum=0, metavar="N")
    max_cost: float | None = option(
        None,
        "Maximum cost of the API, in the currency of the prices; requires both prices.",
        minimum=0,
        metavar="MONEY",
        common=True,
    )
    input_price: float | None = option(
        None, "Price per million input tokens (prompts).", minimum=0, metavar="MONEY", common=True
    )
    output_price: float | None = option(
        None, "Price per million output tokens (answers).", minimum=0, metavar="MONEY", common=True
    )
    refresh: bool = option(False, "Ignore cached API responses.")
    batch_api: bool = option(
        False, "Ask in batches through the server's batch API: half the given prices, answers within 24 hours."
    )
    tokenizer: str | None = option(
        None,
        "Model with the same tokenizer as the API's, such as hf:OWNER/NAME; for scoring names.",
        metavar="SPEC",
        shown_default="ask the server for tokens",
    )
    scoring_method: str | None = option(
        None,
        "Method of requesting log-probabilities from the API.",
        choices=("token_ids", "n_probs", "token_ids_logprob", "echo", "echo_text"),
        shown_default="detect",
    )
