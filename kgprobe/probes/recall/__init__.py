"""The probe `recall`: answer a question about each fact with several few-shot prompts, greedily and by sampling.

SliCK: Gekhman et al. 2024 (2405.05904), section 3; docs/methods/recall.md. :mod:`.probe` writes the prompts,
asks and counts right answers, :mod:`.evidence` stores the counts and makes the tables, :mod:`.classes` has the four
classes.
"""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.models.generating.thinking import thinking_option
from kgprobe.probes.permission import allow_unknown_option
from kgprobe.probes.questions import CREDITS, OWN, WORDINGS
from kgprobe.probes.register import ProbeKind, imported, made_by
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
    allow_unknown: bool = allow_unknown_option()
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


PROBE = ProbeKind(
    name="recall",
    summary="Does the model answer a question right, with several few-shot prompts, greedily and by sampling?",
    details="Prints the share of each of SliCK's classes: highly known, maybe known, weakly known, unknown. By default"
    " 10 prompts of 4 examples each, with a greedy answer and 16 samples: 170 answers per fact.\n\n\b\nkgprobe probe"
    " recall --model demo --limit 20 --prompts 3 --samples 4\nkgprobe probe recall --model openai:NAME --limit 1000"
    " --batch-api",
    options=RecallOptions,
    evidence=imported("kgprobe.probes.recall.evidence:RecallEvidence"),
    make=made_by("kgprobe.probes.recall.probe:make_probe"),
    batch_size=16,
    asks="answers",
)
