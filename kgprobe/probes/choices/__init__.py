"""The probe `choices`: compare the sentences of a relation with each of its possible answers filled in.

Wiland et al., *BEAR: A Unified Framework for Evaluating Relational Knowledge in Causal and Masked Language Models*
(2024); docs/methods/choices.md. :mod:`.probe` asks and decides, :mod:`.evidence` stores the scores and makes
the tables.
"""

from dataclasses import dataclass

from kgprobe.base.options import option
from kgprobe.probes.register import ProbeKind, imported, with_scorer

REDUCTIONS = ("sum", "mean", "characters", "bytes")


@dataclass(frozen=True, slots=True)
class ChoiceOptions:
    """Options of the probe, stored with a run. The defaults are lm-pub-quiz's."""

    template: int | None = option(
        1,
        "Number of the relation's sentence, from 1, or all. Each sentence is compared by itself; the first decides.",
        minimum=1,
        none="all",
        metavar="N|all",
        common=True,
    )
    reduction: str = option(
        "sum",
        "Reduction of token log-probabilities to a score: sum, mean, or sum divided by the length of the scored text"
        " in characters or bytes.",
        choices=REDUCTIONS,
    )
    conditional: bool = option(
        False, "Score the sentence from the answer on, given the text before it, instead of the whole sentence."
    )
    always_bos: bool = option(True, "Start sentences with the BOS token, even if the model's tokenizer adds none.")
    max_choices: int = option(
        1_000,
        "Maximum answers of a relation; relations with more are not asked. A fact costs one sentence per answer.",
        minimum=2,
    )


PROBE = ProbeKind(
    name="choices",
    summary="Does the model find the right answer among all that the relation has?",
    details="Fills each answer into a sentence of the relation; the most probable sentence wins. The defaults give the"
    " numbers of lm-pub-quiz. Prints the accuracy by relation and by confidence.\n\n\b\nkgprobe probe choices --model"
    " demo --limit 200\nkgprobe probe choices --model hf:gpt2 --template all --conditional \\\n    --reduction mean",
    options=ChoiceOptions,
    evidence=imported("kgprobe.probes.choices.evidence:ChoiceEvidence"),
    make=with_scorer("kgprobe.probes.choices.probe:ChoiceProbe"),
    batch_size=16,
)
