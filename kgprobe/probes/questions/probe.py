"""Probe that asks questions, grades the answers, and follows up mistakes.

Section 2 of the parameterized-graph paper; docs/methods/questions.md.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import attrgetter
from typing import Any

from kgprobe.base.arguments import check_choice
from kgprobe.base.progress import share_counter
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered, describe_thinking
from kgprobe.models.generating.thinking import Thinking
from kgprobe.probes.asking import in_order
from kgprobe.probes.known_names import KnownNames
from kgprobe.probes.outcome import Outcome
from kgprobe.probes.permission import permitted
from kgprobe.probes.questions import ANY, CREDITS, OWN, QuestionOptions
from kgprobe.probes.questions.evidence import FollowUp, QuestionEvidence
from kgprobe.probes.questions.grading import (
    ErrorClass,
    GradedAnswer,
    class_after,
    follow_ups,
    grading_prompt,
    read_error,
    refusal_prompt,
    verify,
    with_both_credits,
)
from kgprobe.probes.questions.items import FactQuestion, QuestionItems, QuestionKind
from kgprobe.probes.register import ProbeContext
from kgprobe.probes.stated import CONFIDENCE_TOKENS, StatedConfidence, asking_confidence, split_confidence
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.language import Language

# Further tokens for each further right name.
_TOKENS_OF_A_NAME = 16


class QuestionProbe:
    """Probe that asks questions about facts, and classifies mistakes by follow-up questions."""

    def __init__(
        self,
        items: QuestionItems,
        generator: Generator,
        grader: Generator | None = None,
        *,
        credit: str = OWN,
        follow_ups: int = 2,
        answer_tokens: int = 64,
        ask_confidence: bool = False,
        thinking: Thinking | None = None,
        tolerance: float | None = None,
        allow_unknown: bool = False,
    ) -> None:
        """Make a probe.

        Args:
            grader: reads answers to wh-questions; None to decide by names.
            credit: right answers to wh-questions, an entry of :data:`.options.CREDITS`: ``own``, the
                fact's own object; ``any``, any right object.
            follow_ups: maximum number of follow-up questions after a mistake.
            answer_tokens: maximum tokens of an answer and of a grader's reply, plus 16 for each further right name. An
                answer with a reason has about 30 tokens; a reasoning model needs many more without ``thinking``.
            ask_confidence: True to ask for a confidence with each answer, in 16 further tokens; not in follow-ups.
            thinking: mode of the model under test; None for the default. Graders have their default.
            tolerance: relative difference of numbers that is right; None for rounding to the stated digits.
            allow_unknown: True to add the permission to say *I don't know* to prompts.
        """
        check_choice("credit", credit, CREDITS)
        self._credit = credit
        self._items = items
        self._known = KnownNames(items.graph)
        self._generator = generator
        self._grader = grader
        self._follow_ups = follow_ups
        self._answer_tokens = answer_tokens
        self._ask_confidence = ask_confidence
        self._thinking = thinking
        self._tolerance = tolerance
        self._allow_unknown = allow_unknown
        self._described = describe_thinking(generator, thinking)
        self.relations: Sequence[str] = items.relations

    def describe(self) -> dict[str, Any]:
        """Return model, grader and questions; see :class:`~kgprobe.probes.outcome.Probe`."""
        yes_no, wh, wh_all = prompt_templates(self._items.language, self._allow_unknown)
        return {
            "model": self._generator.name,
            "generator": self._described,
            "grader": dict(self._grader.describe()) if self._grader else None,
            "credit": self._credit,
            "follow_ups": self._follow_ups,
            "answer_tokens": self._answer_tokens,
            "ask_confidence": self._ask_confidence,
            "tolerance": self._tolerance,
            "allow_unknown": self._allow_unknown,
            "prompts": {
                QuestionKind.YES_NO.value: self._with_confidence(yes_no),
                QuestionKind.WH.value: self._with_confidence(wh),
                f"{QuestionKind.WH.value}, several": self._with_confidence(wh_all),
                "grader": self._grading_template([], OWN),
                "grader, several": self._grading_template([["{others}"]], OWN),
                "grader, any of several": self._grading_template([["{others}"]], ANY),
                "grader, refusals": refusal_prompt("{question}", "{answer}") if self._grader else None,
            },
            **self._items.describe(),
        }

    def _grading_template(self, others: Sequence[Sequence[str]], credit: str) -> str | None:
        if self._grader is None:
            return None
        return grading_prompt("{question}", ["{right}"], others, "{answer}", credit, self._items.language)

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: a request for each fact, one to the grader for each wh-question, a second one if several objects are right
        and the first reply leaves the other credit open, one for each unplaced answer, and ``follow_ups`` for each
        mistake. The names of a relation's objects, and of the whole graph, are read on first use.
        """
        questions = self._items.of(facts, seed)
        askable = [question for question in questions if question.reason is None]
        prompts = [self._with_confidence(prompt(question, self._allow_unknown)) for question in askable]
        # Grading and follow-ups take about as long as the answers.
        answers = self._answers(askable, prompts, until=0.5)
        stated: list[StatedConfidence | None] = [None] * len(answers)
        if self._ask_confidence:
            answers, stated = map(list, zip(*map(_without_confidence, answers), strict=True)) if answers else ([], [])
        verified = self._verify(askable, answers)
        if self._grader is not None:
            verified = with_both_credits(askable, answers, verified, self._grader, self._answer_tokens, self._credit)
        errors, followed = self._errors(askable, answers, verified)
        outcomes = []
        for place, (question, answer, reading) in enumerate(zip(askable, answers, verified, strict=True)):
            follow = errors.get(place), followed.get(place, ())
            outcomes.append(_outcome(question, prompts[place], answer, stated[place], reading, *follow))
        return in_order(map(attrgetter("fact"), questions), map(attrgetter("reason"), questions), outcomes)

    def _with_confidence(self, text: str) -> str:
        return asking_confidence(text, self._items.language) if self._ask_confidence else text

    def _answers(
        self, questions: Sequence[FactQuestion], prompts: Sequence[str], until: float = 1.0
    ) -> list[Answer | Unanswered]:
        requests = []
        for question, text in zip(questions, prompts, strict=True):
            further = _TOKENS_OF_A_NAME * len(question.others) if question.asks_for_all else 0
            further += CONFIDENCE_TOKENS * self._ask_confidence
            requests.append(Request(text, self._answer_tokens + further, thinking=self._thinking))
        return self._generator.answer(requests, share_counter(len(requests), until))

    def _verify(self, questions: Sequence[FactQuestion], answers: Sequence[Answer | Unanswered]) -> list[GradedAnswer]:
        return verify(questions, answers, self._grader, self._answer_tokens, self._known, self._credit, self._tolerance)

    def _errors(
        self,
        questions: Sequence[FactQuestion],
        answers: Sequence[Answer | Unanswered],
        verified: Sequence[GradedAnswer],
    ) -> tuple[dict[int, ErrorClass], dict[int, tuple[FollowUp, ...]]]:
        """Return the class of each mistake, and its follow-up questions; by position."""
        errors: dict[int, ErrorClass] = {}
        open_cases: dict[int, tuple[Answer, list[FactQuestion]]] = {}
        for place, (question, answer, reading) in enumerate(zip(questions, answers, verified, strict=True)):
            if isinstance(answer, Unanswered) or not reading.verdict.is_failure:
                continue
            error = read_error(question, answer, reading, self._items.templates(question))
            if error is not None:
                errors[place] = error
                continue
            paraphrases, about = self._items.paraphrases(question), self._items.about(question)
            open_cases[place] = (answer, follow_ups(question, paraphrases, about, self._follow_ups))
        further = list(chain.from_iterable(case for _, case in open_cases.values()))
        replies = self._answers(further, [prompt(question, self._allow_unknown) for question in further])
        readings = self._verify(further, replies)
        answered = zip(further, replies, readings, strict=True)
        followed = {}
        for place, (mistake, case) in open_cases.items():
            results = list(islice(answered, len(case)))
            case_readings = [reading for _, _, reading in results]
            errors[place] = class_after(questions[place], mistake, case_readings, self._known.of_graph)
            followed[place] = tuple(
                FollowUp(question.text, _text(reply), reading.verdict.value) for question, reply, reading in results
            )
        return errors, followed


