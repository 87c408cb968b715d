"""Generation as a probe: the model goes on with a text by itself, and a fact is known if its object is named in it.

Appendix H.6 of the latent-knowledge paper; docs/methods/generation.md. What stands before is what the probe
``examples`` gives (:mod:`kgprobe.probes.examples.prompt_writer`); :mod:`.reading` looks for names in what the model
wrote, :mod:`.probe` asks, :mod:`.evidence` keeps text and names, :mod:`.accuracy` tells of many facts.
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
    from kgprobe.probes.outcome import Outcome
    from kgprobe.tables import Table

# How far a name may stand from the prompt.
ENDS = ("end", "line")


@dataclass(frozen=True, slots=True)
class GenerationOptions(PromptOptions):
    """What a user chooses of generation; kept with a run, so that it can go on with the same."""

    new_tokens: int = option(50, "The most tokens that the model writes.", minimum=1)
    until: str = option(
        "end",
        "Which part of the text counts: all to its end, or its first line, white space in front set aside.",
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


def _tables(outcomes: "Iterable[Outcome]", described: Mapping[str, Any]) -> "list[Table]":
    from kgprobe.probes.generation.accuracy import generation_tables

    return generation_tables(outcomes, described)


PROBE = ProbeKind(
    name="generation",
    summary="Does the model name the right object when it goes on with a text by itself?",
    details="It writes up to 50 tokens, always the most probable one, after the prompts of `kgprobe probe examples`."
    " A model behind an API has to offer completions; no chat template is used.\n\n\b\nkgprobe probe generation --model"
    " demo --limit 200 --prompt sentences\nkgprobe probe generation --model hf:gpt2 --examples 20 --until line",
    options=GenerationOptions,
    evidence=_evidence,
    make=_make,
    tables=_tables,
    alternatives=lambda evidence: evidence.alternatives,
    values=_values,
    batch_size=64,
    asks="answers",
)
