"""Evidence of the probe `questions`: the answer, its reading, its error class, and the tables of many answers.

docs/methods/questions.md.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import pandas as pd

from kgprobe.base.intervals import Share
from kgprobe.base.tables import Table
from kgprobe.probes.confidence import mean_of, share_of
from kgprobe.probes.outcome import (
    Alternatives,
    Evidence,
    Outcome,
    ProbeResults,
    RatedAnswer,
    Verdict,
    answered,
    shortened,
)
from kgprobe.probes.questions import ANY, OWN
from kgprobe.probes.stated import StatedConfidence, stated_tables
from kgprobe.probes.thoughts import thought_tables
from kgprobe.stats.proportions import mean_of_shares, share
from kgprobe.verbalize.answers import sentences

# The error class of answers that were right before.
OBSOLETE = "obsolete"
# Number of examples per error class, and of listed objections to a writer's questions.
SHOWN_EXAMPLES = 3
SHOWN_REASONS = 5


class RightAnswer(msgspec.Struct, frozen=True):
    """A right answer with its names, the label first."""

    id: str
    names: tuple[str, ...]


def names_of(answers: Iterable[RightAnswer]) -> list[str]:
    """Return all names of some answers."""
    return list(chain.from_iterable(map(attrgetter("names"), answers)))


class FollowUp(msgspec.Struct, frozen=True):
    """A follow-up question after a mistake; the answer is None if the model gave none."""

    question: str
    answer: str | None
    verdict: str


class QuestionEvidence(Evidence, frozen=True, tag="questions"):
    """One question and its answer.

    Attributes:
        kind: ``yes/no`` or ``wh``.
        answer: without its confidence; None if the model gave none.
        expected: for a yes/no question, True if yes is right.
        negative: for a yes/no question, the id of the wrong object in place of the fact's.
        candidates: number of objects that the graph has of the relation, from which the wrong object was drawn.
        right: for a wh-question, all right answers, the fact's own object first.
        says: for a yes/no question, True for yes and False for no in the first word; None for neither.
        named: for a wh-question, the names of the fact's own object in the answer.
        named_beside: for a wh-question, the names of further right objects in the answer.
        graded: for a wh-question, the grader's verdict; None without a grader or with an unreadable reply.
        credited_own, credited_any: for a wh-question, True if the answer names the fact's own object, and any right
            object; the option ``credit`` selects the one that is the verdict. None if the grader gave no answer.
        grade_unread: True if the grader's reply is unreadable.
        unplaced: True if the patterns find neither a yes, a no or a name of the relation nor a refusal.
        written: True if the text is a writer's, False if a template replaced it; None without a writer.
        fell_back: objections to the writer's text, if a template replaced it.
        error: the error class; None if the answer is not wrong.
        follow_ups: the follow-up questions after a mistake.
        thought: beginning of the thought before the answer; None without one, empty if it is hidden.
        thought_tokens: tokens of the thought.
        thought_cut: True if the model did not end its thought by itself.
        stated: confidence that the model stated; None if it was not asked for one.
    """

    kind: str
    text: str
    answer: str | None
    chance: float
    expected: bool | None = None
    negative: str | None = None
    candidates: int | None = None
    right: tuple[RightAnswer, ...] = ()
    says: bool | None = None
    named: tuple[str, ...] = ()
    named_beside: tuple[str, ...] = ()
    graded: bool | None = None
    credited_own: bool | None = None
    credited_any: bool | None = None
    grade_unread: bool = False
    unplaced: bool = False
    written: bool | None = None
    fell_back: tuple[str, ...] = ()
    error: str | None = None
    follow_ups: tuple[FollowUp, ...] = ()
    thought: str | None = None
    thought_tokens: int = 0
    thought_cut: bool = False
    stated: StatedConfidence | None = None

    @property
    def rated(self) -> Sequence[RatedAnswer]:
        """The answer with its stated confidence."""
        abstains = self.error in (Verdict.REFUSED.value, Verdict.OFF_FORMAT.value)
        return [] if self.stated is None else [self.stated.rated(right=self.error is None, abstains=abstains)]

    @property
    def alternatives(self) -> Alternatives:
        """The answer; for an obsolete answer, also the text that names the former object: answer or yes/no question."""
        former = self.answer if self.expected is None else self.text
        return Alternatives(text=self.answer, former=former if self.error == OBSOLETE else None)

    @property
    def counts(self) -> Mapping[str, int]:
        """The text, and whether it is unplaced."""
        return {"texts": 1, "unplaced": int(self.unplaced)}

    @property
    def question(self) -> str:
        """The question."""
        return self.text

    @property
    def right_answer(self) -> str:
        """Yes or no, or the fact's own object with the further right ones."""
        if self.expected is not None:
            return "yes" if self.expected else "no"
        own, *others = (answer.names[0] for answer in self.right)
        return f"{own} (also right: {'; '.join(others)})" if others else own

    @property
    def prediction(self) -> str | None:
        """The first sentence of a wrong answer; None for a right one."""
        if self.error is None:
            return None
        return shortened((sentences(self.answer or "") or [""])[0])

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:
        """Return the answers by kind, to yes/no questions by the right answer, by credit, and the mistakes by class.

        Empty tables are left out. Memory: a few values per fact, and the examples.
        """
        credit = described.get("credit", OWN)
        rows: list[dict[str, Any]] = []
        rated: list[RatedAnswer] = []
        examples: defaultdict[str, list[QuestionEvidence]] = defaultdict(list)
        # Questions by objection to the writer's text; a question may have several.
        objections: Counter[str] = Counter()
        for outcome, evidence in answered(outcomes, cls):
            names = evidence.named if credit == OWN else (*evidence.named, *evidence.named_beside)
            row = {
                "fact": outcome.fact.fact,
                "kind": evidence.kind,
                "right": outcome.verdict is Verdict.RIGHT,
                "refused": outcome.verdict is Verdict.REFUSED,
                "off_format": outcome.verdict is Verdict.OFF_FORMAT,
                "unplaced": evidence.unplaced,
                "chance": evidence.chance,
                "expected": evidence.expected,
                "candidates": evidence.candidates,
                "says": evidence.says,
                "graded": evidence.graded,
                "agreed": evidence.graded == bool(names),
                OWN: evidence.credited_own,
                ANY: evidence.credited_any,
                "several": len(evidence.right) > 1,
                "unread": evidence.grade_unread,
                "written": evidence.written,
                "error": evidence.error,
                "thought_tokens": evidence.thought_tokens,
                "thought_cut": evidence.thought_cut,
            }
            rows.append(row)
            rated += evidence.rated
            # An objection's details in this question follow the colon.
            objections.update({reason.partition(":")[0] for reason in evidence.fell_back})
            if evidence.error is not None and len(examples[evidence.error]) < SHOWN_EXAMPLES:
                examples[evidence.error].append(evidence)
        if not rows:
            return ProbeResults()
        answers = pd.DataFrame(rows)
        tables = [*_answer_tables(answers, list(_notes(answers, objections))), *_credits_tables(answers, credit)]
        tables += stated_tables(rated)
        tables += thought_tables(answers["thought_tokens"].tolist(), int(answers["thought_cut"].sum()), described)
        return ProbeResults([*tables, _errors_table(answers, examples)] if examples else tables)


