"""Probe that asks in words if statements are true; the majority of several answers is the label.

Section 3.1 of the paper on evaluating with large graphs; docs/methods/judge.md. A judge learns from these labels.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain, islice, product
from operator import attrgetter
from typing import Any

import numpy as np

from kgprobe.base.errors import ArgumentError
from kgprobe.base.progress import share_counter
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered, describe_thinking
from kgprobe.models.generating.thinking import Thinking
from kgprobe.probes.asking import in_order
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.register import ProbeContext
from kgprobe.probes.stated import CONFIDENCE_TOKENS, StatedConfidence, asking_confidence, split_confidence
from kgprobe.probes.statements.items import StatementItem, StatementItems, statement_items
from kgprobe.probes.statements.metrics import JUDGEMENTS, NONE, RIGHT_MEANS, verdict_of
from kgprobe.probes.true_false import INSTRUCTION, STATEMENT, TrueFalseOptions
from kgprobe.probes.true_false.evidence import AnsweredNegative, AnsweredStatement, TrueFalseEvidence
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.answers import judgement_of


class TrueFalseProbe:
    """Probe that labels statements by repeated answers. A fact is right if it is labelled true, its negatives false."""

    def __init__(self, items: StatementItems, generator: Generator, options: TrueFalseOptions) -> None:
        self._language = items.language
        if options.instruction == INSTRUCTION:
            # The default is that of the language asked.
            text = self._language.prompts.true_false
            options = replace(
                options, instruction=asking_confidence(text, self._language) if options.ask_confidence else text
            )
        elif options.ask_confidence:
            raise ArgumentError("ask_confidence", "is for the default `instruction`, whose form it continues.")
        count = options.instruction.count(STATEMENT)
        if count != 1:
            raise ArgumentError("instruction", f"has {count} places for the statement; expected is {STATEMENT} once.")
        self.relations: Sequence[str] = items.relations
        self._items = items
        self._generator = generator
        self._options = options
        self._thinking = Thinking.parse(options.thinking)
        self._described = describe_thinking(generator, self._thinking)

    def describe(self) -> dict[str, Any]:
        """Return model, options and templates; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._generator.name,
            "generator": self._described,
            **asdict(self._options),
            "right": RIGHT_MEANS,
            **self._items.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: the drawing of negatives, and ``repeats`` requests for each statement.
        """
        items = self._items.of(facts, seed)
        # Below 2^31, as APIs require.
        drawn = (np.random.SeedSequence([*seed, number]) for number in range(self._options.repeats))
        seeds = [int(sequence.generate_state(1)[0] >> 1) for sequence in drawn]
        asked_items = [item for item in items if item.reason is None]
        count = sum(1 + len(item.negatives) for item in asked_items) * len(seeds)
        progress = share_counter(count)
        negatives = chain.from_iterable(map(attrgetter("negatives"), asked_items))
        # One call, which is one batch of a batch API.
        answers = self._answers(list(map(attrgetter("text"), chain(asked_items, negatives))), seeds, progress)
        own = list(islice(answers, len(asked_items)))
        outcomes = []
        for item, of_statement in zip(asked_items, own, strict=True):
            outcomes.append(self._outcome(item, [of_statement, *islice(answers, len(item.negatives))]))
        return in_order(map(attrgetter("fact"), items), map(attrgetter("reason"), items), outcomes)

    def _answers(
        self, texts: Sequence[str], seeds: Sequence[int], progress: Callable[[int], None]
    ) -> "Iterator[Sequence[Answer | Unanswered]]":
        """Return an iterator of each statement's answers."""
        options = self._options
        requests = []
        tokens = options.answer_tokens + CONFIDENCE_TOKENS * options.ask_confidence
        for text, number in product(texts, seeds):
            prompt = self._prompt(text)
            request = Request(prompt, tokens, options.temperature, number, thinking=self._thinking)
            requests.append(request)
        answers = self._generator.answer(requests, progress)
        return (answers[place : place + len(seeds)] for place in range(0, len(answers), len(seeds)))

    def _prompt(self, statement: str) -> str:
        return self._options.instruction.replace(STATEMENT, statement)

    def _outcome(self, item: StatementItem, answers: "Sequence[Sequence[Answer | Unanswered]]") -> Outcome:
        """Return the outcome of a fact by the answers to its statement and to each negative."""
        key, relation = item.fact.key, item.fact.relation
        prompt = self._prompt(item.text)
        texts: list[tuple[str, ...]] = []
        stated: list[tuple[StatedConfidence, ...]] = []
        thought_tokens: list[int] = []
        cut = 0
        for of_statement in answers:
            replies = []
            for answer in of_statement:
                if isinstance(answer, Unanswered):
                    return Outcome(key, Verdict.UNANSWERED, relation, prompt, answer.reason)
                replies.append(answer.text)
                thought_tokens.append(answer.thought_tokens)
                cut += answer.thought_cut
            if self._options.ask_confidence:
                split = list(map(split_confidence, replies))
                replies = [text for text, _ in split]
                stated.append(tuple(confidence for _, confidence in split))
            texts.append(tuple(replies))
        negatives = []
        for negative, own in zip(item.negatives, texts[1:], strict=True):
            false = negative.fact
            ids = (false.subject, false.relation, false.object)
            negatives.append(AnsweredNegative(negative.text, own, self._read(own), false.replaced, *ids))
        evidence = TrueFalseEvidence(
            fact=AnsweredStatement(item.text, texts[0], self._read(texts[0])),
            object=item.fact.object,
            negatives=tuple(negatives),
            wanted=self._options.negatives,
            thought_tokens=tuple(thought_tokens) if any(thought_tokens) else (),
            thoughts_cut=cut,
            stated=tuple(stated),
        )
        verdict = verdict_of(evidence.fact.judgement, list(map(attrgetter("judgement"), evidence.negatives)))
        return Outcome(key, verdict, relation, prompt, evidence=evidence)

    def _read(self, answers: Sequence[str]) -> tuple[int, ...]:
        words = (judgement_of(answer, self._language) for answer in answers)
        return tuple(NONE if word is None else JUDGEMENTS.index(word) for word in words)


def make_probe(setting: ProbeContext, options: TrueFalseOptions) -> TrueFalseProbe:
    """Return the probe of a model, graph and options."""
    # Before the model is loaded.
    Thinking.parse(options.thinking)
    return TrueFalseProbe(statement_items(setting, options, options.negatives), setting.model.generator(), options)
