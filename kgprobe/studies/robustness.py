"""How much measures mind flaws of a sentence: Kendall's τ between flawed and corrected verbalizations.

Section 4.3 of the distractor paper; docs/methods.md, 1.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.analysis.robustness import robustness
from kgprobe.graph.client import Graph
from kgprobe.probes.clozes import ClozeItem
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.studies.measures import Scores
from kgprobe.studies.notes import counted
from kgprobe.studies.study import Line, Plot, Study
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
    """τ of every measure in every configuration.

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
    reasons: list[str] = []
    for name in names:
        before, after = measure(name, flawed), measure(name, corrected)
        reasons += [f"{name}: {reason}" for reason in {**before.reasons, **after.reasons}.values()]
        for column, options in enumerate(before.configurations):
            found = robustness(before.values[:, column], after.values[:, column], seed=seed)
            data.append(
                {
                    "measure": name,
                    "options": ", ".join(f"{option} = {value}" for option, value in options.items()),
                    "τ": found.tau,
                    "low": found.low,
                    "high": found.high,
                    "pairs": found.pairs,
                    "left out": found.left_out,
                }
            )
    # With the most distractors, the widest beam: what a user would take without calibration.
    last = {
        row["measure"] + row["options"].split(",")[0] * row["measure"].startswith("distractors"): row for row in data
    }
    ordered = sorted(last.values(), key=lambda row: -np.nan_to_num(row["τ"], nan=-2))
    places = list(range(1, len(ordered) + 1))
    return Study(
        name="robustness",
        title=f"Robustness to verbalization errors · {model} · {len(flawed)} pairs of sentences",
        data=data,
        table=ordered,
        plots=[
            Plot(
                "Flawed sentences against corrected ones",
                "measure, most robust first",
                "Kendall's τ, flawed against corrected",
                [
                    Line(f"{place}. {row['measure']} {row['options']}", [place], [row["τ"]], points=True)
                    for place, row in zip(places, ordered, strict=True)
                ],
                y_range=(-1.0, 1.0),
            )
        ],
        notes=[*counted("Not paired", left_out), *counted("No value", reasons)],
        config=config,
    )