def _side(expected: bool, answers: pd.DataFrame) -> dict[str, Any]:
    """Return the row of the yes/no questions with the same right answer; refusals count as neither."""
    says = answers["says"][answers["expected"].eq(expected)]
    yes, no = int(says.eq(True).sum()), int(says.eq(False).sum())
    return {
        "right answer": "yes" if expected else "no",
        "answers": len(says),
        "right": share(yes if expected else no, len(says)) if len(says) else None,
        "said yes": yes,
        "said no": no,
        "said neither": len(says) - yes - no,
    }


def _candidates_note(candidates: "pd.Series[Any]") -> Iterator[str]:
    """Yield a note on the numbers of objects from which wrong objects were drawn, if some were."""
    known = candidates.dropna().astype(int)
    if len(known):
        numbers = f"{known.min():,} to {known.max():,}" if known.min() < known.max() else f"{known.max():,}"
        drawn = "Wrong objects of yes/no questions are drawn from the objects that the graph has of the relation"
        yield f"{drawn}: {numbers}, median {known.median():,.0f}."


def _answer_tables(answers: pd.DataFrame, notes: Sequence[str]) -> Iterator[Table]:
    rows = []
    tables = []
    for kind, group in answers.groupby("kind"):
        yes, no = _side(True, group), _side(False, group)
        sides = group["says"][group["expected"].notna()].dropna()
        says_yes = share(int(sides.sum()), len(sides)) if len(sides) else None
        balanced = mean_of_shares(yes["right"], no["right"]) if yes["right"] and no["right"] else None
        row = {
            "kind": kind,
            "answers": len(group),
            "right": share_of(group["right"]),
            "balanced accuracy": balanced,
            "says yes": says_yes,
            "refused": int(group["refused"].sum()),
            "off the format": int(group["off_format"].sum()),
            "by guessing": mean_of(group["chance"]),
        }
        rows.append(row)
        if yes["answers"] or no["answers"]:
            notes_of_sides = list(_notes_of_sides(yes["answers"], no["answers"], says_yes, balanced))
            notes_of_sides += _candidates_note(group["candidates"])
            tables.append(Table("sides", "Yes/no questions by their right answer", [yes, no], notes_of_sides))
    yield Table("kinds", "By kind of question", rows, notes)
    yield from tables


