"""Choices as a probe: every answer that a relation has is put into its sentence, and the most probable sentence wins.

Wiland et al., *BEAR: A Unified Framework for Evaluating Relational Knowledge in Causal and Masked Language Models*
(2024); docs/methods/choices.md. :mod:`.spaces` has the answers, :mod:`.sentences` puts them, :mod:`.scores` gives each
its score, :mod:`.probe` answers, :mod:`.evidence` keeps what was compared, :mod:`.accuracy` tells of many facts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgprobe.options import option
from kgprobe.probes.register import ProbeContext, ProbeKind

if TYPE_CHECKING:
    import msgspec

    from kgprobe.probes.choices.evidence import ChoiceEvidence
    from kgprobe.probes.choices.probe import ChoiceProbe
    from kgprobe.probes.outcome import Outcome
    from kgprobe.tables import Table

REDUCTIONS = ("sum", "mean", "characters", "bytes")


@dataclass(frozen=True, slots=True)
class ChoiceOptions:
    """What a user chooses; kept with a run, so that it can go on with the same. The defaults are lm-pub-quiz's."""

    template: int | None = option(
        1,
        "Which of the relation's sentences, counted from 1; or all of them, each a comparison of its own, the first of"
        " which decides.",
        minimum=1,
        none="all",
        metavar="N|all",
    )
    reduction: str = option(
        "sum",
        "What is made of the log-probabilities of a sentence's tokens: their sum, their mean, or their sum by the"
        " length of the text that is scored, in characters or in bytes.",
        choices=REDUCTIONS,
    )
    conditional: bool = option(False, "Score from the answer on, given what stands before it, not the whole sentence.")
    always_bos: bool = option(
        True, "Begin sentences with the BOS token also where the model's tokenizer puts none by itself."
    )
    max_choices: int = option(
        1_000,
        "A relation with more answers than so many is not asked: each of its facts costs a sentence an answer.",
        minimum=2,
    )


def _make(setting: ProbeContext, options: ChoiceOptions) -> "ChoiceProbe":
    from kgprobe.probes.choices.probe import ChoiceProbe

    return ChoiceProbe(setting.graph, setting.model.scorer(), options, as_of=setting.as_of, relations=setting.relations)


def _evidence() -> "type[msgspec.Struct]":
    from kgprobe.probes.choices.evidence import ChoiceEvidence

    return ChoiceEvidence


def _values(evidence: "ChoiceEvidence") -> Mapping[str, float]:
    return {"confidence": evidence.probability}


def _tables(outcomes: "Iterable[Outcome]", described: Mapping[str, Any]) -> "list[Table]":  # noqa: ARG001
    from kgprobe.probes.choices.accuracy import accuracy_tables

    return accuracy_tables(outcomes)


PROBE = ProbeKind(
    name="choices",
    summary="Does the model find the right answer among all that the relation has?",
    details="Each answer is put into a sentence of the relation, and the most probable sentence wins; as lm-pub-quiz"
    " does it, whose numbers the defaults give. Ends in the accuracy by relation, and by confidence.\n\n\b\nkgprobe"
    " probe choices --model demo --limit 200\nkgprobe probe choices --model hf:gpt2 --template all --conditional \\\n"
    "    --reduction mean",
    options=ChoiceOptions,
    evidence=_evidence,
    make=_make,
    tables=_tables,
    alternatives=lambda evidence: evidence.alternatives,
    values=_values,
    batch_size=16,
)
