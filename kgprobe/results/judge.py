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
    "*folds* are statements to learn from, each judged by what did not learn from its fold; *entities* are statements"
    " of other entities, *relations* those of other relations, than any that is learned from."
)


_WORDS = "words"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class JudgeQuality(Result):
    """How well a judge tells a model's answers to statements that it did not learn from; one row an answer.

    Attributes:
        judge: the judge.
        every: its quality over all statements that it did not learn from.
        apart: its quality over those whose subject and object it has not learned from either, which leads; None where
            there are none.
    """

    judge: Judge
    every: QualityComparison
    apart: QualityComparison | None

    columns: ClassVar[Sequence[str]] = ("judge", "answer", "count", "precision", "recall", "f1", "auroc")

    @property
    def leading(self) -> QualityComparison:
        """The quality that leads: of the statements apart, or of all where none is apart."""
        return self.apart or self.every

    @property
    def quality(self) -> Quality:
        """The judge's quality over the statements that lead."""
        return self.leading.quality

    @property
    def baseline(self) -> Quality:
        """The quality of the words' probabilities over the statements that lead."""
        return self.leading.baseline

    def rows(self) -> list[dict[str, Any]]:
        """Precision, recall, F1 and AUROC of each answer, of the judge and of the words' probabilities."""
        return [{"judge": name, **asdict(answer)} for name, quality in self._both() for answer in quality.answers]

    def tables(self) -> list[Table]:
        """Both in all; by answer; what was told for each answer; whether it is right as often as it is sure."""
        rows = [
            {"judge": name, "given": given, **{f"told {JUDGEMENTS[told]}": count for told, count in enumerate(counts)}}
            for name, quality in self._both()
            for given, counts in zip(JUDGEMENTS, quality.confusion, strict=True)
            if sum(counts)
        ]
        reliability = [
            {
                "judge": name,
                "confidence": f"{one.low:.1f} to {one.high:.1f}",
                "statements": one.count,
                "mean confidence": round(one.confidence, 3),
                "right": round(one.right, 3),
            }
            for name, quality in self._both()
            for one in quality.reliability
        ]
        return [
            Table(
                "quality",
                "Answers told right",
                self._quality_rows(),
                [
                    "*apart* are statements whose subject and object the judge has not learned from; tables below are"
                    f" of {'these' if self.apart else 'all'}.",
                    "*off* is how far confidence is from the share that is right, on average.",
                ],
            ),
            Table("answers", "By answer", [_rounded(row) for row in self.rows() if row["count"]], groups_by="judge"),
            Table("confusion", "Answers given, and told", rows, groups_by="judge"),
            Table("reliability", "How sure, and how often right", reliability, groups_by="judge"),
        ]

    def summary(self) -> str:
        """Return the warnings, then the quality apart, then that of all facts set aside; a line each."""
        lines = [*self.warnings()]
        if self.apart is None:
            lines.append("No statement set aside has a subject and an object that the judge has not learned from.")
        else:
            lines.append(self._told("whose subject and object the judge has not learned from", self.apart))
        lines.append(self._told("that the judge has not learned from", self.every))
        return "\n".join(lines)

    def warnings(self) -> list[str]:
        """Return what makes the judge useless: one answer to everything, or nothing beyond the words' probabilities."""
        warnings = _one_answer(self.quality)
        gain = self.leading.gain
        if gain is not None and (gain.low is None or gain.low <= 0):
            shown = "no better" if gain.value <= 0 else "not shown to be better"
            warnings.append(
                f"The judge is {shown} than the words' own probabilities: AUROC {_auroc(self.quality)} and"
                f" {_auroc(self.baseline)}, a difference of {gain}."
            )
        return warnings

    def _told(self, which: str, beside: QualityComparison) -> str:
        return (
            f"Of {counted(beside.quality.count, 'statement')} about {counted(beside.facts, 'fact')} {which}, the judge"
            f" tells {beside.quality.accuracy} of the answers of {self.judge.answers_of} (AUROC"
            f" {_auroc(beside.quality)}); the words' probabilities, {beside.baseline.accuracy}"
            f" ({_auroc(beside.baseline)})."
        )

    def _quality_rows(self) -> list[dict[str, Any]]:
        parts = {"apart": self.apart, "all set aside": self.every}
        return [
            _row({"judge": name, "statements": part}, quality)
            for part, beside in parts.items()
            if beside is not None
            for name, quality in ((self._name, beside.quality), (_WORDS, beside.baseline))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything, with stable keys."""
        return {
            "layer": self.judge.layer,
            "kind": self.judge.classifier.kind,
            "summary": self.summary(),
            "warnings": self.warnings(),
            "apart": None if self.apart is None else asdict(self.apart),
            "every": asdict(self.every),
        }

    def plots(self) -> list[Plot | HeatMap]:
        """How sure and how often right, what is told for each answer, and figures by answer, beside the words'."""
        return quality_plots([NamedQuality(name, quality) for name, quality in self._both()])

    def page(self, path: str | Path) -> Path:
        """Write a page with plots and tables, and the script that draws them beside it; the page's path.

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
    """A judge that was made; one row a layer.

    Attributes:
        judge: what was made.
        folder: where it is kept.
        trained: what it was chosen from.
        splits: how many statements were for what.
        baseline: what the probabilities of the answers' words tell, by side.
        aside: how good the judge is over the facts set aside; None where there are none.
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
        """The linear probe of each layer, over each side of the statements."""
        return [
            {"layer": one.layer, "statements": side, **flat_row(_numbers(quality))}
            for one in self.trained.layers
            for side in SIDES
            if (quality := getattr(one, side)) is not None
        ]

    def tables(self) -> list[Table]:
        """Every layer's linear probe beside the words; both kinds at the layer chosen; facts set aside."""
        layers = [
            {"layer": str(one.layer), **_sides(one), "read": "yes" if one.layer == self.judge.layer else ""}
            for one in self.trained.layers
        ]
        layers.append({"layer": _WORDS, **_sides(self.baseline), "read": ""})
        kinds = [
            _row({"judge": one.kind, "statements": name}, quality)
            for one in self.trained.kinds
            for side, name in SIDES.items()
            if (quality := getattr(one, side)) is not None
        ]
        counts = ", ".join(
            f"{len(getattr(self.splits, field)):,} {name}"
            for field, name in (
                ("train", "to learn from"),
                ("other_entities", "of other entities"),
                ("other_relations", "of other relations"),
                ("between", "between the sides, which none can have"),
            )
        )
        notes = [
            f"Shares of answers told right; {_MEANINGS} The last row is of the words' probabilities at the last token.",
            f"Statements: {counts}. The layer with the least log loss over folds is read.",
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
        """Return the warnings, how good the judge is, which one, and where."""
        what = f"A {self.judge.classifier.kind} judge of layer {self.judge.layer} is kept in {self.folder / FILE}."
        return "\n".join([self.aside.summary(), what] if self.aside else [*self.warnings(), what])

    def warnings(self) -> list[str]:
        """Return what makes the judge useless: over the facts set aside, or over folds where none is."""
        if self.aside:
            return self.aside.warnings()
        chosen = next(one for one in self.trained.kinds if one.kind == self.judge.classifier.kind)
        return _one_answer(chosen.folds)

    def page(self, path: str | Path) -> Path:
        """Write a page with plots and tables, and the script that draws them beside it; the page's path.

        Raises:
            KgprobeError: it cannot be written.
        """
        plots = [*layer_plots(self.trained.layers, self.baseline), *(self.aside.plots() if self.aside else [])]
        return _page(path, f"A judge of {self.judge.answers_of}", self, plots, self.judge)

    def to_dict(self) -> dict[str, Any]:
        """Everything, with stable keys."""
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
    """Return a warning where all statements are told the same."""
    told = [
        answer for answer, counts in zip(JUDGEMENTS, zip(*quality.confusion, strict=True), strict=True) if any(counts)
    ]
    return [f"The judge gives one answer to all {quality.count:,} statements: {told[0]}."] if len(told) == 1 else []


def _auroc(quality: Quality) -> str:
    return "none" if quality.auroc is None else f"{quality.auroc:.2f}"


def _sides(judged: Any) -> dict[str, Any]:
    """Accuracies, then AUROC over each side, of what has a quality for each."""
    by_side = {
        name: judged[side] if isinstance(judged, Mapping) else getattr(judged, side) for side, name in SIDES.items()
    }
    accuracies = {name: None if one is None else f"{one.accuracy.value:.0%}" for name, one in by_side.items()}
    areas = {
        f"{name} AUROC": None if one is None or one.auroc is None else round(one.auroc, 3)
        for name, one in by_side.items()
    }
    return accuracies | areas


def _row(first: Mapping[str, Any], quality: Quality) -> dict[str, Any]:
    shown = {
        "number": quality.count,
        "right": quality.accuracy,
        "F1": quality.macro_f1,
        "AUROC": quality.auroc,
        "log loss": quality.log_loss,
        "off": quality.calibration_error,
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
