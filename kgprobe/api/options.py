"""Options of calls with many parameters, from which the command line makes its flags; imports nothing heavy."""

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
    """Arguments of a study's measurements, as in :func:`kgprobe.measure` with distractors.

    Attributes:
        limit, facts, relations, as_of: selection of facts.
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


# Defaults of the probe's options in studies of distractors.
STRATEGIES_DEFAULTS: Measuring = {"distractors": 100, "sentences": 1}
DISTRACTOR_COUNT_DEFAULTS: Measuring = {"distractors": 200, "sentences": None}
SENTENCES_DEFAULTS: Measuring = {"distractors": 20, "sentences": None}
SCALING_DEFAULTS: Measuring = {"distractors": 20, "sentences": None}


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


@dataclass(frozen=True, slots=True)
class MeasuresOptions:
    """Measures of knowledge that a study compares, and their settings."""

    strategies: tuple[str, ...] = option(
        ("random", "temporal-semantic", "approximate-optimal"),
        "Distractor measure with this strategy; repeatable.",
        choices=STRATEGIES.names,
        flag="strategy",
    )
    measures: tuple[str, ...] = option(
        (),
        "Only this measure; repeatable.",
        choices=measure_names,
        flag="measure",
        metavar="NAME",
        shown_default="the distractor measures, and all available baselines",
    )
    beams: tuple[int, ...] = option(
        (1, 2, 5),
        "Beam width, for ROUGE-L, BERTScore and the grader; repeatable.",
        minimum=1,
        flag="beams",
    )
    encoder: str | None = option(
        None, "Encoder of BERTScore, such as hf:roberta-large.", metavar="SPEC", shown_default="no BERTScore"
    )
    grader: str | None = option(None, "Model that grades continuations.", metavar="SPEC", shown_default="no grader")
    distractors: int = option(200, "Largest n of Min@n, Avg@n and precision@n.", minimum=1)


@dataclass(frozen=True, slots=True)
class SyntheticOptions:
    """Options of synthetic facts."""

    size: int = option(2_500, "Number of synthetic facts.", minimum=2)
    hard: float = option(
        0.5, "Approximate share of facts that the model fails on more often than not.", above=0, below=1
    )
    spread: float = option(
        3.0,
        "Standard deviation of logit θ: 1 makes facts similar, 6 makes them surely known or surely unknown.",
        above=0,
    )
    likeness: float = option(
        0.5, "Correlation of θ between facts that share an entity; 0 is independent.", minimum=0, below=1
    )
    distribution: str = option(
        "normal",
        "Distribution of logit θ. student: Student's t with 3 degrees of freedom (heavy tails); mixture: facts are"
        " known or unknown, hardly any in between.",
        choices=DISTRIBUTIONS,
    )


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Options of replays of sampling rules."""

    requests: int | None = option(
        None, "Number of questions of each strategy.", minimum=1, shown_default="8 for each fact"
    )
    facts_per_round: int = option(64, "Facts asked in each round.", minimum=1)
    max_degree: int = option(1_000, "Entities with more facts than this do not propagate beliefs.", minimum=1)
    repetitions: int = option(5, "Repetitions of each replay.", minimum=2)
    hardest: int = option(100, "Number of facts that count as the hardest.", minimum=1)


@dataclass(frozen=True, slots=True)
class ExampleCountsOptions:
    """Options of the study of the number of few-shot examples."""

    counts: tuple[int, ...] = option(
        (1, 2, 5, 10, 20, 50), "Number of few-shot examples; repeatable.", minimum=1, flag="examples"
    )
    draws: int = option(5, "Number of random draws of the examples.", minimum=1)
    choices: int = option(100, "Objects to choose from, the right one among them.", minimum=2)


@dataclass(frozen=True, slots=True)
class PromptingOptions:
    """Options of the study of prompt formats."""

    separators: tuple[str, ...] = option(
        (": ", " = "),
        "Additional separator between subject and object; repeatable.",
        flag="separator",
        metavar="TEXT",
    )
    examples: int = option(50, "Number of few-shot examples.", minimum=1)
    choices: int = option(100, "Objects to choose from, the right one among them.", minimum=2)


@dataclass(frozen=True, slots=True)
class NoisyExamplesOptions:
    """Options of sequences with unknown and incorrect examples."""

    sequences: int = option(20, "Number of sequences; relations alternate.", minimum=1)
    length: int = option(200, "Examples in a sequence; fewer if the model's context is shorter.", minimum=4)
    replaced: int = option(40, "Number of replaced examples.", minimum=1)
