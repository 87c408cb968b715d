"""Probe that asks each fact with several few-shot prompts, greedily and by sampling, and counts right answers.

SliCK (Gekhman et al. 2024), section 3; docs/methods/recall.md. Answers are read as those to wh-questions
(:func:`kgprobe.probes.questions.grading.verify`), by the names in them.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from typing import Any

import numpy as np

from kgprobe.base.progress import share_counter
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered, describe_thinking
from kgprobe.models.generating.thinking import Thinking
from kgprobe.probes.asking import in_order
from kgprobe.probes.known_names import KnownNames
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.grading import GradedAnswer, verify
from kgprobe.probes.recall import RecallOptions
from kgprobe.probes.recall.evidence import RecallEvidence, most_frequent
from kgprobe.probes.recall.items import RecallItem, RecallItems
from kgprobe.probes.register import ProbeContext
from kgprobe.sampling.keys import FactKey

# Share of a batch's progress that generation takes; the rest is reading the answers.
_WRITING = 0.95
# A further question that the model wrote after its answer.
_NEXT_QUESTION = re.compile(r"\n\s*Q:")


class RecallProbe:
    """Probe that counts right answers over several prompts. Right if more than half of the greedy answers are."""

    def __init__(self, items: RecallItems, generator: Generator, options: RecallOptions) -> None:
        """Make a probe."""
        self.relations: Sequence[str] = items.relations
        self._items = items
        self._generator = generator
        self._options = options
        self._known = KnownNames(items.graph)
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
            text = _NEXT_QUESTION.split(answer.text)[0].strip()
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
            chance=item.guess,
            thought_tokens=thoughts if any(thoughts) else (),
            thoughts_cut=sum(map(attrgetter("thought_cut"), answers)),
        )


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
