"""Options of the probe `recall`."""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.models.generating.thinking import thinking_option
from kgprobe.probes.questions.options import CREDITS, OWN, WORDINGS
from kgprobe.probes.tolerance import tolerance_option


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """Options of the probe, stored with a run."""

    prompts: int = option(10, "Number of prompts per fact, each with its own few-shot examples.", minimum=1)
    examples: int = option(
        4, "Number of few-shot examples in a prompt: facts of the relation, drawn at random.", minimum=1
    )
    samples: int = option(
        16, "Number of sampled answers per prompt, in addition to the greedy one; 0 for none.", minimum=0
    )
    temperature: float = option(0.5, "Sampling temperature of the sampled answers.", above=0.0)
    answer_tokens: int = option(
        32, "Maximum tokens of an answer; without --thinking, reasoning models need many.", minimum=1
    )
    credit: str = option(
        OWN,
        "Right answers: the fact's own object, or any right object of the subject and relation.",
        choices=CREDITS,
    )
    tolerance: float | None = tolerance_option()
    thinking: str | None = thinking_option()
    wording: str = option(
        "hand",
        "Templates of the questions: written by hand, or made of the relation's label.",
        choices=WORDINGS,
    )
