"""All measures of knowledge by name, over the same items and in all of their configurations.

docs/methods/baselines.md: the distractor measure by strategy, and its baselines. The measure of a fact is the mean over
its sentences.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.analysis.calibration import configurations
from kgprobe.baselines.register import BASELINES, BySentence, Tools, lacking
from kgprobe.graph.client import Graph
from kgprobe.probes.clozes import ClozeItem
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.distractors.comparison import comparison_of
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.sampling.keys import FactKey
from kgprobe.studies.measure_names import DISTRACTORS

Floats = NDArray[np.float64]

_FACTS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Scores:
    """Values of a measure.

    Attributes:
        configurations: the options of each column.
        values: shape (facts, configurations); NaN where a fact has none.
        reasons: reasons of missing values by position of the fact.
    """

    configurations: Sequence[Mapping[str, Any]]
    values: Floats
    reasons: Mapping[int, str] = field(default_factory=dict)


def find_triples(graph: Graph, triples: Iterable[tuple[str, str, str]]) -> dict[int, FactKey]:
    """Return the first fact of each triple of subject, relation and object ids in the graph, by the triple's position.

    Cost: a walk from each subject.
    """
    rows = [
        {"index": index, "subject": subject, "relation": relation, "object": object_}
        for index, (subject, relation, object_) in enumerate(triples)
    ]
    keys: dict[int, FactKey] = {}
    for row in graph.read("sample/triples", rows=rows):
        keys.setdefault(row["index"], FactKey(row["subject"], row["fact"]))
    return keys


def measures_to_take(names: Sequence[str], strategies: Sequence[str], tools: Tools) -> list[str]:
    """Return the requested measures without repetitions, or by default the distractor measures and usable baselines.

    Args:
        names: see :func:`~kgprobe.studies.measure_names.measure_names`.
        strategies: strategies of the default distractor measures.

    Raises:
        ArgumentError: a measure needs an encoder or a grader that is missing.
    """
    needed = {name: need for name in BASELINES.names() if (need := BASELINES.get(name).needs) is not None}
    without = [name for name, need in needed.items() if getattr(tools, need) is None]
    for name in names:
        if name in without:
            raise lacking(name, needed[name])
    if names:
        return list(dict.fromkeys(names))
    baselines = [name for name in BASELINES.names() if name not in without]
    return [*(f"{DISTRACTORS}{strategy}" for strategy in dict.fromkeys(strategies)), *baselines]


def measure_facts(
    name: str, tools: Tools, items: Sequence[ClozeItem], on_facts: Callable[[int], None] = lambda facts: None
) -> Scores:
    """Compute one measure of all facts.

    Args:
        name: see :func:`~kgprobe.studies.measure_names.measure_names`.
        items: at least one fact with its sentences; a fact without sentences has no value.
        on_facts: called with the number of facts measured since the last call.

    Raises:
        UnknownNameError: the measure does not exist.
        ArgumentError: it needs an encoder or a grader that is missing.
    """
    if name.startswith(DISTRACTORS):
        measure = _distractors(name.removeprefix(DISTRACTORS), tools)
    else:
        measure = _baseline(name, tools)
    parts = []
    reasons = {}
    for first in range(0, len(items), _FACTS_AT_ONCE):
        part = measure(items[first : first + _FACTS_AT_ONCE])
        parts.append(part)
        reasons.update({first + place: reason for place, reason in part.reasons.items()})
        on_facts(len(part.values))
    return Scores(parts[0].configurations, np.concatenate([part.values for part in parts]), reasons)


def _baseline(name: str, tools: Tools) -> Callable[[Sequence[ClozeItem]], Scores]:
    kind = BASELINES.get(name)
    return lambda items: _means(items, kind.measure(tools, items))


def _means(items: Sequence[ClozeItem], values: BySentence) -> Scores:
    """Return means over each fact's sentences; a fact with a sentence without a value has none."""
    means = np.full((len(items), values.values.shape[1]), np.nan)
    reasons = {}
    end = 0
    for number, item in enumerate(items):
        start, end = end, end + len(item.clozes)
        missing = [values.reasons[sentence] for sentence in range(start, end) if sentence in values.reasons]
        if not item.clozes:
            reasons[number] = str(item.reason)
        elif missing:
            reasons[number] = missing[0]
        else:
            means[number] = values.values[start:end].mean(axis=0)
    return Scores(values.configurations, means, reasons)


def _distractors(strategy: str, tools: Tools) -> Callable[[Sequence[ClozeItem]], Scores]:
    """Return the measure Min@n and Avg@n with the distractors of a strategy, at each n of the tools."""
    most = max(tools.counts)
    comparison = comparison_of(tools.graph, tools.scorer, DistractorOptions(most, strategy=strategy), tools.as_of)
    grid = configurations(aggregation=("min", "avg"), n=tools.counts)
    columns = [n - 1 for n in tools.counts]

    def measure(items: Sequence[ClozeItem]) -> Scores:
        values = np.full((len(items), len(grid)), np.nan)
        reasons = {}
        for number, outcome in enumerate(comparison.answer(items, [tools.seed])):
            evidence = outcome.evidence
            if isinstance(evidence, DistractorEvidence):
                by_sentence = (evidence.min_at_n(most), evidence.avg_at_n(most))
                values[number] = np.concatenate([matrix.mean(axis=0)[columns] for matrix in by_sentence])
            else:
                reasons[number] = str(outcome.reason)
        return Scores(grid, values, reasons)

    return measure
