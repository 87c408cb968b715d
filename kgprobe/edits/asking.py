"""Asking a model about edits: by free generation, without teacher forcing, and by scores of names.

docs/methods/edits.md. A generated answer is greedy; the first name in it decides. By scores, the expected answers are
compared with each wrong one: their plausibilities are sums over all names, as in docs/methods/distractors.md.
"""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from kgprobe.edits import BOTH, GENERATION, SCORES, AskingOptions
from kgprobe.edits.questions import OLD, EditQuestion, digest_of_questions
from kgprobe.errors import ArgumentError
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.model import Model
from kgprobe.probes.generation.evidence import counted_end
from kgprobe.probes.outcome import Evidence, Outcome, Verdict, shortened, unaskable
from kgprobe.probes.questions.items import Kind
from kgprobe.probes.questions.probe import prompt_of_text
from kgprobe.progress import share_counter
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.answers import mentions_in, normalized, read_yes_no
from kgprobe.verbalize.sentences import object_continuations
from kgprobe.verbalize.templates.kinds import OBJECT

EXPECTED = "expected"
_YES, _NO = "yes", "no"
# Share of a batch's progress that generation takes.
_WRITING = 0.7


class EditEvidence(Evidence, frozen=True, eq=True, tag="edits"):
    """A model's answers to one question.

    Attributes:
        prompt: the question, or the text to continue.
        right_answer: label of the expected answer.
        text: the generated text; None if the model was not asked to generate.
        first_name: the first name of an answer in the text; None if it has none.
        role: ``expected``, or the role of the named wrong answer; None without a name.
        is_named: True if the text is right; None if the model was not asked to generate.
        plausibilities: log-plausibility of each answer, the expected ones first; None for an answer that the model
            cannot score. Empty if the model was not asked for scores.
    """

    prompt: str
    right_answer: str
    text: str | None = None
    first_name: str | None = None
    role: str | None = None
    is_named: bool | None = None
    plausibilities: tuple[float | None, ...] = ()

    @property
    def question(self) -> str:
        """The question."""
        return self.prompt

    @property
    def prediction(self) -> str | None:
        """The named wrong answer, or else the start of the text; None if the text is right."""
        if self.is_named or self.text is None:
            return None
        return self.first_name or shortened(" ".join(self.text.split()))


class EditAsking:
    """The questions about edits as a probe; a question's id takes the place of a fact's."""

    relations: Sequence[str] = ()

    def __init__(self, questions: Sequence[EditQuestion], model: Model, options: AskingOptions) -> None:
        """Ask by the given ways; ``both`` leaves out scores if the model gives no probabilities.

        Raises:
            ArgumentError: only scores are requested, and the model gives none.
        """
        if options.way == SCORES and not model.scores:
            raise ArgumentError("way", f"is {SCORES}; {model.name} gives no probabilities. Use {GENERATION}.")
        self._questions = {question.id: question for question in questions}
        self._options = options
        self._generator = None if options.way == SCORES else model.generator()
        self._scorer = model.scorer() if options.way in (BOTH, SCORES) and model.scores else None
        self._name = model.name
        self._digest = digest_of_questions(questions)

    def describe(self) -> dict[str, Any]:
        """Return model, prompts and the digest of the questions."""
        described: dict[str, Any] = {"model": self._name, "questions": self._digest, "way": self._options.way}
        if self._scorer is not None:
            described["scorer"] = self._scorer.describe()
        if self._generator is not None:
            generator = {name: value for name, value in self._generator.describe().items() if name != "prompt"}
            described |= {"generator": generator, "new_tokens": self._options.new_tokens}
        prompts = {kind.value: prompt_of_text("{question}", kind) for kind in Kind}
        return {**described, "prompts": prompts}

    @property
    def keys(self) -> list[FactKey]:
        """A key for each question: the ids of its edit and its own."""
        return [FactKey(question.edit, question.id) for question in self._questions.values()]

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:  # noqa: ARG002
        """Return the outcome of each question; the verdict is that of the text, or else of the scores.

        Cost: a generated text for each question, and one scoring of all names.
        """
        questions = [self._questions[key.fact] for key in facts]
        texts = self._texts(questions)
        plausibilities = self._plausibilities(questions)
        outcomes = []
        for question, text, values in zip(questions, texts, plausibilities, strict=True):
            outcomes.append(_outcome(question, text, values))
        return outcomes

    def _texts(self, questions: Sequence[EditQuestion]) -> Sequence[Answer | Unanswered | None]:
        if self._generator is None:
            return [None] * len(questions)
        requests = []
        for question in questions:
            continues = question.form == "text"
            requests.append(Request(prompt_of(question), self._options.new_tokens, continuation=continues))
        until = 1.0 if self._scorer is None else _WRITING
        return self._generator.answer(requests, share_counter(len(requests), until))

    def _plausibilities(self, questions: Sequence[EditQuestion]) -> list[tuple[float | None, ...]]:
        """Return the log-plausibility of each answer to each question.

        After a text to continue, a name ends with the end of the text, so that *York* is not credited with the
        probability of *York City*; after a question, models end an answer in their own ways.
        """
        if self._scorer is None:
            return [()] * len(questions)
        values: list[tuple[float | None, ...]] = [()] * len(questions)
        for eos in (True, False):
            places = [place for place, question in enumerate(questions) if (question.form == "text") is eos]
            names = [_scored_names(questions[place]) for place in places]
            prompts = [prompt_of(questions[place]) for place in places]
            continuations = [list(chain.from_iterable(texts)) for texts in names]
            for place, texts, scored in zip(
                places, names, self._scorer.score(prompts, continuations, eos=eos), strict=True
            ):
                values[place] = _sums(texts, scored.values.tolist())
        return values