def prompt(question: FactQuestion, allow_unknown: bool = False) -> str:
    """Return the prompt of a question; it ends where the answer follows."""
    yes_no, wh, wh_all = prompt_templates(question.language, allow_unknown)
    template = wh_all if question.asks_for_all else wh
    if question.kind is QuestionKind.YES_NO:
        template = yes_no
    return template.replace("{question}", question.text)


def _without_confidence(answer: Answer | Unanswered) -> tuple[Answer | Unanswered, StatedConfidence]:
    """Return an answer and its confidence; one with a confidence is complete."""
    if isinstance(answer, Unanswered):
        return answer, StatedConfidence("", None)
    text, stated = split_confidence(answer.text)
    return replace(answer, text=text, ended=answer.ended or bool(stated.text)), stated


def prompt_templates(language: Language, allow_unknown: bool = False) -> tuple[str, str, str]:
    """Return the prompts of yes/no questions, of wh-questions, and of those with several answers."""
    prompts = language.prompts
    if not allow_unknown:
        return prompts.yes_no, prompts.wh, prompts.wh_all
    yes_no, wh = prompts.unknown_questions
    several = permitted(prompts.wh_all, wh, language)
    return permitted(prompts.yes_no, yes_no, language), permitted(prompts.wh, wh, language), several


