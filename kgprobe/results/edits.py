"""Comparison of a model before and after edits, or before and after unlearning, on the same questions.

docs/methods/edits.md. Efficacy, generality, portability and locality, by generated text and by scores, with intervals
that are clustered by edit.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from kgprobe.edits import CONDITION, EFFICACY, FORGETTING, GENERATION, GROUPS, LOCALITY, SCORES
from kgprobe.edits.asking import EditEvidence, right_against_old, right_of, top_answer
from kgprobe.edits.questions import OLD, EditQuestion
from kgprobe.errors import ArgumentError
from kgprobe.models.spec_forms import model_name
from kgprobe.probes.generation.evidence import counted_end
from kgprobe.report.checks import Check
from kgprobe.results.edit_questions import EditAnswers
from kgprobe.results.forgetting import LossVerdict
from kgprobe.results.result import SHOWN_FACTS, StoredComparison, points
from kgprobe.running.settings import differences
from kgprobe.sanitize import counted
from kgprobe.stats.clustered import clustered_loss, clustered_share
from kgprobe.stats.proportions import Percent, Points, Share
from kgprobe.tables import Heading, ResultRow, Table, row_dicts, row_frame, row_table

if TYPE_CHECKING:
    import pandas as pd

WAYS = (GENERATION, SCORES)
_ALL = "all"
_SHOWN_DIFFERENCES = 3
_BY = {GENERATION: "text", SCORES: "scores"}
# Verdicts on facts to unlearn; those on facts to keep are LossVerdict.
FORGOTTEN, REMEMBERED = "forgotten", "remembered"


@dataclass(frozen=True, slots=True)
class EditKind(ResultRow):
    """Right answers to the questions of one kind, or of a group; None where a way does not apply.

    Attributes:
        kind: ``all`` for the group.
        questions: number of questions; several with one case count as one.
        base_generated, tuned_generated: shares that are right by generated text.
        base_scored, tuned_scored: shares that are right by scores, against all wrong answers.
        before_old: share of the tuned model's scores of the expected answer that exceed those of the old object.
        same_generated, same_scored: shares of answers that are the same for both models.
    """

    group: Annotated[str, Heading("group")]
    kind: Annotated[str, Heading("kind")]
    edits: Annotated[int, Heading("edits")]
    questions: Annotated[int, Heading("questions")]
    base_generated: Annotated[Share | None, Heading("{base}, text")]
    tuned_generated: Annotated[Share | None, Heading("{tuned}, text")]
    base_scored: Annotated[Share | None, Heading("{base}, scores")]
    tuned_scored: Annotated[Share | None, Heading("{tuned}, scores")]
    before_old: Share | None
    same_generated: Share | None
    same_scored: Share | None


@dataclass(frozen=True, slots=True)
class Unchanged(ResultRow):
    """Answers of one kind that both models give alike, and scores against the old object."""

    kind: Annotated[str, Heading("kind")]
    same_generated: Annotated[Share | None, Heading("unchanged, text")]
    same_scored: Annotated[Share | None, Heading("unchanged, scores")]
    before_old: Annotated[Share | None, Heading("{tuned}: expected before old")]


@dataclass(frozen=True, slots=True)
class ConditionedKind(ResultRow):
    """Questions of one kind whose conditions the base model meets, by one way."""

    kind: Annotated[str, Heading("kind")]
    way: Annotated[str, Heading("by", _BY.get)]
    questions: Annotated[int, Heading("questions")]
    met: Annotated[int, Heading("conditions met")]
    tuned: Annotated[Share | None, Heading("{tuned}, where met")]


@dataclass(frozen=True, slots=True)
class EditVerdict(ResultRow):
    """Verdict on facts to keep or to unlearn, by one way.

    Attributes:
        test: ``kept`` or ``forgotten``.
        loss: of right answers to the questions of facts to keep, with one-sided 95% bounds; None for facts to unlearn.
        chance: chance level of the facts to unlearn; None for facts to keep.
        margin: allowed loss, or allowed share above chance.
        verdict: kept, lost or undecided; forgotten, remembered or undecided.
    """

    test: Annotated[str, Heading("test")]
    way: Annotated[str, Heading("by", _BY.get)]
    questions: Annotated[int, Heading("questions")]
    base: Annotated[Share, Heading("{base}")]
    tuned: Annotated[Share, Heading("{tuned}")]
    loss: Annotated[Points | None, Heading("loss")]
    chance: Annotated[float | None, Heading("chance level", Percent)]
    margin: Annotated[float, Heading("margin", Percent)]
    verdict: Annotated[str, Heading("verdict")]


@dataclass(frozen=True, slots=True)
class EditCase(ResultRow):
    """A failed edit, or an answer that the tuned model lost.

    Attributes:
        generated, scored: True if the tuned model is right; None if it was not asked by this way.
        text: the tuned model's text.
    """

    edit: str
    about: Annotated[str, Heading("edit")]
    kind: Annotated[str, Heading("kind")]
    question: Annotated[str, Heading("question")]
    expected: Annotated[str, Heading("expected")]
    generated: bool | None
    scored: bool | None
    text: Annotated[str | None, Heading("{tuned} says")]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A question, or the questions of one case, which count as one."""

    questions: tuple[EditQuestion, ...]

    @property
    def first(self) -> EditQuestion:
        return self.questions[0]

    def right(self, answers: EditAnswers, way: str) -> bool | None:
        """Return True if a model is right; None if it was not asked by this way."""
        values = [right_of(question, answers.evidence(question.id), way) for question in self.questions]
        if None in values:
            return None
        return all(values) if self.first.all_of_case else any(values)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class EditComparison(StoredComparison):
    """A base model and a model after edits; one row for each kind of question, after one for its group.

    Attributes:
        base, tuned: names of the models.
        edits: number of edits.
        kinds: right answers of both models.
        conditions: the same, of questions whose conditions the base model meets.
        verdicts: on facts to keep and to unlearn; empty unless a margin was given.
        failed: edits that the tuned model does not show by some way, or facts that it still answers.
        lost: answers about facts to keep that were right before and are wrong now.
    """

    base: str
    tuned: str
    edits: int
    kinds: Sequence[EditKind]
    conditions: Sequence[ConditionedKind]
    verdicts: Sequence[EditVerdict]
    failed: Sequence[EditCase]
    lost: Sequence[EditCase]

    row = EditKind
    file: ClassVar[str] = "edits"

    @property
    def verdict(self) -> LossVerdict | None:
        """The worst verdict: lost if any fact was lost or remembered, else undecided or kept; None without margins."""
        verdicts = {verdict.verdict for verdict in self.verdicts}
        if not verdicts:
            return None
        if verdicts & {LossVerdict.LOST.value, REMEMBERED}:
            return LossVerdict.LOST
        return LossVerdict.UNDECIDED if LossVerdict.UNDECIDED.value in verdicts else LossVerdict.KEPT

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"Edits of {self.base} in {self.tuned}"

    def records(self) -> Sequence[EditKind]:
        """Return the kinds."""
        return self.kinds

    def checks(self) -> list[Check]:
        """Return a check for each verdict; facts that are still remembered count as lost, forgotten ones as kept."""
        words = {FORGOTTEN: LossVerdict.KEPT.value, REMEMBERED: LossVerdict.LOST.value}
        checks = []
        for verdict in self.verdicts:
            word = words.get(verdict.verdict, verdict.verdict)
            checks.append(Check(f"{verdict.test}, by {_BY[verdict.way]}", word, _sentence(verdict)))
        return checks

    def tables(self) -> list[Table]:
        """Return right answers, unchanged answers, conditions, verdicts, failed edits and lost answers."""
        names: dict[str, Any] = {"base": self.base, "tuned": self.tuned}
        note = (
            "Text: the first name in a greedy answer. Scores: the expected answer against all wrong ones. Intervals:"
            " 95%, clustered by edit."
        )
        tables = [row_table("kinds", "Right answers", self.kinds, [note], **names)]
        changes = []
        for kind in self.kinds:
            if kind.same_generated or kind.same_scored or kind.before_old:
                name = kind.group if kind.kind == _ALL else kind.kind
                changes.append(Unchanged(name, kind.same_generated, kind.same_scored, kind.before_old))
        if changes:
            tables.append(row_table("unchanged", "Unchanged answers", changes, **names))
        if self.conditions:
            met = "Conditions: questions that the base model must answer right, such as the second fact of two hops."
            tables.append(row_table("conditions", "Where the conditions are met", self.conditions, [met], **names))
        if self.verdicts:
            tables.append(row_table("verdicts", "Verdicts", self.verdicts, **names))
        for key, title, cases in (
            ("failed", "Failed edits", self.failed),
            ("lost", "Right before, wrong now", self.lost),
        ):
            if cases:
                tables.append(row_table(key, title, cases, limit=SHOWN_FACTS, **names))
        return tables

    def summary(self) -> str:
        """Return the shares of each group, and the verdicts."""
        parts = []
        for kind in self.kinds:
            if kind.kind != _ALL:
                continue
            is_local = kind.group == LOCALITY
            shares = (kind.same_generated, kind.same_scored) if is_local else (kind.tuned_generated, kind.tuned_scored)
            listed = [f"{share} by {_BY[way]}" for share, way in zip(shares, WAYS, strict=True) if share is not None]
            name = "locality (unchanged answers)" if is_local else kind.group
            parts.append(f"{name} {', '.join(listed) or 'not asked'}")
        lines = [f"{counted(self.edits, 'edit')} in {self.tuned}: {'; '.join(parts)}."]
        lines += [_sentence(verdict) for verdict in self.verdicts]
        return "\n".join(lines)

    def frames(self) -> "dict[str, pd.DataFrame]":
        """Return kinds, failed edits and lost answers."""
        return {
            "kinds": self.to_frame(),
            "failed_edits": row_frame(self.failed, EditCase),
            "lost_answers": row_frame(self.lost, EditCase),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with stable keys; ``verdict`` is None without margins."""
        verdict = self.verdict
        content = StoredComparison.to_dict(self)
        return {"verdict": None if verdict is None else verdict.value, **content, "kinds": row_dicts(self.kinds)}


def compare_edit_answers(
    base: EditAnswers, tuned: EditAnswers, margin: float | None, forget: float | None
) -> EditComparison:
    """Compare answers before and after edits; see :func:`kgprobe.compare_edits`."""
    _check_comparable(base, tuned)
    about_edits = _units(question for question in base.questions.values() if question.group != CONDITION)
    groups = {unit.first.group for unit in about_edits}
    if forget is not None and FORGETTING not in groups:
        raise ArgumentError(
            "forget", "is for facts to unlearn, and these questions have none; sample them with --unlearn."
        )
    if margin is not None and LOCALITY not in groups:
        raise ArgumentError("margin", "is for facts to keep, and the questions have none; sample some `neighbours`.")
    verdicts = [] if margin is None else _retention(about_edits, base, tuned, margin)
    verdicts += [] if forget is None else _forgetting(about_edits, base, tuned, forget)
    labels = _labels(base, tuned)
    return EditComparison(
        base=labels[0],
        tuned=labels[1],
        edits=len({unit.first.edit for unit in about_edits}),
        kinds=_kinds(about_edits, base, tuned),
        conditions=_conditioned(about_edits, base, tuned),
        verdicts=verdicts,
        failed=_failed(about_edits, tuned),
        lost=_lost(about_edits, base, tuned),
        config={"base": str(base.folder), "tuned": str(tuned.folder), "margin": margin, "forget": forget},
        notes=_notes(base, tuned),
    )


def _notes(*results: EditAnswers) -> list[str]:
    """Return a note on each model with unanswered questions."""
    return [
        f"{answers.model}: {counted(answers.unanswered, 'question')} without an answer; left out."
        for answers in results
        if answers.unanswered
    ]


def _labels(base: EditAnswers, tuned: EditAnswers) -> tuple[str, str]:
    """Return short names of the models; those of their folders if they are equal."""
    names = model_name(base.model), model_name(tuned.model)
    return names if names[0] != names[1] else (base.folder.name, tuned.folder.name)


def _check_comparable(base: EditAnswers, tuned: EditAnswers) -> None:
    if base.folder.resolve() == tuned.folder.resolve():
        raise ArgumentError("tuned", f"has the same answers: {base.folder}.")
    left_out = ("model", "scorer", "generator")
    ours, theirs = (
        {name: value for name, value in answers.config["described"].items() if name not in left_out}
        for answers in (base, tuned)
    )
    phrases = differences(ours, theirs)[:_SHOWN_DIFFERENCES]
    if phrases:
        raise ArgumentError(
            "tuned",
            f"was asked in another way than the base: {'; '.join(phrases)}. Ask both the same file of questions, with"
            " the same options.",
        )


def _units(questions: Iterable[EditQuestion]) -> list[_Unit]:
    cases: dict[str, list[EditQuestion]] = {}
    for question in questions:
        cases.setdefault(question.case or f"question {question.id}", []).append(question)
    return [_Unit(tuple(own)) for own in cases.values()]


def _kinds(units: Sequence[_Unit], base: EditAnswers, tuned: EditAnswers) -> list[EditKind]:
    rows = []
    for group in GROUPS:
        own = [unit for unit in units if unit.first.group == group]
        kinds = list(dict.fromkeys(unit.first.kind for unit in own))
        if own:
            rows.append(_kind_row(group, _ALL, own, base, tuned))
        if len(kinds) > 1:
            by_kind = ([unit for unit in own if unit.first.kind == kind] for kind in kinds)
            rows.extend(_kind_row(group, part[0].first.kind, part, base, tuned) for part in by_kind)
    return rows


def _kind_row(group: str, kind: str, units: Sequence[_Unit], base: EditAnswers, tuned: EditAnswers) -> EditKind:
    def right(model: EditAnswers, way: str) -> Share | None:
        return _share(units, lambda unit: unit.right(model, way))

    def same(way: str) -> Share | None:
        return _share(units, lambda unit: _is_same(unit.first, base, tuned, way)) if group == LOCALITY else None

    def before_old(unit: _Unit) -> bool | None:
        return None if group == LOCALITY else right_against_old(unit.first, tuned.evidence(unit.first.id))

    return EditKind(
        group=group,
        kind=kind,
        edits=len({unit.first.edit for unit in units}),
        questions=len(units),
        base_generated=right(base, GENERATION),
        tuned_generated=right(tuned, GENERATION),
        base_scored=right(base, SCORES),
        tuned_scored=right(tuned, SCORES),
        before_old=_share(units, before_old),
        same_generated=same(GENERATION),
        same_scored=same(SCORES),
    )


def _share(units: Sequence[_Unit], answer: Callable[[_Unit], bool | None]) -> Share | None:
    """Return the share of units with the answer True, clustered by edit; None if no unit has an answer."""
    values, edits = [], []
    for unit in units:
        value = answer(unit)
        if value is not None:
            values.append(value)
            edits.append(unit.first.edit)
    return clustered_share(values, edits) if values else None


def _is_same(question: EditQuestion, base: EditAnswers, tuned: EditAnswers, way: str) -> bool | None:
    """Return True if both models give the same answer; None if it was not asked by this way."""
    before, after = base.evidence(question.id), tuned.evidence(question.id)
    if before is None or after is None:
        return None
    if way == SCORES:
        tops = top_answer(before), top_answer(after)
        return None if None in tops else tops[0] == tops[1]
    if before.text is None or after.text is None:
        return None
    places = _first_answer(question, before), _first_answer(question, after)
    if places == (None, None):
        return _first_line(before.text) == _first_line(after.text)
    return places[0] == places[1]


def _first_answer(question: EditQuestion, evidence: EditEvidence) -> int | None:
    """Return the place of the first named answer; None without one."""
    for place, answer in enumerate(question.answers):
        if evidence.first_name in answer.names:
            return place
    return None


def _first_line(text: str) -> str:
    return " ".join(text[: counted_end(text, "line")].split())


def _conditioned(units: Sequence[_Unit], base: EditAnswers, tuned: EditAnswers) -> list[ConditionedKind]:
    rows: list[ConditionedKind] = []
    kinds: dict[str, list[_Unit]] = {}
    for unit in units:
        if unit.first.needs:
            kinds.setdefault(unit.first.kind, []).append(unit)
    for kind, own in kinds.items():
        rows += [_conditioned_kind(kind, way, own, base, tuned) for way in WAYS]
    return [row for row in rows if row.questions]


def _conditioned_kind(
    kind: str, way: str, units: Sequence[_Unit], base: EditAnswers, tuned: EditAnswers
) -> ConditionedKind:
    answered = [unit for unit in units if unit.right(tuned, way) is not None]
    met = [unit for unit in answered if _meets(unit, base, way)]
    return ConditionedKind(kind, way, len(answered), len(met), _share(met, lambda unit: unit.right(tuned, way)))


def _meets(unit: _Unit, base: EditAnswers, way: str) -> bool:
    """Return True if the base model answers all conditions of a unit right."""
    for question in unit.questions:
        for needed in question.needs:
            if not right_of(base.questions[needed], base.evidence(needed), way):
                return False
    return True


def _retention(units: Sequence[_Unit], base: EditAnswers, tuned: EditAnswers, margin: float) -> list[EditVerdict]:
    """Return the verdicts on the facts to keep, by each way."""
    verdicts = []
    for way in WAYS:
        before, after, edits = _paired([unit for unit in units if unit.first.group == LOCALITY], base, tuned, way)
        if not before:
            continue
        loss = clustered_loss(before, after, edits)
        verdict = LossVerdict.UNDECIDED
        if (loss.low or 0.0) > margin:
            verdict = LossVerdict.LOST
        elif (loss.high or 0.0) <= margin:
            verdict = LossVerdict.KEPT
        shares = clustered_share(before, edits), clustered_share(after, edits)
        verdicts.append(EditVerdict("kept", way, len(before), *shares, loss, None, margin, verdict.value))
    return verdicts


def _forgetting(units: Sequence[_Unit], base: EditAnswers, tuned: EditAnswers, margin: float) -> list[EditVerdict]:
    """Return the verdicts on the facts to unlearn, by each way."""
    forgetting = [unit for unit in units if unit.first.group == FORGETTING]
    verdicts = []
    for way in WAYS:
        before, after, edits = _paired(forgetting, base, tuned, way)
        if not before:
            continue
        answered = [unit for unit in forgetting if unit.right(tuned, way) is not None]
        chance = _chance_of_scores(answered) if way == SCORES else _chance_of_text(units, tuned)
        share = clustered_share(after, edits)
        verdict = LossVerdict.UNDECIDED.value
        if share.high <= chance + margin:
            verdict = FORGOTTEN
        elif share.low > chance + margin:
            verdict = REMEMBERED
        shares = clustered_share(before, edits), share
        verdicts.append(EditVerdict(FORGOTTEN, way, len(before), *shares, None, chance, margin, verdict))
    return verdicts


def _paired(
    units: Sequence[_Unit], base: EditAnswers, tuned: EditAnswers, way: str
) -> tuple[list[bool], list[bool], list[str]]:
    """Return the answers of both models to the units that both were asked, and the units' edits."""
    before, after, edits = [], [], []
    for unit in units:
        answers = unit.right(base, way), unit.right(tuned, way)
        if answers[0] is not None and answers[1] is not None:
            before.append(answers[0])
            after.append(answers[1])
            edits.append(unit.first.edit)
    return before, after, edits


def _chance_of_scores(units: Sequence[_Unit]) -> float:
    """Return the mean probability that a guess among the answers is right."""
    chances = [len(unit.first.expected) / len(unit.first.answers) for unit in units]
    return sum(chances) / len(chances)


def _chance_of_text(units: Sequence[_Unit], tuned: EditAnswers) -> float:
    """Return the share of other subjects for which the model names the object to unlearn; 0 if none was asked."""
    names = []
    for unit in units:
        evidence = tuned.evidence(unit.first.id)
        has_old = any(answer.role == OLD for answer in unit.first.wrong)
        if unit.first.group == LOCALITY and has_old and evidence is not None and evidence.text is not None:
            names.append(evidence.role == OLD)
    return sum(names) / len(names) if names else 0.0


def _case(unit: _Unit, tuned: EditAnswers) -> EditCase:
    question = unit.first
    evidence = tuned.evidence(question.id)
    return EditCase(
        edit=question.edit,
        about=question.about,
        kind=question.kind,
        question=question.prompt,
        expected=question.expected[0].names[0],
        generated=unit.right(tuned, GENERATION),
        scored=unit.right(tuned, SCORES),
        text=None if evidence is None or evidence.text is None else _first_line(evidence.text.lstrip()),
    )


def _failed(units: Sequence[_Unit], tuned: EditAnswers) -> list[EditCase]:
    """Return the statements of edits that the tuned model gets wrong; of facts to unlearn, those that it gets right."""
    failed = []
    for unit in units:
        answers = {unit.right(tuned, way) for way in WAYS}
        if unit.first.group == EFFICACY and False in answers:
            failed.append(_case(unit, tuned))
        if unit.first.group == FORGETTING and True in answers:
            failed.append(_case(unit, tuned))
    return failed


def _lost(units: Sequence[_Unit], base: EditAnswers, tuned: EditAnswers) -> list[EditCase]:
    lost = []
    for unit in units:
        changes = [(unit.right(base, way), unit.right(tuned, way)) for way in WAYS]
        if unit.first.group == LOCALITY and (True, False) in changes:
            lost.append(_case(unit, tuned))
    return lost


def _sentence(verdict: EditVerdict) -> str:
    """Return a verdict in a sentence."""
    by = f"by {_BY[verdict.way]}"
    if verdict.loss is not None:
        low, high = 100 * (verdict.loss.low or 0.0), 100 * (verdict.loss.high or 0.0)
        change = "lost" if verdict.loss.value >= 0 else "gained"
        return (
            f"Facts to keep, {by}: {verdict.verdict}: {points(verdict.loss.value)} {change} on {verdict.questions:,}"
            f" questions (one-sided 95% bounds of the loss {low:.1f} and {high:.1f} points; the margin of"
            f" {100 * verdict.margin:g} points)."
        )
    return (
        f"Facts to unlearn, {by}: {verdict.verdict}: {verdict.tuned} of {verdict.questions:,} questions are answered"
        f" (chance level {verdict.chance or 0:.1%}; the margin of {100 * verdict.margin:g} points)."
    )