def prompt_of(question: EditQuestion) -> str:
    """Return the text that a model gets."""
    if question.form == "text":
        return question.prompt
    return prompt_of_text(question.prompt, Kind.YES_NO if question.form == "yes/no" else Kind.WH)


def _scored_names(question: EditQuestion) -> list[list[str]]:
    """Return the continuations of each answer, the expected ones first; of a yes/no question: the two answers."""
    if question.form == "yes/no":
        right = question.expected[0].names[0]
        return [[word.capitalize()] for word in (right, _NO if right == _YES else _YES)]
    template = f"{question.prompt} a/an {OBJECT}" if question.article else f"{question.prompt} {OBJECT}"
    return [object_continuations(template, answer.names) for answer in question.answers]


def _sums(texts: Sequence[Sequence[str]], scores: Sequence[float]) -> tuple[float | None, ...]:
    """Return the logarithm of the sum of probabilities over the names of each answer; None with an unscored name."""
    sums: list[float | None] = []
    start = 0
    for names in texts:
        own = scores[start : start + len(names)]
        start += len(names)
        is_scored = own and not any(map(math.isnan, own)) and max(own) > -math.inf
        sums.append(_log_sum(own) if is_scored else None)
    return tuple(sums)


def _log_sum(values: Sequence[float]) -> float:
    """Return the logarithm of a sum of probabilities, given their logarithms."""
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def right_by_scores(
    question: EditQuestion, plausibilities: Sequence[float | None], is_rival: Callable[[str | None], bool]
) -> bool | None:
    """Return True if the expected answers together are more plausible than each wrong answer; a tie is a loss.

    Args:
        plausibilities: of all answers, the expected ones first.
        is_rival: selects wrong answers by their role.

    Returns:
        None if an expected answer has no plausibility, or no selected wrong answer has one, or without plausibilities.
    """
    count, roles = len(question.expected), [answer.role for answer in question.wrong]
    if question.form == "yes/no":
        count, roles = 1, [None]
    if not plausibilities:
        return None
    rivals = [
        value for value, role in zip(plausibilities[count:], roles, strict=True) if value is not None and is_rival(role)
    ]
    known = [value for value in plausibilities[:count] if value is not None]
    return _log_sum(known) > max(rivals) if rivals and len(known) == count else None


def right_of(question: EditQuestion, evidence: EditEvidence | None, way: str) -> bool | None:
    """Return True if an answer is right by generation or by scores; None if it was not asked by this way.

    Args:
        way: ``generation`` or ``scores``.
    """
    if evidence is None:
        return None
    if way == GENERATION:
        return evidence.is_named
    return right_by_scores(question, evidence.plausibilities, lambda role: True)


def right_against_old(question: EditQuestion, evidence: EditEvidence | None) -> bool | None:
    """Return True if the expected answer is more plausible than the old object; None without scores of both."""
    if evidence is None:
        return None
    return right_by_scores(question, evidence.plausibilities, lambda role: role == OLD)


def top_answer(evidence: EditEvidence) -> int | None:
    """Return the place of the most plausible answer; None without scores, or with one answer."""
    scored = [(value, -place) for place, value in enumerate(evidence.plausibilities) if value is not None]
    return -max(scored)[1] if len(scored) > 1 else None


def read_answer(question: EditQuestion, text: str) -> tuple[str | None, str | None, bool]:
    """Return the first name of an answer in a text, its role, and True if the text is right.

    The first line of the text counts. It is right if its first name is of an expected answer; if every expected answer
    is required, if it names all of them.
    """
    counted = text[: counted_end(text, "line")]
    if question.form == "yes/no":
        return _read_yes_no(question, counted)
    known = {normalized(name) for answer in question.answers for name in answer.names}
    candidates: list[tuple[int, int, str, str]] = []
    mentioned = set()
    for place, answer in enumerate(question.answers):
        role = EXPECTED if place < len(question.expected) else str(answer.role)
        mentions = mentions_in(counted, answer.names, known.__contains__)
        candidates.extend((mention.start, -mention.end, mention.name, role) for mention in mentions)
        if mentions:
            mentioned.add(place)
    if not candidates:
        return None, None, False
    _, _, name, role = min(candidates)
    is_right = role == EXPECTED
    if question.every:
        is_right = mentioned >= set(range(len(question.expected)))
    return name, role, is_right


def _read_yes_no(question: EditQuestion, text: str) -> tuple[str | None, str | None, bool]:
    is_yes = read_yes_no(text).yes
    if is_yes is None:
        return None, None, False
    word = _YES if is_yes else _NO
    is_right = word == question.expected[0].names[0]
    return word, EXPECTED if is_right else None, is_right


def _outcome(
    question: EditQuestion, answer: Answer | Unanswered | None, plausibilities: tuple[float | None, ...]
) -> Outcome:
    key, prompt = FactKey(question.edit, question.id), prompt_of(question)
    label = question.expected[0].names[0]
    if isinstance(answer, Answer):
        name, role, is_right = read_answer(question, answer.text)
        evidence = EditEvidence(question.prompt, label, answer.text, name, role, is_right, plausibilities)
        return Outcome(key, Verdict.RIGHT if is_right else Verdict.WRONG, question.kind, prompt, evidence=evidence)
    evidence = EditEvidence(question.prompt, label, plausibilities=plausibilities)
    if isinstance(answer, Unanswered):
        return Outcome(key, Verdict.UNANSWERED, question.kind, prompt, answer.reason, evidence)
    right = right_of(question, evidence, SCORES)
    if right is None:
        return unaskable(key, question.kind, "it has no wrong answer to compare scores with")
    return Outcome(key, Verdict.RIGHT if right else Verdict.WRONG, question.kind, prompt, evidence=evidence)
