"""Options of the probe `true-false`, and its instruction."""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.models.generating.thinking import thinking_option
from kgprobe.probes.statements.options import NegativeOptions

# Placeholder of the statement in an instruction.
STATEMENT = "{statement}"
# The examples avoid facts of a graph.
INSTRUCTION = f"""\
Judge each statement. Answer True if you know that it is true, False if you know that it is false, and Unknown if you \
do not know.

Statement: Water is made of hydrogen and oxygen.
Answer: True

Statement: The name of my neighbour's cat is Felix.
Answer: Unknown

Statement: The Moon is larger than the Earth.
Answer: False

Statement: {STATEMENT}
Answer:"""


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
    thinking: str | None = thinking_option()
    instruction: str = option(
        INSTRUCTION,
        f"Prompt, with {STATEMENT} as the placeholder of the statement.",
        metavar="TEXT",
        shown_default="three examples and the statement",
    )
