"""The probe `true-false`: answers in words to statements that are true or false; the judge learns from them.

The paper on evaluating language models with large graphs; docs/methods/judge.md. :mod:`.probe` asks, :mod:`.evidence`
stores the answers and makes the tables.
"""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.models.generating.thinking import thinking_option
from kgprobe.probes.questions import ask_confidence_option
from kgprobe.probes.register import ProbeKind, imported, made_by
from kgprobe.probes.statements import NegativeOptions
from kgprobe.verbalize.language import ENGLISH

# Placeholder of the statement in an instruction.
STATEMENT = "{statement}"
INSTRUCTION = ENGLISH.prompts.true_false


@dataclass(frozen=True, slots=True)
class TrueFalseOptions(NegativeOptions):
    """Options of the probe, stored with a run."""

    negatives: int = option(1, "Number of negatives (false statements) per fact.", minimum=1)
    repeats: int = option(
        3, "Number of answers per statement; the label is the answer of more than half of them.", minimum=1
    )
    temperature: float = option(1.0, "Sampling temperature; at 0 (greedy) all answers are equal.", minimum=0.0)
    answer_tokens: int = option(
        16, "Maximum tokens of an answer; without --thinking, reasoning models need many.", minimum=1
    )
    ask_confidence: bool = ask_confidence_option()
    thinking: str | None = thinking_option()
    instruction: str = option(
        INSTRUCTION,
        f"Prompt, with {STATEMENT} as the placeholder of the statement.",
        metavar="TEXT",
        shown_default="three examples and the statement",
    )


PROBE = ProbeKind(
    name="true-false",
    summary="Does the model say that facts are true, and that false facts are false?",
    details="Asks the statements of `kgprobe probe statements` in words, several times each; the majority is the label."
    " A judge learns the model's answers from the labels: `kgprobe judge train`.\n\n\b\nkgprobe probe true-false"
    " --model demo --limit 200\nkgprobe probe true-false --model openai:NAME --limit 2000 \\\n    --max-cost 2"
    " --input-price 0.15 --output-price 0.6",
    options=TrueFalseOptions,
    evidence=imported("kgprobe.probes.true_false.evidence:TrueFalseEvidence"),
    make=made_by("kgprobe.probes.true_false.probe:make_probe"),
    leads="correct",
    batch_size=64,
    asks="answers",
)
