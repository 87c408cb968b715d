"""Labels as a probe: what a model says, in words, of facts and of what is false; the judge learns from them.

The paper on evaluating language models with large graphs; docs/methods/judge.md. :mod:`.probe` asks, :mod:`.evidence`
keeps every answer, :mod:`.tables` tells of many.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgprobe.options import option
from kgprobe.probes.register import ProbeContext, ProbeKind
from kgprobe.probes.statements import NegativeOptions, statement_items

if TYPE_CHECKING:
    import msgspec

    from kgprobe.probes.labels.evidence import LabelEvidence
    from kgprobe.probes.labels.probe import LabelProbe
    from kgprobe.probes.outcome import Headline, Outcome
    from kgprobe.tables import Table

# Where the statement stands in an instruction.
STATEMENT = "{statement}"
# The examples are about what no graph of facts is asked for.
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
class LabelOptions(NegativeOptions):
    """What a user chooses; kept with a run, so that it can go on with the same."""

    negatives: int = option(1, "False statements beside each fact's own, made of the fact.", minimum=1)
    times: int = option(
        3, "How often each statement is asked; what more than half of the answers say counts.", minimum=1
    )
    temperature: float = option(1.0, "How freely answers are drawn; at 0 they are all the same.", minimum=0.0)
    answer_tokens: int = option(16, "The most tokens of an answer; models that think aloud need many.", minimum=1)
    instruction: str = option(
        INSTRUCTION,
        f"What is said to the model, with {STATEMENT} in place of the statement.",
        metavar="TEXT",
        shown_default="three examples, and the statement",
    )


def _make(setting: ProbeContext, options: LabelOptions) -> "LabelProbe":
    from kgprobe.probes.labels.probe import LabelProbe

    return LabelProbe(statement_items(setting, options, options.negatives), setting.model.generator(), options)


def _evidence() -> "type[msgspec.Struct]":
    from kgprobe.probes.labels.evidence import LabelEvidence

    return LabelEvidence


def _tables(outcomes: "Iterable[Outcome]", described: Mapping[str, Any]) -> "list[Table]":  # noqa: ARG001
    from kgprobe.probes.labels.tables import label_tables

    return label_tables(outcomes)


def _values(evidence: "LabelEvidence") -> Mapping[str, float]:
    return {**evidence.metrics, "bias": evidence.bias}


def _headline(outcomes: "Iterable[Outcome]") -> "Headline | None":
    from kgprobe.probes.labels.tables import label_headline

    return label_headline(outcomes)


PROBE = ProbeKind(
    name="labels",
    summary="Does the model say of a fact that it is true, and of false facts that they are false?",
    details="Statements as of `kgprobe probe statements`, asked in words, several times each; the majority is the"
    " label. A judge learns from them what the model would say: `kgprobe judge train`.\n\n\b\nkgprobe probe labels"
    " --model demo --limit 200\nkgprobe probe labels --model openai:NAME --limit 2000 \\\n    --max-cost 2"
    " --input-price 0.15 --output-price 0.6",
    options=LabelOptions,
    evidence=_evidence,
    make=_make,
    tables=_tables,
    alternatives=lambda evidence: evidence.alternatives,
    values=_values,
    leads="correct",
    headline=_headline,
    batch_size=64,
    asks="answers",
)
