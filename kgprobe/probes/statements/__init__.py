"""The probe `statements`: the model judges a fact's statement, and false statements, true, false or unknown.

The paper on evaluating language models with large graphs; docs/methods/statements.md. :mod:`.items` words facts and
their negatives, :mod:`.probe` asks, :mod:`.metrics` computes how correct, truthful and informative the model is,
:mod:`.evidence` stores the probabilities of the answers and makes the tables.
"""

from typing import TYPE_CHECKING

from kgprobe.probes.register import ProbeContext, ProbeKind, imported
from kgprobe.probes.statements.options import NegativeOptions, StatementOptions

if TYPE_CHECKING:
    from kgprobe.probes.statements.items import StatementItems
    from kgprobe.probes.statements.probe import StatementProbe


def statement_items(setting: ProbeContext, options: NegativeOptions, negatives: int) -> "StatementItems":
    """Return the source of statements with a number of negatives per fact, for any probe."""
    from kgprobe.probes.statements.items import StatementItems

    return StatementItems(
        setting.graph,
        setting.as_of,
        negatives=negatives,
        replace=options.replace,
        any_type=options.any_type,
        relations=setting.relations,
    )


def _make(setting: ProbeContext, options: StatementOptions) -> "StatementProbe":
    from kgprobe.probes.statements.probe import StatementProbe

    items = statement_items(setting, options, options.negatives)
    return StatementProbe(items, setting.model.scorer(), options)


PROBE = ProbeKind(
    name="statements",
    summary="Does the model judge a fact to be true, and false facts to be false?",
    details="States each fact in a sentence, and its negatives: the fact with another subject, relation or object,"
    " which the graph never has. The most probable of three answers counts: true, false or unknown. Prints how correct,"
    " truthful and informative the model is.\n\n\b\nkgprobe probe statements --model demo --limit 200\nkgprobe probe"
    " statements --model hf:gpt2 --replace any --negatives 3",
    options=StatementOptions,
    evidence=imported("kgprobe.probes.statements.evidence:StatementEvidence"),
    make=_make,
    leads="correct",
)
