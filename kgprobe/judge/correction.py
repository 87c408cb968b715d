"""Correction of a judged graph's metrics by labels: the model's own answers on a sample of the facts.

docs/methods/judged-graphs.md. Labels and judge use different negatives of a fact. Both are drawn alike, so that the
expectation of either's metrics is the metric over all negatives.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd

from kgprobe.answers.settings import CONFIG
from kgprobe.base.errors import ArgumentError
from kgprobe.base.files import home
from kgprobe.judge.graph_figures import METRICS, THIRD, GroupKey, WholeGraph
from kgprobe.judge.judged_facts import JudgedGraphConfig
from kgprobe.judge.labels import TrueFalseLabels, labelled_statements, read_labels, set_aside
from kgprobe.probes.outcome import Outcome
from kgprobe.probes.statements.metrics import NONE, metrics_of_fact
from kgprobe.probes.true_false.evidence import TrueFalseEvidence
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.selection import SEEDED_ORDER
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.prediction_powered import LabelledFacts, estimate_mean

Metrics: TypeAlias = Mapping[str, float]

# Minimum number of labelled facts to estimate a group.
ENOUGH = 30

# Reasons why an asked fact does not count.
LEARNED = "the judge has learned from it"
NO_LABEL = "it has no label: it could not be asked, got no answer, or its answers do not agree or cannot be read"
NO_NEGATIVE_LABEL = "none of its negatives has a label"
NOT_JUDGED = "the judge could not judge it, and estimates are over judged facts"
NOT_FOUND = "it is not among the judged facts"

_UNCORRECTED = "Figures are the judge's own, not corrected by labels, and as biased as the judge"
# Characters of a value, and relations, in a message.
_SHOWN = 120
_NAMED = 5


@dataclass(frozen=True, slots=True)
class LabelledMetrics:
    """An asked fact with its metrics.

    Attributes:
        metrics: by name, from its own answers; None where they have no label.
        reason: the reason for missing metrics; empty if it has some.
        partly: True if some of its negatives have no label; metrics use the others.
    """

    fact: FactKey
    metrics: Metrics | None = None
    reason: str = ""
    partly: bool = False


@dataclass(frozen=True, slots=True)
class Correction:
    """The judge's metrics corrected by labels.

    Attributes:
        used: number of them that count.
        left_out: numbers of the others by reason.
        partly: number of used facts with a negative that has no label.
        estimates: estimates by metric, of the groups with at least ``ENOUGH`` labelled facts.
    """

    labels: str
    asked: int
    used: int
    left_out: Mapping[str, int]
    partly: int
    estimates: Mapping[GroupKey, Mapping[str, Estimate]]


def labelled_metrics(outcomes: Iterable[Outcome]) -> list[LabelledMetrics]:
    """Return the metrics of facts by a model's own answers, one per outcome."""
    labelled = []
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, TrueFalseEvidence) or evidence.fact.judgement == NONE:
            labelled.append(LabelledMetrics(outcome.fact, reason=NO_LABEL))
            continue
        negatives = [negative.judgement for negative in evidence.negatives]
        if set(negatives) <= {NONE}:
            labelled.append(LabelledMetrics(outcome.fact, reason=NO_NEGATIVE_LABEL))
        else:
            metrics = metrics_of_fact(evidence.fact.judgement, negatives)
            labelled.append(LabelledMetrics(outcome.fact, metrics, partly=NONE in negatives))
    return labelled


