"""A judge in plots: what each layer tells, how sure it is and how often right, what it takes for what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgprobe.judge.quality import Quality
from kgprobe.judge.training import LayerJudged
from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.stats.proportions import share
from kgprobe.studies.study import HeatMap, Line, Plot

SIDES = {"folds": "folds", "other_entities": "entities", "other_relations": "relations"}
_WORDS = "words"


def layer_plots(layers: Sequence[LayerJudged], baseline: Mapping[str, Quality | None]) -> list[Plot]:
    """Accuracy and AUROC of each layer's linear probe, beside the words' probabilities, for each side of statements.

    Args:
        layers: ascending, one at least.
        baseline: what the words' probabilities tell, by side.
    """
    numbers = [one.layer for one in layers]
    accuracies, areas = [], []
    for side, name in SIDES.items():
        qualities = [quality for one in layers if (quality := getattr(one, side)) is not None]
        if not qualities:
            continue
        accuracy = [quality.accuracy for quality in qualities]
        values, lows, highs = zip(*((one.value, one.low, one.high) for one in accuracy), strict=True)
        accuracies.append(Line(name, numbers, values, lows, highs))
        pairs = [
            (number, quality.auroc)
            for number, quality in zip(numbers, qualities, strict=True)
            if quality.auroc is not None
        ]
        areas.append(Line(name, [number for number, _ in pairs], [area for _, area in pairs]))
    ends = [numbers[0], numbers[-1]]
    for side, name in SIDES.items():
        its = baseline[side]
        if its is not None:
            accuracies.append(Line(f"{_WORDS}, {name}", ends, [its.accuracy.value] * 2))
            if its.auroc is not None:
                areas.append(Line(f"{_WORDS}, {name}", ends, [its.auroc] * 2))
    return [
        Plot("Answers told right, by layer", "layer", "share told right, 95% intervals", accuracies),
        Plot("AUROC by layer", "layer", "mean AUROC of the answers", areas),
    ]


@dataclass(frozen=True, slots=True)
class NamedQuality:
    """A quality, and whose it is."""

    name: str
    quality: Quality


def quality_plots(judged: Sequence[NamedQuality]) -> list[Plot | HeatMap]:
    """Reliability of all side by side; of each what was told for which answer, and precision, recall, F1 and AUROC."""
    plots: list[Plot | HeatMap] = [_reliability(judged)]
    for one in judged:
        plots += [_confusion(one), _answers(one)]
    return plots


def _reliability(judged: Sequence[NamedQuality]) -> Plot:
    lines = [Line("as sure as right", [0.0, 1.0], [0.0, 1.0])]
    for one in judged:
        bins = one.quality.reliability
        shares = [share(round(each.right * each.count), each.count) for each in bins]
        lines.append(
            Line(
                one.name,
                [each.confidence for each in bins],
                [each.value for each in shares],
                [each.low for each in shares],
                [each.high for each in shares],
                points=True,
                labels=[f"{each.count:,}" for each in bins],
            )
        )
    return Plot(
        "How sure, and how often right; numbers of statements beside the marks",
        "probability of the answer that is told, mean of a range",
        "share told right, 95% intervals",
        lines,
    )


def _confusion(judged: NamedQuality) -> HeatMap:
    rows = {
        f"{name}, {sum(counts):,}": [count / sum(counts) for count in counts]
        for name, counts in zip(JUDGEMENTS, judged.quality.confusion, strict=True)
        if sum(counts)
    }
    return HeatMap(
        f"What is told, as shares of each answer's statements: {judged.name}",
        list(rows),
        [f"told {name}" for name in JUDGEMENTS],
        list(rows.values()),
        "share",
    )


def _answers(judged: NamedQuality) -> HeatMap:
    answers = [one for one in judged.quality.answers if one.count]
    return HeatMap(
        f"By answer: {judged.name}",
        [f"{one.answer}, {one.count:,}" for one in answers],
        ["precision", "recall", "F1", "AUROC"],
        [[one.precision, one.recall, one.f1, one.auroc] for one in answers],
        "figure",
    )
