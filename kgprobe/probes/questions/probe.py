"""The probe that asks questions: requests to a model, to a grader, and follow-ups after mistakes.

Section 2 of the parameterized-graph paper; docs/methods/questions.md.
"""

from collections.abc import Sequence
from typing import Any

from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.probes.known_names import KnownNames
from kgprobe.probes.outcome import Outcome, unaskable
from kgprobe.probes.questions.error_classes import ErrorClass, class_after, follow_ups, read_error
from kgprobe.probes.questions.evidence import FollowUp, QuestionEvidence
from kgprobe.probes.questions.grading import Verified, grading_prompt, verify
from kgprobe.probes.questions.items import Kind, Question, QuestionItems
from kgprobe.progress import share_counter
from kgprobe.sampling.keys import FactKey

# The examples are about what no graph of facts is asked for.
_YES_NO = """\
Answer the question: first yes or no, then the reason in one short sentence.

Question: Is water made of hydrogen and oxygen?
Answer: Yes, a molecule of water has two atoms of hydrogen and one of oxygen.

Question: Is the Moon larger than the Earth?
Answer: No, the Earth is almost four times as wide as the Moon.

Question: {question}
Answer:"""
_WH = """\
Answer the question with a name, as briefly as you can.

Question: Which gas do plants take in from the air?
Answer: carbon dioxide

Question: Which metal is liquid at room temperature?
Answer: mercury

Question: {question}
Answer:"""
_WH_ALL = """\
Several answers to the question are right. Answer it with the names of all of them, as briefly as you can, with commas
between them.

Question: Which are the primary colours of light?
Answer: red, green, blue

Question: Which gases make up most of the air?
Answer: nitrogen, oxygen

Question: {question}
Answer:"""
# Beside those of an answer, for each further name that is asked for.
_TOKENS_OF_A_NAME = 16


