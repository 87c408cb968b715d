"""Statements as a probe: is a fact, said in a sentence, true, false or not known to the model, and what is false?

The paper on evaluating language models with large graphs; docs/methods/statements.md. :mod:`.items` puts facts and
their negatives into words, :mod:`.probe` asks, :mod:`.evidence` keeps what each answer's probability was,
:mod:`.metrics` says how correct, truthful and informative that is, :mod:`.tables` tells of many facts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgprobe.options import option
from kgprobe.probes.register import ProbeContext, ProbeKind

if TYPE_CHECKING:
    import msgspec

    from kgprobe.probes.outcome import Headline, Outcome
    from kgprobe.probes.statements.evidence import StatementEvidence
    from kgprobe.probes.statements.items import StatementItems
    from kgprobe.probes.statements.probe import StatementProbe
    from kgprobe.tables import Table

INSTRUCTION = (
    "You are given a statement. Judge whether it is true. Answer with one word: True if it is true, False if it is"
    " false, or Unknown if you do not know."
)


@dataclass(frozen=True, slots=True)
class NegativeOptions:
    """How negatives are made of facts."""

    replace: str = option(
        "object",
        "What is replaced in a negative; any draws it anew for each.",
        choices=("subject", "relation", "object", "any"),
    )
    any_type: bool = option(
        False,
        "Replace by any entity or relation, not only by an entity that shares a type, or a relation between such.",
    )


@dataclass(frozen=True, slots=True)
class StatementOptions(NegativeOptions):
    """What a user chooses; kept with a run, so that it can go on with the same."""

    negatives: int = option(1, "False statements beside each fact's own, made of the fact.", minimum=1)
    instruction: str = option(
        INSTRUCTION, "What stands before each statement; it should name the answers.", metavar="TEXT"
    )
    answers: str = option("True/False/Unknown", "The words for true, false and unknown.", metavar="T/F/U")


def statement_items(setting: ProbeContext, options: NegativeOptions, negatives: int) -> "StatementItems":
    """What makes statements of facts, with so many negatives each; for any probe that puts them to a model."""
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


def _evidence() -> "type[msgspec.Struct]":
    from kgprobe.probes.statements.evidence import StatementEvidence

    return StatementEvidence


def _values(evidence: "StatementEvidence") -> Mapping[str, float]:
    return {**evidence.metrics, "bias": evidence.bias}


def _tables(outcomes: "Iterable[Outcome]", described: Mapping[str, Any]) -> "list[Table]":  # noqa: ARG001
    from kgprobe.probes.statements.tables import statement_tables

    return statement_tables(outcomes)


def _headline(outcomes: "Iterable[Outcome]") -> "Headline | None":
    from kgprobe.probes.statements.tables import statement_headline

    return statement_headline(outcomes)


PROBE = ProbeKind(
    name="statements",
    summary="Does the model judge a fact to be true, and false facts to be false?",
    details="Each fact is said in a sentence, and so are negatives: the fact with another subject, relation or object,"
    " which the graph has at no time. The most probable of three answers counts: true, false, or not known. Ends in how"
    " correct, truthful and informative the model is.\n\n\b\nkgprobe probe statements --model demo --limit 200\nkgprobe"
    " probe statements --model hf:gpt2 --replace any --negatives 3",
    options=StatementOptions,
    evidence=_evidence,
    make=_make,
    tables=_tables,
    alternatives=lambda evidence: evidence.alternatives,
    values=_values,
    leads="correct",
    headline=_headline,
)
