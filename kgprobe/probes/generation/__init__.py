"""The probe `generation`: the model continues a prompt; a fact is known if the text names its object.

Appendix H.6 of the latent-knowledge paper; docs/methods/generation.md. The prompts are those of the probe
``examples`` (:mod:`kgprobe.probes.examples.prompt_writer`). :mod:`.reading` finds names in the generated text,
:mod:`.probe` decides, :mod:`.evidence` stores text and names, :mod:`.accuracy` makes the tables.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgprobe.options import option
from kgprobe.probes.examples import PromptOptions
from kgprobe.probes.register import ProbeContext, ProbeKind

if TYPE_CHECKING:
    import msgspec

    from kgprobe.probes.generation.evidence import GenerationEvidence
    from kgprobe.probes.generation.probe import GenerationProbe
    from kgprobe.probes.outcome import Outcome, ProbeResults

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


def _make(setting: ProbeContext, options: GenerationOptions) -> "GenerationProbe":
    from kgprobe.probes.examples.prompt_writer import PromptWriter
    from kgprobe.probes.examples.prompts import Room
    from kgprobe.probes.generation.probe import GenerationProbe

    room = Room(setting.model.scorer() if setting.model.scores else None, reserved=options.new_tokens)
    prompts = PromptWriter(setting.graph, options, room, as_of=setting.as_of, relations=setting.relations)
    return GenerationProbe(setting.graph, prompts, setting.model.generator(), options, as_of=setting.as_of)


def _evidence() -> "type[msgspec.Struct]":
    from kgprobe.probes.generation.evidence import GenerationEvidence

    return GenerationEvidence


def _values(evidence: "GenerationEvidence") -> Mapping[str, float]:
    return {"named_first": float(evidence.is_first), "former_named": float(bool(evidence.former))}


def _results(outcomes: "Iterable[Outcome]", described: Mapping[str, Any]) -> "ProbeResults":
    from kgprobe.probes.generation.accuracy import generation_tables
    from kgprobe.probes.outcome import ProbeResults

    return ProbeResults(generation_tables(outcomes, described))


PROBE = ProbeKind(
    name="generation",
    summary="Does the model name the right object when it continues a prompt?",
    details="Generates up to 50 tokens greedily after the prompts of `kgprobe probe examples`. An API has to offer"
    " completions; no chat template is used.\n\n\b\nkgprobe probe generation --model"
    " demo --limit 200 --prompt sentences\nkgprobe probe generation --model hf:gpt2 --examples 20 --until line",
    options=GenerationOptions,
    evidence=_evidence,
    make=_make,
    results=_results,
    alternatives=lambda evidence: evidence.alternatives,
    values=_values,
    batch_size=64,
    asks="answers",
)
