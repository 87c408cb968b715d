"""Statements put to a model in words: is it true, is it false, or do you not know? The majority of its answers counts.

Section 3.1 of the paper on evaluating with large graphs; docs/methods/judge.md. The labels that a judge learns from.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from kgprobe.errors import ArgumentError
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.probes.labels import STATEMENT, LabelOptions
from kgprobe.probes.labels.evidence import LabelEvidence, SaidNegative, SaidStatement
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.probes.statements.items import StatementItem, StatementItems
from kgprobe.probes.statements.metrics import JUDGEMENTS, NONE
from kgprobe.probes.statements.verdicts import RIGHT_MEANS, verdict_of
from kgprobe.progress import share_counter
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.judgements import judgement_of


class LabelProbe:
    """Asks whether statements are true, several times each. A fact is right when it is labelled true, negatives false.

    Attributes:
        relations: ids of those whose facts can be asked, sorted.
    """

    def __init__(self, items: StatementItems, generator: Generator, options: LabelOptions) -> None:
        """Make a probe.

        Raises:
            ArgumentError: the instruction has no place for the statement, or more than one.
        """
        if options.instruction.count(STATEMENT) != 1:
            raise ArgumentError(
                "instruction", f"has {options.instruction.count(STATEMENT)} places for the statement; {STATEMENT} once."
            )
        self.relations: Sequence[str] = items.relations
        self._items = items
        self._generator = generator
        self._options = options

    def describe(self) -> dict[str, Any]:
        """The model, the options and the words; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._generator.name,
            "generator": dict(self._generator.describe()),
            **asdict(self._options),
            "right": RIGHT_MEANS,
            **self._items.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """One outcome a fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: the drawing of negatives, and ``times`` requests for each statement.

        Raises:
            KgprobeError: the model cannot be asked at all, or its budget is spent; what was answered is in the cache
                of answers, where there is one.
        """
        items = self._items.of(facts, seed)
        seeds = [_seed(seed, number) for number in range(self._options.times)]
        asked = [item for item in items if item.reason is None]
        count = sum(1 + len(item.negatives) for item in asked) * len(seeds)
        progress = share_counter(count)
        own = iter(self._answers([item.text for item in asked], seeds, progress))
        texts = [negative.text for item in asked for negative in item.negatives]
        others = iter(self._answers(texts, seeds, progress))
        return [
            self._outcome(item, [next(own), *(next(others) for _ in item.negatives)])
            if item.reason is None
            else unaskable(item.fact.key, item.fact.relation, item.reason)
            for item in items
        ]

    def _answers(
        self, texts: Sequence[str], seeds: Sequence[int], progress: Callable[[int], None]
    ) -> "Iterator[Sequence[Answer | Unanswered]]":
        """All answers to each statement."""
        requests = [
            Request(self._prompt(text), self._options.answer_tokens, self._options.temperature, number)
            for text in texts
            for number in seeds
        ]
        answers = self._generator.answer(requests, progress)
        return (answers[place : place + len(seeds)] for place in range(0, len(answers), len(seeds)))

    def _prompt(self, statement: str) -> str:
        return self._options.instruction.replace(STATEMENT, statement)

    def _outcome(self, item: StatementItem, said: "Sequence[Sequence[Answer | Unanswered]]") -> Outcome:
        key, relation = item.fact.key, item.fact.relation
        prompt = self._prompt(item.text)
        for answer in (answer for each in said for answer in each):
            if isinstance(answer, Unanswered):
                return Outcome(key, Verdict.UNANSWERED, relation, prompt, answer.reason)
        texts = [tuple(answer.text for answer in each if isinstance(answer, Answer)) for each in said]
        fact, *negatives = texts
        evidence = LabelEvidence(
            fact=SaidStatement(item.text, fact, _read(fact)),
            object=item.fact.object,
            negatives=tuple(
                SaidNegative(
                    negative.text,
                    said_of_it,
                    _read(said_of_it),
                    negative.fact.replaced,
                    negative.fact.subject,
                    negative.fact.relation,
                    negative.fact.object,
                )
                for negative, said_of_it in zip(item.negatives, negatives, strict=True)
            ),
            wanted=self._options.negatives,
        )
        verdict = verdict_of(evidence.fact.judgement, [negative.judgement for negative in evidence.negatives])
        return Outcome(key, verdict, relation, prompt, evidence=evidence)


def _read(answers: Sequence[str]) -> tuple[int, ...]:
    judged = [judgement_of(answer) for answer in answers]
    return tuple(NONE if each is None else JUDGEMENTS.index(each) for each in judged)


def _seed(seed: Sequence[int], number: int) -> int:
    """What the draws of one of several answers follow from; as APIs take it, below 2^31."""
    return int(np.random.SeedSequence([*seed, number]).generate_state(1)[0] >> 1)
