"""What :mod:`.judging` gives back: a judge with what it was chosen from, and how well it tells a model's answers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from kgprobe.api.looks import Look
from kgprobe.judge.files import FILE, Judge
from kgprobe.judge.quality import Quality, QualityBeside
from kgprobe.judge.splits import Splits
from kgprobe.judge.training import Trained
from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.report.judge_plots import SIDES, NamedQuality, layer_plots, quality_plots
from kgprobe.report.study_page import write_plots_page
from kgprobe.sanitize import counted
from kgprobe.studies.study import HeatMap, Plot
from kgprobe.tables import Table, flat_row

_MEANINGS = (
    "*folds* are statements to learn from, each judged by what did not learn from its fold; *entities* are statements"
    " of other entities, *relations* those of other relations, than any that is learned from."
)
_WORDS = "words"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class JudgeQuality(Look):
    """How well a judge tells a model's answers to statements that it did not learn from; one row an answer.

    Attributes:
        judge: the judge.
        every: its quality over all statements that it did not learn from.
        apart: its quality over those whose subject and object it has not learned from either, which leads; None where
            there are none.
    """

    judge: Judge
    every: QualityBeside
    apart: QualityBeside | None

    columns: ClassVar[Sequence[str]] = ("judge", "answer", "count", "precision", "recall", "f1", "auroc")

    @property
    def leading(self) -> QualityBeside:
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

    def _told(self, which: str, beside: QualityBeside) -> str:
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

    def as_json(self) -> dict[str, Any]:
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
class TrainedJudge(Look):
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

    def as_json(self) -> dict[str, Any]:
        """Everything, with stable keys."""
        return {
            "judge": str(self.folder / FILE),
            "digest": self.judge.digest(),
            "layer": self.judge.layer,
            "kind": self.judge.classifier.kind,
            "warnings": self.warnings(),
            "training": self.judge.training,
            "aside": self.aside.as_json() if self.aside else None,
        }


def _page(path: str | Path, title: str, look: Look, plots: Sequence[Plot | HeatMap], judge: Judge) -> Path:
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
