"""All measures of knowledge by name, over the same items and in all of their configurations.

docs/methods/baselines.md: the distractor measure by strategy, and its baselines. The measure of a fact is the mean over
its sentences.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks, count_work
from kgprobe.base.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.models.encoder import load_encoder
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import is_api
from kgprobe.papers.baselines.grader import api_grader, local_grader
from kgprobe.papers.baselines.options import MEANINGS, MeasuresOptions
from kgprobe.papers.baselines.register import BASELINES, DISTRACTORS, Tools, lacking
from kgprobe.probes.clozes import ClozeItem
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.distractors.comparison import DistractorComparison
from kgprobe.probes.distractors.evidence import DistractorEvidence

Floats = NDArray[np.float64]

_FACTS_AT_ONCE = 16

# The paper's numbers of distractors, which are also the n of precision@n.
COUNTS = (1, 2, 5, 10, *range(20, 201, 20))


@dataclass(frozen=True, slots=True)
class Scores:
    """Values of a measure.

    Attributes:
        configurations: the options of each column.
        values: shape (facts, configurations); NaN where a fact has none.
        reasons: reasons of missing values by position of the fact.
        by_sentences: values over the first m sentences of each fact, for m = 1, 2, …; a fact with fewer sentences
            counts with all of them. Shape (sentences, facts, configurations), the last equal to ``values``.
    """

    configurations: Sequence[Mapping[str, Any]]
    values: Floats
    reasons: Mapping[int, str] = field(default_factory=dict)
    by_sentences: Floats = field(default_factory=lambda: np.empty((0, 0, 0)))


@dataclass(frozen=True, slots=True)
class Measures:
    """Measures of a study."""

    model: str
    names: Sequence[str]
    tools: Tools
    config: Mapping[str, Any]
    callbacks: Callbacks = NO_CALLBACKS

    def measure(self, items: Sequence[ClozeItem]) -> dict[str, Scores]:
        """Compute the measures of all facts, with progress and interruption.

        Args:
            items: at least one fact with its sentences; a fact without sentences has no value.

        Raises:
            KgprobeError: a callback stopped it.
        """
        if not self.config["articles"]:
            items = [replace(item, clozes=[replace(cloze, articles=False) for cloze in item.clozes]) for item in items]
        scores = {}
        for name in self.names:
            compute = _distractors(name, self.tools) if name.startswith(DISTRACTORS) else _baseline(name, self.tools)
            on_facts = count_work(self.callbacks, len(items), len(items), f"facts of {name}", name)
            sentences = max([1, *(len(item.clozes) for item in items)])
            parts, prefixes = [], []
            reasons = {}
            for first in range(0, len(items), _FACTS_AT_ONCE):
                part = compute(items[first : first + _FACTS_AT_ONCE])
                parts.append(part.values)
                lengthened: Floats = part.by_sentences[np.minimum(np.arange(sentences), len(part.by_sentences) - 1)]
                prefixes.append(lengthened)
                for place, reason in part.reasons.items():
                    reasons[first + place] = reason
                on_facts(len(part.values))
            by_sentences = np.concatenate(prefixes, axis=1)
            scores[name] = Scores(part.configurations, np.concatenate(parts), reasons, by_sentences)
        return scores


def open_measures(
    graph: Graph,
    model: Model | str,
    options: MeasuresOptions,
    seed: int,
    as_of: int,
    models: Models,
    callbacks: Callbacks,
) -> Measures:
    """Return the requested measures, with their models open."""
    if not options.beams:
        raise ArgumentError("beams", "is empty; expected at least one number.")
    probed = models.open_asked(model)
    probed.refresh()
    most = options.distractors
    encoder = grader = None
    if options.encoder:
        encoder = load_encoder(options.encoder, device=models.local.device, dtype=models.local.dtype)
    if options.grader:
        grading = probed if options.grader == probed.name else models.open(options.grader)
        behind_api = is_api(grading.name)
        grader = api_grader(grading.generator()) if behind_api else local_grader(grading.local_scorer())
    beams = tuple(sorted(set(options.beams)))
    grader_beams = tuple(sorted(set(options.grader_beams))) or beams
    counts = (*(n for n in COUNTS if n < most), most)
    tools = Tools(
        graph,
        probed.local_scorer(),
        as_of,
        seed,
        beams,
        counts,
        options.karr,
        encoder,
        grader,
        grader_beams,
        options.continuation,
        options.several_tokens,
        options.former_order,
    )
    names = _names(options, tools)
    config = {
        "graph": graph_state(graph),
        "scorer": tools.scorer.describe(),
        "as_of": as_of,
        "seed": seed,
        "beams": beams,
        "grader_beams": grader_beams,
        "counts": counts,
        **{name: getattr(options, name) for name in MEANINGS},
        "encoder": options.encoder,
        "grader": options.grader,
        "measures": names,
    }
    return Measures(probed.name, names, tools, config, callbacks)


def _names(options: MeasuresOptions, tools: Tools) -> list[str]:
    """Return the requested measures without repetitions, or by default the distractor measures and usable baselines."""
    usable = []
    for name in BASELINES.names():
        need = BASELINES.get(name).needs
        if need is None or getattr(tools, need) is not None:
            usable.append(name)
        elif name in options.measures:
            raise lacking(name, need)
    distractors = [f"{DISTRACTORS}{strategy}" for strategy in options.strategies]
    return list(dict.fromkeys(options.measures or [*distractors, *usable]))


def _baseline(name: str, tools: Tools) -> Callable[[Sequence[ClozeItem]], Scores]:
    """Return the mean of a baseline over each fact's sentences; a fact with a sentence without a value has none."""
    kind = BASELINES.get(name)

    def measure(items: Sequence[ClozeItem]) -> Scores:
        by_sentence = kind.measure(tools, items)
        prefixes = _no_values(items, by_sentence.values.shape[1])
        reasons = {}
        end = 0
        for number, item in enumerate(items):
            start, end = end, end + len(item.clozes)
            missing = sorted(by_sentence.reasons.keys() & range(start, end))
            if not item.clozes:
                reasons[number] = str(item.reason)
            elif missing:
                reasons[number] = by_sentence.reasons[missing[0]]
            else:
                prefixes[:, number] = _prefix_means(by_sentence.values[start:end], len(prefixes))
        return Scores(by_sentence.configurations, prefixes[-1], reasons, prefixes)

    return measure


