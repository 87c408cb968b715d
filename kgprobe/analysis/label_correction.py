"""Figures of a judged graph corrected by labels: what the model itself says of a few facts, beside the judge on all.

docs/methods/judged-graphs.md. A label's metrics are over negatives of
its own, the judge's over others; both are drawn alike, so that either is, on average, what it is over all negatives.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.analysis.whole_graph import METRICS, THIRD, PickedFact, WholeGraph
from kgprobe.probes.labels.evidence import LabelEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.probes.statements.metrics import NONE, metrics_of
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.prediction_powered import estimate_mean
from kgprobe.stats.prediction_sums import LabelledFacts

# Labelled facts of a group from which its figures are estimated.
ENOUGH = 30

# Why a fact that was asked does not count.
LEARNED = "the judge has learned from it"
NO_LABEL = "it has no label: it could not be asked, got no answer, or its answers do not agree or cannot be read"
NO_NEGATIVE_LABEL = "none of its negatives has a label"
NOT_JUDGED = "the judge could not judge it, and figures are of facts that it could"
NOT_THERE = "it is not among the judged facts"


@dataclass(frozen=True, slots=True)
class LabelledMetrics:
    """A fact that the model was asked about.

    Attributes:
        metrics: by name, from its own answers; None where they have no label.
        reason: why there are none.
        partly: whether some of its negatives have no label, so that the others speak for them.
    """

    fact: FactKey
    metrics: Mapping[str, float] | None
    reason: str | None
    partly: bool


@dataclass(frozen=True, slots=True)
class GroupEstimates:
    """Estimates of one group's metrics.

    Attributes:
        by, name: the group, as of :class:`~kgprobe.analysis.whole_graph.GroupSums`.
        estimates: by metric.
    """

    by: str
    name: str | None
    estimates: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Correction:
    """What labels make of the judge's figures.

    Attributes:
        labels: the name of the measurement that they are from.
        asked: how many facts it has asked.
        used: how many of them count.
        left_out: why others do not, and how many.
        partly: how many of those that count have a negative without a label.
        estimates: of the groups that have at least ``ENOUGH`` labelled facts.
    """

    labels: str
    asked: int
    used: int
    left_out: Mapping[str, int]
    partly: int
    estimates: Sequence[GroupEstimates]


def labelled_metrics(outcomes: Iterable[Outcome]) -> list[LabelledMetrics]:
    """The metrics of facts by a model's own answers, one for each outcome."""
    found = []
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, LabelEvidence) or evidence.fact.judgement == NONE:
            found.append(LabelledMetrics(outcome.fact, None, NO_LABEL, partly=False))
            continue
        negatives = [negative.judgement for negative in evidence.negatives]
        if all(judgement == NONE for judgement in negatives):
            found.append(LabelledMetrics(outcome.fact, None, NO_NEGATIVE_LABEL, partly=False))
            continue
        metrics = metrics_of(np.array([evidence.fact.judgement], dtype=np.int8), np.array([negatives], dtype=np.int8))
        values = {name: float(getattr(metrics, name)[0]) for name in METRICS}
        found.append(LabelledMetrics(outcome.fact, values, None, partly=NONE in negatives))
    return found


def correct_by_labels(
    graph: WholeGraph, labels: str, facts: Sequence[LabelledMetrics], learned: frozenset[str]
) -> Correction:
    """Estimates of all groups that have enough labelled facts.

    Labelled facts were drawn one by one, so that those that share an entity do not count as clusters.

    Args:
        graph: with these facts looked for; all of its shards were read.
        labels: what the labels are called.
        facts: a uniform sample without replacement of the graph's facts.
        learned: ids of facts that the judge has learned from.
    """
    left_out: Counter[str] = Counter()
    used: list[tuple[Mapping[str, float], PickedFact, Mapping[str, float]]] = []
    partly = 0
    for labelled in facts:
        picked = graph.picked.get(labelled.fact)
        if labelled.fact.fact in learned:
            left_out[LEARNED] += 1
        elif labelled.metrics is None:
            left_out[str(labelled.reason)] += 1
        elif picked is None:
            left_out[NOT_THERE] += 1
        elif picked.metrics is None:
            left_out[NOT_JUDGED] += 1
        else:
            used.append((labelled.metrics, picked, picked.metrics))
            partly += labelled.partly
    groups = [picked.groups | {(THIRD, graph.thirds.of(picked.popularity))} for _, picked, _ in used]
    members: dict[tuple[str, str | None], list[int]] = {}
    for place, its in enumerate(groups):
        for group in its:
            members.setdefault(group, []).append(place)
    estimates = []
    for one in graph.groups:
        places = members.get((one.by, one.name), [])
        if len(places) < ENOUGH:
            continue
        by_metric = {
            metric: estimate_mean(
                LabelledFacts(
                    np.array([used[place][0][metric] for place in places]),
                    np.array([used[place][2][metric] for place in places]),
                ),
                one.sums[metric],
            )
            for metric in METRICS
        }
        estimates.append(GroupEstimates(one.by, one.name, by_metric))
    return Correction(labels, len(facts), len(used), dict(left_out.most_common()), partly, estimates)
