"""Refusals: those of facts that another way of asking shows as known or unknown, and the effect of a permission.

docs/methods/refusals.md. A refusal of a known fact is needless, of an unknown fact justified.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.intervals import Percent, Points, Share
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.beliefs.group_rates import net_scores
from kgprobe.models.spec_forms import model_name
from kgprobe.results.answers import Stored, model_identity, settings_of
from kgprobe.results.rendering.plots import Category, CategoryPlot
from kgprobe.results.result import SHOWN_FACTS, Listing, Result, StoredResult
from kgprobe.results.shared_facts import Bools, Floats, SharedFacts, answered_facts
from kgprobe.stats.paired_proportions import loss_interval, signed_mean
from kgprobe.stats.proportions import CONFIDENCE, more_than_half, share

RIGHT, WRONG, REFUSED = ANSWERS = ("right", "wrong", "refused")


def fact_answers(facts: pd.DataFrame) -> "np.ndarray[tuple[int], np.dtype[np.object_]]":
    """Return the answer to each fact: right if most answers are, else refused if most others are refusals.

    ``facts`` has numbers of answers: right, wrong, and among the wrong ones refused.
    """
    others = facts["wrong"] - facts["refused"]
    answers = np.where(facts["refused"] > others, REFUSED, WRONG)
    return np.where(facts["right"] > facts["wrong"], RIGHT, answers).astype(object)


@dataclass(frozen=True, slots=True)
class AnswerMoves(ResultRow):
    """Facts with one answer in the first result, by their answer in the second."""

    answer: Annotated[str, Heading("{first}")]
    right: Annotated[int, Heading("then right")]
    wrong: Annotated[int, Heading("then wrong")]
    refused: Annotated[int, Heading("then refused")]
    facts: Annotated[int, Heading("facts")]


@dataclass(frozen=True, slots=True)
class AnswerChange(ResultRow):
    """A figure of both results, and its change with a paired 95% interval."""

    figure: Annotated[str, Heading("figure")]
    before: Annotated[float, Heading("{first}", Percent)]
    after: Annotated[float, Heading("{second}", Percent)]
    change: Annotated[Points, Heading("change")]


@dataclass(frozen=True, slots=True)
class NewlyRefusedFact(ResultRow):
    """A fact that the second result refused and the first did not.

    Attributes:
        before: the answer in the first result, right or wrong.
        said: the model's words there; None if they are right.
    """

    fact: str
    relation: str
    before: Annotated[str, Heading("in {first}")]
    question: Annotated[str, Heading("question")]
    right_answer: Annotated[str, Heading("right")]
    said: Annotated[str | None, Heading("said")]


_CHANGE = (
    "Answers off the format count as wrong. Net score: right less wrong. Changes are in points, with 95% intervals."
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RefusalChange(Result):
    """Change of refusals between two results of one model by one probe, such as by the permission to refuse.

    Attributes:
        first, second: names of the results.
        moves: facts by their answers in both.
        changes: accuracy, net score and refusals.
        newly_refused: the facts that only the second refused, those that were right first.
    """

    first: str
    second: str
    changes: Annotated[Sequence[AnswerChange], Listing("Refusals in {first} and {second}", _CHANGE)]
    moves: Annotated[Sequence[AnswerMoves], Listing("Answers in {first}, and then in {second}")]
    newly_refused: Annotated[Sequence[NewlyRefusedFact], Listing("Refused only in {second}", show=SHOWN_FACTS)]

    def summary(self) -> str:
        """Return the change of refusals and net score, and the earlier answers of the newly refused facts."""
        accuracy, net, refused = self.changes
        facts = sum(row.facts for row in self.moves)
        new, lost = len(self.newly_refused), sum(row.before == RIGHT for row in self.newly_refused)
        text = (
            f"Refused: {refused.before:.0%} of {facts:,} facts in {self.first}, {refused.after:.0%} in {self.second};"
            f" net score {net.change}, accuracy {accuracy.change} points."
        )
        if not new:
            return text
        return (
            f"{text} Of the {counted(new, 'fact')} refused only in {self.second}, {lost:,} {_was(lost)} right before."
        )


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def refusal_change(results: Sequence[Stored], shared: SharedFacts) -> RefusalChange | None:
    """Return the change of refusals; None unless two results are of one model and probe, and one refuses or may."""
    if len(results) != 2 or results[0].kind.name != results[1].kind.name:
        return None
    if model_identity(results[0]) != model_identity(results[1]):
        return None
    before, after = (own.loc[list(shared.facts)] for own in shared.answered)
    permissions = {repr(settings_of(result)["options"].get("allow_unknown")) for result in results}
    if "texts" not in before or not (before["refused"].any() or after["refused"].any() or len(permissions) > 1):
        return None
    old, new = map(fact_answers, (before, after))
    first, second = shared.labels
    moves = []
    for answer in ANSWERS:
        chosen = new[old == answer]
        right, wrong, refused = (int((chosen == then).sum()) for then in ANSWERS)
        moves.append(AnswerMoves(answer, right, wrong, refused, len(chosen)))
    changes = [_change("accuracy", old == RIGHT, new == RIGHT)]
    nets = [net_scores(own).to_numpy(np.float64) for own in (before, after)]
    change = signed_mean(nets[1] - nets[0], 2.0)
    changes.append(AnswerChange("net score", float(nets[0].mean()), float(nets[1].mean()), change))
    changes.append(_change("refused", old == REFUSED, new == REFUSED))
    newly = []
    for place in np.flatnonzero((new == REFUSED) & (old != REFUSED)).tolist():
        row, fact = before.iloc[place], shared.facts[place]
        question = row["question"], row["right_answer"], row["prediction"]
        newly.append(NewlyRefusedFact(fact, row["relation"], old[place], *question))
    newly.sort(key=lambda row: (ANSWERS.index(row.before), row.fact))
    return RefusalChange(first=first, second=second, changes=changes, moves=moves, newly_refused=newly)


def _change(figure: str, old: Bools, new: Bools) -> AnswerChange:
    """Return the change of a share of facts with Tango's interval."""
    gained, lost, total = int((new & ~old).sum()), int((old & ~new).sum()), len(old)
    low, high = loss_interval(gained, lost, total)
    change = Points((gained - lost) / total, float(low), float(high))
    return AnswerChange(figure, float(old.mean()), float(new.mean()), change)