def _distractors(name: str, tools: Tools) -> Callable[[Sequence[ClozeItem]], Scores]:
    """Return the measure Min@n and Avg@n with the distractors of a strategy, which the name has, at the tools' n."""
    most = max(tools.counts)
    options: Any = {"strategy": name.removeprefix(DISTRACTORS), "former_order": tools.former_order}
    comparison = DistractorComparison(tools.graph, tools.scorer, DistractorOptions(most, **options), tools.as_of)
    grid = [{"aggregation": aggregation, "n": n} for aggregation in ("min", "avg") for n in tools.counts]
    columns = [n - 1 for n in tools.counts]

    def measure(items: Sequence[ClozeItem]) -> Scores:
        prefixes = _no_values(items, len(grid))
        reasons = {}
        for number, outcome in enumerate(comparison.answer(items, [tools.seed])):
            evidence = outcome.evidence
            if isinstance(evidence, DistractorEvidence):
                by_sentence = np.hstack([evidence.min_at_n(most)[:, columns], evidence.avg_at_n(most)[:, columns]])
                prefixes[:, number] = _prefix_means(by_sentence, len(prefixes))
            else:
                reasons[number] = str(outcome.reason)
        return Scores(grid, prefixes[-1], reasons, prefixes)

    return measure


def _no_values(items: Sequence[ClozeItem], configurations: int) -> Floats:
    """Return NaN for each number of sentences, item and configuration."""
    sentences = max([1, *(len(item.clozes) for item in items)])
    return np.full((sentences, len(items), configurations), np.nan)


def _prefix_means(values: Floats, count: int) -> Floats:
    """Return the means over the first m sentences, for m from 1 to ``count``.

    Args:
        values: shape (sentences, configurations), at least one sentence.

    Returns:
        Shape (count, configurations); beyond the last sentence, the mean over all.
    """
    numbers = np.arange(1, len(values) + 1)
    means = np.cumsum(values, axis=0) / numbers[:, None]
    prefixes: Floats = means[np.minimum(np.arange(count), len(values) - 1)]
    return prefixes
