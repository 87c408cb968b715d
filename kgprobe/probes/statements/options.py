"""Options of the probe `statements`."""

from dataclasses import dataclass

from kgprobe.base.options import option

INSTRUCTION = (
    "You are given a statement. Judge whether it is true. Answer with one word: True if it is true, False if it is"
    " false, or Unknown if you do not know."
)


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
    answers: str = option("True/False/Unknown", "The words for true, false and unknown.", metavar="T/F/U")
