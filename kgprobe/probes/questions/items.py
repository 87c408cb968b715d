"""Facts as questions: yes or no, or who, which and what.

Section 2.2 of the parameterized-graph paper; docs/methods/questions.md. A yes/no question is about the fact itself
or, half of the time, about a hard negative (:mod:`kgprobe.sampling.question_negatives`). A wh-question has all of the
subject's objects for an answer, so it is put only where there are fewer than ten, and not where it would say the
answer itself; where there are several it asks for all, and the fact's own object is the one that counts. A question
is in the words of a template, or of a model that writes it (:mod:`kgprobe.verbalize.question_writing`).
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import msgspec
import numpy as np

from kgprobe.errors import ArgumentError
from kgprobe.graph.client import Graph, Row
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.probes.questions import DIFFICULTIES
from kgprobe.probes.questions.evidence import RightAnswer
from kgprobe.records import Relation
from kgprobe.sampling.facts import AskedFact, askable_relations, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negative, Negatives
from kgprobe.verbalize.answers import named_in, normalized
from kgprobe.verbalize.articles import mention
from kgprobe.verbalize.question_writing import (
    QUESTION_TOKENS,
    QuestionTask,
    objections,
    writing_prompt,
    written_question,
)
from kgprobe.verbalize.sentences import fill, wh_question
from kgprobe.verbalize.tense import speaks_of_today

# Sets the choice of kind, side and template apart from all others that follow from the same seed.
QUESTIONS = 5

# Section 2.2: wh-questions are put where there are fewer objects.
WH_OBJECTS = 10

# Negatives drawn for one that has no name in common with what is right.
_DRAWN = 4


class Kind(str, Enum):
    """What a question asks for."""

    YES_NO = "yes/no"
    WH = "wh"


@dataclass(frozen=True, slots=True)
class Question:
    """One question about a fact.

    Attributes:
        text: empty where there is none; then ``reason`` says why.
        right: all objects that are true of the subject.
        former: objects that were, and are no more.
        negative: what a yes/no question is about in place of the fact's object, where the answer is no.
        written: whether the text is a writer's, or that of a template in its place; None where nobody writes.
        fell_back: what speaks against the writer's text, where a template's stands in its place.
    """

    fact: AskedFact
    kind: Kind = Kind.YES_NO
    text: str = ""
    right: Sequence[RightAnswer] = ()
    former: Sequence[RightAnswer] = ()
    negative: Negative | None = None
    reason: str | None = None
    written: bool | None = None
    fell_back: Sequence[str] = ()

    @property
    def expected(self) -> bool:
        """Whether yes is the right answer to a yes/no question."""
        return self.negative is None

    @property
    def shown(self) -> tuple[str, ...]:
        """What the object in a yes/no question is called; the first name is the one that stands there."""
        if self.negative is not None:
            return (self.negative.label, *self.negative.aliases)
        return (self.fact.object_label, *self.fact.object_aliases)

    @property
    def own(self) -> RightAnswer:
        """The fact's own object, by which alone the fact is credited."""
        return next(one for one in self.right if one.id == self.fact.object)

    @property
    def others(self) -> list[RightAnswer]:
        """What is right beside the fact's own object."""
        return [one for one in self.right if one.id != self.fact.object]

    @property
    def asks_for_all(self) -> bool:
        """Whether it is a wh-question that asks for several names."""
        return self.kind is Kind.WH and len(self.right) > 1

    @property
    def chance(self) -> float:
        """How often guessing is right."""
        return 0.5 if self.kind is Kind.YES_NO else 0.0


