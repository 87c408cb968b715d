"""How well a judge tells a model's answers: against those that the model gave itself."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.stats.proportions import Mean, Share, share

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

# Of 95% intervals.
_Z = 1.96
# Of the reliability plot.
_BINS = 10
# So that what was held impossible and came true costs much, and not all.
_SMALLEST = 1e-6


@dataclass(frozen=True, slots=True)
class AnswerQuality:
    """How well one answer is told.

    Attributes:
        answer: its name.
        count: statements that the model answered so.
        precision: the share of these among those told so; None where none was told so.
        recall: the share told so of these; None where there are none.
        f1: their harmonic mean; None where one of them is None.
        auroc: how probably a statement answered so is held to be more probably so than one that is not, in [0, 1];
            None where one of the two kinds is missing.
    """

    answer: str
    count: int
    precision: float | None
    recall: float | None
    f1: float | None
    auroc: float | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """Statements whose judgement is about as sure.

    Attributes:
        low, high: the range of confidence, the probability of the answer that is told.
        count: of statements.
        confidence: their mean.
        right: the share of them that is right.
    """

    low: float
    high: float
    count: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class Quality:
    """How good a judge is over some statements.

    Attributes:
        count: of statements.
        accuracy: the share whose answer is told, with an interval as if they were independent.
        macro_f1: the mean F1 of the answers that the model gave at all; an answer never told has 0.
        auroc: the mean over the answers that have one; None where none has.
        log_loss: the mean of -log of the probability of the answer that was given, natural logarithm.
        calibration_error: the mean distance of confidence from the share that is right, over ranges of confidence.
        confusion: statements by the answer given (rows) and the one told (columns), shape (3, 3).
        answers: by answer.
        reliability: by range of confidence.
    """

    count: int
    accuracy: Share
    macro_f1: float
    auroc: float | None
    log_loss: float
    calibration_error: float
    confusion: tuple[tuple[int, ...], ...]
    answers: tuple[AnswerQuality, ...]
    reliability: tuple[Reliability, ...]


def quality_of(given: Integers, probabilities: Doubles) -> Quality:
    """How well probabilities of answers tell those that were given.

    >>> quality_of(np.array([0, 1, 0]), np.array([[0.9, 0.1, 0], [0.6, 0.4, 0], [0.8, 0.2, 0]])).confusion
    ((2, 0, 0), (1, 0, 0), (0, 0, 0))

    Args:
        given: numbers of :data:`~kgprobe.probes.statements.metrics.JUDGEMENTS`, shape (statements,), one at least.
        probabilities: shape (statements, 3).
    """
    told = probabilities.argmax(axis=1)
    confidence = probabilities[np.arange(len(told)), told]
    confusion = np.zeros((len(JUDGEMENTS), len(JUDGEMENTS)), dtype=np.int64)
    np.add.at(confusion, (given, told), 1)
    answers = tuple(_answer_quality(number, given, probabilities, confusion) for number in range(len(JUDGEMENTS)))
    areas = [one.auroc for one in answers if one.auroc is not None]
    reliability = tuple(_reliability(confidence, told == given))
    loss = -np.log(np.maximum(probabilities[np.arange(len(given)), given], _SMALLEST))
    return Quality(
        count=len(given),
        accuracy=share(int((told == given).sum()), len(given)),
        macro_f1=float(np.mean([one.f1 or 0.0 for one in answers if one.count])),
        auroc=float(np.mean(areas)) if areas else None,
        log_loss=float(loss.mean()),
        calibration_error=sum(one.count * abs(one.confidence - one.right) for one in reliability) / len(given),
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        answers=answers,
        reliability=reliability,
    )


def _answer_quality(number: int, given: Integers, probabilities: Doubles, confusion: Integers) -> AnswerQuality:
    from sklearn.metrics import roc_auc_score

    hits, count, told = int(confusion[number, number]), int(confusion[number].sum()), int(confusion[:, number].sum())
    precision = hits / told if told else None
    recall = hits / count if count else None
    f1 = None if precision is None or recall is None else 2 * hits / (count + told)
    kinds = 0 < count < len(given)
    auroc = float(roc_auc_score(given == number, probabilities[:, number])) if kinds else None
    return AnswerQuality(JUDGEMENTS[number], count, precision, recall, f1, auroc)


def _reliability(confidence: Doubles, right: NDArray[np.bool_]) -> list[Reliability]:
    places = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    return [
        Reliability(
            place / _BINS,
            (place + 1) / _BINS,
            int(inside.sum()),
            float(confidence[inside].mean()),
            float(right[inside].mean()),
        )
        for place in range(_BINS)
        if (inside := places == place).any()
    ]


@dataclass(frozen=True, slots=True)
class QualityBeside:
    """The quality of a judge next to that of the words' own probabilities, over the same statements.

    Attributes:
        facts: number of facts that the statements are of.
        quality: the judge's.
        baseline: that of the words' probabilities.
        gain: AUROC of the judge less that of the words, with a 95% interval; None where there is no AUROC.
    """

    facts: int
    quality: Quality
    baseline: Quality
    gain: Mean | None


def quality_beside(given: Integers, judge: Doubles, words: Doubles, facts: Sequence[str]) -> QualityBeside:
    """Return the quality of two sets of probabilities for the same answers, and their difference of AUROC.

    The interval is DeLong's (1988), with the facts as clusters (Obuchowski, 1997).

    Args:
        given: as of :func:`quality_of`.
        judge, words: probabilities, shape (statements, 3).
        facts: the fact of each statement.
    """
    own, others = _influence(given, judge), _influence(given, words)
    gain = None
    if own is not None and others is not None:
        _, cluster = np.unique(np.array(facts, dtype=str), return_inverse=True)
        sums = np.bincount(cluster, weights=own[1] - others[1])
        difference, count = own[0] - others[0], len(sums)
        reach = None if count < 2 else _Z * math.sqrt(float(sums @ sums) * count / (count - 1))
        ends = (None, None) if reach is None else (difference - reach, difference + reach)
        gain = Mean(difference, *ends)
    return QualityBeside(len(set(facts)), quality_of(given, judge), quality_of(given, words), gain)


def _influence(given: Integers, probabilities: Doubles) -> tuple[float, Doubles] | None:
    """Return the mean AUROC over answers, and what each statement adds to its error; None where no answer has one."""
    areas, added = [], []
    for number in range(len(JUDGEMENTS)):
        is_answer, scores = given == number, probabilities[:, number]
        positive, negative = int(is_answer.sum()), int((~is_answer).sum())
        if not positive or not negative:
            continue
        ranks = rankdata(scores)
        placements = np.empty(len(given))
        placements[is_answer] = (ranks[is_answer] - rankdata(scores[is_answer])) / negative
        placements[~is_answer] = 1 - (ranks[~is_answer] - rankdata(scores[~is_answer])) / positive
        area = float(placements[is_answer].mean())
        areas.append(area)
        added.append((placements - area) / np.where(is_answer, positive, negative))
    return (float(np.mean(areas)), np.mean(added, axis=0)) if areas else None
