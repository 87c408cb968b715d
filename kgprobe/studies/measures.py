"""Every measure of knowledge by its name, over the same items and in all of its configurations.

docs/methods/baselines.md: the distractor measure by strategy, and the baselines it is compared with. The measure of a
fact is the mean over its sentences.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.analysis.calibration import configurations
from kgprobe.baselines.register import BASELINES, BySentence, Tools, lacking
from kgprobe.probes.clozes import ClozeItem
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.distractors.comparison import comparison_of
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.studies.measure_names import DISTRACTORS

Floats = NDArray[np.float64]

_FACTS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Scores:
    """A measure of facts.

    Attributes:
        configurations: its options in each column.
        values: shape (facts, configurations); NaN where a fact has none.
        reasons: why a fact has none, by its position.
    """

    configurations: Sequence[Mapping[str, Any]]
    values: Floats
    reasons: Mapping[int, str] = field(default_factory=dict)


def measures_to_take(names: Sequence[str], strategies: Sequence[str], tools: Tools) -> list[str]:
    """The measures that were asked for, each once; without any, the distractor measures and all that can be had.

    Args:
        names: see :func:`~kgprobe.studies.measure_names.measure_names`.
        strategies: of the distractor measures, where no measure was asked for.

    Raises:
        ArgumentError: a measure needs an encoder or a grader, and there is none.
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
    """One measure of all facts.

    Args:
        name: see :func:`~kgprobe.studies.measure_names.measure_names`.
        items: facts with their sentences, one at least; a fact without sentences has no value.
        on_facts: called with the number of facts done since the last call.

    Raises:
        UnknownNameError: there is no such measure.
        ArgumentError: it needs an encoder or a grader, and there is none.
    """
    if name.startswith(DISTRACTORS):
        measure = _distractors(name.removeprefix(DISTRACTORS), tools)
    else:
        measure = _baseline(name, tools)
    parts = []
    for first in range(0, len(items), _FACTS_AT_ONCE):
        part = items[first : first + _FACTS_AT_ONCE]
        parts.append(measure(part))
        on_facts(len(part))
    reasons = {
        number * _FACTS_AT_ONCE + place: reason
        for number, part in enumerate(parts)
        for place, reason in part.reasons.items()
    }
    return Scores(parts[0].configurations, np.concatenate([part.values for part in parts]), reasons)


def _baseline(name: str, tools: Tools) -> Callable[[Sequence[ClozeItem]], Scores]:
    kind = BASELINES.get(name)
    return lambda items: _means(items, kind.measure(tools, items))


def _means(items: Sequence[ClozeItem], values: BySentence) -> Scores:
    """The mean over each fact's sentences; a fact with a sentence that has no value has none."""
    ends = np.cumsum([len(item.clozes) for item in items])
    means = np.full((len(items), values.values.shape[1]), np.nan)
    reasons = {}
    for number, (item, end) in enumerate(zip(items, ends, strict=True)):
        its = range(end - len(item.clozes), end)
        missing = [values.reasons[sentence] for sentence in its if sentence in values.reasons]
        if not len(its):
            reasons[number] = str(item.reason)
        elif missing:
            reasons[number] = missing[0]
        else:
            means[number] = values.values[its.start : its.stop].mean(axis=0)
    return Scores(values.configurations, means, reasons)


def _distractors(strategy: str, tools: Tools) -> Callable[[Sequence[ClozeItem]], Scores]:
    """Min@n and Avg@n with the distractors of a strategy, at each n of the tools."""
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
                both = (evidence.min_at_n(most), evidence.avg_at_n(most))
                values[number] = np.concatenate([one.mean(axis=0)[columns] for one in both])
            else:
                reasons[number] = str(outcome.reason)
        return Scores(grid, values, reasons)

    return measure
