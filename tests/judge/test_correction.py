"""Corrected figures are those of estimate_mean by hand, and hold where the judge's own are biased."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kgprobe.judge.correction import (
    ENOUGH,
    LEARNED,
    NO_LABEL,
    NO_NEGATIVE_LABEL,
    NOT_FOUND,
    NOT_JUDGED,
    LabelledMetrics,
    correct_by_labels,
    labelled_metrics,
)
from kgprobe.judge.graph_figures import METRICS, whole_graph
from kgprobe.judge.judged_facts import SCHEMA
from kgprobe.probes.outcome import Outcome, unaskable
from kgprobe.probes.statements.metrics import metrics_of
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.prediction_powered import LabelledFacts, estimate_mean, sum_predictions
from tests.judge.judged_files import judged, said

COUNT = 4000


def world(seed: int) -> tuple[list[dict[str, Any]], list[Outcome], dict[str, float]]:
    """Facts of two relations, what the model says of them, and what a judge that affirms facts too often makes of it.

    Also the means over all facts of the model's own metrics, over all negatives: each is what it is on average.
    """
    random = np.random.default_rng(seed)
    rows, outcomes = [], []
    truth: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for number in range(COUNT):
        relation = number % 2
        answers = random.choice(3, 4, p=[0.5, 0.4, 0.1] if relation else [0.3, 0.5, 0.2])
        fact, negatives = int(answers[0]), answers[1:]
        # The judge sees one negative, the labels another one, of the three that there are.
        told = np.where(random.random(4) < [0.4, 0.05, 0.05, 0.05], 0, answers)
        seen, labelled = random.choice(3, 2)
        columns = {"relation": f"r{relation}", "subject_types": ["city"] if number % 100 == 0 else []}
        rows.append(judged(f"f{number}", int(told[0]), [int(told[1 + seen])], **columns))
        outcomes.append(said(f"f{number}", fact, [int(negatives[labelled])], relation=f"r{relation}"))
        metrics = metrics_of(np.array([fact], dtype=np.int8), negatives.astype(np.int8)[None])
        for metric in METRICS:
            truth[metric].append(float(getattr(metrics, metric)[0]))
    return rows, outcomes, {metric: float(np.mean(values)) for metric, values in truth.items()}


@pytest.mark.slow
def test_corrected_figures_hold_where_the_judge_is_biased() -> None:
    rows, outcomes, truth = world(0)
    batches = pa.Table.from_pylist(rows, schema=SCHEMA).to_batches(max_chunksize=333)
    random = np.random.default_rng(1)
    covered = dict.fromkeys(METRICS, 0)
    missed = dict.fromkeys(METRICS, 0)
    draws = 100
    told = whole_graph(batches, [outcome.fact for outcome in outcomes])
    for _ in range(draws):
        drawn = [outcomes[place] for place in random.choice(COUNT, 300, replace=False)]
        correction = correct_by_labels(told, "labels", labelled_metrics(drawn), frozenset())
        assert correction.used == 300
        for metric, estimate in correction.estimates["all", "all"].items():
            covered[metric] += estimate.low <= truth[metric] <= estimate.high
            missed[metric] += not estimate.low <= estimate.raw <= estimate.high
    # 95% intervals: 88 of 100 is three standard errors below.
    assert min(covered.values()) >= 88, covered
    # The judge's own figure is outside of most.
    assert min(missed.values()) >= 70, missed


def test_estimates_are_those_made_by_hand() -> None:
    rows, outcomes, _ = world(2)
    places = np.random.default_rng(3).choice(COUNT, 200, replace=False)
    drawn = [outcomes[place] for place in places]
    told = whole_graph(pa.Table.from_pylist(rows, schema=SCHEMA).to_batches(), [outcome.fact for outcome in drawn])
    correction = correct_by_labels(told, "labels", labelled_metrics(drawn), frozenset())
    # Of the few cities there are too few labelled ones; popularity is known of nobody.
    assert set(correction.estimates) == {
        ("all", "all"),
        ("relation", "r0"),
        ("relation", "r1"),
        ("subject type", None),
        ("object type", None),
        # The few cities are the only subjects of their relation with a type.
        ("head type", "city"),
        ("head type", None),
        ("tail type", None),
        ("head and tail type", "city → (no type)"),
        ("head and tail type", "(no type) → (no type)"),
        ("third", None),
    }
    for (by, name), estimates in correction.estimates.items():
        if by != "relation":
            continue
        its = [place for place in places if rows[place]["relation"] == name]
        for metric, estimate in estimates.items():
            y = [(labelled_metrics([outcomes[place]])[0].metrics or {})[metric] for place in its]
            m = [rows[place][metric] for place in its]
            everything = sum_predictions([row[metric] for row in rows if row["relation"] == name])
            by_hand = estimate_mean(LabelledFacts(np.array(y), np.array(m)), everything)
            assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
                (by_hand.value, by_hand.low, by_hand.high)
            )


def test_labels_without_a_say_are_counted() -> None:
    rows = [judged(f"f{number}", 0, [1]) for number in range(ENOUGH + 8)]
    rows[0] = judged("f0", -1, [])
    outcomes = [said(f"f{number}", 0, [1]) for number in range(ENOUGH + 8)]
    outcomes[1] = said("f1", -1, [1])
    outcomes[2] = said("f2", 0, [-1, -1])
    outcomes[3] = said("f3", 0, [1, -1])
    outcomes[4] = unaskable(FactKey("s f4", "f4"), "r0", "no words")
    outcomes.append(said("elsewhere", 0, [1]))
    labels = labelled_metrics(outcomes)
    told = whole_graph(pa.Table.from_pylist(rows, schema=SCHEMA).to_batches(), [one.fact for one in labels])
    correction = correct_by_labels(told, "labels", labels, frozenset({"f5", "f6"}))
    assert correction.left_out == {LEARNED: 2, NO_LABEL: 2, NO_NEGATIVE_LABEL: 1, NOT_JUDGED: 1, NOT_FOUND: 1}
    assert (correction.asked, correction.used, correction.partly) == (ENOUGH + 9, ENOUGH + 2, 1)
    fewer: list[LabelledMetrics] = labels[7 : 7 + ENOUGH - 1]
    assert correct_by_labels(told, "labels", fewer, frozenset()).estimates == {}