class QuestionProbe:
    """Asks facts by questions. A question is right when its answer is; mistakes are followed up and classified."""

    def __init__(
        self,
        items: QuestionItems,
        generator: Generator,
        grader: Generator | None = None,
        *,
        follow_ups: int = 2,
        answer_tokens: int = 64,
    ) -> None:
        """Make a probe.

        Args:
            items: what is asked.
            generator: who is asked.
            grader: who reads answers to wh-questions; None goes by names.
            follow_ups: how many questions are asked after a mistake, at most, to see whether the model stands by it.
            answer_tokens: the most of an answer, the grader's too; for each further name that is asked for there are
                16 more. An answer with a reason has some thirty; a model that thinks aloud needs many more.
        """
        self._items = items
        self._known = KnownNames(items.graph)
        self._generator = generator
        self._grader = grader
        self._follow_ups = follow_ups
        self._answer_tokens = answer_tokens
        self.relations: Sequence[str] = items.relations

    def describe(self) -> dict[str, Any]:
        """Model, grader and questions; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._generator.name,
            "generator": dict(self._generator.describe()),
            "grader": dict(self._grader.describe()) if self._grader else None,
            "follow_ups": self._follow_ups,
            "answer_tokens": self._answer_tokens,
            "prompts": {
                Kind.YES_NO.value: _YES_NO,
                Kind.WH.value: _WH,
                f"{Kind.WH.value}, several": _WH_ALL,
                "grader": grading_prompt("{question}", ["{right}"], [], "{answer}") if self._grader else None,
                "grader, several": grading_prompt("{question}", ["{right}"], [["{others}"]], "{answer}")
                if self._grader
                else None,
            },
            **self._items.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """One outcome a fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: a request for each fact, one to the grader for each wh-question, and ``follow_ups`` for each mistake. The
        names of a relation's objects, and those of the whole graph, are read once, where an answer needs them
        (:mod:`kgprobe.probes.known_names`).

        Raises:
            KgprobeError: the model cannot be asked at all, or its budget is spent; what was answered is in the cache
                of answers, where there is one.
        """
        questions = self._items.of(facts, seed)
        asked = [question for question in questions if question.reason is None]
        # What comes after the answers, a grader's work and follow-ups, is about as much again.
        answers = self._answers(asked, until=0.5)
        verified = verify(asked, answers, self._grader, self._answer_tokens, self._known)
        errors, followed = self._errors(asked, answers, verified)
        outcomes = {
            question.fact.key: _outcome(question, answer, its, errors.get(place), followed.get(place, ()))
            for place, (question, answer, its) in enumerate(zip(asked, answers, verified, strict=True))
        }
        return [
            outcomes[question.fact.key]
            if question.reason is None
            else unaskable(question.fact.key, question.fact.relation, question.reason)
            for question in questions
        ]

    def _answers(self, questions: Sequence[Question], until: float = 1.0) -> list[Answer | Unanswered]:
        requests = [Request(prompt(question), self._tokens(question)) for question in questions]
        return self._generator.answer(requests, share_counter(len(requests), until))

    def _tokens(self, question: Question) -> int:
        return self._answer_tokens + (_TOKENS_OF_A_NAME * len(question.others) if question.asks_for_all else 0)

    def _errors(
        self, asked: Sequence[Question], answers: Sequence[Answer | Unanswered], verified: Sequence[Verified]
    ) -> tuple[dict[int, ErrorClass], dict[int, tuple[FollowUp, ...]]]:
        """The kind of each mistake, and what was asked after it; by place."""
        errors: dict[int, ErrorClass] = {}
        more: dict[int, tuple[Answer, list[Question]]] = {}
        for place, (question, answer, its) in enumerate(zip(asked, answers, verified, strict=True)):
            if isinstance(answer, Unanswered) or not its.verdict.is_failure:
                continue
            error = read_error(question, answer, its, self._items.templates(question))
            if error is not None:
                errors[place] = error
                continue
            paraphrases, about = self._items.paraphrases(question), self._items.about(question)
            more[place] = (answer, follow_ups(question, paraphrases, about, self._follow_ups))
        flat = [question for _, its in more.values() for question in its]
        heard = self._answers(flat)
        read = verify(flat, heard, self._grader, self._answer_tokens, self._known)
        followed, first = {}, 0
        for place, (mistake, its_questions) in more.items():
            last = first + len(its_questions)
            errors[place] = class_after(asked[place], mistake, read[first:last], self._known.of_graph)
            followed[place] = tuple(
                FollowUp(question.text, _text(answer), its.verdict.value)
                for question, answer, its in zip(its_questions, heard[first:last], read[first:last], strict=True)
            )
            first = last
        return errors, followed


def prompt(question: Question) -> str:
    """What a model is given; its answer comes next."""
    if question.kind is Kind.YES_NO:
        return _YES_NO.replace("{question}", question.text)
    return (_WH_ALL if question.asks_for_all else _WH).replace("{question}", question.text)


def _outcome(
    question: Question,
    answer: Answer | Unanswered,
    verified: Verified,
    error: ErrorClass | None,
    followed: Sequence[FollowUp],
) -> Outcome:
    yes_no = question.kind is Kind.YES_NO
    evidence = QuestionEvidence(
        kind=question.kind.value,
        text=question.text,
        answer=_text(answer),
        chance=question.chance,
        expected=question.expected if yes_no else None,
        negative=question.negative.id if yes_no and question.negative else None,
        right=() if yes_no else (question.own, *question.others),
        says=verified.says,
        named=tuple(verified.named),
        named_beside=tuple(verified.named_beside),
        graded=verified.graded,
        grade_unread=verified.unread,
        written=question.written,
        fell_back=tuple(question.fell_back),
        error=error.value if error else None,
        follow_ups=tuple(followed),
    )
    fact = question.fact
    return Outcome(fact.key, verified.verdict, fact.relation, prompt(question), verified.reason, evidence)


def _text(answer: Answer | Unanswered) -> str | None:
    return answer.text if isinstance(answer, Answer) else None
