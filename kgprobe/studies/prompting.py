"""Ways of asking the same facts with the same choices: examples with other separators, packed, in sentences, without.

Section 4.1 and figure 4 of the latent-knowledge paper; docs/methods/studies.md. The first way is the one that others
are compared with, fact by fact: McNemar's test, and Tango's interval of the difference.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from kgprobe.errors import KgprobeError
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.report.plots import Category, CategoryPlot
from kgprobe.stats.paired_proportions import loss_interval, mcnemar
from kgprobe.stats.proportions import CONFIDENCE, share
from kgprobe.studies.study import Study


def prompting_study(found: Mapping[str, Mapping[str, Outcome]], model: str, config: Mapping[str, Any]) -> Study:
    """Compare ways of asking.

    Args:
        found: by way, outcomes by the fact's id; two ways at least.
        model: what was asked.
        config: what the measurements depend on.

    Raises:
        KgprobeError: no fact was asked in all ways.
    """
    evidences = {
        way: {fact: one.evidence for fact, one in its.items() if isinstance(one.evidence, ExampleEvidence)}
        for way, its in found.items()
    }
    common = sorted(set.intersection(*(set(its) for its in evidences.values())))
    if not common:
        raise KgprobeError(
            "No fact could be asked in all ways: " + "; ".join(f"{way}: {len(its):,}" for way, its in evidences.items())
        )
    right = {way: np.array([its[fact].is_right for fact in common]) for way, its in evidences.items()}
    first, *others = right
    tests = {way: (int((right[first] & ~right[way]).sum()), int((right[way] & ~right[first]).sum())) for way in others}
    adjusted = dict(
        zip(others, stats.false_discovery_control([float(mcnemar(*tests[way])) for way in others]), strict=True)
    )
    rows = []
    for way, its in right.items():
        accuracy = share(int(its.sum()), len(common))
        row: dict[str, Any] = {
            "way": way,
            "facts": len(common),
            "accuracy": accuracy,
            "in the right one": float(np.mean([evidences[way][fact].probability for fact in common])),
            "lost": None,
            "gained": None,
            "gain": None,
            "low": None,
            "high": None,
            "p": None,
        }
        if way in tests:
            lost, gained = tests[way]
            low, high = loss_interval(lost, gained, len(common))
            row |= {
                "lost": lost,
                "gained": gained,
                "gain": (gained - lost) / len(common),
                "low": -float(high),
                "high": -float(low),
                "p": float(adjusted[way]),
            }
        rows.append(row)
    data = [
        {"way": way, "fact": fact, "right": bool(its[place]), "confidence": evidences[way][fact].probability}
        for way, its in right.items()
        for place, fact in enumerate(common)
    ]
    return Study(
        name="prompting",
        verdict=_verdict(rows),
        title=f"Ways of asking · {model} · {len(common):,} facts",
        data=data,
        table=rows,
        plots=[
            CategoryPlot(
                "Accuracy by way of asking",
                f"accuracy; whiskers: {CONFIDENCE:.0%} interval",
                [
                    Category(row["way"], row["accuracy"].value, row["accuracy"].low, row["accuracy"].high)
                    for row in rows
                ],
                (0.0, 1.0),
            )
        ],
        notes=_notes(evidences, common, first),
        config=config,
    )


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    first, *others = rows
    told = []
    for row in others:
        how = "better" if row["gain"] > 0 else "worse"
        sure = "surely " if row["p"] < 1 - CONFIDENCE else "not surely "
        told.append(f"{row['way']} {row['accuracy']} ({sure + how if row['gain'] else 'equal'}, p = {row['p']:.2g})")
    return f"{first['way']} {first['accuracy']}; against it {', '.join(told)}."


def _notes(evidences: Mapping[str, Mapping[str, ExampleEvidence]], common: Sequence[str], first: str) -> list[str]:
    notes = [
        "Facts, choices and examples are the same in all ways, so that what differs is the way.",
        f"gain is the accuracy less that of {first}, with Tango's 95% interval; p is of McNemar's exact test,"
        " Benjamini-Hochberg over the ways.",
    ]
    asked = set().union(*evidences.values())
    if left := len(asked) - len(common):
        notes.append(f"{left:,} of {len(asked):,} facts could not be asked in all ways, and are left out.")
    for way, its in evidences.items():
        counts = {its[fact].examples for fact in common}
        if len(counts) > 1:
            notes.append(f"{way}: {min(counts)} to {max(counts)} examples stood before a fact.")
    return notes
