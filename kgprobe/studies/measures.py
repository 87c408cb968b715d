"""Every measure of knowledge by its name, over the same questions and in all of its configurations.

docs/methods.md, 1: the distractor measure by strategy, and the baselines it is compared with. The measure of a fact is
the mean over its sentences.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.analysis.calibration import COUNTS, configurations
from kgprobe.baselines.asked import Asked, Values
from kgprobe.baselines.bertscore import bert_score
from kgprobe.baselines.continued import continue_sentences
from kgprobe.baselines.grader import Judge, llm_judge
from kgprobe.baselines.karr import draw_contrasts, karr
from kgprobe.baselines.precision import best_rank, precision_at_n
from kgprobe.baselines.probability import probability
from kgprobe.baselines.rouge import rouge_l
from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.models.encoder import Encoder
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.clozes import ClozeQuestion
from kgprobe.probes.distractors.comparison import Comparison
from kgprobe.probes.distractors.measure import avg_at_n, min_at_n
from kgprobe.probes.distractors.strategies import StrategyOptions
from kgprobe.probes.outcome import Verdict

Floats = NDArray[np.float64]
Watch = Callable[[int], None]

DISTRACTORS = "distractors:"

# How many other subjects, and other relations, KaRR holds a fact against.
_CONTRASTS = 20
_FACTS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Tools:
    """What measures are made with.

    Attributes:
        graph: for distractors and KaRR's contrasts.
        widths: of beams.
        counts: n of Min@n, Avg@n and precision@n.
        encoder: for BERTScore; None does without it.
        judge: for the judge; None does without one.
        weighting, budget: see :class:`~kgprobe.probes.distractors.strategies.StrategyOptions`.
    """

    graph: Graph
    scorer: Scorer
    as_of: int
    seed: int
    widths: tuple[int, ...] = (1, 2, 5)
    counts: tuple[int, ...] = COUNTS
    encoder: Encoder | None = None
    judge: Judge | None = None
    weighting: str = "tf-idf"
    budget: int = 2_000


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


def measure_names(strategies: Sequence[str], tools: Tools) -> list[str]:
    """The measures that can be had with these tools, the distractor measure first."""
    names = [f"{DISTRACTORS}{strategy}" for strategy in strategies]
    names += ["probability", "precision@n", "rouge-l"]
    names += ["bertscore"] if tools.encoder else []
    names += ["judge"] if tools.judge else []
    return [*names, "karr"]


def measure_facts(
    name: str, tools: Tools, questions: Sequence[ClozeQuestion], watch: Watch = lambda facts: None
) -> Scores:
    """One measure of all facts.

    Args:
        name: see :func:`measure_names`.
        questions: facts with their sentences; one without sentences has no value.
        watch: called with the number of facts done since the last call.

    Raises:
        UnknownNameError: there is no such measure.
        KgprobeError: it needs an encoder or a judge and there is none.
    """
    if name.startswith(DISTRACTORS):
        return _distractors(name.removeprefix(DISTRACTORS), tools, questions, watch)
    if name not in _BASELINES:
        raise UnknownNameError(f"There is no measure {name!r}; there are: {', '.join(_BASELINES)}, {DISTRACTORS}….")
    parts = []
    for first in range(0, len(questions), _FACTS_AT_ONCE):
        part = questions[first : first + _FACTS_AT_ONCE]
        parts.append(_means(part, first, _BASELINES[name](tools, part)))
        watch(len(part))
    options = parts[0].configurations if parts else []
    reasons = {number: reason for part in parts for number, reason in part.reasons.items()}
    return Scores(options, np.concatenate([part.values for part in parts]), reasons)


@dataclass(frozen=True, slots=True)
class _BySentence:
    """Values of all sentences of some facts, by configuration; shape of ``values`` (sentences, configurations)."""

    configurations: Sequence[Mapping[str, Any]]
    values: Floats
    reasons: Mapping[int, str]


def _asked(questions: Sequence[ClozeQuestion]) -> list[Asked]:
    return [
        Asked(cloze, (question.fact.object_label, *question.fact.object_aliases))
        for question in questions
        for cloze in question.clozes
    ]


def _means(questions: Sequence[ClozeQuestion], first: int, values: _BySentence) -> Scores:
    """The mean over each fact's sentences; a fact with a sentence that has no value has none."""
    ends = np.cumsum([len(question.clozes) for question in questions])
    means = np.full((len(questions), values.values.shape[1]), np.nan)
    reasons = {}
    for number, (question, end) in enumerate(zip(questions, ends, strict=True)):
        its = range(end - len(question.clozes), end)
        missing = [values.reasons[sentence] for sentence in its if sentence in values.reasons]
        if not len(its):
            reasons[first + number] = str(question.reason)
        elif missing:
            reasons[first + number] = missing[0]
        else:
            means[number] = values.values[its.start : its.stop].mean(axis=0)
    return Scores(values.configurations, means, reasons)


