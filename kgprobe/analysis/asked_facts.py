"""The asked facts of a result, each with its question, the model's prediction and its probability."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from kgprobe.analysis.finding import FACT_COLUMNS
from kgprobe.probes.outcome import Alternatives, Outcome, Verdict

# Columns that are added to those of a finding.
ASK_COLUMNS = ("question", "answer", "prediction", "probability", "names", "text", "former", "prompt")


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
