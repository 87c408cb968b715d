"""Calibration of results: does the confidence of an answer say how often it is right?

docs/methods/calibration.md. The statistics are in :mod:`kgprobe.stats.calibration`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean, Percent, Share
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.probes.distractors.curves import mean_at, mean_curve
from kgprobe.probes.outcome import AGREEMENT, PROBABILITY
from kgprobe.results.answers import Stored
from kgprobe.results.rendering.plots import Line, Plot
from kgprobe.results.result import Listing, StoredResult
from kgprobe.results.shared_facts import labels_of
from kgprobe.stats.calibration import (
    area_under_curve,
    brier_parts,
    brier_score,
    by_confidence,
    equal_mass,
    error_interval,
    right_by_coverage,
)
from kgprobe.stats.proportions import share

_REMEDY = (
    "Measure with choices, examples, statements, or distractors (--sentences 1, or three and more); or with three or"
    " more sampled answers, by recall or true-false; or with `ask_confidence`, by questions or true-false."
)
# Fewer answers have no figures.
_FEWEST = 20
_COVERAGE = 0.8
_POINTS = 100
_ALL = "all"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


@dataclass(frozen=True, slots=True)
class CalibrationRow(ResultRow):
    """Calibration of one result, on all facts or those of a group.

    Attributes:
        source: ``probability`` among compared answers, ``agreement`` of repeated answers, or ``stated`` by the model.
        group: id of the group; ``all`` for all facts.
        name: its name.
        confidence: mean confidence.
        error: expected calibration error over ten ranges of equal mass, with a 95% interval.
        expected_error: mean error of a perfectly calibrated model with as many answers.
        brier: mean squared difference of confidence from 1 (right) or 0 (wrong): miscalibration - discrimination +
            uncertainty.
        auroc: probability that a right answer is more confident than a wrong one; None without both.
        at_coverage: accuracy of the 80% most confident answers.
        over_coverages: mean accuracy of the k most confident answers, over all k.
    """

    result: Annotated[str, Heading("result")]
    source: Annotated[str, Heading("confidence")]
    group: str
    name: Annotated[str, Heading("facts")]
    answers: Annotated[int, Heading("answers")]
    accuracy: Annotated[float | None, Heading("accuracy", Percent)] = None
    confidence: Annotated[float | None, Heading("mean confidence", Percent)] = None
    error: Annotated[Mean | None, Heading("calibration error")] = None
    expected_error: Annotated[float | None, Heading("if calibrated", _rounded)] = None
    brier: Annotated[float | None, Heading("Brier", _rounded)] = None
    miscalibration: Annotated[float | None, Heading("miscalibration", _rounded)] = None
    discrimination: Annotated[float | None, Heading("discrimination", _rounded)] = None
    uncertainty: Annotated[float | None, Heading("uncertainty", _rounded)] = None
    auroc: Annotated[float | None, Heading("AUROC", _rounded)] = None
    at_coverage: Annotated[float | None, Heading("accuracy at 80% coverage", Percent)] = None
    over_coverages: float | None = None


@dataclass(frozen=True, slots=True)
class ReliabilityRange(ResultRow):
    """Answers of one result with similar confidences: their mean confidence, and the share of right ones."""

    result: str
    low: float
    high: float
    answers: int
    confidence: float
    accuracy: Share


@dataclass(frozen=True, slots=True)
class CoveragePoint(ResultRow):
    """Accuracy of the most confident answers of one result; coverage is their share."""

    result: str
    coverage: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class ComparedConfidence(ResultRow):
    """Calibration of one of several results; attributes as in :class:`CalibrationRow`.

    Attributes:
        answers: number of those with a confidence, to facts that all results share.
        brier_change: mean difference of the second result's Brier score from that of the first, over the facts with a
            confidence in both; None unless two results are compared.
    """

    result: Annotated[str, Heading("result")]
    source: Annotated[str, Heading("confidence")]
    answers: Annotated[int, Heading("answers")]
    accuracy: Annotated[float | None, Heading("accuracy", Percent)]
    error: Annotated[Mean | None, Heading("calibration error")]
    brier: Annotated[float | None, Heading("Brier", _rounded)]
    brier_change: Annotated[Mean | None, Heading("second - first")]
    auroc: Annotated[float | None, Heading("AUROC", _rounded)]
    at_coverage: Annotated[float | None, Heading("accuracy at 80% coverage", Percent)]


_NOTE = (
    "Calibration error: mean distance of confidence and accuracy over ten ranges with as many answers each; a perfectly"
    " calibrated model has that of the next column. Brier score = miscalibration - discrimination + uncertainty. AUROC:"
    " probability that a right answer is more confident than a wrong one."
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ConfidenceCalibration(StoredResult):
    """Calibration of one result or several; one row for each of them and each group.

    Attributes:
        ranges: the reliability diagram.
        coverage: accuracy by coverage, at most 100 points for each result.
    """

    figures: Annotated[Sequence[CalibrationRow], Listing("Calibration", _NOTE, optional=True)]
    ranges: Annotated[Sequence[ReliabilityRange], Listing()]
    coverage: Annotated[Sequence[CoveragePoint], Listing()]

    file: ClassVar[str] = "calibration"
    title: ClassVar[str] = "Calibration"

    def summary(self) -> str:
        """Return in a sentence for each result how far its confidence is from its accuracy."""
        return " ".join(_sentence(row) for row in self.figures if row.group == _ALL)

    @property
    def plots(self) -> Sequence[Plot]:
        """The reliability diagram, and accuracy by coverage."""
        names = list(dict.fromkeys(row.result for row in self.ranges))
        reliability = [Line("calibrated", [0.0, 1.0], [0.0, 1.0])]
        coverage = []
        for name in names:
            own = [row for row in self.ranges if row.result == name]
            shares = [row.accuracy for row in own]
            low, high = [each.low for each in shares], [each.high for each in shares]
            means = [row.confidence for row in own]
            reliability.append(Line(name, means, [each.value for each in shares], low, high, points=True))
            points = [point for point in self.coverage if point.result == name]
            coverage.append(Line(name, [point.coverage for point in points], [point.accuracy for point in points]))
        return [
            Plot("Reliability", "mean confidence", "share of right answers, with 95% intervals", reliability),
            Plot("Accuracy by coverage", "share of the most confident answers", "share of right answers", coverage),
        ]


def _sentence(row: CalibrationRow) -> str:
    if row.error is None or row.accuracy is None or row.confidence is None:
        return f"{row.result}, {row.source}: {row.answers} answers are too few for figures."
    if row.error.low == 0:
        verdict = "no miscalibration is shown"
    else:
        verdict = f"{'over' if row.confidence > row.accuracy else 'under'}confident on average"
    return (
        f"{row.result}, {row.source}: confidence {row.confidence:.0%}, accuracy {row.accuracy:.0%}, calibration error"
        f" {row.error}: {verdict}."
    )


def calibrate(
    results: Sequence[Stored],
    *,
    groups: Mapping[str, tuple[str, Sequence[str]]],
    by: str | None,
    seed: int,
) -> ConfidenceCalibration:
    """Return the calibration of results, for each source of confidences.

    Args:
        groups: by id of a group, its name and its facts; empty for all facts alone.
        by: definition of the groups.

    Raises:
        KgprobeError: a result has no answers with such a confidence.
    """
    figures, ranges, coverage = [], [], []
    notes: list[str] = []
    for label, result in zip(labels_of([result.about for result in results]), results, strict=True):
        every = _rated(label, result)
        for source in every["source"].unique():
            rated = every[every["source"] == source]
            answers = rated.dropna(subset="confidence")
            if len(answers) < len(rated):
                left_out = f"{len(rated) - len(answers):,} of {len(rated):,} answers have no confidence"
                notes.append(f"{label}, {source}: {left_out} ({_reasons(rated)}).")
            if answers.empty:
                continue
            figures.append(calibration_of(label, source, _ALL, _ALL, answers, seed=seed))
            ranges += _reliability(f"{label}, {source}", answers)
            coverage += _coverage(f"{label}, {source}", answers)
            for group, (name, facts) in groups.items():
                members = answers[answers["fact"].isin(facts)]
                if len(members):
                    figures.append(calibration_of(label, source, group, name, members, seed=seed))
    config = {
        "results": [str(result.folder.resolve()) for result in results],
        "by": by,
        "seed": seed,
    }
    if by is not None and not groups:
        notes.append(f"No answered fact has a {by} in the graph: there are no rows by it.")
    few = sum(row.error is None for row in figures)
    notes += [f"{few} of {len(figures)} rows have fewer than {_FEWEST} answers, and no figures."] if few else []
    return ConfidenceCalibration(figures=figures, ranges=ranges, coverage=coverage, config=config, notes=notes)


def compare_confidences(
    results: Sequence[Stored], labels: Sequence[str], facts: Sequence[str], *, seed: int
) -> list[ComparedConfidence]:
    """Return the calibration of results on the same facts, for each source; empty if none has a confidence.

    The difference of two Brier scores is paired by fact, each with weight one, so that its interval does not take
    several answers to a fact as independent.

    Args:
        labels: names of the results.
        facts: ids of the facts that all have answered.
    """
    rows = []
    squares: dict[str, pd.Series] = {}
    for label, result in zip(labels, results, strict=True):
        rated = _confidences(result).dropna(subset="confidence")
        rated = rated[rated["fact"].isin(facts)]
        for source, answers in rated.groupby("source", sort=False):
            row = calibration_of(label, str(source), _ALL, _ALL, answers, seed=seed)
            change = None
            square = ((answers["confidence"] - answers["right"]) ** 2).groupby(answers["fact"]).mean()
            if len(results) == 2 and source in squares:
                change = _mean_change(square - squares[source], seed)
            squares[source] = square
            figures = (row.accuracy, row.error, row.brier, change, row.auroc, row.at_coverage)
            rows.append(ComparedConfidence(label, row.source, row.answers, *figures))
    return rows


def _mean_change(differences: pd.Series, seed: int) -> Mean | None:
    """Return the mean difference with a bootstrap interval over facts; None for fewer than 20."""
    values = differences.dropna().to_numpy(np.float64)
    return None if len(values) < _FEWEST else mean_at(mean_curve(values[:, None], seed, least=-1.0), 1)


def _rated(label: str, result: Stored) -> pd.DataFrame:
    """Return the answers with and without confidences; raise KgprobeError if all are without."""
    rated = _confidences(result)
    if not result.answers.answered:
        raise KgprobeError(f"{label} has no answers yet.")
    if rated.empty:
        raise KgprobeError(f"{label} has no confidence: the probe {result.kind.name} compares no names. {_REMEDY}")
    if rated["confidence"].isna().all():
        raise KgprobeError(f"{label} has no answers with a confidence ({_reasons(rated)}). {_REMEDY}")
    return rated


def _confidences(result: Stored) -> pd.DataFrame:
    """Return :meth:`~kgprobe.answers.table.Answers.confidences`, without those that mean nothing in this result."""
    rated, described = result.answers.confidences(), result.about.described
    unsound = {}
    if described.get("temperature") == 0:
        unsound[AGREEMENT] = "at temperature 0, all answers agree"
    if result.kind.name == "distractors" and described.get("sentences") != 1:
        unsound[PROBABILITY] = "it has one sentence, others have several"
    for source, reason in unsound.items():
        rated.loc[rated["source"] == source, ["confidence", "reason"]] = None, reason
    return rated


def _reasons(rated: pd.DataFrame) -> str:
    """Return the reasons for which answers have no confidence, with their numbers."""
    return ", ".join(f"{reason}: {count:,}" for reason, count in rated["reason"].value_counts().items())


def calibration_of(
    result: str, source: str, group: str, name: str, answers: pd.DataFrame, *, seed: int
) -> CalibrationRow:
    """Return the figures of answers (columns fact, right and confidence); none for fewer than 20."""
    if len(answers) < _FEWEST:
        return CalibrationRow(result, source, group, name, len(answers))
    right = answers["right"].to_numpy(bool)
    rated = by_confidence(answers["confidence"].to_numpy(np.float64), right)
    facts = pd.factorize(answers["fact"])[0]
    error, expected = error_interval(rated, right, facts, seed=seed)
    miscalibration, discrimination, uncertainty = brier_parts(rated)
    shares = right_by_coverage(rated)
    return CalibrationRow(
        result,
        source,
        group,
        name,
        len(answers),
        accuracy=float(right.mean()),
        confidence=float(answers["confidence"].mean()),
        error=error,
        expected_error=expected,
        brier=brier_score(rated),
        miscalibration=miscalibration,
        discrimination=discrimination,
        uncertainty=uncertainty,
        auroc=area_under_curve(rated),
        at_coverage=float(shares[int(np.ceil(_COVERAGE * len(shares))) - 1]),
        over_coverages=float(shares.mean()),
    )


def _reliability(label: str, answers: pd.DataFrame) -> list[ReliabilityRange]:
    """Return the ranges of the reliability diagram."""
    rated = by_confidence(answers["confidence"].to_numpy(np.float64), answers["right"].to_numpy(bool))
    places = equal_mass(rated.count)
    ranges = []
    for place in np.unique(places):
        inside = places == place
        values, count = rated.confidence[inside], rated.count[inside]
        number, right = int(count.sum()), int(rated.right[inside].sum())
        mean = float((values * count).sum() / number)
        ranges.append(ReliabilityRange(label, float(values[0]), float(values[-1]), number, mean, share(right, number)))
    return ranges


def _coverage(label: str, answers: pd.DataFrame) -> list[CoveragePoint]:
    """Return accuracy by coverage."""
    shares = right_by_coverage(
        by_confidence(answers["confidence"].to_numpy(np.float64), answers["right"].to_numpy(bool))
    )
    numbers = np.unique(np.linspace(1, len(shares), min(_POINTS, len(shares))).astype(np.int64))
    return [CoveragePoint(label, float(number / len(shares)), float(shares[number - 1])) for number in numbers]
