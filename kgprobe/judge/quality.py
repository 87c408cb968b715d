"""Quality of a judge's predictions, compared with the model's own answers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from kgprobe.base.intervals import Mean, Share
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.probes.statements.metrics import JUDGEMENTS, correctness_of
from kgprobe.stats.calibration import RANGES, by_confidence, equal_width, error_of
from kgprobe.stats.proportions import share

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Quantile of 95% intervals.
_Z = 1.96
# Lower bound of probabilities in the log loss, so that one impossible answer does not dominate.
_SMALLEST = 1e-6


def rounded(value: float | None) -> float | None:
    """Return a figure with three decimals, for tables."""
    return None if value is None else round(value, 3)


@dataclass(frozen=True, slots=True)
class AnswerQuality(ResultRow):
    """Quality of the predictions of one answer.

    Attributes:
        count: statements with this answer.
        precision: share with this answer among those predicted so; None without such predictions.
        recall: share predicted so among those with this answer; None without such statements.
        f1: their harmonic mean; None if one of them is None.
        auroc: area under the ROC curve of the answer's probability; None if all statements have this answer, or none.
    """

    answer: Annotated[str, Heading("answer")]
    count: Annotated[int, Heading("statements")]
    precision: Annotated[float | None, Heading("precision", rounded)]
    recall: Annotated[float | None, Heading("recall", rounded)]
    f1: Annotated[float | None, Heading("F1", rounded)]
    auroc: Annotated[float | None, Heading("AUROC", rounded)]


@dataclass(frozen=True, slots=True)
class Reliability:
    """Statements with similar confidence.

    Attributes:
        low, high: range of confidence, the probability of the predicted answer.
        confidence: mean confidence.
        right: share of correct predictions.
    """

    low: float
    high: float
    count: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class Quality:
    """Quality of a judge on some statements.

    Attributes:
        accuracy: share of correct predictions, with an interval as if they were independent.
        macro_f1: mean F1 over the answers that occur; 0 for an answer that is never predicted.
        auroc: mean over the answers that have one; None if none has.
        log_loss: mean of -log of the probability of the model's answer, natural logarithm.
        calibration_error: mean distance between confidence and share of correct predictions, over ranges of confidence.
        confusion: statements by the model's answer (rows) and the predicted one (columns), shape (3, 3).
        weighted_precision, weighted_recall, weighted_f1: means over right, wrong and unknown answers, weighted by their
            numbers, as in the paper's table 3.
    """

    count: int
    accuracy: Share
    macro_f1: float
    auroc: float | None
    log_loss: float
    calibration_error: float
    confusion: tuple[tuple[int, ...], ...]
    weighted_precision: float
    weighted_recall: float
    weighted_f1: float
    answers: tuple[AnswerQuality, ...]
    reliability: tuple[Reliability, ...]

    @property
    def macro_precision(self) -> float:
        """Mean precision over the answers that occur; 0 for an answer that is never predicted."""
        return float(np.mean([answer.precision or 0.0 for answer in self.answers if answer.count]))

    @property
    def macro_recall(self) -> float:
        """Mean recall over the answers that occur."""
        return float(np.mean([answer.recall or 0.0 for answer in self.answers if answer.count]))

    def by_answer(self) -> dict[str, dict[str, int]]:
        """Return the rows of the confusion matrix that have statements, by the model's answer and the predicted one."""
        rows = {}
        for given, counts in zip(JUDGEMENTS, self.confusion, strict=True):
            if any(counts):
                rows[given] = dict(zip(JUDGEMENTS, counts, strict=True))
        return rows