class QuestionItems:
    """Makes questions of facts whose relations have templates of them.

    Attributes:
        graph: that they are asked of.
        relations: ids of those whose facts can be asked, sorted.
    """

    def __init__(
        self,
        graph: Graph,
        as_of: int,
        *,
        difficulty: str = "hard",
        with_alias: bool = False,
        relations: Sequence[str] = (),
        writer: Generator | None = None,
    ) -> None:
        """Read the relations' templates of questions.

        Args:
            as_of: what is true at this date (``yyyymmdd``) is the answer.
            difficulty: one of ``DIFFICULTIES``.
            with_alias: whether the subject's first alias is mentioned, for those that share a name.
            relations: ids; none means every active relation that has a template of a question.
            writer: who words the questions; what does not pass the checks stays in the words of a template. None
                leaves all to templates.

        Raises:
            ArgumentError: there is no such difficulty.
            UnknownNameError: a relation that was named is not active or has no question.
            KgprobeError: no relation has a question.
        """
        if difficulty not in DIFFICULTIES:
            raise ArgumentError("difficulty", f"is {difficulty!r}; {' or '.join(DIFFICULTIES)} is expected.")
        rows = askable_relations(graph, ["yes_no_questions"], relations)
        self.relations: Sequence[str] = list(rows)
        self._templates = rows
        # Did [X] receive [Y]? Whoever did before, did.
        self._timeless = {
            relation
            for relation, row in rows.items()
            if not all(map(speaks_of_today, (*row["yes_no_questions"], *row["statements"])))
        }
        self._writer = writer
        self.graph = graph
        self._as_of = as_of
        self._difficulty = difficulty
        self._with_alias = with_alias
        self._negatives = Negatives(graph, as_of)

    def describe(self) -> dict[str, Any]:
        """What the questions depend on besides graph, facts and seed; JSON-compatible."""
        return {
            "as_of": self._as_of,
            "difficulty": self._difficulty,
            "with_alias": self._with_alias,
            "writer": dict(self._writer.describe()) if self._writer else None,
            "yes_no_questions": {id_: list(row["yes_no_questions"]) for id_, row in self._templates.items()},
            "wh_questions": {id_: list(row["wh_questions"]) for id_, row in self._templates.items()},
        }

    def of(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Question]:
        """A question a fact, in order, drawn from a stream of the fact's own.

        Cost: a walk from each subject, and the drawing of negatives; with a writer, a request for each question.

        Raises:
            KgprobeError: the writer cannot be asked at all, or its budget is spent.
        """
        described = describe_facts(self.graph, facts)
        answers = self._answers(facts)
        generators = {
            key.fact: np.random.default_rng([*seed, QUESTIONS, zlib.crc32(key.fact.encode())]) for key in facts
        }
        questions = [self._begun(fact, answers[fact.key.fact], generators[fact.key.fact]) for fact in described]
        opposed = [one.fact.key for one in questions if self._is_opposed(one, generators[one.fact.key.fact])]
        drawn = self._negatives.draw(opposed, _DRAWN, seed) if opposed else []
        right = {one.fact.key.fact: [name for its in one.right for name in its.names] for one in questions}
        relations = {one.fact.key.fact: one.fact.relation for one in questions}
        negatives = {
            key.fact: next(
                (
                    one
                    for one in its
                    if not _is_namesake(one, right[key.fact])
                    and not (one.former and relations[key.fact] in self._timeless)
                ),
                None,
            )
            for key, its in zip(opposed, drawn, strict=True)
        }
        worded = [
            self._worded(replace(one, negative=negatives.get(one.fact.key.fact)), generators[one.fact.key.fact])
            for one in questions
        ]
        return self._rewritten(worded, self._writer) if self._writer else worded

    def paraphrases(self, question: Question) -> list[str]:
        """The same question in other words, in which a yes/no question is also one about a statement."""
        templates = self._templates[question.fact.relation]
        if question.kind is Kind.WH:
            texts = self._wh_texts(question)
        else:
            names = (self._subject(question.fact), question.shown[0])
            texts = [fill(template, *names) for template in templates["yes_no_questions"]]
            texts += [f'Is this true: "{fill(template, *names)}"?' for template in templates["statements"]]
        return [text for text in dict.fromkeys(texts) if text != question.text]

    def templates(self, question: Question) -> list[str]:
        """What the question's relation says of both ends, as sentences or questions with placeholders."""
        row = self._templates[question.fact.relation]
        return [*row["statements"], *row["yes_no_questions"]]

    def about(self, question: Question) -> Question:
        """The yes/no question about the fact itself, to which yes is the answer."""
        positive = replace(question, kind=Kind.YES_NO, negative=None)
        template = self._templates[question.fact.relation]["yes_no_questions"][0]
        text = fill(template, self._subject(question.fact), positive.shown[0])
        return replace(positive, text=text, written=None, fell_back=())

    def _answers(self, facts: Sequence[FactKey]) -> dict[str, list[Row]]:
        answers: dict[str, list[Row]] = {key.fact: [] for key in facts}
        for row in self.graph.read("sample/answers", rows=[key._asdict() for key in facts], as_of=self._as_of):
            answers[row["fact"]].append(row)
        return answers

    def _begun(self, fact: AskedFact, answers: Sequence[Row], generator: np.random.Generator) -> Question:
        """What is asked for, or why nothing can be; not yet in words."""
        if fact.relation not in self._templates:
            return Question(
                fact, reason="its relation is not among those asked: inactive, not named, or without a yes/no question"
            )
        right = [RightAnswer(row["id"], (row["label"], *row["aliases"])) for row in answers if row["current"]]
        former = [
            RightAnswer(row["id"], (row["label"], *row["aliases"]))
            for row in answers
            if row["former"] and not row["current"]
        ]
        if fact.object not in {one.id for one in right}:
            return Question(fact, reason=f"it does not hold at {self._as_of}, and questions are asked in the present")
        if not fact.subject_label.strip():
            return Question(fact, reason="its subject's label is white space")
        if not fact.object_label.strip():
            return Question(fact, reason="its object's label is white space")
        question = Question(fact, Kind.YES_NO, "", right, former)
        # Drawn for every fact, so that what follows in the stream does not depend on it.
        wh = generator.random() < 0.5
        if wh and self._difficulty == "hard" and len(right) < WH_OBJECTS and self._wh_texts(question):
            return replace(question, kind=Kind.WH)
        return question

    def _wh_texts(self, question: Question) -> list[str]:
        """The wh-questions that do not say the answer."""
        names = [name for one in question.right for name in one.names]
        templates: Sequence[str] = self._templates[question.fact.relation]["wh_questions"]
        texts = [wh_question(template, self._subject(question.fact)) for template in templates]
        return [text for text in texts if not named_in(text, names)]

    def _is_opposed(self, question: Question, generator: np.random.Generator) -> bool:
        against = bool(generator.random() < 0.5)
        return against and question.reason is None and question.kind is Kind.YES_NO

    def _worded(self, question: Question, generator: np.random.Generator) -> Question:
        if question.reason is not None:
            return question
        if question.kind is Kind.WH:
            texts = self._wh_texts(question)
            return replace(question, text=texts[generator.integers(len(texts))])
        templates = self._templates[question.fact.relation]["yes_no_questions"]
        template = templates[generator.integers(len(templates))]
        return replace(question, text=fill(template, self._subject(question.fact), question.shown[0]))

    def _subject(self, fact: AskedFact) -> str:
        # What stands in brackets has no say in the name's article.
        return _told(fact, mention(fact.subject_label), [fact.object_label]) if self._with_alias else fact.subject_label

    def _rewritten(self, questions: Sequence[Question], writer: Generator) -> list[Question]:
        """The questions in the writer's words, where these pass the checks."""
        places = [place for place, question in enumerate(questions) if question.reason is None]
        wanted = [self._wanted(questions[place]) for place in places]
        prompts = [writing_prompt(each, with_alias=self._with_alias) for each in wanted]
        answers = writer.answer([Request(prompt, QUESTION_TOKENS) for prompt in prompts])
        rewritten = list(questions)
        for place, each, answer in zip(places, wanted, answers, strict=True):
            rewritten[place] = _reworded(questions[place], each, answer)
        return rewritten

    def _wanted(self, question: Question) -> QuestionTask:
        fact = question.fact
        shown = question.shown if question.kind is Kind.YES_NO else ()
        right = [name for one in question.right for name in one.names if name not in shown]
        told = self._subject(fact)
        subject: Sequence[str] = (told,)
        if not self._with_alias:
            # The writer may say either name, and is told both.
            told = _told(fact, mention(fact.subject_label), [*shown, *right])
            subject = (fact.subject_label, *fact.subject_aliases)
        relation = msgspec.convert(self._templates[fact.relation], Relation)
        return QuestionTask(told, subject, shown, right, relation)


def _told(fact: AskedFact, subject: str, unsaid: Sequence[str]) -> str:
    """The subject with its first alias that says none of these names."""
    told = [alias for alias in fact.subject_aliases if alias.strip() and not named_in(alias, unsaid)]
    return f"{subject} (also called {told[0]})" if told else subject


def _reworded(question: Question, wanted: QuestionTask, answer: Answer | Unanswered) -> Question:
    if isinstance(answer, Unanswered):
        return replace(question, written=False, fell_back=[f"got no answer: {answer.reason}"])
    if answer.refused:
        return replace(question, written=False, fell_back=["was refused"])
    text = written_question(answer.text)
    if reasons := objections(text, wanted):
        return replace(question, written=False, fell_back=reasons)
    return replace(question, text=text, written=True)


def _is_namesake(negative: Negative, names: Sequence[str]) -> bool:
    """Whether a negative has the name of something right, but for capitals, accents and punctuation."""
    return not {normalized(name) for name in names}.isdisjoint(map(normalized, (negative.label, *negative.aliases)))
