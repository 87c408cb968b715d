"""Probe that asks each fact with several few-shot prompts, greedily and by sampling, and counts right answers.

SliCK (Gekhman et al. 2024), section 3; docs/methods/recall.md. Answers are read as those to wh-questions
(:func:`kgprobe.probes.questions.grading.verify`), by the names in them.

A prompt is ``Q: … A: …`` for each example, drawn at random from the relation, then ``Q: … A:``, with the relation's
first wh-question that does not contain a right answer. A relation without wh-questions is asked in its first cloze
sentence, one sentence per line. The examples of a prompt depend on the relation, the number of the prompt and the
seed's first number. An example that would reveal the asked fact is replaced by the next one.
"""

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from kgprobe.base.progress import share_counter
from kgprobe.graph.client import Graph
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered, describe_thinking
from kgprobe.models.generating.thinking import Thinking
from kgprobe.probes.asking import in_order, nameless
from kgprobe.probes.confidence import agreement_of
from kgprobe.probes.examples.prompts import NO_EXAMPLE
from kgprobe.probes.generation.probe import reason_unfindable
from kgprobe.probes.known_names import KnownNames, related_names
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions import ANY
from kgprobe.probes.questions.evidence import names_of
from kgprobe.probes.questions.grading import GradedAnswer, verify
from kgprobe.probes.questions.items import FactQuestion, QuestionKind, right_and_former
from kgprobe.probes.recall import RecallOptions
from kgprobe.probes.recall.evidence import RecallEvidence, most_frequent
from kgprobe.probes.register import ProbeContext
from kgprobe.sampling.demonstrations import Demonstration, demonstrations_for, draw_demonstrations
from kgprobe.sampling.facts import describe_facts, read_answers
from kgprobe.sampling.keys import FactKey, seeded_number
from kgprobe.verbalize.answers import all_mentions, named_in, normalized
from kgprobe.verbalize.askable_relations import askable_relations, generic_setting
from kgprobe.verbalize.language import Language, language_of
from kgprobe.verbalize.sentences import Cloze, wh_question
from kgprobe.verbalize.templates.kinds import GENERIC
from kgprobe.verbalize.values import as_value, values_in

# Share of a batch's progress that generation takes; the rest is reading the answers.
_WRITING = 0.95
# Number of further examples to draw, since examples that reveal the answer are replaced.
_SPARE = 16


@dataclass(frozen=True, slots=True)
class RecallItem:
    """A fact with its prompts.

    Attributes:
        question: the question, with right and former objects; its ``reason`` says why the fact is not asked.
        prompts: empty if the fact is not asked.
        examples: number of examples in each prompt; fewer than asked for if the relation has no more.
        guess: probability that a random object of the relation is credited, in [0, 1]; None if unknown.
    """

    question: FactQuestion
    prompts: Sequence[str] = ()
    examples: int = 0
    guess: float | None = None


@dataclass(frozen=True, slots=True)
class _Form:
    """Form of a prompt: questions with answers, or cloze sentences, one per line."""

    template: str
    is_question: bool
    language: Language

    @property
    def between(self) -> str:
        """Separator between two examples."""
        return "\n\n" if self.is_question else "\n"

    def ask(self, subject: str) -> str:
        """Return the question about a subject, or its sentence up to the blank."""
        return wh_question(self.template, subject, self.language) if self.is_question else self._cloze(subject).prompt

    def text(self, subject: str) -> str:
        """Return the text before an answer."""
        asked = self.ask(subject)
        return self.language.prompts.recall.replace("{question}", asked) if self.is_question else asked

    @property
    def permission(self) -> str:
        """The permission to say *I don't know* before the examples; with an example before questions."""
        prompts = self.language.prompts
        if not self.is_question:
            return prompts.permission_to_continue
        example = prompts.recall.replace("{question}", prompts.unknown_questions[1])
        return f"{prompts.permission}{self.between}{example}{self.language.joiner}{prompts.unknown}"

    def example(self, subject: str, object_: str) -> str:
        """Return the text of a fact with its answer."""
        if not self.is_question:
            (object_,) = self._cloze(subject).continuations([object_])
        return f"{self.text(subject)}{self.language.joiner}{object_}"

    def _cloze(self, subject: str) -> Cloze:
        return Cloze(self.template, subject, language=self.language)


