"""The probe `generation`: the model continues a prompt; a fact is known if the text names its object.

Appendix H.6 of the latent-knowledge paper; docs/methods/generation.md. The prompts are those of the probe
``examples`` (:mod:`kgprobe.probes.examples.prompts`). :mod:`.probe` finds names in the generated text and decides,
:mod:`.evidence` stores text and names, and makes the tables.
"""

from typing import TYPE_CHECKING

from kgprobe.probes.generation.options import GenerationOptions
from kgprobe.probes.register import ProbeContext, ProbeKind, imported

if TYPE_CHECKING:
    from kgprobe.probes.generation.probe import GenerationProbe


def _make(setting: ProbeContext, options: GenerationOptions) -> "GenerationProbe":
    from kgprobe.probes.examples.prompts import PromptWriter, Room
    from kgprobe.probes.generation.probe import GenerationProbe

    room = Room(setting.model.scorer() if setting.model.scores else None, reserved=options.new_tokens)
    prompts = PromptWriter(setting.graph, options, room, as_of=setting.as_of, relations=setting.relations)
    return GenerationProbe(setting.graph, prompts, setting.model.generator(), options, as_of=setting.as_of)


PROBE = ProbeKind(
    name="generation",
    summary="Does the model name the right object when it continues a prompt?",
    details="Generates up to 50 tokens greedily after the prompts of `kgprobe probe examples`. An API has to offer"
    " completions; no chat template is used.\n\n\b\nkgprobe probe generation --model"
    " demo --limit 200 --prompt sentences\nkgprobe probe generation --model hf:gpt2 --examples 20 --until line",
    options=GenerationOptions,
    evidence=imported("kgprobe.probes.generation.evidence:GenerationEvidence"),
    make=_make,
    batch_size=64,
    asks="answers",
)
