"""Options of calls with many parameters, from which the command line makes its flags; imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgprobe.beliefs.register import LEARNERS, SAMPLING_RULES
from kgprobe.options import option


def _listed(helps: Mapping[str, str]) -> str:
    """Return the help of choices as one sentence."""
    return "; ".join(f"{name}: {text}" for name, text in helps.items()) + "."


@dataclass(frozen=True, slots=True)
class RoundsOptions:
    """Options of rounds, for every probe."""

    rounds: int = option(20, "Rounds to run.", minimum=1)
    facts_per_round: int = option(64, "Facts asked in each round.", minimum=1)
    aim: str = option(
        "failures",
        "Aim: find facts that the model fails on, or estimate the share of the graph that it knows.",
        choices=("failures", "estimate"),
    )
    learner: str = option(
        "hierarchical",
        f"Update of beliefs by answers. {_listed({name: kind.help for name, kind in LEARNERS.items()})}",
        choices=tuple(LEARNERS),
    )
    sampling: str | None = option(
        None,
        f"Facts asked in each round. {_listed({name: rule.help for name, rule in SAMPLING_RULES.items()})}",
        choices=tuple(SAMPLING_RULES),
        shown_default="for failures hardest, or thompson with other learners than hierarchical; for estimates uniform",
    )
    max_degree: int = option(1000, "Entities with more facts than this do not propagate beliefs.", minimum=1)
    stop_at_width: float = option(
        0.0,
        "Stop when the 90% credible interval of a fact's probability of failing is at most this wide, on average over"
        " all askable facts. Before any answer it is 1.00 wide with --learner hierarchical, 0.9 with the others.",
        minimum=0,
        below=0.9,
        metavar="W",
        shown_default="do all rounds",
    )


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
    )
    input_price: float | None = option(None, "Price per million input tokens (prompts).", minimum=0, metavar="MONEY")
    output_price: float | None = option(None, "Price per million output tokens (answers).", minimum=0, metavar="MONEY")
    refresh: bool = option(False, "Ignore cached API responses.")
    tokenizer: str | None = option(
        None,
        "Model with the same tokenizer as the API's, such as hf:OWNER/NAME; for scoring names.",
        metavar="SPEC",
        shown_default="ask the server for tokens",
    )
    scoring_way: str | None = option(
        None,
        "Method of requesting log-probabilities from the API.",
        choices=("token_ids", "n_probs", "token_ids_logprob", "echo", "echo_text"),
        shown_default="detect",
    )
