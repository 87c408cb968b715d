"""A result fact by fact, as pages show it: its finding, questions and predictions, and the ages of outdated answers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from kgprobe.analysis.finding import FACT_COLUMNS, Finding
from kgprobe.analysis.outdated import OutdatedAnswers, outdated_answers
from kgprobe.graph.client import Graph
from kgprobe.probes.outcome import Alternatives, Outcome, Verdict

# Columns that are added to those of a finding.
ASK_COLUMNS = ("question", "answer", "prediction", "probability", "names", "text", "former", "prompt")


@dataclass(frozen=True, slots=True)
class Examined:
    """The content of one result's pages.

    Attributes:
        label: the result's name among the others on a page.
        finding: rates and beliefs.
        asked: every asked fact with its question, see :func:`asked_facts`.
        outdated: answers that were right at an earlier date.
    """

    label: str
    finding: Finding
    asked: pd.DataFrame = field(compare=False, repr=False)
    outdated: OutdatedAnswers


def examine(
    graph: Graph | None,
    label: str,
    finding: Finding,
    outcomes: Iterable[Outcome],
    alternatives: Callable[[Any], Alternatives],
) -> Examined:
    """Collect the content of a result's pages.

    Cost: one pass over its outcomes, and a walk from the subjects of outdated answers.

    Args:
        graph: the graph of the result; outdated answers have no ages without it.
        label: the result's name.
        outcomes, alternatives: see :func:`asked_facts`.
    """
    facts = asked_facts(finding.facts, outcomes, alternatives)
    return Examined(label, finding, facts, outdated_answers(graph, facts, finding.about.as_of))


def asked_facts(
    facts: pd.DataFrame, outcomes: Iterable[Outcome], alternatives: Callable[[Any], Alternatives]
) -> pd.DataFrame:
    """Return the facts of a finding, each with its latest question that agrees with the fact's verdict.

    Cost: one pass over the outcomes. Memory: one question per fact.

    Args:
        facts: the facts of a finding.
        outcomes: in the order of asking.
        alternatives: returns the alternatives in an outcome's evidence; see
            :class:`~kgprobe.probes.register.ProbeKind`.

    Returns:
        One row per fact, in their order: ``FACT_COLUMNS`` and ``ASK_COLUMNS``. *prediction* is None for right
        answers, *probability* None where the evidence has none. *names* has (name, probability) of the alternatives,
        *text* the generated text, *former* the preferred name that was right at an earlier date.
    """
    won = dict(zip(facts["fact"], facts["right"] > facts["wrong"], strict=True))
    asks: dict[str, Mapping[str, Any]] = {}
    for outcome in outcomes:
        evidence, fact = outcome.evidence, outcome.fact.fact
        if evidence is None or not outcome.verdict.counts or fact not in won:
            continue
        if fact in asks and won[fact] != (outcome.verdict is Verdict.RIGHT):
            continue
        shown = alternatives(evidence)
        asks[fact] = {
            "question": evidence.question,
            "answer": evidence.right_answer,
            "prediction": evidence.prediction,
            "probability": evidence.probability,
            "names": list(shown.names),
            "text": shown.text,
            "former": shown.former,
            "prompt": outcome.prompt,
        }
    nothing: Mapping[str, Any] = {**dict.fromkeys(ASK_COLUMNS), "question": "", "answer": "", "names": [], "prompt": ""}
    rows = [asks.get(fact, nothing) for fact in facts["fact"]]
    questions = pd.DataFrame(rows, columns=list(ASK_COLUMNS), dtype=object)
    whole: pd.DataFrame = pd.concat([facts[list(FACT_COLUMNS)].reset_index(drop=True), questions], axis="columns")
    return whole