def quality_of(given: Integers, probabilities: Doubles, truths: Bools | None = None) -> Quality:
    """Return the quality of probabilities as predictions of the model's answers.

    >>> quality_of(np.array([0, 1, 0]), np.array([[0.9, 0.1, 0], [0.6, 0.4, 0], [0.8, 0.2, 0]])).confusion
    ((2, 0, 0), (1, 0, 0), (0, 0, 0))

    Args:
        given: the model's answers, numbers of :data:`~kgprobe.probes.statements.metrics.JUDGEMENTS`, shape
            (statements,), at least one.
        probabilities: shape (statements, 3).
        truths: True for facts, False for negatives, shape (statements,); None if all are facts.
    """
    from sklearn.metrics import precision_recall_fscore_support

    predicted = probabilities.argmax(axis=1)
    truths = np.ones(len(given), dtype=bool) if truths is None else truths
    classes = correctness_of(given, truths), correctness_of(predicted, truths)
    precision, recall, f1, _ = precision_recall_fscore_support(*classes, average="weighted", zero_division=0)
    confidence = probabilities[np.arange(len(predicted)), predicted]
    confusion = np.zeros((len(JUDGEMENTS), len(JUDGEMENTS)), dtype=np.int64)
    np.add.at(confusion, (given, predicted), 1)
    answers = tuple(_answer_quality(number, given, probabilities, confusion) for number in range(len(JUDGEMENTS)))
    areas = [answer.auroc for answer in answers if answer.auroc is not None]
    right = predicted == given
    rated = by_confidence(confidence, right)
    widths = equal_width(rated.confidence)
    places = widths[rated.place]
    reliability = []
    for place in np.unique(places).tolist():
        inside = places == place
        mean, share_right = float(confidence[inside].mean()), float(right[inside].mean())
        reliability.append(Reliability(place / RANGES, (place + 1) / RANGES, int(inside.sum()), mean, share_right))
    loss = -np.log(np.maximum(probabilities[np.arange(len(given)), given], _SMALLEST))
    return Quality(
        count=len(given),
        accuracy=share(int(right.sum()), len(given)),
        macro_f1=float(np.mean([answer.f1 or 0.0 for answer in answers if answer.count])),
        auroc=float(np.mean(areas)) if areas else None,
        log_loss=float(loss.mean()),
        calibration_error=error_of(rated.confidence, rated.count, rated.right, widths),
        confusion=tuple(map(tuple, confusion.tolist())),
        weighted_precision=float(precision),
        weighted_recall=float(recall),
        weighted_f1=float(f1),
        answers=answers,
        reliability=tuple(reliability),
    )


def _answer_quality(number: int, given: Integers, probabilities: Doubles, confusion: Integers) -> AnswerQuality:
    from sklearn.metrics import roc_auc_score

    hits = int(confusion[number, number])
    count, predicted = int(confusion[number].sum()), int(confusion[:, number].sum())
    precision = hits / predicted if predicted else None
    recall = hits / count if count else None
    f1 = None if precision is None or recall is None else 2 * hits / (count + predicted)
    kinds = 0 < count < len(given)
    auroc = float(roc_auc_score(given == number, probabilities[:, number])) if kinds else None
    return AnswerQuality(JUDGEMENTS[number], count, precision, recall, f1, auroc)


@dataclass(frozen=True, slots=True)
class QualityComparison:
    """Quality of a judge and of the words' own probabilities, on the same statements.

    Attributes:
        gain: AUROC of the judge minus that of the words, with a 95% interval; None without AUROC.
        encoded: quality of the words' probabilities after the judge's virtual tokens; None without these.
    """

    facts: int
    quality: Quality
    baseline: Quality
    gain: Mean | None
    encoded: Quality | None = None


def compare_quality(
    given: Integers,
    judge: Doubles,
    words: Doubles,
    facts: Sequence[str],
    truths: Bools | None = None,
    encoded: Doubles | None = None,
) -> QualityComparison:
    """Return the quality of two sets of probabilities for the same answers, and their difference of AUROC.

    The interval is DeLong's (1988), with the facts as clusters (Obuchowski, 1997).

    Args:
        judge, words, encoded: probabilities, shape (statements, 3); the latter of the words after virtual tokens.
        truths: as of :func:`quality_of`.
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
    quality, baseline = quality_of(given, judge, truths), quality_of(given, words, truths)
    after_virtual = None if encoded is None else quality_of(given, encoded, truths)
    return QualityComparison(len(set(facts)), quality, baseline, gain, after_virtual)


def _influence(given: Integers, probabilities: Doubles) -> tuple[float, Doubles] | None:
    """Return the mean AUROC over answers, and each statement's contribution to its error; None without AUROC."""
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