def correct_by_labels(
    graph: WholeGraph, labels: str, facts: Sequence[LabelledMetrics], learned: frozenset[str]
) -> Correction:
    """Estimate the metrics of all groups that have enough labelled facts.

    Labelled facts were drawn independently, so that facts with a common entity do not count as clusters.

    Args:
        facts: a uniform sample without replacement of the graph's facts.
        learned: ids of facts that the judge was trained on.
    """
    left_out: Counter[str] = Counter()
    members: defaultdict[GroupKey, list[tuple[Metrics, Metrics]]] = defaultdict(list)
    used = partly = 0
    for fact in facts:
        picked = graph.picked.get(fact.fact)
        if fact.fact.fact in learned:
            left_out[LEARNED] += 1
        elif fact.metrics is None:
            left_out[fact.reason] += 1
        elif picked is None:
            left_out[NOT_FOUND] += 1
        elif picked.metrics is None:
            left_out[NOT_JUDGED] += 1
        else:
            used += 1
            partly += fact.partly
            for group in picked.groups | {(THIRD, graph.thirds.of(picked.popularity))}:
                members[group].append((fact.metrics, picked.metrics))
    estimates: dict[GroupKey, dict[str, Estimate]] = {}
    for sums in graph.groups:
        group = (sums.by, sums.name)
        if len(members[group]) >= ENOUGH:
            labelled, judged = (pd.DataFrame(list(metrics)) for metrics in zip(*members[group], strict=True))
            estimates[group] = {}
            for metric in METRICS:
                pairs = LabelledFacts(labelled[metric].to_numpy(), judged[metric].to_numpy())
                estimates[group][metric] = estimate_mean(pairs, sums.sums[metric])
    return Correction(labels, len(facts), used, dict(left_out.most_common()), partly, estimates)


def choose_labels(config: JudgedGraphConfig, given: TrueFalseLabels | None, notes: list[str]) -> TrueFalseLabels | None:
    """Return the labels that correct a judged graph: the given ones, or the judge's own; None without any."""
    own = home() / "probes" / config.judge.labels
    if given is not None:
        check_sample(config, given)
        return given
    if not (own / CONFIG).exists():
        reason = f"the judge's labels, {own}, are missing."
    else:
        try:
            labels = read_labels(own)
            check_sample(config, labels)
            return labels
        except ArgumentError as error:
            reason = f"the judge's {error}"
    notes.append(f"{_UNCORRECTED}: {reason}")
    return None


def learned_facts(config: JudgedGraphConfig, labels: TrueFalseLabels, notes: list[str]) -> frozenset[str]:
    """Return the ids of the facts in the judge's training set; none, with a note, if its own labels are missing."""
    own = home() / "probes" / config.judge.labels
    if labels.name == own.name:
        trained = labels
    elif (own / CONFIG).exists():
        trained = read_labels(own)
    else:
        notes.append(
            f"The judge's own labels, {own}, are missing: facts of {labels.name} in its training set, if any, count"
            " too, and make its figures too good."
        )
        return frozenset()
    facts = np.array(labelled_statements(trained.outcomes).facts, dtype=object)
    aside = set_aside(facts.tolist(), config.judge.aside, config.judge.seed)
    return frozenset(facts[~aside])


def check_sample(config: JudgedGraphConfig, labels: TrueFalseLabels) -> None:
    """Raise an ArgumentError unless labels are a random sample of the judged facts."""
    measured, settings = labels.config, config.settings
    if "sha256" in measured["facts"]:
        raise ArgumentError(
            "labels",
            f"of {labels.name} are of a list of facts, which is not a random sample of the graph: measure with a"
            " limit, or omit the correction (`raw`).",
        )
    # The part of a uniform sample in some relations is a uniform sample of these.
    missing = sorted(set(settings.relations) - set(measured["relations"]))
    if missing:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise ArgumentError(
            "labels",
            f"of {labels.name} are not a sample of the judged facts: they have none of the relations"
            f" {', '.join(missing[:_NAMED])}{more}. Choose other labels, or `raw`.",
        )
    options = measured["options"]
    compared = {
        "the answers of": (labels.model, config.judge.answers_of),
        "the graph": (measured["graph"], config.graph),
        "the date": (measured["as_of"], settings.as_of),
        "negatives with another": (options["replace"], settings.replace),
        "any type": (options["any_type"], settings.any_type),
    }
    for what, (theirs, ours) in compared.items():
        if theirs != ours:
            raise ArgumentError(
                "labels",
                f"of {labels.name} have {what} {_short(theirs)}; the judged graph has {_short(ours)}. They are not"
                " a sample of the judged facts: choose other labels, or `raw`.",
            )
    if measured["facts"].get("order") != SEEDED_ORDER:
        raise ArgumentError(
            "labels",
            f"of {labels.name} are of facts in the order of their ids, by an older version of kgprobe. Measure them"
            " again, or omit the correction (`raw`).",
        )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
