"""Judge: quality on held-out statements, tables and plots."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from kgprobe.judge.files import FILE, Judge
from kgprobe.judge.quality import Quality, QualityComparison
from kgprobe.judge.splits import Splits
from kgprobe.judge.training import LayerJudged, Trained
from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.report.plots import HeatMap, Line, Plot
from kgprobe.report.plots_page import write_plots_page
from kgprobe.results.result import Result
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import share
from kgprobe.tables import Table, flat_row

_MEANINGS = (
    "*folds*: cross-validation on the training set; *entities* and *relations*: statements with entities, or"
    " relations, that are not in the training set."
)


_WORDS = "words"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class JudgeQuality(Result):
    """Quality of a judge on held-out statements; one row for each answer.

    Attributes:
        judge: the judge.
        every: quality on all held-out statements.
        apart: quality on held-out statements whose subject and object are not in the training set either; this is the
            leading figure. None if there are none.
    """

    judge: Judge
    every: QualityComparison
    apart: QualityComparison | None

    columns: ClassVar[Sequence[str]] = ("judge", "answer", "count", "precision", "recall", "f1", "auroc")

    @property
    def leading(self) -> QualityComparison:
        """Leading quality: with held-out entities, or on all held-out statements if there are none of these."""
        return self.apart or self.every

    @property
    def quality(self) -> Quality:
        """Quality of the judge on the leading statements."""
        return self.leading.quality

    @property
    def baseline(self) -> Quality:
        """Quality of the answer words' probabilities on the leading statements."""
        return self.leading.baseline

    def rows(self) -> list[dict[str, Any]]:
        """Return precision, recall, F1 and AUROC of each answer, for the judge and for the words' probabilities."""
        return [{"judge": name, **asdict(answer)} for name, quality in self._both() for answer in quality.answers]

    def tables(self) -> list[Table]:
        """Return tables of overall quality, quality by answer, confusion matrix and reliability."""
        rows = [
            {
                "judge": name,
                "given": given,
                **{f"predicted {name}": count for name, count in zip(JUDGEMENTS, counts, strict=True)},
            }
            for name, quality in self._both()
            for given, counts in zip(JUDGEMENTS, quality.confusion, strict=True)
            if sum(counts)
        ]
        reliability = [
            {
                "judge": name,
                "confidence": f"{bin_.low:.1f} to {bin_.high:.1f}",
                "statements": bin_.count,
                "mean confidence": round(bin_.confidence, 3),
                "right": round(bin_.right, 3),
            }
            for name, quality in self._both()
            for bin_ in quality.reliability
        ]
        return [
            Table(
                "quality",
                "Accuracy",
                self._quality_rows(),
                [
                    "*held-out entities*: the subject and object of these statements are not in the training set."
                    f" Tables below are of {'these' if self.apart else 'all held-out'} statements.",
                    "*calibration error*: mean distance of confidence from the share of right predictions.",
                ],
            ),
            Table("answers", "By answer", [_rounded(row) for row in self.rows() if row["count"]], groups_by="judge"),
            Table("confusion", "Confusion matrix", rows, groups_by="judge"),
            Table(
                "reliability", "Reliability: confidence and share of right predictions", reliability, groups_by="judge"
            ),
        ]

    def summary(self) -> str:
        """Return warnings, the quality with held-out entities, and on all held-out statements, one on each line."""
        lines = [*self.warnings()]
        if self.apart is None:
            lines.append("The subject or object of every held-out statement is in the training set.")
        else:
            lines.append(self._describe("held-out statements with held-out entities", self.apart))
        lines.append(self._describe("held-out statements", self.every))
        return "\n".join(lines)

    def warnings(self) -> list[str]:
        """Return warnings of a useless judge: one answer to everything, or no gain over the words' probabilities."""
        warnings = _one_answer(self.quality)
        gain = self.leading.gain
        if gain is not None and (gain.low is None or gain.low <= 0):
            shown = "no better" if gain.value <= 0 else "not shown to be better"
            warnings.append(
                f"The judge is {shown} than the words' own probabilities: AUROC {_auroc(self.quality)} and"
                f" {_auroc(self.baseline)}, a difference of {gain}."
            )
        return warnings

    def _describe(self, which: str, compared: QualityComparison) -> str:
        quality, baseline = compared.quality, compared.baseline
        return (
            f"Accuracy on {quality.count:,} {which} (about {counted(compared.facts, 'fact')}, answers of"
            f" {self.judge.answers_of}): {quality.accuracy}, AUROC {_auroc(quality)}; by the words' probabilities"
            f" {baseline.accuracy}, AUROC {_auroc(baseline)}."
        )

    def _quality_rows(self) -> list[dict[str, Any]]:
        parts = {"held-out entities": self.apart, "all held-out": self.every}
        return [
            _row({"judge": name, "statements": part}, quality)
            for part, beside in parts.items()
            if beside is not None
            for name, quality in ((self._name, beside.quality), (_WORDS, beside.baseline))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with stable keys."""
        return {
            "layer": self.judge.layer,
            "kind": self.judge.classifier.kind,
            "summary": self.summary(),
            "warnings": self.warnings(),
            "apart": None if self.apart is None else asdict(self.apart),
            "every": asdict(self.every),
        }

    def plots(self) -> list[Plot | HeatMap]:
        """Return plots of reliability, confusion matrix, and figures by answer, for the judge and the words."""
        return quality_plots([NamedQuality(name, quality) for name, quality in self._both()])

    def page(self, path: str | Path) -> Path:
        """Write a page with plots and tables, with its script next to it; return the page's path.

        Raises:
            KgprobeError: it cannot be written.
        """
        title = f"A judge of {self.judge.answers_of}, evaluated"
        return _page(path, title, self, self.plots(), self.judge)

    def _both(self) -> list[tuple[str, Quality]]:
        return [(self._name, self.quality), (_WORDS, self.baseline)]

    @property
    def _name(self) -> str:
        return f"layer {self.judge.layer}, {self.judge.classifier.kind}"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class TrainedJudge(Result):
    """A new judge; one row for each layer.

    Attributes:
        judge: the judge.
        folder: the judge's folder.
        trained: candidates that it was selected from.
        splits: split of the statements.
        baseline: quality of the answer words' probabilities, by split.
        aside: quality on the test set; None without a test set.
    """

    judge: Judge
    folder: Path
    trained: Trained
    splits: Splits
    baseline: Mapping[str, Quality | None]
    aside: JudgeQuality | None

    columns: ClassVar[Sequence[str]] = (
        *("layer", "statements", "count", "accuracy", "accuracy_low", "accuracy_high"),
        *("macro_f1", "auroc", "log_loss", "calibration_error"),
    )

    def rows(self) -> list[dict[str, Any]]:
        """Return the quality of each layer's linear probe, for each split."""
        return [
            {"layer": layer.layer, "statements": side, **flat_row(_numbers(quality))}
            for layer in self.trained.layers
            for side in SIDES
            if (quality := getattr(layer, side)) is not None
        ]

    def tables(self) -> list[Table]:
        """Return tables of each layer's linear probe, of both kinds at the best layer, and of the test set."""
        layers = [
            {"layer": str(layer.layer), **_sides(layer), "read": "yes" if layer.layer == self.judge.layer else ""}
            for layer in self.trained.layers
        ]
        layers.append({"layer": _WORDS, **_sides(self.baseline), "read": ""})
        kinds = [
            _row({"judge": layer.kind, "statements": name}, quality)
            for layer in self.trained.kinds
            for side, name in SIDES.items()
            if (quality := getattr(layer, side)) is not None
        ]
        counts = ", ".join(
            f"{len(getattr(self.splits, field)):,} {name}"
            for field, name in (
                ("train", "in the training set"),
                ("other_entities", "with held-out entities"),
                ("other_relations", "with held-out relations"),
                ("between", "excluded, as they belong to several splits"),
            )
        )
        notes = [
            f"Accuracy; {_MEANINGS} Last row: the words' probabilities at the last token.",
            f"Statements: {counts}. The layer with the lowest log loss over the folds is used.",
        ]
        encoded = self.judge.training["prompt_encoder"]
        if encoded is not None and self.judge.virtual is not None:
            notes.append(
                f"States are read behind {len(self.judge.virtual):,} virtual tokens in place of the"
                f" {encoded['instruction_tokens']:,} tokens of the instruction, learned from {encoded['learned']:,}"
                f" statements; the answers' mean loss was {encoded['instruction_loss']:.2f} behind the instruction, and"
                f" {encoded['losses'][0]:.2f} to {encoded['losses'][-1]:.2f} from the first to the last epoch. The"
                " words' probabilities are those behind the instruction."
            )
        return [
            Table("layers", "Linear probes of the layers", layers, notes),
            Table("kinds", f"At layer {self.judge.layer}", kinds, groups_by="judge"),
            *(self.aside.tables() if self.aside else []),
        ]

    def summary(self) -> str:
        """Return warnings, quality, kind and layer of the judge, and its file."""
        what = f"A {self.judge.classifier.kind} judge of layer {self.judge.layer}, stored in {self.folder / FILE}."
        return "\n".join([self.aside.summary(), what] if self.aside else [*self.warnings(), what])

    def warnings(self) -> list[str]:
        """Return warnings of a useless judge: on the test set, or on the folds without one."""
        if self.aside:
            return self.aside.warnings()
        chosen = next(layer for layer in self.trained.kinds if layer.kind == self.judge.classifier.kind)
        return _one_answer(chosen.folds)

    def page(self, path: str | Path) -> Path:
        """Write a page with plots and tables, with its script next to it; return the page's path.

        Raises:
            KgprobeError: it cannot be written.
        """
        plots = [*layer_plots(self.trained.layers, self.baseline), *(self.aside.plots() if self.aside else [])]
        return _page(path, f"A judge of {self.judge.answers_of}", self, plots, self.judge)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with stable keys."""
        return {
            "judge": str(self.folder / FILE),
            "digest": self.judge.digest(),
            "layer": self.judge.layer,
            "kind": self.judge.classifier.kind,
            "warnings": self.warnings(),
            "training": self.judge.training,
            "aside": self.aside.to_dict() if self.aside else None,
        }


def _page(path: str | Path, title: str, look: Result, plots: Sequence[Plot | HeatMap], judge: Judge) -> Path:
    config = {"reader": judge.reader, "options": judge.training["options"], "seed": judge.training["seed"]}
    verdict = " ".join(look.summary().splitlines())
    return write_plots_page(Path(path), title, verdict, plots, look.tables(), look.notes, config, alone=True)


def _one_answer(quality: Quality) -> list[str]:
    """Return a warning if all predictions are the same."""
    predicted = [
        answer for answer, counts in zip(JUDGEMENTS, zip(*quality.confusion, strict=True), strict=True) if any(counts)
    ]
    return (
        [f"The judge predicts the same answer for all {quality.count:,} statements: {predicted[0]}."]
        if len(predicted) == 1
        else []
    )


def _auroc(quality: Quality) -> str:
    return "none" if quality.auroc is None else f"{quality.auroc:.2f}"


def _sides(judged: Any) -> dict[str, Any]:
    """Return accuracies, then AUROC, by split."""
    by_side = {
        name: judged[side] if isinstance(judged, Mapping) else getattr(judged, side) for side, name in SIDES.items()
    }
    accuracies = {
        name: None if quality is None else f"{quality.accuracy.value:.0%}" for name, quality in by_side.items()
    }
    areas = {
        f"{name} AUROC": None if quality is None or quality.auroc is None else round(quality.auroc, 3)
        for name, quality in by_side.items()
    }
    return accuracies | areas


def _row(first: Mapping[str, Any], quality: Quality) -> dict[str, Any]:
    shown = {
        "statements": quality.count,
        "accuracy": quality.accuracy,
        "F1": quality.macro_f1,
        "AUROC": quality.auroc,
        "log loss": quality.log_loss,
        "calibration error": quality.calibration_error,
    }
    return {**first, **_rounded(shown)}


def _numbers(quality: Quality) -> dict[str, Any]:
    numbers = ("count", "accuracy", "macro_f1", "auroc", "log_loss", "calibration_error")
    return {name: getattr(quality, name) for name in numbers}


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()}


SIDES = {"folds": "folds", "other_entities": "entities", "other_relations": "relations"}


_WORDS = "words"


def layer_plots(layers: Sequence[LayerJudged], baseline: Mapping[str, Quality | None]) -> list[Plot]:
    """Return plots of accuracy and AUROC by layer, for linear probes and the words' probabilities, on each split.

    Args:
        layers: ascending, one at least.
        baseline: quality of the words' probabilities, by split.
    """
    accuracies: list[Line] = []
    areas: list[Line] = []
    for side, name in SIDES.items():
        judged = [(layer.layer, getattr(layer, side)) for layer in layers if getattr(layer, side) is not None]
        if judged:
            _add_lines(name, judged, accuracies, areas)
    ends = [layers[0].layer, layers[-1].layer]
    for side, name in SIDES.items():
        words = baseline[side]
        if words is None:
            continue
        accuracies.append(Line(f"{_WORDS}, {name}", ends, [words.accuracy.value] * 2))
        if words.auroc is not None:
            areas.append(Line(f"{_WORDS}, {name}", ends, [words.auroc] * 2))
    return [
        Plot("Accuracy by layer", "layer", "accuracy, 95% intervals", accuracies),
        Plot("AUROC by layer", "layer", "mean AUROC of the answers", areas),
    ]


def _add_lines(name: str, judged: Sequence[tuple[int, Quality]], accuracies: list[Line], areas: list[Line]) -> None:
    """Add the lines of accuracy and AUROC of one split.

    Args:
        judged: layers with their qualities.
    """
    shares = [quality.accuracy for _, quality in judged]
    accuracies.append(
        Line(
            name,
            [layer for layer, _ in judged],
            [share.value for share in shares],
            [share.low for share in shares],
            [share.high for share in shares],
        )
    )
    ranked = [(layer, quality.auroc) for layer, quality in judged if quality.auroc is not None]
    areas.append(Line(name, [layer for layer, _ in ranked], [area for _, area in ranked]))


@dataclass(frozen=True, slots=True)
class NamedQuality:
    """Quality of a judge or baseline, with its name."""

    name: str
    quality: Quality


def quality_plots(judged: Sequence[NamedQuality]) -> list[Plot | HeatMap]:
    """Return a reliability plot of all; for each a confusion matrix, and precision, recall, F1 and AUROC."""
    plots: list[Plot | HeatMap] = [_reliability(judged)]
    for each in judged:
        plots += [_confusion(each), _answers(each)]
    return plots


def _reliability(judged: Sequence[NamedQuality]) -> Plot:
    lines = [Line("perfect calibration", [0.0, 1.0], [0.0, 1.0])]
    for each in judged:
        bins = each.quality.reliability
        shares = [share(round(bin_.right * bin_.count), bin_.count) for bin_ in bins]
        lines.append(
            Line(
                each.name,
                [bin_.confidence for bin_ in bins],
                [bin_.value for bin_ in shares],
                [bin_.low for bin_ in shares],
                [bin_.high for bin_ in shares],
                points=True,
                labels=[f"{bin_.count:,}" for bin_ in bins],
            )
        )
    return Plot(
        "Reliability, with numbers of statements",
        "mean confidence of a bin",
        "accuracy, 95% intervals",
        lines,
    )


def _confusion(judged: NamedQuality) -> HeatMap:
    rows = {
        f"{name}, {sum(counts):,}": [count / sum(counts) for count in counts]
        for name, counts in zip(JUDGEMENTS, judged.quality.confusion, strict=True)
        if sum(counts)
    }
    return HeatMap(
        f"Confusion matrix, as shares of each answer: {judged.name}",
        list(rows),
        [f"predicted {name}" for name in JUDGEMENTS],
        list(rows.values()),
        "share",
    )


def _answers(judged: NamedQuality) -> HeatMap:
    answers = [answer for answer in judged.quality.answers if answer.count]
    return HeatMap(
        f"By answer: {judged.name}",
        [f"{answer.answer}, {answer.count:,}" for answer in answers],
        ["precision", "recall", "F1", "AUROC"],
        [[answer.precision, answer.recall, answer.f1, answer.auroc] for answer in answers],
        "figure",
    )
