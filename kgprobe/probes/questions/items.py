"""Questions about facts: yes/no, or who, which and what (wh).

Section 2.2 of the parameterized-graph paper; docs/methods/questions.md. A yes/no question is about the fact itself
or, half of the time, about a hard negative (:mod:`kgprobe.sampling.question_negatives`). All of the subject's objects
answer a wh-question. So it is asked only if there are fewer than ten, and never if it reveals the answer. With several
objects it asks for all, and the fact's own object counts. A template or a model words the question
(:mod:`kgprobe.verbalize.question_writing`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from kgprobe.base.arguments import check_choice
from kgprobe.base.records import Relation
from kgprobe.graph.client import Graph, Row
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.probes.asking import nameless
from kgprobe.probes.questions import DIFFICULTIES, EASY, OPEN
from kgprobe.probes.questions.evidence import RightAnswer, names_of
from kgprobe.sampling.facts import AskedFact, describe_facts, read_answers
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import generator_of
from kgprobe.sampling.question_negatives import Negative, Negatives
from kgprobe.verbalize.answers import named_in, normalized
from kgprobe.verbalize.articles import mention
from kgprobe.verbalize.askable_relations import askable_relations, generic_setting
from kgprobe.verbalize.language import ENGLISH, Language, language_of
from kgprobe.verbalize.question_writing import (
    QUESTION_TOKENS,
    QuestionTask,
    objections,
    writing_prompt,
    written_question,
)
from kgprobe.verbalize.sentences import fill, wh_question
from kgprobe.verbalize.tense import speaks_of_today

# Key of the random stream of kind, negative and template, different from all other streams of the same seed.
QUESTIONS = 5

# Section 2.2: wh-questions are asked about fewer objects than this.
WH_OBJECTS = 10

# Reason why a fact has no wh-question.
_NOT_OPEN = f"it has no question with who, which or what that hides the answer, or {WH_OBJECTS} right answers or more"

# Number of negatives to draw for one that has no name in common with right answers.
_DRAWN = 4


class QuestionKind(str, Enum):
    """Kind of a question."""

    YES_NO = "yes/no"
    WH = "wh"


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """One question about a fact.

    Attributes:
        text: empty if the fact cannot be asked, for ``reason``.
        negative: the wrong object of a yes/no question with the answer no.
        written, fell_back: see :class:`~.evidence.QuestionEvidence`.
    """

    fact: AskedFact
    kind: QuestionKind = QuestionKind.YES_NO
    text: str = ""
    right: Sequence[RightAnswer] = ()
    former: Sequence[RightAnswer] = ()
    negative: Negative | None = None
    reason: str | None = None
    written: bool | None = None
    fell_back: Sequence[str] = ()
    language: Language = ENGLISH

    @property
    def expected(self) -> bool:
        """True if yes is the right answer to a yes/no question."""
        return self.negative is None

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the object in a yes/no question; the question contains the first."""
        if self.negative is not None:
            return (self.negative.label, *self.negative.aliases)
        return (self.fact.object_label, *self.fact.object_aliases)

    @property
    def own(self) -> RightAnswer:
        """The fact's own object, which a right answer must name."""
        return next(answer for answer in self.right if answer.id == self.fact.object)

    @property
    def others(self) -> list[RightAnswer]:
        """The further right objects."""
        return [answer for answer in self.right if answer.id != self.fact.object]

    @property
    def asks_for_all(self) -> bool:
        """True for a wh-question with several right answers."""
        return self.kind is QuestionKind.WH and len(self.right) > 1

    @property
    def chance(self) -> float:
        """The chance level."""
        return 0.5 if self.kind is QuestionKind.YES_NO else 0.0


def right_and_former(rows: Sequence[Row]) -> tuple[list[RightAnswer], list[RightAnswer]]:
    """Return the right objects, and the former ones, of rows of :func:`~kgprobe.sampling.facts.read_answers`."""
    right: list[RightAnswer] = []
    former: list[RightAnswer] = []
    for row in rows:
        if row["current"] or row["former"]:
            answer = RightAnswer(row["id"], (row["label"], *row["aliases"]))
            (right if row["current"] else former).append(answer)
    return right, former