def _notes_of_sides(yes: int, no: int, says_yes: Share | None, balanced: Share | None) -> Iterator[str]:
    """Yield notes on questions with the answers yes and no: a model that always says no gets half of them right."""
    if says_yes:
        yield f"It says yes in {says_yes} of its answers; yes is right for {yes / (yes + no):.0%} of the questions."
    if balanced:
        yield f"Balanced accuracy, the mean of the two: {balanced}; 50% by guessing, or by one word."
    else:
        yield f"No question has the right answer {'no' if yes else 'yes'}: balanced accuracy is undefined."


def _credits_tables(answers: pd.DataFrame, credit: str) -> Iterator[Table]:
    """Yield the rates of answers and facts by both credits, if there are wh-questions.

    A credit is None if the grader gave no answer; ``credit`` is the one that is the verdict.
    """
    is_wh = answers["kind"].eq("wh")
    if not answers.loc[is_wh, [OWN, ANY]].notna().any(axis=None):
        return
    rows = []
    for name, words in ((OWN, "the fact's own object"), (ANY, "any right object")):
        # Yes/no questions have one right answer: it counts for both.
        right = answers[name].where(is_wh, answers["right"]).dropna().astype(bool)
        of_wh = right[is_wh[right.index]]
        by_fact = right.groupby(answers["fact"]).agg(["sum", "size"])
        wins, misses = by_fact["sum"] > by_fact["size"] - by_fact["sum"], by_fact["sum"].eq(0)
        row = {
            "credit": name,
            "right if it names": words,
            "verdict": "yes" if name == credit else "no",
            "wh-answers": len(of_wh),
            "right": share_of(of_wh) if len(of_wh) else None,
            "facts": len(by_fact),
            "win rate": share_of(wins) if len(by_fact) else None,
            "zero-sense rate": share_of(misses) if len(by_fact) else None,
        }
        rows.append(row)
    several = int((is_wh & answers["several"]).sum())
    notes = [
        f"Several objects are right for {several:,} of {int(is_wh.sum()):,} wh-questions; the others do not differ."
    ]
    unknown = int(answers.loc[is_wh, [OWN, ANY]].isna().any(axis=1).sum())
    if unknown:
        notes.append(f"The grader gave no answer about one credit of {unknown:,} wh-answers; it is left out.")
    yield Table("credits", "By credit of wh-questions; yes/no questions count in the rates of facts", rows, notes)


def _errors_table(answers: pd.DataFrame, examples: Mapping[str, Sequence[QuestionEvidence]]) -> Table:
    errors = Counter(answers["error"].dropna())
    rows: list[dict[str, Any]] = []
    for name, count in errors.most_common():
        error = {"class": name, "answers": count, "share": count / errors.total()}
        for example in examples[name]:
            texts = {"question": example.text, "what it said": example.answer or None, "right": example.right_answer}
            rows.append(error | texts)
    return Table("errors", "Errors", rows, groups_by="class")


def _notes(answers: pd.DataFrame, objections: Counter[str]) -> Iterator[str]:
    agreed = answers["agreed"][answers["graded"].notna()]
    if len(agreed):
        yield f"Grader and names say the same of {agreed.sum():,} of {len(agreed):,} wh-answers."
    if answers["unread"].any():
        yield f"{answers['unread'].sum():,} replies of the grader could not be read: names decided alone."
    read = int((answers["unplaced"] & answers["refused"]).sum())
    if read:
        yield f"{read:,} of {answers['unplaced'].sum():,} unplaced answers are refusals by the grader."
    written = answers["written"].dropna()
    if len(written):
        text = f"{written.sum():,} of {len(written):,} questions are in the writer's words."
        reasons = [f"{reason} ({count:,})" for reason, count in objections.most_common(SHOWN_REASONS)]
        if len(objections) > SHOWN_REASONS:
            reasons.append("…")
        yield f"{text} Objections to the others: {'; '.join(reasons)}." if reasons else text