def _outcome(
    question: FactQuestion,
    asked: str,
    answer: Answer | Unanswered,
    stated: StatedConfidence | None,
    verified: GradedAnswer,
    error: ErrorClass | None,
    followed: Sequence[FollowUp],
) -> Outcome:
    yes_no = question.kind is QuestionKind.YES_NO
    evidence = QuestionEvidence(
        kind=question.kind.value,
        text=question.text,
        answer=_text(answer),
        **_thought(answer),
        chance=question.chance,
        expected=question.expected if yes_no else None,
        negative=question.negative.id if yes_no and question.negative else None,
        candidates=question.negative.candidates if yes_no and question.negative else None,
        right=() if yes_no else (question.own, *question.others),
        says=verified.says,
        named=tuple(verified.named),
        named_beside=tuple(verified.named_beside),
        graded=verified.graded,
        credited_own=verified.credited_own,
        credited_any=verified.credited_any,
        grade_unread=verified.unread,
        unplaced=verified.unplaced,
        written=question.written,
        fell_back=tuple(question.fell_back),
        error=error.value if error else None,
        follow_ups=tuple(followed),
        stated=stated,
    )
    fact = question.fact
    return Outcome(fact.key, verified.verdict, fact.relation, asked, verified.reason, evidence)


def _thought(answer: Answer | Unanswered) -> dict[str, Any]:
    """Return the fields of the evidence about an answer's thought; empty without one."""
    if not isinstance(answer, Answer) or not (answer.thought_tokens or answer.thought_cut):
        return {}
    return {
        "thought": answer.thought,
        "thought_tokens": answer.thought_tokens,
        "thought_cut": answer.thought_cut,
    }


def _text(answer: Answer | Unanswered) -> str | None:
    return answer.text if isinstance(answer, Answer) else None


def make_probe(setting: ProbeContext, options: QuestionOptions) -> QuestionProbe:
    """Return the probe of a model, graph and options."""
    thinking = Thinking.parse(options.thinking)
    items = QuestionItems(
        setting.graph,
        setting.as_of,
        difficulty=options.difficulty,
        with_alias=options.with_alias,
        relations=setting.relations,
        writer=setting.models.open(options.writer).generator() if options.writer else None,
        only_generic=options.wording == "generic",
    )
    return QuestionProbe(
        items,
        setting.model.generator(),
        setting.models.open(options.grader).generator() if options.grader else None,
        credit=options.credit,
        follow_ups=options.follow_ups,
        answer_tokens=options.answer_tokens,
        ask_confidence=options.ask_confidence,
        thinking=thinking,
        tolerance=options.tolerance,
        allow_unknown=options.allow_unknown,
    )