class RecallItems:
    """Prompts about a graph's facts; ``relations`` are the sorted ids of those that can be asked."""

    def __init__(self, graph: Graph, options: RecallOptions, *, as_of: int, relations: Sequence[str] = ()) -> None:
        """Read the relations' templates; by default of every active one with a wh-question or a cloze sentence."""
        rows = askable_relations(graph, ["wh_questions", "clozes"], relations, only_generic=options.wording == GENERIC)
        self.graph = graph
        self.language = language_of(graph.language)
        self.relations: Sequence[str] = list(rows)
        self._forms: dict[str, list[_Form]] = {}
        for relation, row in rows.items():
            questions = [_Form(template, True, self.language) for template in row["wh_questions"]]
            clozes = [_Form(template, False, self.language) for template in row["clozes"][:1]]
            self._forms[relation] = [*questions, *clozes]
        self._generic = generic_setting(rows)
        self._options = options
        self._as_of = as_of
        self._drawn: dict[int, dict[str, list[Demonstration]]] = {}
        self._ordered: dict[tuple[str, int], list[Demonstration]] = {}

    def describe(self) -> dict[str, Any]:
        """Return the settings that the prompts depend on, without graph, facts and seed; JSON-compatible."""
        templates = {relation: list(map(attrgetter("template"), forms)) for relation, forms in self._forms.items()}
        permission = self.language.prompts.permission if self._options.allow_unknown else ""
        return {"as_of": self._as_of, "templates": templates, "permission": permission, **self._generic}

    def of(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[RecallItem]:
        """Return an item for each fact, in order.

        Cost: a walk from each subject; one scan of the graph's facts for a new first number of the seed.
        """
        described = describe_facts(self.graph, facts)
        answers = read_answers(self.graph, facts, self._as_of)
        items = []
        for fact in described:
            right, former = right_and_former(answers[fact.key.fact])
            question = FactQuestion(fact, QuestionKind.WH, "", right, former, language=self.language)
            items.append(self._item(question, seed))
        return items

    def _item(self, question: FactQuestion, seed: Sequence[int]) -> RecallItem:
        """Return the item of a question without text."""
        fact = question.fact
        form = self._form(question)
        reason = self._reason(question) or (form if isinstance(form, str) else None)
        if reason is not None or isinstance(form, str):
            return RecallItem(_unasked(question, str(reason)))
        prompts: list[str] = []
        examples: list[Demonstration] = []
        for number in range(self._options.prompts):
            order = self._order(fact.relation, number, seed[0])
            examples = demonstrations_for([fact], order, self._options.examples)
            lines = [form.permission] if self._options.allow_unknown else []
            lines += [form.example(example.subject_label, example.object_label) for example in examples]
            prompts.append(form.between.join([*lines, form.text(fact.subject_label)]))
        if not examples:
            return RecallItem(_unasked(question, NO_EXAMPLE))
        credited = len(question.right) if self._options.credit == ANY else 1
        guess = min(1.0, credited / fact.relation_size) if fact.relation_size else None
        text = form.ask(fact.subject_label)
        return RecallItem(replace(question, text=text), prompts, len(examples), guess)

    def _reason(self, question: FactQuestion) -> str | None:
        """Return why a fact cannot be asked of any model; None if it can."""
        fact = question.fact
        if fact.relation not in self._forms:
            return "its relation is not asked: it is inactive or not selected"
        if fact.object not in map(attrgetter("id"), question.right):
            return f"it does not hold at {self._as_of}, and questions are asked in the present"
        return nameless(fact) or reason_unfindable(fact.object_names)

    def _form(self, question: FactQuestion) -> "_Form | str":
        """Return the first form whose text does not contain a right answer; or why there is none."""
        names = names_of(question.right)
        for form in self._forms.get(question.fact.relation, ()):
            if not named_in(form.ask(question.fact.subject_label), names, language=self.language):
                return form
        return "each question of its relation contains a right answer"

    def _order(self, relation: str, number: int, seed: int) -> list[Demonstration]:
        """Return the examples of a relation in the order of a prompt."""
        if seed not in self._drawn:
            count = self._options.prompts * self._options.examples + _SPARE
            # Only the latest seed is kept: rounds and measurements use a single one.
            self._drawn = {seed: draw_demonstrations(self.graph, self.relations, count, seed, self._as_of)}
            self._ordered.clear()
        if (relation, number) not in self._ordered:
            key = partial(_place, seed, number)
            self._ordered[relation, number] = sorted(self._drawn[seed][relation], key=key)
        return self._ordered[relation, number]


def _place(seed: int, number: int, example: Demonstration) -> int:
    return seeded_number(seed, f"prompt {number}", example.fact)


def _unasked(question: FactQuestion, reason: str) -> FactQuestion:
    return FactQuestion(question.fact, reason=reason)


class RecallProbe:
    """Probe that counts right answers over several prompts. Right if more than half of the greedy answers are."""

    def __init__(self, items: RecallItems, generator: Generator, options: RecallOptions) -> None:
        self.relations: Sequence[str] = items.relations
        self._items = items
        self._generator = generator
        self._options = options
        self._known = KnownNames(items.graph)
        # A further question that the model wrote after its answer.
        self._next_question = re.compile(rf"\n\s*{re.escape(items.language.prompts.next_question)}")
        self._thinking = Thinking.parse(options.thinking)
        self._described = describe_thinking(generator, self._thinking)

    def describe(self) -> dict[str, Any]:
        """Return model, options and templates; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._generator.name,
            "generator": self._described,
            **asdict(self._options),
            **self._items.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: ``prompts`` x (1 + ``samples``) requests for each fact, in one call. A model on this machine computes each
        prompt once. The names of a relation's objects are read on first use.
        """
        items = self._items.of(facts, seed)
        askable = [item for item in items if item.prompts]
        requests: list[Request] = []
        for item in askable:
            requests += self._requests(item, seed)
        answers = self._generator.answer(requests, share_counter(len(requests), _WRITING))
        progress = share_counter(len(askable))
        each = self._options.prompts * (1 + self._options.samples)
        outcomes = []
        for number, item in enumerate(askable):
            outcomes.append(self._outcome(item, answers[each * number : each * (number + 1)]))
            progress(1)
        questions = list(map(attrgetter("question"), items))
        return in_order(map(attrgetter("fact"), questions), map(attrgetter("reason"), questions), outcomes)

    def _requests(self, item: RecallItem, seed: Sequence[int]) -> list[Request]:
        """Return the requests of a fact: each prompt greedily, then its samples."""
        options = self._options
        requests = []
        for number, prompt in enumerate(item.prompts):
            greedy = Request(prompt, options.answer_tokens, thinking=self._thinking)
            requests.append(greedy)
            for sample in range(options.samples):
                # Below 2^31, as APIs require. Prompts can be equal, their samples are not.
                state = np.random.SeedSequence([*seed, number, sample]).generate_state(1)
                requests.append(replace(greedy, temperature=options.temperature, seed=int(state[0] >> 1)))
        return requests

    def _outcome(self, item: RecallItem, answers: Sequence[Answer | Unanswered]) -> Outcome:
        """Return the outcome of a fact by its answers; unanswered if one of them is missing."""
        fact, prompt = item.question.fact, item.prompts[0]
        texts: list[Answer] = []
        for answer in answers:
            if isinstance(answer, Unanswered):
                return Outcome(fact.key, Verdict.UNANSWERED, fact.relation, prompt, answer.reason)
            # Few-shot prompts go on after the answer, so that its length ends most texts.
            text = self._next_question.split(answer.text)[0].strip()
            texts.append(replace(answer, text=text, ended=answer.ended or bool(text)))
        options = self._options
        questions = [item.question] * len(texts)
        readings = verify(questions, texts, None, known=self._known, credit=options.credit, tolerance=options.tolerance)
        for reading in readings:
            if reading.verdict is Verdict.UNANSWERED:
                return Outcome(fact.key, Verdict.UNANSWERED, fact.relation, prompt, reading.reason)
        evidence = self._evidence(item, texts, readings)
        verdict = Verdict.RIGHT if evidence.is_right else _verdict_of_wrong(readings[:: 1 + self._options.samples])
        return Outcome(fact.key, verdict, fact.relation, prompt, evidence=evidence)

    def _evidence(
        self, item: RecallItem, answers: Sequence[Answer], readings: Sequence[GradedAnswer]
    ) -> RecallEvidence:
        each = 1 + self._options.samples
        greedy = [(answers[place], readings[place]) for place in range(0, len(answers), each)]
        sampled = [(answers[place], readings[place]) for place in range(len(answers)) if place % each]
        wrong_greedy, wrong_sampled = _wrong_texts(greedy), _wrong_texts(sampled)
        thoughts = tuple(map(attrgetter("thought_tokens"), answers))
        question = item.question
        return RecallEvidence(
            question=question.text,
            right=(question.own, *question.others),
            examples=item.examples,
            greedy_right=len(greedy) - len(wrong_greedy),
            greedy=len(greedy),
            sampled_right=len(sampled) - len(wrong_sampled),
            sampled=len(sampled),
            wrong=most_frequent(wrong_greedy, wrong_sampled),
            unplaced=sum(map(attrgetter("unplaced"), readings)),
            chance=item.guess,
            thought_tokens=thoughts if any(thoughts) else (),
            thoughts_cut=sum(map(attrgetter("thought_cut"), answers)),
            rated=(agreement_of([self._said(question, *each) for each in sampled], question.right),) if sampled else (),
        )

    def _said(self, question: FactQuestion, answer: Answer, reading: GradedAnswer) -> Hashable | None:
        """Return what an answer says: the same for all names of an entity, and all wordings of a value.

        None is a refusal, or no answer.
        """
        if reading.verdict is Verdict.RIGHT:
            credited = (reading.named or reading.named_beside)[0]
            return next(right for right in (question.own, *question.others) if credited in right.names)
        if reading.verdict is not Verdict.WRONG:
            return None
        fact = question.fact
        if any(map(as_value, question.own.names)):
            for value in values_in(answer.text):
                return value.dates, value.number, value.unit
        subject = set(map(normalized, (fact.subject_label, *fact.subject_aliases)))
        is_name = related_names(fact, names_of((*question.right, *question.former)), self._known)
        for name in (normalized(mention.name) for mention in all_mentions(answer.text, is_name)):
            if name not in subject:
                entity = self._known.entity(fact.relation, name)
                return name if entity is None else entity
        return normalized(answer.text)


def _wrong_texts(answers: Sequence[tuple[Answer, GradedAnswer]]) -> list[str]:
    """Return the texts of the answers that are not right, on one line each."""
    return [" ".join(answer.text.split()) for answer, reading in answers if reading.verdict is not Verdict.RIGHT]


def _verdict_of_wrong(greedy: Sequence[GradedAnswer]) -> Verdict:
    """Return the most frequent verdict of the greedy answers that are not right."""
    failures = Counter(reading.verdict for reading in greedy if reading.verdict is not Verdict.RIGHT)
    return failures.most_common(1)[0][0]


def make_probe(setting: ProbeContext, options: RecallOptions) -> RecallProbe:
    """Return the probe of a model, graph and options."""
    # Before the model is loaded.
    Thinking.parse(options.thinking)
    items = RecallItems(setting.graph, options, as_of=setting.as_of, relations=setting.relations)
    return RecallProbe(items, setting.model.generator(), options)
