"""The probe `recall`: answer a question about each fact with several few-shot prompts, greedily and by sampling.

SliCK: Gekhman et al. 2024 (2405.05904), section 3; docs/methods/recall.md. :mod:`.items` writes the prompts,
:mod:`.probe` asks and counts right answers, :mod:`.evidence` stores the counts and makes the tables, :mod:`.classes`
has the four classes.
"""

from typing import TYPE_CHECKING

from kgprobe.models.generating.thinking import Thinking
from kgprobe.probes.recall.options import RecallOptions
from kgprobe.probes.register import ProbeContext, ProbeKind, imported

if TYPE_CHECKING:
    from kgprobe.probes.recall.probe import RecallProbe


def _make(setting: ProbeContext, options: RecallOptions) -> "RecallProbe":
    from kgprobe.probes.recall.items import RecallItems
    from kgprobe.probes.recall.probe import RecallProbe

    # Before the model is loaded.
    Thinking.parse(options.thinking)
    items = RecallItems(setting.graph, options, as_of=setting.as_of, relations=setting.relations)
    return RecallProbe(items, setting.model.generator(), options)


PROBE = ProbeKind(
    name="recall",
    summary="Does the model answer a question right, with several few-shot prompts, greedily and by sampling?",
    details="Prints the share of each of SliCK's classes: highly known, maybe known, weakly known, unknown. By default"
    " 10 prompts of 4 examples each, with a greedy answer and 16 samples: 170 answers per fact.\n\n\b\nkgprobe probe"
    " recall --model demo --limit 20 --prompts 3 --samples 4\nkgprobe probe recall --model openai:NAME --limit 1000"
    " --batch-api",
    options=RecallOptions,
    evidence=imported("kgprobe.probes.recall.evidence:RecallEvidence"),
    make=_make,
    batch_size=16,
    asks="answers",
)
