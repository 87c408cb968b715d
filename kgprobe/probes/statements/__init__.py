"""The probe `statements`: the model judges a fact's statement, and false statements, true, false or unknown.

The paper on evaluating language models with large graphs; docs/methods/statements.md. :mod:`.items` words facts and
their negatives, :mod:`.probe` asks, :mod:`.metrics` computes how correct, truthful and informative the model is,
:mod:`.evidence` stores the probabilities of the answers and makes the tables.
"""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.probes.register import ProbeKind, imported, made_by
from kgprobe.verbalize.language import ENGLISH

INSTRUCTION = ENGLISH.prompts.statement
ANSWERS = ENGLISH.prompts.answers


@dataclass(frozen=True, slots=True)
class NegativeOptions:
    """Options of negatives."""

    replace: str = option(
        "object",
        "Part of the fact to replace in a negative; any draws the part for each negative.",
        choices=("subject", "relation", "object", "any"),
    )
    any_type: bool = option(
        False,
        "Replace by any entity or relation, instead of one with a common type (entities) or between common types.",
    )


@dataclass(frozen=True, slots=True)
class StatementOptions(NegativeOptions):
    """Options of the probe, stored with a run."""

    negatives: int = option(1, "Number of negatives (false statements) per fact.", minimum=1)
    instruction: str = option(
        INSTRUCTION, "Instruction before each statement; it should name the answers.", metavar="TEXT"
    )
    answers: str = option(ANSWERS, "The words for true, false and unknown.", metavar="T/F/U")


PROBE = ProbeKind(
    name="statements",
    summary="Does the model judge a fact to be true, and false facts to be false?",
    details="States each fact in a sentence, and its negatives: the fact with another subject, relation or object,"
    " which the graph never has. The most probable of three answers counts: true, false or unknown. Prints how correct,"
    " truthful and informative the model is.\n\n\b\nkgprobe probe statements --model demo --limit 200\nkgprobe probe"
    " statements --model hf:gpt2 --replace any --negatives 3",
    options=StatementOptions,
    evidence=imported("kgprobe.probes.statements.evidence:StatementEvidence"),
    make=made_by("kgprobe.probes.statements.probe:make_probe"),
    leads="correct",
)
