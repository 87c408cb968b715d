"""The probe `true-false`: answers in words to statements that are true or false; the judge learns from them.

The paper on evaluating language models with large graphs; docs/methods/judge.md. :mod:`.probe` asks, :mod:`.evidence`
stores the answers and makes the tables.
"""

from typing import TYPE_CHECKING

from kgprobe.models.generating.thinking import Thinking
from kgprobe.probes.register import ProbeContext, ProbeKind, imported
from kgprobe.probes.statements import statement_items
from kgprobe.probes.true_false.options import TrueFalseOptions

if TYPE_CHECKING:
    from kgprobe.probes.true_false.probe import TrueFalseProbe


def _make(setting: ProbeContext, options: TrueFalseOptions) -> "TrueFalseProbe":
    from kgprobe.probes.true_false.probe import TrueFalseProbe

    # Before the model is loaded.
    Thinking.parse(options.thinking)
    return TrueFalseProbe(statement_items(setting, options, options.negatives), setting.model.generator(), options)


PROBE = ProbeKind(
    name="true-false",
    summary="Does the model say that facts are true, and that false facts are false?",
    details="Asks the statements of `kgprobe probe statements` in words, several times each; the majority is the label."
    " A judge learns the model's answers from the labels: `kgprobe judge train`.\n\n\b\nkgprobe probe true-false"
    " --model demo --limit 200\nkgprobe probe true-false --model openai:NAME --limit 2000 \\\n    --max-cost 2"
    " --input-price 0.15 --output-price 0.6",
    options=TrueFalseOptions,
    evidence=imported("kgprobe.probes.true_false.evidence:TrueFalseEvidence"),
    make=_make,
    leads="correct",
    batch_size=64,
    asks="answers",
)
