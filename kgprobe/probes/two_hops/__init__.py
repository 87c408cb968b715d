"""The probe `two-hops`: ask both facts of a path A → B → C, and the composed question about A and C.

docs/methods/two-hops.md. :mod:`kgprobe.sampling.two_hop_paths` finds the paths, :mod:`kgprobe.verbalize.noun_phrases`
words the composed question, :mod:`.probe` asks, :mod:`.evidence` stores the plausibilities and makes the tables.
"""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.probes.register import ProbeKind, imported, with_scorer


@dataclass(frozen=True, slots=True)
class TwoHopOptions:
    """Options of the probe, stored with a run."""

    distractors: int = option(
        10, "Number of other answers of the relation that the right one is compared with.", minimum=1, common=True
    )
    second: tuple[str, ...] = option(
        (),
        "Relation of the second fact, by its id or a name; repeatable. --relation chooses that of the first.",
        metavar="NAME",
        shown_default="all that can be asked",
        common=True,
    )


PROBE = ProbeKind(
    name="two-hops",
    summary="Does the model compose two facts that it knows?",
    details="Asks A → B, B → C, and for C by A alone: the capital of the country of X. Prints how often that is right"
    " where both facts are known.\n\n\b\nkgprobe probe two-hops --model demo\nkgprobe probe two-hops --model hf:gpt2"
    " --relation country --second capital",
    options=TwoHopOptions,
    evidence=imported("kgprobe.probes.two_hops.evidence:TwoHopEvidence"),
    make=with_scorer("kgprobe.probes.two_hops.probe:TwoHopProbe"),
    batch_size=16,
)
