"""Options of the probe `generation`."""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.probes.examples import PromptOptions
from kgprobe.probes.tolerance import tolerance_option

# Part of the text that is searched for names.
ENDS = ("end", "line")


@dataclass(frozen=True, slots=True)
class GenerationOptions(PromptOptions):
    """Options of the probe, stored with a run."""

    new_tokens: int = option(50, "Maximum new tokens.", minimum=1)
    until: str = option(
        "end",
        "Part of the generated text that counts: all of it, or its first line (after leading white space).",
        choices=ENDS,
    )
    tolerance: float | None = tolerance_option()