@dataclass(frozen=True, slots=True)
class RefusalRates(ResultRow):
    """Refusals among the facts of a group.

    Attributes:
        relation: id; None for all facts.
        known, unknown: numbers of facts that the other result shows as known, and as unknown.
        needless: share of refusals among known facts, without those that are known by lucky guesses; None if there are
            none.
        justified: share of refusals among unknown facts.
        undecided: number of facts that the other result leaves open.
    """

    relation: str | None
    name: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    known: Annotated[int, Heading("known")]
    needless: Annotated[Share | None, Heading("needless refusals")]
    unknown: Annotated[int, Heading("unknown")]
    justified: Annotated[Share | None, Heading("justified refusals")]
    undecided: Annotated[int, Heading("undecided")]


@dataclass(frozen=True, slots=True)
class RefusedFact(ResultRow):
    """A refused fact that the other result shows as known."""

    fact: str
    relation: str
    relation_name: Annotated[str, Heading("relation")]
    question: Annotated[str, Heading("question")]
    right_answer: Annotated[str, Heading("right")]
    said: Annotated[str | None, Heading("said")]


_RATES = (
    "Needless: share of refusals among the facts that {known_by} shows as known, {guessing}. Justified: among those"
    " that it shows as unknown. Undecided: refused or off the format there, or as often right as wrong. 95% intervals."
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RefusalDiagnosis(StoredResult):
    """Refusals of a model among the facts that another result of it shows as known and as unknown.

    Attributes:
        result, known_by: names of the results.
        guessed: mean chance level of the other result.
        groups: all facts (relation None), then each relation, the most needless refusals first.
        needless: the refused facts that the other result shows as known.
    """

    model: str
    result: str
    known_by: str
    guessed: float
    groups: Annotated[Sequence[RefusalRates], Listing("Refusals of known and of unknown facts", _RATES, main=True)]
    needless: Annotated[
        Sequence[RefusedFact], Listing("Refused, and known by {known_by}", show=SHOWN_FACTS, detail=True)
    ]

    file: ClassVar[str] = "refusals"

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"{self.model}: refusals of {self.result}, next to {self.known_by}"

    @property
    def guessing(self) -> str:
        """The correction for lucky guesses, in words."""
        return (
            f"less the lucky guesses (chance level {self.guessed:.0%})" if self.guessed else "where no guess is right"
        )

    def summary(self) -> str:
        """Return both shares in a sentence."""
        row = self.groups[0]
        parts = [
            f"{rate} of the {counted(count, 'fact')} that {self.known_by} shows as {word}"
            for rate, count, word in ((row.needless, row.known, "known"), (row.justified, row.unknown, "unknown"))
            if rate is not None
        ]
        if not parts:
            return f"{self.known_by} decides about none of the {row.facts:,} facts."
        return f"{self.result} refuses {', and '.join(parts)}."

    @property
    def plots(self) -> list[CategoryPlot]:
        """Both shares over all facts, and by relation."""
        categories = []
        for row in self.groups:
            for name, rate in (("known", row.needless), ("unknown", row.justified)):
                if rate is not None:
                    categories.append(Category(f"{row.name}, {name}", rate.value, rate.low, rate.high))
        return [CategoryPlot("Refusals", "share refused, with 95% intervals", categories, (0.0, 1.0))]


def shown_by(result: Stored) -> pd.DataFrame:
    """Return which facts a result shows as known.

    Returns:
        By fact: known, True with more right answers than wrong ones, False with fewer, None if undecided (refusals and
        answers off the format count as neither; or every guess is right); guessed, the probability that a guesser is
        right more often than wrong, given that it is not as often.
    """
    facts = answered_facts(result.about.name, result.answers)
    wrong = facts["wrong"] - facts["refused"] - facts["off_format"]
    missed = facts["chances"].map(lambda chances: more_than_half([1 - chance for chance in chances]))
    guessed = (facts["guessed"] / (facts["guessed"] + missed)).fillna(0.0)
    known = pd.Series(None, facts.index, dtype=object)
    known[wrong > facts["right"]] = False
    known[wrong < facts["right"]] = True
    known[guessed >= 1] = None
    shown: pd.DataFrame = pd.DataFrame({"known": known, "guessed": guessed})
    return shown


def diagnose_refusals(
    result: Stored, known_by: str, shown: pd.DataFrame, names: Mapping[str, str], other: Path, notes: Sequence[str] = ()
) -> RefusalDiagnosis:
    """Return the refusals of a result among facts that are known, and among unknown ones.

    Args:
        known_by: name of the other result, in the folder ``other``.
        shown: its facts; see :func:`shown_by`.
        names: names of relations by id; a missing one is replaced by the id.

    Raises:
        ArgumentError: the result reads no answers in words.
        KgprobeError: the results share no fact.
    """
    facts = answered_facts(result.about.name, result.answers)
    if "texts" not in facts:
        raise ArgumentError(
            "result", f"is by the probe {result.kind.name}, which reads no refusals; expected one that generates."
        )
    facts = facts.drop(columns="guessed").join(shown, how="inner")
    if facts.empty:
        raise KgprobeError("No fact was asked in both ways. Measure the same facts: the same list, or the same seed.")
    facts["refuses"] = fact_answers(facts) == REFUSED
    groups = [_rates(names.get(relation, relation), own, relation) for relation, own in facts.groupby("relation")]
    groups.sort(key=lambda row: (-row.needless.value if row.needless else 1.0, -row.facts, str(row.relation)))
    refused = []
    for fact, row in facts[facts["refuses"] & facts["known"].eq(True)].iterrows():
        relation = row["relation"]
        question = row["question"], row["right_answer"], row["prediction"]
        refused.append(RefusedFact(str(fact), relation, names.get(relation, relation), *question))
    return RefusalDiagnosis(
        model=model_name(result.model),
        result=result.about.name,
        known_by=known_by,
        guessed=float(facts["guessed"].mean()),
        groups=[_rates("all", facts, None), *groups],
        needless=refused,
        config={"refusals": str(result.folder), "known_by": str(other)},
        notes=notes,
    )


def _rates(name: str, facts: pd.DataFrame, relation: str | None) -> RefusalRates:
    known, unknown = facts["known"].eq(True).to_numpy(bool), facts["known"].eq(False).to_numpy(bool)
    refused = facts["refuses"].to_numpy(bool)
    total = int(unknown.sum())
    needless = share_of_known(refused, known, unknown, facts["guessed"].to_numpy(np.float64))
    justified = share(int(refused[unknown].sum()), total) if total else None
    undecided = len(facts) - int(known.sum()) - total
    return RefusalRates(relation, name, len(facts), int(known.sum()), needless, total, justified, undecided)


def share_of_known(refused: Bools, known: Bools, unknown: Bools, guessed: Floats) -> Share | None:
    """Return the share of refusals among known facts, without facts that are known by lucky guesses.

    For each fact that was guessed wrong, with the chance level g, g / (1 - g) facts were guessed right, and are refused
    as often. The interval is that of the score, which is Wilson's without guesses. Simulated coverage: 91 to 100% with
    30 facts or more and chance levels up to 1/4, 88 to 100% with 1/2.

    Args:
        refused: by fact, as the others.
        known, unknown: as another way of asking shows it; a fact can be neither.
        guessed: its chance level, below 1.

    Returns:
        None if no more facts are known than by guessing.
    """
    odds = guessed[unknown] / (1 - guessed[unknown])
    lucky = odds * refused[unknown]
    right, total = float(refused[known].sum() - lucky.sum()), float(known.sum() - odds.sum())
    if total <= 0:
        return None
    # |right - x total| <= z sd(x), for the variance of known facts, lucky guesses and their estimate: quadratic in x.
    spread, of_refused = float((odds * (1 + odds)).sum()), float((lucky * (1 + odds)).sum())
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) ** 2
    square = total**2 + z * (total - spread)
    half = right * total + z * (total / 2 - of_refused)
    root = half**2 - square * (right**2 - z * of_refused)
    value = min(1.0, max(0.0, right / total))
    if square <= 0 or root < 0:
        return Share(value, 0.0, 1.0)
    low, high = (half - math.sqrt(root)) / square, (half + math.sqrt(root)) / square
    return Share(value, max(0.0, min(low, value)), min(1.0, max(high, value)))
