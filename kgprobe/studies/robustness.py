"""Robustness of measures to flawed sentences: Kendall's τ between flawed and corrected verbalizations.

Section 4.3 of the distractor paper; docs/methods/studies.md.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kgprobe.analysis.robustness import robustness
from kgprobe.graph.client import Graph
from kgprobe.probes.clozes import ClozeItem
from kgprobe.report.plots import Category, CategoryPlot
from kgprobe.sampling.facts import describe_facts
from kgprobe.stats.proportions import Mean
from kgprobe.studies.measures import Scores, find_triples
from kgprobe.studies.study import Study, counted_notes, json_number
from kgprobe.verbalize.corrections import SentencePair


def paired_questions(graph: Graph, pairs: Sequence[SentencePair]) -> tuple[list[ClozeItem], list[ClozeItem], list[str]]:
    """Return flawed and corrected questions of the pairs whose fact is in the graph, and messages on the others.

    Cost: a walk from each subject.
    """
    triples = [(pair.verbalization.subject, pair.verbalization.relation, pair.verbalization.object) for pair in pairs]
    keys = find_triples(graph, triples)
    described = dict(zip(keys, describe_facts(graph, list(keys.values())), strict=True))
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
    """Compute τ of every measure in every configuration; table and plot have the largest configurations.

    Args:
        measure: returns a measure of questions by its name.
        names: names of the measures.
        flawed, corrected: the same facts in the same order.
        left_out: reasons of missing verbalizations, one message each.
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
            agreement = robustness(before.values[:, column], after.values[:, column], seed=seed)
            row = {
                "measure": name,
                "options": ", ".join(f"{option} = {value}" for option, value in options.items()),
                "τ": json_number(agreement.tau),
                "low": json_number(agreement.low),
                "high": json_number(agreement.high),
                "pairs": agreement.pairs,
                "left out": agreement.left_out,
            }
            data.append(row)
            if column in largest:
                shown.append(row)
    ordered = sorted(shown, key=lambda row: -2.0 if row["τ"] is None else row["τ"], reverse=True)
    categories = [Category(_title(row), row["τ"], row["low"], row["high"]) for row in ordered]
    tau = "Kendall's τ, flawed against corrected, with 95% intervals"
    return Study(
        name="robustness",
        verdict=_verdict(ordered),
        title=f"Robustness to verbalization errors · {model} · {len(flawed)} pairs of sentences",
        data=data,
        table=ordered,
        plots=[CategoryPlot("Flawed sentences against corrected ones", tau, categories, (-1.0, 1.0))],
        notes=[
            "Each measure is shown with the greatest n and the widest beam, one row per aggregation: a default without"
            f" calibration. The data have all {len(data):,} configurations.",
            *counted_notes("Not paired", left_out),
            *counted_notes("No value", reasons),
        ],
        config=config,
    )


def largest_configurations(configurations: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the positions with the greatest numbers (n, beams), one for each combination of the other options."""
    largest: dict[tuple[Any, ...], int] = {}
    for place, options in enumerate(configurations):
        words = tuple(value for value in options.values() if isinstance(value, str))
        if words not in largest or _numbers(options) > _numbers(configurations[largest[words]]):
            largest[words] = place
    return sorted(largest.values())


def _numbers(options: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(value for value in options.values() if not isinstance(value, str))


def _title(row: Mapping[str, Any]) -> str:
    return f"{row['measure']} ({row['options']})" if row["options"] else str(row["measure"])


def _verdict(ordered: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the most and the least robust measure."""
    valued = [row for row in ordered if row["τ"] is not None]
    if not valued:
        return "No measure orders these facts, so that robustness is undefined."
    extremes = [f"{_title(row)}, τ {Mean(row['τ'], row['low'], row['high'])}" for row in (valued[0], valued[-1])]
    if len(valued) == 1:
        return f"Flawed sentences against corrected ones: {extremes[0]}."
    return f"Flaws of sentences matter least to {extremes[0]}, and most to {extremes[1]}."
