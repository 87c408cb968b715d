"""Ways of asking the same facts with the same choices: examples with other separators, packed, in sentences, or none.

Section 4.1 and figure 4 of the latent-knowledge paper; docs/methods/studies.md. All ways are compared with the first,
fact by fact: McNemar's test, and Tango's interval of the difference.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.errors import KgprobeError
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.report.plots import Category, CategoryPlot
from kgprobe.stats.paired_proportions import loss_interval, mcnemar
from kgprobe.stats.proportions import CONFIDENCE, share
from kgprobe.studies.study import Study

Answers: TypeAlias = Mapping[str, ExampleEvidence]


def prompting_study(found: Mapping[str, Mapping[str, Outcome]], model: str, config: Mapping[str, Any]) -> Study:
    """Compare ways of asking.

    Args:
        found: outcomes by fact id, by way; at least two ways.

    Raises:
        KgprobeError: no fact was asked in all ways.
    """
    evidences = {way: _answers(outcomes) for way, outcomes in found.items()}
    common = sorted(set.intersection(*map(set, evidences.values())))
    if not common:
        counts = "; ".join(f"{way}: {len(answers):,}" for way, answers in evidences.items())
        raise KgprobeError(f"No fact could be asked in all ways: {counts}")
    right = {way: _is_right(answers, common) for way, answers in evidences.items()}
    tests = _tests(right)
    rows: list[dict[str, Any]] = []
    data = []
    for way, answers in evidences.items():
        probabilities = [answers[fact].probability for fact in common]
        rows.append(
            {
                "way": way,
                "facts": len(common),
                "accuracy": share(int(right[way].sum()), len(common)),
                "in the right one": float(np.mean(probabilities)),
            }
            | tests[way]
        )
        for fact, is_right, probability in zip(common, right[way].tolist(), probabilities, strict=True):
            data.append({"way": way, "fact": fact, "right": is_right, "confidence": probability})
    categories = [
        Category(row["way"], row["accuracy"].value, row["accuracy"].low, row["accuracy"].high) for row in rows
    ]
    whiskers = f"accuracy; whiskers: {CONFIDENCE:.0%} interval"
    return Study(
        name="prompting",
        verdict=_verdict(rows),
        title=f"Ways of asking · {model} · {len(common):,} facts",
        data=data,
        table=rows,
        plots=[CategoryPlot("Accuracy by way of asking", whiskers, categories, (0.0, 1.0))],
        notes=_notes(evidences, common),
        config=config,
    )


def _answers(outcomes: Mapping[str, Outcome]) -> Answers:
    answers = {}
    for fact, outcome in outcomes.items():
        if isinstance(outcome.evidence, ExampleEvidence):
            answers[fact] = outcome.evidence
    return answers


def _is_right(answers: Answers, facts: Sequence[str]) -> NDArray[np.bool_]:
    return np.array([answers[fact].is_right for fact in facts])


def _tests(right: Mapping[str, NDArray[np.bool_]]) -> dict[str, dict[str, Any]]:
    """Compare each way with the first: lost and gained facts, gain with interval, adjusted p."""
    first, *others = right
    tests: dict[str, dict[str, Any]] = {
        first: dict.fromkeys(("lost", "gained", "gain", "low", "high", "p")),
    }
    for way in others:
        lost, gained = int((right[first] & ~right[way]).sum()), int((right[way] & ~right[first]).sum())
        low, high = loss_interval(lost, gained, len(right[way]))
        gain = (gained - lost) / len(right[way])
        tests[way] = {"lost": lost, "gained": gained, "gain": gain, "low": -float(high), "high": -float(low)}
    p_values = [float(mcnemar(tests[way]["lost"], tests[way]["gained"])) for way in others]
    for way, p in zip(others, stats.false_discovery_control(p_values), strict=True):
        tests[way]["p"] = float(p)
    return tests


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    first, *others = rows
    parts = []
    for row in others:
        result = "equal"
        if row["gain"]:
            sure = "surely" if row["p"] < 1 - CONFIDENCE else "not surely"
            result = f"{sure} {'better' if row['gain'] > 0 else 'worse'}"
        parts.append(f"{row['way']} {row['accuracy']} ({result}, p = {row['p']:.2g})")
    return f"{first['way']} {first['accuracy']}; against it {', '.join(parts)}."


def _notes(evidences: Mapping[str, Answers], common: Sequence[str]) -> list[str]:
    first = next(iter(evidences))
    notes = [
        "Facts, choices and examples are the same in all ways.",
        f"gain is the accuracy less that of {first}, with Tango's 95% interval; p is from McNemar's exact test,"
        " adjusted over the ways (Benjamini-Hochberg).",
    ]
    facts = set().union(*evidences.values())
    if left := len(facts) - len(common):
        notes.append(f"{left:,} of {len(facts):,} facts could not be asked in all ways, and are left out.")
    for way, answers in evidences.items():
        counts = {answers[fact].examples for fact in common}
        if len(counts) > 1:
            notes.append(f"{way}: {min(counts)} to {max(counts)} examples before a fact.")
    return notes
