"""How much measures mind flaws of a sentence: Kendall's τ between flawed and corrected verbalizations.

Section 4.3 of the distractor paper; docs/methods/studies.md.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.analysis.robustness import robustness
from kgprobe.graph.client import Graph
from kgprobe.probes.clozes import ClozeItem
from kgprobe.report.plots import Category, CategoryPlot
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import Mean
from kgprobe.studies.measures import Scores
from kgprobe.studies.notes import counted
from kgprobe.studies.study import Study
from kgprobe.verbalize.corrections import Pair

Floats = NDArray[np.float64]


def paired_questions(graph: Graph, pairs: Sequence[Pair]) -> tuple[list[ClozeItem], list[ClozeItem], list[str]]:
    """The flawed questions and the corrected ones, of the pairs whose fact is in the graph, and why others are not.

    Cost: a walk from each subject.
    """
    rows = [
        {
            "index": index,
            "subject": pair.verbalization.subject,
            "relation": pair.verbalization.relation,
            "object": pair.verbalization.object,
        }
        for index, pair in enumerate(pairs)
    ]
    found: dict[int, FactKey] = {}
    for row in graph.read("sample/triples", rows=rows):
        found.setdefault(row["index"], FactKey(row["subject"], row["fact"]))
    described = dict(zip(found, describe_facts(graph, list(found.values())), strict=True))
    flawed, corrected, missing = [], [], []
    for index, pair in enumerate(pairs):
        if index in described:
            flawed.append(ClozeItem(described[index], [pair.flawed]))
            corrected.append(ClozeItem(described[index], [pair.corrected]))
        else:
            missing.append("the graph has no such fact")
    return flawed, corrected, missing


def robustness_study(
    measure: Callable[[str, Sequence[ClozeItem]], Scores],
    names: Sequence[str],
    flawed: Sequence[ClozeItem],
    corrected: Sequence[ClozeItem],
    left_out: Sequence[str],
    model: str,
    config: Mapping[str, Any],
    seed: int = 0,
) -> Study:
    """τ of every measure in every configuration; table and plot have the largest ones.

    Args:
        measure: gives a measure of questions by its name.
        names: of the measures.
        flawed, corrected: the same facts in the same order.
        left_out: why verbalizations are not among them, one message each.
        model: what was asked.
        config: what the numbers depend on.
        seed: of the bootstrap over pairs.
    """
    data: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    reasons: list[str] = []
    for name in names:
        before, after = measure(name, flawed), measure(name, corrected)
        reasons += [f"{name}: {reason}" for reason in {**before.reasons, **after.reasons}.values()]
        largest = largest_configurations(before.configurations)
        for column, options in enumerate(before.configurations):
            found = robustness(before.values[:, column], after.values[:, column], seed=seed)
            row = {
                "measure": name,
                "options": ", ".join(f"{option} = {value}" for option, value in options.items()),
                "τ": _number(found.tau),
                "low": _number(found.low),
                "high": _number(found.high),
                "pairs": found.pairs,
                "left out": found.left_out,
            }
            data.append(row)
            if column in largest:
                shown.append(row)
    ordered = sorted(shown, key=lambda row: -2.0 if row["τ"] is None else row["τ"], reverse=True)
    return Study(
        name="robustness",
        verdict=_verdict(ordered),
        title=f"Robustness to verbalization errors · {model} · {len(flawed)} pairs of sentences",
        data=data,
        table=ordered,
        plots=[
            CategoryPlot(
                "Flawed sentences against corrected ones",
                "Kendall's τ, flawed against corrected, with 95% intervals",
                [Category(_called(row), row["τ"], row["low"], row["high"]) for row in ordered],
                (-1.0, 1.0),
            )
        ],
        notes=[
            "Shown is each measure with the greatest n and the widest beam of those tried, each aggregation by itself:"
            f" what one would take without calibration. The data have all {len(data):,} configurations.",
            *counted("Not paired", left_out),
            *counted("No value", reasons),
        ],
        config=config,
    )


def largest_configurations(configurations: Sequence[Mapping[str, Any]]) -> list[int]:
    """The places of those with the greatest numbers (n, beams), one for each combination of what is no number."""
    largest: dict[tuple[Any, ...], int] = {}
    for place, options in enumerate(configurations):
        words = tuple(value for value in options.values() if isinstance(value, str))
        if words not in largest or _numbers(options) > _numbers(configurations[largest[words]]):
            largest[words] = place
    return sorted(largest.values())


def _numbers(options: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(value for value in options.values() if not isinstance(value, str))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value


def _called(row: Mapping[str, Any]) -> str:
    return f"{row['measure']} ({row['options']})" if row["options"] else str(row["measure"])


def _verdict(ordered: Sequence[Mapping[str, Any]]) -> str:
    """The measures that mind flaws least and most."""
    valued = [row for row in ordered if row["τ"] is not None]
    if not valued:
        return "No measure puts these facts into an order, so nothing can be said of robustness."
    told = [f"{_called(row)}, τ {Mean(row['τ'], row['low'], row['high'])}" for row in (valued[0], valued[-1])]
    if len(valued) == 1:
        return f"Flawed sentences against corrected ones: {told[0]}."
    return f"Flaws of sentences matter least to {told[0]}, and most to {told[1]}."
