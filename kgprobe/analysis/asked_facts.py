"""Every fact that was asked, with what was put to the model, what it preferred or said, and how probable that was."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from kgprobe.analysis.finding import FACT_COLUMNS
from kgprobe.probes.outcome import Alternatives, Outcome, Verdict

# Beside what a finding tells of each fact.
ASK_COLUMNS = ("question", "answer", "prediction", "probability", "names", "text", "former", "prompt")


def asked_facts(
    facts: pd.DataFrame, outcomes: Iterable[Outcome], alternatives: Callable[[Any], Alternatives]
) -> pd.DataFrame:
    """The facts of a finding beside the latest ask of each that went as the fact went.

    Cost: one pass over the outcomes. Memory: an ask a fact.

    Args:
        facts: as a finding has them.
        outcomes: in the order of asking.
        alternatives: of an outcome's evidence; see :class:`~kgprobe.probes.register.ProbeKind`.

    Returns:
        one row a fact, in their order: ``FACT_COLUMNS`` and ``ASK_COLUMNS``. *prediction* is None of what is right,
        *probability* where nothing says how probable the right answer was; *names* has (name, probability) of what
        stood beside it, *text* what was written, *former* what was preferred and was right before.
    """
    won = dict(zip(facts["fact"], facts["right"] > facts["wrong"], strict=True))
    asks: dict[str, Mapping[str, Any]] = {}
    for outcome in outcomes:
        evidence, fact = outcome.evidence, outcome.fact.fact
        if evidence is None or not outcome.verdict.counts or fact not in won:
            continue
        if fact in asks and won[fact] != (outcome.verdict is Verdict.RIGHT):
            continue
        beside = alternatives(evidence)
        asks[fact] = {
            "question": evidence.question,
            "answer": evidence.right_answer,
            "prediction": evidence.prediction,
            "probability": evidence.probability,
            "names": list(beside.names),
            "text": beside.text,
            "former": beside.former,
            "prompt": outcome.prompt,
        }
    nothing: Mapping[str, Any] = {**dict.fromkeys(ASK_COLUMNS), "question": "", "answer": "", "names": [], "prompt": ""}
    rows = [asks.get(fact, nothing) for fact in facts["fact"]]
    told = pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in ASK_COLUMNS})
    whole: pd.DataFrame = pd.concat([facts[list(FACT_COLUMNS)].reset_index(drop=True), told], axis="columns")
    return whole
