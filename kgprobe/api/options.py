"""Options of calls with many parameters, from which the command line makes its flags; imports nothing heavy."""

from dataclasses import dataclass
from typing import Any

from kgprobe.base.options import option
from kgprobe.sampling.drawing import DrawOptions

# Methods of kgprobe.graph.communities.
COMMUNITY_METHODS = ("louvain", "labels", "components")


@dataclass(frozen=True, slots=True)
class Draw(DrawOptions):
    """Facts to ask: parameters of calls that draw them."""

    limit: int | None = option(
        None,
        "Maximum number of facts, drawn at random; the same seed draws the same facts for every probe and limit.",
        minimum=1,
        shown_default="all",
        common=True,
    )
    facts: Any = option(
        None,
        "Path of a list of facts (see kgprobe.sampling.selection.read_facts), keys, or names such as 'France | capital"
        " | Paris'.",
        shown_default="all that can be asked",
    )
    relations: tuple[str, ...] = option(
        (),
        "Relation to ask, by its id or a name; repeatable.",
        flag="relation",
        metavar="NAME",
        shown_default="all that can be asked",
        common=True,
    )
    seed: int = option(0, "Random seed.", minimum=0, common=True)
    as_of: Any = option(
        None,
        "Reference date for current facts: 2010-06-30 or 20100630; 2010-06 and 2010 mean their last day.",
        shown_default="today",
    )


@dataclass(frozen=True, slots=True)
class Asking:
    """Parameters of calls that ask a model."""

    name: str | None = option(None, "Name of the result and of its folder.", shown_default="made from the settings")
    batch_size: int | None = option(
        None,
        "Batch size: facts asked together. Does not affect the answers.",
        minimum=1,
        metavar="N",
        shown_default="of the probe; up to 50,000 with a batch API",
    )
    models: Any = option(
        None,
        "Open models, also for options that name a model. Models(ray=4) computes all models of this machine on four"
        " Ray workers, with the same results.",
        shown_default="opened when needed",
    )
    callbacks: Any = option(None, "Progress and interruption, see kgprobe.running.callbacks.Callbacks.")


@dataclass(frozen=True, slots=True)
class ReversingOptions:
    """Options of inverse graphs."""

    max_subjects: float = option(
        1.5,
        "Maximum number of subjects per object in an inverse relation, on average over facts without an end.",
        minimum=1,
        maximum=1_000_000,
    )


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