class QuestionItems:
    """Questions about a graph's facts; ``relations`` are the sorted ids of those with templates of questions."""

    def __init__(
        self,
        graph: Graph,
        as_of: int,
        *,
        difficulty: str = "hard",
        with_alias: bool = False,
        relations: Sequence[str] = (),
        writer: Generator | None = None,
        only_generic: bool = False,
    ) -> None:
        """Read the relations' templates of questions.

        Args:
            difficulty: one of ``DIFFICULTIES``.
            with_alias: mention the subject's first alias, for subjects that share a name.
            writer: model that words the questions; a template replaces questions that fail the checks. None for
                templates only.
            only_generic: ask every relation by templates made of its label.
        """
        check_choice("difficulty", difficulty, DIFFICULTIES)
        rows = askable_relations(graph, ["yes_no_questions"], relations, only_generic=only_generic)
        self.relations: Sequence[str] = list(rows)
        self._templates = rows
        self.language = language_of(graph.language)
        # The answer to "Did [X] receive [Y]?" is yes for former objects, too.
        self._timeless: set[str] = set()
        for relation, row in rows.items():
            texts = (*row["yes_no_questions"], *row["statements"])
            if not all(speaks_of_today(text, self.language) for text in texts):
                self._timeless.add(relation)
        self._writer = writer
        self.graph = graph
        self._as_of = as_of
        self._difficulty = difficulty
        self._with_alias = with_alias
        self._negatives = Negatives(graph, as_of)

    def describe(self) -> dict[str, Any]:
        """Return the settings that the questions depend on, without graph, facts and seed; JSON-compatible."""
        return {
            "as_of": self._as_of,
            "difficulty": self._difficulty,
            "with_alias": self._with_alias,
            "writer": dict(self._writer.describe()) if self._writer else None,
            "yes_no_questions": {id_: list(row["yes_no_questions"]) for id_, row in self._templates.items()},
            "wh_questions": {id_: list(row["wh_questions"]) for id_, row in self._templates.items()},
            **generic_setting(self._templates),
        }

    def of(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[FactQuestion]:
        """Return a question for each fact, in order, drawn from the fact's own random stream.

        Cost: a walk from each subject, and the drawing of negatives; with a writer, a request for each question.

        Raises:
            KgprobeError: the writer cannot be asked at all, or its budget is spent.
        """
        described = describe_facts(self.graph, facts)
        answers = read_answers(self.graph, facts, self._as_of)
        generators = {key.fact: generator_of(key, [*seed, QUESTIONS]) for key in facts}
        questions = [self._choose_kind(fact, answers[fact.key.fact], generators[fact.key.fact]) for fact in described]
        negated = []
        for question in questions:
            # Drawn for every fact, so that the rest of its random stream does not depend on the kind.
            no = generators[question.fact.key.fact].random() < 0.5
            if no and question.reason is None and question.kind is QuestionKind.YES_NO:
                negated.append(question)
        negatives = self._draw_negatives(negated, seed)
        worded = []
        for question in questions:
            fact = question.fact.key.fact
            worded.append(self._worded(replace(question, negative=negatives.get(fact)), generators[fact]))
        return self._rewritten(worded, self._writer) if self._writer else worded

    def _draw_negatives(self, questions: Sequence[FactQuestion], seed: Sequence[int]) -> dict[str, Negative]:
        """Return a wrong object for each question that has one, by fact."""
        drawn = self._negatives.draw(list(map(attrgetter("fact"), questions)), _DRAWN, seed) if questions else []
        negatives = {}
        for question, candidates in zip(questions, drawn, strict=True):
            names = set(map(normalized, names_of(question.right)))
            is_timeless = question.fact.relation in self._timeless
            for negative in candidates:
                is_namesake = not names.isdisjoint(map(normalized, (negative.label, *negative.aliases)))
                if not is_namesake and not (negative.former and is_timeless):
                    negatives[question.fact.key.fact] = negative
                    break
        return negatives

    def paraphrases(self, question: FactQuestion) -> list[str]:
        """Return paraphrases of a question; those of a yes/no question include questions about a statement."""
        templates = self._templates[question.fact.relation]
        if question.kind is QuestionKind.WH:
            texts = self._wh_texts(question)
        else:
            names = (self._subject(question.fact), question.shown[0])
            texts = [fill(template, *names, self.language) for template in templates["yes_no_questions"]]
            statements = (fill(template, *names, self.language) for template in templates["statements"])
            texts += [self.language.prompts.is_true.replace("{statement}", text) for text in statements]
        return [text for text in dict.fromkeys(texts) if text != question.text]

    def templates(self, question: FactQuestion) -> list[str]:
        """Return the relation's statements and yes/no questions, with both placeholders."""
        row = self._templates[question.fact.relation]
        return [*row["statements"], *row["yes_no_questions"]]

    def about(self, question: FactQuestion) -> FactQuestion:
        """Return the yes/no question about the fact itself, with the answer yes."""
        positive = replace(question, kind=QuestionKind.YES_NO, negative=None)
        template = self._templates[question.fact.relation]["yes_no_questions"][0]
        text = fill(template, self._subject(question.fact), positive.shown[0], self.language)
        return replace(positive, text=text, written=None, fell_back=())

    def _choose_kind(self, fact: AskedFact, answers: Sequence[Row], generator: np.random.Generator) -> FactQuestion:
        """Return a question of a random kind, still without text, or with the reason why the fact cannot be asked."""
        right, former = right_and_former(answers)
        reason = nameless(fact)
        if fact.relation not in self._templates:
            reason = "its relation is not asked: it is inactive, not selected, or has no yes/no question"
        elif fact.object not in map(attrgetter("id"), right):
            reason = f"it does not hold at {self._as_of}, and questions are asked in the present"
        if reason is not None:
            return FactQuestion(fact, reason=reason)
        question = FactQuestion(fact, QuestionKind.YES_NO, "", right, former, language=self.language)
        # Drawn for every fact, so that the rest of the random stream does not depend on the difficulty.
        wh = generator.random() < 0.5 or self._difficulty == OPEN
        if wh and self._difficulty != EASY and len(right) < WH_OBJECTS and self._wh_texts(question):
            return replace(question, kind=QuestionKind.WH)
        if self._difficulty == OPEN:
            return replace(question, reason=_NOT_OPEN)
        return question

    def _wh_texts(self, question: FactQuestion) -> list[str]:
        """Return the wh-questions that do not contain a right answer."""
        names = names_of(question.right)
        templates: Sequence[str] = self._templates[question.fact.relation]["wh_questions"]
        texts = [wh_question(template, self._subject(question.fact), self.language) for template in templates]
        return [text for text in texts if not named_in(text, names, language=self.language)]

    def _worded(self, question: FactQuestion, generator: np.random.Generator) -> FactQuestion:
        if question.reason is not None:
            return question
        if question.kind is QuestionKind.WH:
            texts = self._wh_texts(question)
            return replace(question, text=texts[generator.integers(len(texts))])
        templates = self._templates[question.fact.relation]["yes_no_questions"]
        template = templates[generator.integers(len(templates))]
        return replace(question, text=fill(template, self._subject(question.fact), question.shown[0], self.language))

    def _subject(self, fact: AskedFact) -> str:
        # The alias in brackets does not affect the name's article.
        if self._with_alias:
            return self._subject_with_alias(fact, [fact.object_label])
        return fact.subject_label

    def _subject_with_alias(self, fact: AskedFact, unsaid: Sequence[str]) -> str:
        """Return the subject with its first alias that contains none of the names in ``unsaid``."""
        subject = mention(fact.subject_label) if self.language.is_english else fact.subject_label
        for alias in fact.subject_aliases:
            if alias.strip() and not named_in(alias, unsaid, language=self.language):
                return self.language.prompts.with_alias.format(name=subject, alias=alias)
        return subject

    def _rewritten(self, questions: Sequence[FactQuestion], writer: Generator) -> list[FactQuestion]:
        """Return the questions in the writer's words if these pass the checks."""
        tasks = {place: self._task(question) for place, question in enumerate(questions) if question.reason is None}
        prompts = [writing_prompt(task, with_alias=self._with_alias) for task in tasks.values()]
        answers = writer.answer([Request(prompt, QUESTION_TOKENS) for prompt in prompts])
        rewritten = list(questions)
        for (place, task), answer in zip(tasks.items(), answers, strict=True):
            rewritten[place] = _reworded(questions[place], task, answer)
        return rewritten

    def _task(self, question: FactQuestion) -> QuestionTask:
        fact = question.fact
        shown = question.shown if question.kind is QuestionKind.YES_NO else ()
        right = [name for name in names_of(question.right) if name not in shown]
        prompt_subject = self._subject(fact)
        subject: Sequence[str] = (prompt_subject,)
        if not self._with_alias:
            # The writer sees both names, and may use either.
            prompt_subject = self._subject_with_alias(fact, [*shown, *right])
            subject = (fact.subject_label, *fact.subject_aliases)
        relation = msgspec.convert(self._templates[fact.relation], Relation)
        return QuestionTask(prompt_subject, subject, shown, right, relation, self.language)


def _reworded(question: FactQuestion, task: QuestionTask, answer: Answer | Unanswered) -> FactQuestion:
    if isinstance(answer, Unanswered):
        return replace(question, written=False, fell_back=[f"got no answer: {answer.reason}"])
    if answer.refused:
        return replace(question, written=False, fell_back=["was refused"])
    text = written_question(answer.text)
    if reasons := objections(text, task):
        return replace(question, written=False, fell_back=reasons)
    return replace(question, text=text, written=True)
