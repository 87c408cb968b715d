"""Judge: quality on held-out statements, tables and plots."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from kgprobe.base.intervals import Share
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import INTERNAL, Heading, ResultRow
from kgprobe.judge.classifiers import PublishedNetwork
from kgprobe.judge.files import FILE, Judge
from kgprobe.judge.labels import LabelledStatements
from kgprobe.judge.quality import Quality, QualityComparison, rounded
from kgprobe.judge.training import LayerJudged, LearnedJudge, SplitQualities, evaluate_on
from kgprobe.models.spec_forms import model_name
from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.results.rendering.plots import HeatMap, Line, Plot, write_plots_page
from kgprobe.results.result import Listing, Result, StoredResult
from kgprobe.stats.proportions import share

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

_WORDS = "words"
# Name of the same baseline after virtual tokens.
_ENCODED = "words after virtual tokens"
_SPLITS = ("folds", "entities", "relations")
_MEANINGS = (
    "*folds*: cross-validation on the training set; *entities* and *relations*: statements with entities, or"
    " relations, that are not in the training set."
)


@dataclass(frozen=True, slots=True)
class QualityRow(ResultRow):
    """Quality of a judge, or of the words' probabilities, on some statements.

    Attributes:
        layer: layer of the judge's hidden states; None for the words.
        judge: the judge, or the words.
        statements: the statements.
        count, accuracy, macro_precision, macro_recall, macro_f1, auroc, log_loss, calibration_error: as of
            :class:`~kgprobe.judge.quality.Quality`.
    """

    layer: int | None
    judge: Annotated[str, Heading("judge")]
    statements: Annotated[str, Heading("of")]
    count: Annotated[int, Heading("statements")]
    accuracy: Annotated[Share, Heading("accuracy")]
    macro_precision: Annotated[float, Heading("precision", rounded)]
    macro_recall: Annotated[float, Heading("recall", rounded)]
    macro_f1: Annotated[float, Heading("F1", rounded)]
    auroc: Annotated[float | None, Heading("AUROC", rounded)]
    log_loss: Annotated[float, Heading("log loss", rounded)]
    calibration_error: Annotated[float, Heading("calibration error", rounded)]

    @classmethod
    def of(cls, layer: int | None, judge: str, statements: str, quality: Quality) -> "QualityRow":
        """Return the row of a quality."""
        means = (quality.macro_precision, quality.macro_recall, quality.macro_f1)
        numbers = (*means, quality.auroc, quality.log_loss, quality.calibration_error)
        return cls(layer, judge, statements, quality.count, quality.accuracy, *numbers)


@dataclass(frozen=True, slots=True)
class JudgedAnswer(ResultRow):
    """Quality of the predictions of one answer, by the judge or the words; see :class:`.AnswerQuality`."""

    judge: Annotated[str, Heading("judge")]
    answer: Annotated[str, Heading("answer")]
    count: Annotated[int, Heading("statements")]
    precision: Annotated[float | None, Heading("precision", rounded)]
    recall: Annotated[float | None, Heading("recall", rounded)]
    f1: Annotated[float | None, Heading("F1", rounded)]
    auroc: Annotated[float | None, Heading("AUROC", rounded)]


_CALIBRATION = (
    "*held-out entities*: the subject and object of these statements are not in the training set. Tables below are of"
    " {leading_statements} statements. *calibration error*: mean distance of confidence from the share of right"
    " predictions."
)
_RELIABILITY = "Reliability: confidence and share of right predictions"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class JudgeQuality(Result):
    """Quality of a judge on held-out statements; one row for each answer.

    Attributes:
        every: quality on all held-out statements.
        apart: quality on held-out statements whose subject and object are not in the training set either; this is the
            leading figure. None if there are none.
    """

    judge: Annotated[Judge, INTERNAL]
    every: QualityComparison
    apart: QualityComparison | None

    properties: ClassVar[Sequence[str]] = ("layer", "kind", "warnings")

    @property
    def layer(self) -> int:
        """Layer of the judge."""
        return self.judge.layer

    @property
    def kind(self) -> str:
        """Kind of the judge."""
        return self.judge.classifier.kind

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

    @property
    def name(self) -> str:
        """Layer and kind of the judge."""
        return f"layer {self.layer}, {self.kind}"

    @property
    def leading_statements(self) -> str:
        """The leading statements, in a word or two."""
        return "these" if self.apart else "all held-out"

    @property
    def qualities(self) -> Annotated[Sequence[QualityRow], Listing("Accuracy", _CALIBRATION)]:
        """Quality of the judge and of the words' probabilities, with held-out entities first."""
        parts = [("all held-out", self.every)]
        if self.apart is not None:
            parts.insert(0, ("held-out entities", self.apart))
        rows = []
        for statements, compared in parts:
            rows.append(QualityRow.of(self.layer, self.name, statements, compared.quality))
            rows.append(QualityRow.of(None, _WORDS, statements, compared.baseline))
            if compared.encoded is not None:
                rows.append(QualityRow.of(None, _ENCODED, statements, compared.encoded))
        return rows

    @property
    def answers(
        self,
    ) -> Annotated[
        Sequence[JudgedAnswer],
        Listing("By answer", where=lambda row: row.count > 0, groups_by="judge", main=True),
    ]:
        """Precision, recall, F1 and AUROC of each answer, for the judge and for the words' probabilities."""
        rows = []
        for name, quality in self._leading().items():
            rows += [JudgedAnswer(name, **asdict(answer)) for answer in quality.answers]
        return rows

    @property
    def confusion(
        self,
    ) -> Annotated[Sequence[Mapping[str, Any]], Listing("Confusion matrix", groups_by="judge")]:
        """Statements by the model's answer and the predicted one."""
        rows = []
        for name, quality in self._leading().items():
            for given, counts in quality.by_answer().items():
                predicted = {f"predicted {answer}": count for answer, count in counts.items()}
                rows.append({"judge": name, "given": given, **predicted})
        return rows

    @property
    def reliability(self) -> Annotated[Sequence[Mapping[str, Any]], Listing(_RELIABILITY, groups_by="judge")]:
        """Share of right predictions by confidence."""
        rows = []
        for name, quality in self._leading().items():
            for bin_ in quality.reliability:
                row = {"judge": name, "confidence": f"{bin_.low:.1f} to {bin_.high:.1f}", "statements": bin_.count}
                rows.append(row | {"mean confidence": rounded(bin_.confidence), "right": rounded(bin_.right)})
        return rows

    def summary(self) -> str:
        """Return warnings, the quality with held-out entities, and on all held-out statements, one on each line."""
        lines = [*self.warnings]
        if self.apart is None:
            lines.append("The subject or object of every held-out statement is in the training set.")
        else:
            lines.append(self._describe("held-out statements with held-out entities", self.apart))
        lines.append(self._describe("held-out statements", self.every))
        return "\n".join(lines)

    @property
    def warnings(self) -> list[str]:
        """Warnings: one answer to everything, no gain over the words' probabilities, or an unfair advantage."""
        warnings = _one_answer(self.quality)
        if self.kind == PublishedNetwork.kind:
            warnings.append(
                "The published network knows the truth of each statement, and other judges do not: compare it with"
                " --classifier network."
            )
        gain = self.leading.gain
        if gain is not None and (gain.low is None or gain.low <= 0):
            shown = "no better" if gain.value <= 0 else "not shown to be better"
            warnings.append(
                f"The judge is {shown} than the words' own probabilities: AUROC {_auroc(self.quality)} and"
                f" {_auroc(self.baseline)}, a difference of {gain}."
            )
        return warnings

    @property
    def plots(self) -> list[Plot | HeatMap]:
        """Plots of reliability, confusion matrix, and figures by answer, for the judge and the words."""
        return quality_plots(self._leading())

    def page(self, path: str | Path) -> Path:
        """Write a page with plots and tables, with its script next to it; return the page's path.

        Raises:
            KgprobeError: it cannot be written.
        """
        return _write_page(path, f"A judge of {self.judge.answers_of}, evaluated", self, self.plots, self.judge)

    def _leading(self) -> dict[str, Quality]:
        return {self.name: self.quality, _WORDS: self.baseline}

    def _describe(self, which: str, compared: QualityComparison) -> str:
        quality, baseline = compared.quality, compared.baseline
        return (
            f"Accuracy on {quality.count:,} {which} (about {counted(compared.facts, 'fact')}, answers of"
            f" {self.judge.answers_of}): {quality.accuracy}, AUROC {_auroc(quality)}; by the words' probabilities"
            f" {baseline.accuracy}, AUROC {_auroc(baseline)}."
        )