def _distractors(strategy: str, tools: Tools, questions: Sequence[ClozeQuestion], watch: Watch) -> Scores:
    options = StrategyOptions(strategy, tools.as_of, tools.weighting, tools.budget)
    most = max(tools.counts)
    comparison = Comparison(tools.graph, tools.scorer, options, most)
    grid = configurations(aggregation=("min", "avg"), n=tools.counts)
    values = np.full((len(questions), len(grid)), np.nan)
    reasons: dict[int, str] = {}
    columns = [n - 1 for n in tools.counts]
    for first in range(0, len(questions), _FACTS_AT_ONCE):
        part = questions[first : first + _FACTS_AT_ONCE]
        for number, outcome in enumerate(comparison.answer(part, [tools.seed]), start=first):
            if outcome.verdict is Verdict.UNASKABLE:
                reasons[number] = str(outcome.reason)
                continue
            sentences = [sentence["log_plausibility"] for sentence in outcome.evidence["sentences"]]
            table = np.full((len(sentences), most + 1), np.nan)
            for row, sentence in zip(table, sentences, strict=True):
                row[: len(sentence)] = sentence
            by_aggregation = [aggregate(table[:, 0], table[:, 1:]).mean(axis=0) for aggregate in (min_at_n, avg_at_n)]
            values[number] = np.concatenate([its[columns] for its in by_aggregation])
        watch(len(part))
    return Scores(grid, values, reasons)


def _alone(values: Values, **options: Any) -> _BySentence:
    return _BySentence([options], values.values[:, None], values.reasons)


def _probability(tools: Tools, questions: Sequence[ClozeQuestion]) -> _BySentence:
    return _alone(probability(tools.scorer, _asked(questions)))


def _precision(tools: Tools, questions: Sequence[ClozeQuestion]) -> _BySentence:
    ranks = best_rank(tools.scorer, _asked(questions))
    columns = [precision_at_n(ranks.values, n) for n in tools.counts]
    return _BySentence(configurations(n=tools.counts), np.stack(columns, axis=1), ranks.reasons)


def _karr(tools: Tools, questions: Sequence[ClozeQuestion]) -> _BySentence:
    keys = [question.fact.key for question in questions]
    drawn = draw_contrasts(tools.graph, keys, _CONTRASTS, [tools.seed])
    of_sentences = [
        contrasts for question, contrasts in zip(questions, drawn, strict=True) for _ in range(len(question.clozes))
    ]
    return _alone(karr(tools.scorer, _asked(questions), of_sentences))


def _over_beams(
    measure: Callable[[Tools, Sequence[Asked], Any], Values],
) -> Callable[[Tools, Sequence[ClozeQuestion]], _BySentence]:
    def measured(tools: Tools, questions: Sequence[ClozeQuestion]) -> _BySentence:
        asked = _asked(questions)
        by_width = [measure(tools, asked, continue_sentences(tools.scorer, asked, width)) for width in tools.widths]
        reasons = {number: reason for values in by_width for number, reason in values.reasons.items()}
        columns = np.stack([values.values for values in by_width], axis=1)
        return _BySentence(configurations(width=tools.widths), columns, reasons)

    return measured


def _bert_score(tools: Tools, asked: Sequence[Asked], continued: Any) -> Values:
    if tools.encoder is None:
        raise KgprobeError("BERTScore needs an encoder: --encoder names one.")
    return bert_score(tools.encoder, asked, continued)


def _judge(tools: Tools, asked: Sequence[Asked], continued: Any) -> Values:
    if tools.judge is None:
        raise KgprobeError("The judge is a model: --judge names one.")
    return llm_judge(tools.judge, asked, continued)


_BASELINES: Mapping[str, Callable[[Tools, Sequence[ClozeQuestion]], _BySentence]] = {
    "probability": _probability,
    "precision@n": _precision,
    "rouge-l": _over_beams(lambda tools, asked, continued: rouge_l(asked, continued)),
    "bertscore": _over_beams(_bert_score),
    "judge": _over_beams(_judge),
    "karr": _karr,
}
