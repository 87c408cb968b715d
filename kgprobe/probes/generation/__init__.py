"""The probe `generation`: the model continues a prompt; a fact is known if the text names its object.

Appendix H.6 of the latent-knowledge paper; docs/methods/generation.md. The prompts are those of the probe
``examples`` (:mod:`kgprobe.probes.examples.prompts`). :mod:`.probe` finds names in the generated text and decides,
:mod:`.evidence` stores text and names, and makes the tables.
"""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.probes.examples import PromptOptions
from kgprobe.probes.permission import allow_unknown_option
from kgprobe.probes.register import ProbeKind, imported, made_by
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
    allow_unknown: bool = allow_unknown_option()


PROBE = ProbeKind(
    name="generation",
    summary="Does the model name the right object when it continues a prompt?",
    details="Generates up to 50 tokens greedily after the prompts of `kgprobe probe examples`. An API has to offer"
    " completions; no chat template is used.\n\n\b\nkgprobe probe generation --model"
    " demo --limit 200 --prompt sentences\nkgprobe probe generation --model hf:gpt2 --examples 20 --until line",
    options=GenerationOptions,
    evidence=imported("kgprobe.probes.generation.evidence:GenerationEvidence"),
    make=made_by("kgprobe.probes.generation.probe:make_probe"),
    batch_size=64,
    asks="answers",
)
