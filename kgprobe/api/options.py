"""Options of calls that take many; light, so that the command line can make its own from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, TypedDict

from kgprobe.beliefs import DISTRIBUTIONS
from kgprobe.beliefs.register import LEARNERS, SAMPLING_RULES
from kgprobe.options import option
from kgprobe.search.strategies import STRATEGIES
from kgprobe.studies.measure_names import measure_names

if TYPE_CHECKING:
    from kgprobe.sampling.selection import Listed


def _listed(helps: Mapping[str, str]) -> str:
    """Return the help of choices as one sentence."""
    return "; ".join(f"{name}: {text}" for name, text in helps.items()) + "."


class Measuring(TypedDict, total=False):
    """What a study's measurements are about, and how they are made: as in :func:`kgprobe.measure` with distractors.

    Attributes:
        limit, facts, relations, as_of: which facts.
        distractors, sentences, templates, strategy, weighting, max_prefixes: options of the probe, see
            :class:`~kgprobe.probes.distractors.DistractorOptions`; ``sentences``: None asks all of them.
    """

    limit: int | None
    facts: "Listed | None"
    relations: Sequence[str]
    as_of: int | str | date | None
    distractors: int
    sentences: int | None
    templates: str
    strategy: str
    weighting: str
    max_prefixes: int


# What the studies of distractors take for the probe's options where nothing else is said.
STRATEGIES_DEFAULTS: Measuring = {"distractors": 100, "sentences": 1}
DISTRACTOR_COUNT_DEFAULTS: Measuring = {"distractors": 200, "sentences": None}
SENTENCES_DEFAULTS: Measuring = {"distractors": 20, "sentences": None}
SCALING_DEFAULTS: Measuring = {"distractors": 20, "sentences": None}


@dataclass(frozen=True, slots=True)
class RoundsOptions:
    """How rounds are done, whatever the probe."""

    rounds: int = option(20, "Rounds to run.", minimum=1)
    facts_per_round: int = option(64, "Facts asked in each round.", minimum=1)
    aim: str = option(
        "failures",
        "What the run is for: finding facts that the model fails on, or estimating how much of the graph it knows.",
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
    max_degree: int = option(1000, "Entities with more facts than this do not pass on what is learned.", minimum=1)
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
    """Which relations are asked from object to subject."""

    max_subjects: float = option(
        1.5,
        "Maximum number of subjects per object in an inverse relation, on average over facts without an end.",
        minimum=1,
        maximum=1_000_000,
    )


@dataclass(frozen=True, slots=True)
class ApiLimits:
    """How models behind an API are asked, and what that may cost."""

    concurrency: int = option(32, "Requests to an API under way at once, at most.", minimum=1)
    timeout: float = option(
        120.0, "A request to an API without an answer by then is repeated.", above=0, metavar="SECONDS"
    )
    max_tokens: int | None = option(None, "Tokens of an API to use, at most.", minimum=0, metavar="N")
    max_cost: float | None = option(
        None,
        "What an API may cost, in the currency of the prices; needs both of them.",
        minimum=0,
        metavar="MONEY",
    )
    input_price: float | None = option(None, "Price per million input tokens (prompts).", minimum=0, metavar="MONEY")
    output_price: float | None = option(None, "Price per million output tokens (answers).", minimum=0, metavar="MONEY")
    refresh: bool = option(False, "Ask an API again for what it has answered before: its model is another.")
    tokenizer: str | None = option(
        None,
        "The model whose tokenizer an API's server has, such as hf:OWNER/NAME, where names are scored.",
        metavar="SPEC",
        shown_default="ask the server for tokens",
    )
    scoring_way: str | None = option(
        None,
        "How an API is asked for log-probabilities.",
        choices=("token_ids", "n_probs", "token_ids_logprob", "echo", "echo_text"),
        shown_default="find out",
    )


@dataclass(frozen=True, slots=True)
class MeasuresOptions:
    """Which measures of knowledge a study sets side by side, and what they are made with."""

    strategies: tuple[str, ...] = option(
        ("random", "temporal-semantic", "approximate-optimal"),
        "The distractor measure with these distractors; repeatable.",
        choices=STRATEGIES.names,
        flag="strategy",
    )
    measures: tuple[str, ...] = option(
        (),
        "Only this measure; repeatable.",
        choices=measure_names,
        flag="measure",
        metavar="NAME",
        shown_default="the distractor measures, and all baselines that can be had",
    )
    beams: tuple[int, ...] = option(
        (1, 2, 5),
        "Continuations that beam search keeps, for ROUGE-L, BERTScore and the grader; repeatable.",
        minimum=1,
        flag="beams",
    )
    encoder: str | None = option(
        None, "BERTScore's encoder, such as hf:roberta-large.", metavar="SPEC", shown_default="no BERTScore"
    )
    grader: str | None = option(None, "A model that grades continuations.", metavar="SPEC", shown_default="no grader")
    distractors: int = option(200, "The greatest n of Min@n, Avg@n and precision@n.", minimum=1)


@dataclass(frozen=True, slots=True)
class SyntheticOptions:
    """What made-up facts are like."""

    size: int = option(2_500, "Make up so many facts.", minimum=2)
    hard: float = option(0.5, "About which share of them a model fails more often than not.", above=0, below=1)
    spread: float = option(
        3.0,
        "How they differ: the standard deviation of logit θ; 1 is much alike, 6 is surely known or surely not.",
        above=0,
    )
    likeness: float = option(
        0.5, "How far facts that share an entity are alike in θ: 0 not at all.", minimum=0, below=1
    )
    distribution: str = option(
        "normal",
        "Of logit θ. student: Student's t with 3 degrees of freedom, so that some facts are far out; mixture: facts are"
        " known or unknown, hardly any in between.",
        choices=DISTRIBUTIONS,
    )


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How strategies of sampling are replayed."""

    requests: int | None = option(None, "Questions that each strategy may ask.", minimum=1, shown_default="8 a fact")
    facts_per_round: int = option(64, "Facts asked in each round.", minimum=1)
    max_degree: int = option(1_000, "Entities with more facts do not propagate.", minimum=1)
    repetitions: int = option(5, "Of each replay.", minimum=2)
    hardest: int = option(100, "Facts to look at as the hardest.", minimum=1)


@dataclass(frozen=True, slots=True)
class ExampleCountsOptions:
    """How the number of examples is studied."""

    counts: tuple[int, ...] = option(
        (1, 2, 5, 10, 20, 50), "So many examples before a fact; repeatable.", minimum=1, flag="examples"
    )
    draws: int = option(5, "Draw the examples so many times, each by a seed of its own.", minimum=1)
    choices: int = option(100, "Objects to choose from, the right one among them.", minimum=2)


@dataclass(frozen=True, slots=True)
class PromptingOptions:
    """Which ways of asking are compared."""

    separators: tuple[str, ...] = option(
        (": ", " = "),
        "Also ask with this between a subject and its object; repeatable.",
        flag="separator",
        metavar="TEXT",
    )
    examples: int = option(50, "Facts of the relation that stand before the one asked.", minimum=1)
    choices: int = option(100, "Objects to choose from, the right one among them.", minimum=2)


@dataclass(frozen=True, slots=True)
class NoisyExamplesOptions:
    """What the sequences with unknown and incorrect examples are like."""

    sequences: int = option(20, "Sequences to make; relations take turns.", minimum=1)
    length: int = option(200, "Examples in a sequence; fewer where the model's context ends.", minimum=4)
    replaced: int = option(40, "How many of them are replaced.", minimum=1)
