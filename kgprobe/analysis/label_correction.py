"""Correction of a judged graph's metrics by labels: the model's own answers on a sample of the facts.

docs/methods/judged-graphs.md. Labels and judge use different negatives of a fact. Both are drawn alike, so that the
expectation of either's metrics is the metric over all negatives.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kgprobe.analysis.whole_graph import METRICS, THIRD, GroupSums, WholeGraph
from kgprobe.probes.labels.evidence import LabelEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.probes.statements.metrics import NONE, metrics_of
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.prediction_powered import estimate_mean
from kgprobe.stats.prediction_sums import LabelledFacts

Metrics: TypeAlias = Mapping[str, float]

# Minimum number of labelled facts to estimate a group.
ENOUGH = 30

# Reasons why an asked fact does not count.
LEARNED = "the judge has learned from it"
NO_LABEL = "it has no label: it could not be asked, got no answer, or its answers do not agree or cannot be read"
NO_NEGATIVE_LABEL = "none of its negatives has a label"
NOT_JUDGED = "the judge could not judge it, and estimates are over judged facts"
NOT_FOUND = "it is not among the judged facts"


@dataclass(frozen=True, slots=True)
class LabelledMetrics:
    """An asked fact with its metrics.

    Attributes:
        metrics: by name, from its own answers; None where they have no label.
        reason: the reason for missing metrics.
        partly: True if some of its negatives have no label; metrics use the others.
    """

    fact: FactKey
    metrics: Metrics | None
    reason: str | None
    partly: bool


@dataclass(frozen=True, slots=True)
class GroupEstimates:
    """Estimates of one group's metrics.

    Attributes:
        by, name: the group, as in :class:`~kgprobe.analysis.whole_graph.GroupSums`.
        estimates: by metric.
    """

    by: str
    name: str | None
    estimates: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Correction:
    """The judge's metrics corrected by labels.

    Attributes:
        labels: name of the measurement that has the labels.
        asked: number of its facts.
        used: number of them that count.
        left_out: numbers of the others by reason.
        partly: number of used facts with a negative that has no label.
        estimates: estimates of the groups with at least ``ENOUGH`` labelled facts.
    """

    labels: str
    asked: int
    used: int
    left_out: Mapping[str, int]
    partly: int
    estimates: Sequence[GroupEstimates]


def labelled_metrics(outcomes: Iterable[Outcome]) -> list[LabelledMetrics]:
    """Return the metrics of facts by a model's own answers, one per outcome."""
    return [_labelled(outcome) for outcome in outcomes]


def _labelled(outcome: Outcome) -> LabelledMetrics:
    evidence = outcome.evidence
    if not isinstance(evidence, LabelEvidence) or evidence.fact.judgement == NONE:
        return LabelledMetrics(outcome.fact, None, NO_LABEL, partly=False)
    negatives = [negative.judgement for negative in evidence.negatives]
    if all(judgement == NONE for judgement in negatives):
        return LabelledMetrics(outcome.fact, None, NO_NEGATIVE_LABEL, partly=False)
    metrics = metrics_of(np.array([evidence.fact.judgement], dtype=np.int8), np.array([negatives], dtype=np.int8))
    values = {name: float(getattr(metrics, name)[0]) for name in METRICS}
    return LabelledMetrics(outcome.fact, values, None, partly=NONE in negatives)


def correct_by_labels(
    graph: WholeGraph, labels: str, facts: Sequence[LabelledMetrics], learned: frozenset[str]
) -> Correction:
    """Estimate the metrics of all groups that have enough labelled facts.

    Labelled facts were drawn independently, so that facts with a common entity do not count as clusters.

    Args:
        graph: figures of all shards, with these facts picked.
        labels: name of the labels.
        facts: a uniform sample without replacement of the graph's facts.
        learned: ids of facts that the judge was trained on.
    """
    left_out: Counter[str] = Counter()
    members: defaultdict[tuple[str, str | None], list[tuple[Metrics, Metrics]]] = defaultdict(list)
    used = partly = 0
    for labelled in facts:
        picked = graph.picked.get(labelled.fact)
        if labelled.fact.fact in learned:
            left_out[LEARNED] += 1
        elif labelled.metrics is None:
            left_out[str(labelled.reason)] += 1
        elif picked is None:
            left_out[NOT_FOUND] += 1
        elif picked.metrics is None:
            left_out[NOT_JUDGED] += 1
        else:
            used += 1
            partly += labelled.partly
            for group in picked.groups | {(THIRD, graph.thirds.of(picked.popularity))}:
                members[group].append((labelled.metrics, picked.metrics))
    estimates = [
        _estimate(group, members[group.by, group.name])
        for group in graph.groups
        if len(members[group.by, group.name]) >= ENOUGH
    ]
    return Correction(labels, len(facts), used, dict(left_out.most_common()), partly, estimates)


def _estimate(group: GroupSums, pairs: Sequence[tuple[Metrics, Metrics]]) -> GroupEstimates:
    """Estimate a group's metrics from pairs of a label's and the judge's metrics."""
    estimates = {}
    for metric in METRICS:
        labelled = np.array([label[metric] for label, _ in pairs])
        judged = np.array([judge[metric] for _, judge in pairs])
        estimates[metric] = estimate_mean(LabelledFacts(labelled, judged), group.sums[metric])
    return GroupEstimates(group.by, group.name, estimates)