@dataclass(frozen=True, slots=True)
class SubstituteRow(ResultRow):
    """Quality of one judge among several, on the test facts of its labels.

    Attributes:
        answers_of: model that answered the statements.
        substitute: model whose hidden states are read.
        encoder: True if virtual tokens replace the instruction.
        classifier: kind of the judge, or the words' probabilities.
        count: number of statements.
        precision, recall, f1: means over the answers that occur.
        weighted_precision, weighted_recall, weighted_f1: as of :class:`~kgprobe.judge.quality.Quality`.
    """

    answers_of: Annotated[str, Heading("answers of")]
    substitute: Annotated[str, Heading("states of")]
    encoder: Annotated[bool, Heading("prompt encoder")]
    classifier: Annotated[str, Heading("judge")]
    count: Annotated[int, Heading("statements")]
    precision: Annotated[float, Heading("precision", rounded)]
    recall: Annotated[float, Heading("recall", rounded)]
    f1: Annotated[float, Heading("F1", rounded)]
    weighted_precision: Annotated[float, Heading("weighted precision", rounded)]
    weighted_recall: Annotated[float, Heading("weighted recall", rounded)]
    weighted_f1: Annotated[float, Heading("weighted F1", rounded)]


_MEANS = (
    "Precision, recall and F1 are means over the answers that occur, on the test facts of each judge's labels;"
    " *weighted*: over right, wrong and unknown answers, weighted by their numbers, as in the paper."
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class JudgeComparison(StoredResult):
    """Several judges on the test facts of their labels; rows of the judges, then of the words' probabilities."""

    judges: Annotated[Sequence[SubstituteRow], Listing("Judges", _MEANS)]

    file: ClassVar[str] = "judges"

    @property
    def title(self) -> str:
        """Title of the page."""
        judges = [row for row in self.judges if row.classifier != _WORDS]
        return f"{counted(len(judges), 'judge')} on test facts"

    def summary(self) -> str:
        """Return the best judge in a sentence."""
        best = max((row for row in self.judges if row.classifier != _WORDS), key=attrgetter("f1"))
        return f"The best F1, {best.f1:.3f}: {best.classifier} judge on states of {best.substitute}."


def judge_rows(qualities: Sequence[JudgeQuality]) -> list[SubstituteRow]:
    """Return the quality of each judge, in the given order, and of the words for each pair of models.

    With a prompt encoder, the words are read twice: behind the instruction, and behind the virtual tokens.
    """
    judges = [_substitute_row(own, own.judge.classifier.kind, own.every.quality) for own in qualities]
    words: dict[tuple[str, str, int], SubstituteRow] = {}
    for own in qualities:
        row = replace(_substitute_row(own, _WORDS, own.every.baseline), encoder=False)
        words.setdefault((row.answers_of, row.substitute, row.count), row)
    encoded = [_substitute_row(own, _WORDS, own.every.encoded) for own in qualities if own.every.encoded]
    return [*judges, *words.values(), *encoded]


def _substitute_row(own: JudgeQuality, classifier: str, quality: Quality) -> SubstituteRow:
    means = (quality.macro_precision, quality.macro_recall, quality.macro_f1)
    judge = own.judge
    names = (model_name(judge.answers_of), model_name(str(judge.reader["name"])))
    weighted = (quality.weighted_precision, quality.weighted_recall, quality.weighted_f1)
    return SubstituteRow(*names, judge.virtual is not None, classifier, quality.count, *means, *weighted)


def quality_on(judge: Judge, scorer: "Scorer", statements: LabelledStatements, words: Sequence[str]) -> JudgeQuality:
    """Return the quality of a judge on held-out statements."""
    every, apart = evaluate_on(judge, scorer, statements, words)
    return JudgeQuality(judge=judge, every=every, apart=apart)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class TrainedJudge(Result):
    """A new judge; one row for each layer and split.

    Attributes:
        learned: the judge, and the candidates that it was selected from.
        aside: quality on the test set; None without a test set.
    """

    learned: Annotated[LearnedJudge, INTERNAL]
    folder: Annotated[Path, INTERNAL]
    aside: JudgeQuality | None

    properties: ClassVar[Sequence[str]] = ("warnings", "qualities")

    @property
    def judge(self) -> Judge:
        """The judge."""
        return self.learned.judge

    @property
    def layers(self) -> Annotated[Sequence[Mapping[str, Any]], Listing("Linear probes of the layers", "{origin}")]:
        """Accuracy and AUROC of each layer's linear probe, and of the words' probabilities, by split."""
        rows = []
        for layer in self.learned.trained.layers:
            read = "yes" if layer.layer == self.judge.layer else ""
            rows.append({"layer": str(layer.layer), **_split_cells(layer), "read": read})
        rows.append({"layer": _WORDS, **_split_cells(self.learned.baseline), "read": ""})
        if self.learned.encoded is not None:
            rows.append({"layer": _ENCODED, **_split_cells(self.learned.encoded), "read": ""})
        return rows

    @property
    def kinds(self) -> Annotated[Sequence[QualityRow], Listing("At layer {judge.layer}", groups_by="judge")]:
        """Quality of both kinds of judges at the best layer, for each split."""
        rows = []
        for kind in self.learned.trained.kinds:
            for split, quality in kind.by_split().items():
                rows.append(QualityRow.of(self.judge.layer, kind.kind, split, quality))
        return rows

    @property
    def qualities(self) -> Annotated[Sequence[QualityRow], Listing(main=True)]:
        """Quality of each layer's linear probe, for each split."""
        rows = []
        for layer in self.learned.trained.layers:
            for split, quality in layer.by_split().items():
                rows.append(QualityRow.of(layer.layer, "linear", split, quality))
        return rows

    @property
    def origin(self) -> str:
        """The statements, and the virtual tokens if there are some."""
        splits = self.learned.splits
        notes = [
            f"Accuracy; {_MEANINGS} Last row: the words' probabilities at the last token.",
            f"Statements: {len(splits.train):,} in the training set, {len(splits.other_entities):,} with held-out"
            f" entities, {len(splits.other_relations):,} with held-out relations, {len(splits.between):,} excluded, as"
            " they belong to several splits. The layer with the lowest log loss over the folds is used.",
        ]
        if self.judge.virtual is not None:
            encoded = self.judge.training["prompt_encoder"]
            notes.append(
                f"States are read behind {len(self.judge.virtual):,} virtual tokens in place of the"
                f" {encoded['instruction_tokens']:,} tokens of the instruction, learned from {encoded['learned']:,}"
                f" statements; the answers' mean loss was {encoded['instruction_loss']:.2f} behind the instruction, and"
                f" {encoded['losses'][0]:.2f} to {encoded['losses'][-1]:.2f} from the first to the last epoch. The"
                f" words' probabilities are those behind the instruction, except in the row “{_ENCODED}”: the prompt"
                " encoder without a judge. It was learned from the statements of the folds."
            )
        return " ".join(notes)

    def summary(self) -> str:
        """Return warnings, quality, kind and layer of the judge, and its file."""
        what = f"A {self.judge.classifier.kind} judge of layer {self.judge.layer}, stored in {self.folder / FILE}."
        return "\n".join([self.aside.summary(), what] if self.aside else [*self.warnings, what])

    @property
    def warnings(self) -> list[str]:
        """Warnings of a useless judge: on the test set, or on the folds without one."""
        if self.aside:
            return self.aside.warnings
        folds = {kind.kind: kind.folds for kind in self.learned.trained.kinds}
        return _one_answer(folds[self.judge.classifier.kind])

    def page(self, path: str | Path) -> Path:
        """Write a page with plots and tables, with its script next to it; return the page's path.

        Raises:
            KgprobeError: it cannot be written.
        """
        plots = [
            *layer_plots(self.learned.trained.layers, self.learned.baseline),
            *(self.aside.plots if self.aside else []),
        ]
        return _write_page(path, f"A judge of {self.judge.answers_of}", self, plots, self.judge)

    def to_dict(self) -> dict[str, Any]:
        """Return the judge's origin and training, warnings and quality, with stable keys."""
        return {**_described(self.judge, self.folder), **Result.to_dict(self)}


@dataclass(frozen=True, slots=True)
class JudgeSetting(ResultRow):
    """A setting of a judge."""

    setting: Annotated[str, Heading("setting")]
    value: Annotated[Any, Heading("value", str, none="None")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class JudgeSettings(Result):
    """A stored judge with its origin; one row for each setting."""

    judge: Annotated[Judge, INTERNAL]
    folder: Annotated[Path, INTERNAL]

    @property
    def settings(self) -> Annotated[Sequence[JudgeSetting], Listing("Judge")]:
        """The classifier, layer, models and labels, and the options of the training."""
        judge, training = self.judge, self.judge.training
        settings = {
            "classifier": judge.classifier.kind,
            "layer": judge.layer,
            "states of": judge.reader["name"],
            "answers of": judge.answers_of,
            "labels": training.get("labels"),
            "labelled": training.get("labelled"),
            "seed": training.get("seed"),
            **training.get("options", {}),
        }
        return [JudgeSetting(name, value) for name, value in settings.items()]

    def summary(self) -> str:
        """Return kind, layer and models of the judge, and its file."""
        judge = self.judge
        return (
            f"A {judge.classifier.kind} judge of {judge.answers_of}, on states of layer {judge.layer} of"
            f" {judge.reader['name']}, stored in {self.folder / FILE}. `kgprobe judge evaluate` measures its quality."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the judge's origin and training, with stable keys."""
        return {**_described(self.judge, self.folder), **Result.to_dict(self)}


def _described(judge: Judge, folder: Path) -> dict[str, Any]:
    """Return the origin and training of a judge, for programs."""
    return {
        "judge": str(folder / FILE),
        "digest": judge.digest(),
        "layer": judge.layer,
        "kind": judge.classifier.kind,
        "reader": judge.reader,
        "answers_of": judge.answers_of,
        "training": judge.training,
    }


def _write_page(path: str | Path, title: str, result: Result, plots: Sequence[Plot | HeatMap], judge: Judge) -> Path:
    config = {"reader": judge.reader, "options": judge.training["options"], "seed": judge.training["seed"]}
    verdict = " ".join(result.summary().splitlines())
    return write_plots_page(Path(path), title, verdict, plots, result.tables(), result.notes, config, alone=True)


def _one_answer(quality: Quality) -> list[str]:
    """Return a warning if all predictions are the same."""
    predicted = [answer for answer, *counts in zip(JUDGEMENTS, *quality.confusion, strict=True) if any(counts)]
    if len(predicted) > 1:
        return []
    return [f"The judge predicts the same answer for all {quality.count:,} statements: {predicted[0]}."]


def _auroc(quality: Quality) -> str:
    return "none" if quality.auroc is None else f"{quality.auroc:.2f}"


def _split_cells(qualities: SplitQualities) -> dict[str, Any]:
    """Return accuracies, then AUROC, by split."""
    cells: dict[str, Any] = dict.fromkeys((*_SPLITS, *(f"{split} AUROC" for split in _SPLITS)))
    for split, quality in qualities.by_split().items():
        cells[split] = f"{quality.accuracy.value:.0%}"
        cells[f"{split} AUROC"] = rounded(quality.auroc)
    return cells


def layer_plots(layers: Sequence[LayerJudged], baseline: SplitQualities) -> list[Plot]:
    """Return plots of accuracy and AUROC by layer, for linear probes and the words' probabilities, on each split.

    Args:
        layers: ascending, one at least.
        baseline: quality of the words' probabilities.
    """
    accuracies: list[Line] = []
    areas: list[Line] = []
    for split in _SPLITS:
        qualities = {layer.layer: layer.by_split()[split] for layer in layers if split in layer.by_split()}
        if qualities:
            shares = [quality.accuracy for quality in qualities.values()]
            accuracies.append(_share_line(split, list(qualities), shares))
            ranked = {layer: quality.auroc for layer, quality in qualities.items() if quality.auroc is not None}
            areas.append(Line(split, list(ranked), list(ranked.values())))
    ends = [layers[0].layer, layers[-1].layer]
    for split, words in baseline.by_split().items():
        accuracies.append(Line(f"{_WORDS}, {split}", ends, [words.accuracy.value] * 2))
        if words.auroc is not None:
            areas.append(Line(f"{_WORDS}, {split}", ends, [words.auroc] * 2))
    return [
        Plot("Accuracy by layer", "layer", "accuracy, 95% intervals", accuracies),
        Plot("AUROC by layer", "layer", "mean AUROC of the answers", areas),
    ]


def quality_plots(judged: Mapping[str, Quality]) -> list[Plot | HeatMap]:
    """Return a reliability plot of all; for each a confusion matrix, and precision, recall, F1 and AUROC."""
    lines = [Line("perfect calibration", [0.0, 1.0], [0.0, 1.0])]
    maps: list[HeatMap] = []
    for name, quality in judged.items():
        bins = quality.reliability
        shares = [share(round(bin_.right * bin_.count), bin_.count) for bin_ in bins]
        labels = [f"{bin_.count:,}" for bin_ in bins]
        lines.append(_share_line(name, [bin_.confidence for bin_ in bins], shares, points=True, labels=labels))
        maps += [_confusion(name, quality), _answers(name, quality)]
    title = "Reliability, with numbers of statements"
    return [Plot(title, "mean confidence of a bin", "accuracy, 95% intervals", lines), *maps]


def _share_line(name: str, x: Sequence[float], shares: Sequence[Share], **options: Any) -> Line:
    lows, highs = [share.low for share in shares], [share.high for share in shares]
    return Line(name, x, [share.value for share in shares], lows, highs, **options)


def _confusion(name: str, quality: Quality) -> HeatMap:
    rows = {}
    for given, counts in quality.by_answer().items():
        total = sum(counts.values())
        rows[f"{given}, {total:,}"] = [count / total for count in counts.values()]
    title = f"Confusion matrix, as shares of each answer: {name}"
    return HeatMap(title, list(rows), [f"predicted {name}" for name in JUDGEMENTS], list(rows.values()), "share")


def _answers(name: str, quality: Quality) -> HeatMap:
    rows = {}
    for answer in quality.answers:
        if answer.count:
            figures = [answer.precision, answer.recall, answer.f1, answer.auroc]
            rows[f"{answer.answer}, {answer.count:,}"] = figures
    columns = ["precision", "recall", "F1", "AUROC"]
    return HeatMap(f"By answer: {name}", list(rows), columns, list(rows.values()), "figure")
