"""What :mod:`.judging` gives back: a judge with what it was chosen from, and how well it tells a model's answers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from kgprobe.judge.files import FILE, Judge
from kgprobe.judge.quality import Quality
from kgprobe.judge.splits import Splits
from kgprobe.judge.training import Trained
from kgprobe.library.looks import Look
from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.report.judge_plots import SIDES, NamedQuality, layer_plots, quality_plots
from kgprobe.report.study_page import write_plots_page
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
        judge: what was asked.
        quality: its own.
        baseline: that of the probabilities of the answers' words.
        facts: how many facts the statements are of.
    """

    judge: Judge
    quality: Quality
    baseline: Quality
    facts: int

    columns: ClassVar[Sequence[str]] = ("judge", "answer", "count", "precision", "recall", "f1", "auroc")

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
                [_row({"judge": name}, its) for name, its in self._both()],
                ["*off* is how far confidence is from the share that is right, on average."],
            ),
            Table("answers", "By answer", [_rounded(row) for row in self.rows() if row["count"]], groups_by="judge"),
            Table("confusion", "Answers given, and told", rows, groups_by="judge"),
            Table("reliability", "How sure, and how often right", reliability, groups_by="judge"),
        ]

    def summary(self) -> str:
        """How many answers are told right, in a sentence."""
        return (
            f"Of {self.quality.count:,} statements about {self.facts:,} facts that no judge has seen, the judge tells"
            f" {self.quality.accuracy} of the answers of {self.judge.answers_of}; the words' probabilities,"
            f" {self.baseline.accuracy}."
        )

    def as_json(self) -> dict[str, Any]:
        """Everything, with stable keys."""
        return {
            "facts": self.facts,
            "layer": self.judge.layer,
            "kind": self.judge.classifier.kind,
            "quality": asdict(self.quality),
            "baseline": asdict(self.baseline),
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
        return [(f"layer {self.judge.layer}, {self.judge.classifier.kind}", self.quality), (_WORDS, self.baseline)]


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
        """Which judge it is, how good, and where."""
        what = f"A {self.judge.classifier.kind} judge of layer {self.judge.layer} is kept in {self.folder / FILE}."
        return f"{self.aside.summary()}\n{what}" if self.aside else what

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
            "training": self.judge.training,
            "aside": self.aside.as_json() if self.aside else None,
        }


def _page(path: str | Path, title: str, look: Look, plots: Sequence[Plot | HeatMap], judge: Judge) -> Path:
    config = {"reader": judge.reader, "options": judge.training["options"], "seed": judge.training["seed"]}
    verdict = " ".join(look.summary().splitlines())
    return write_plots_page(Path(path), title, verdict, plots, look.tables(), look.notes, config, alone=True)


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
