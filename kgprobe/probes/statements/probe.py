"""Probe that judges statements by the most probable answer: true, false or unknown.

docs/methods/statements.md.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain, islice
from operator import attrgetter
from typing import Any

from kgprobe.base.errors import ArgumentError
from kgprobe.base.progress import share_counter
from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.probes.asking import in_order
from kgprobe.probes.outcome import Outcome, unaskable
from kgprobe.probes.register import ProbeContext
from kgprobe.probes.statements import ANSWERS, INSTRUCTION, StatementOptions
from kgprobe.probes.statements.evidence import JudgedStatement, NegativeStatement, StatementEvidence
from kgprobe.probes.statements.items import StatementItem, StatementItems, statement_items
from kgprobe.probes.statements.metrics import JUDGEMENTS, RIGHT_MEANS, verdict_of
from kgprobe.sampling.keys import FactKey


class StatementProbe:
    """Probe that lets a model judge statements. A fact is right if it is judged true and its negatives false."""

    def __init__(self, items: StatementItems, scorer: TextScorer, options: StatementOptions) -> None:
        self.relations: Sequence[str] = items.relations
        self._items = items
        self._scorer = scorer
        self._language = items.language
        # Their defaults are those of the language asked.
        if options.instruction == INSTRUCTION:
            options = replace(options, instruction=self._language.prompts.statement)
        if options.answers == ANSWERS:
            options = replace(options, answers=self._language.prompts.answers)
        self._options = options
        words = tuple(map(str.strip, options.answers.split("/")))
        if len(words) != len(JUDGEMENTS) or not all(words) or len(set(words)) != len(words):
            raise ArgumentError(
                "answers",
                f"is {options.answers!r}; three different words, for true, false and unknown, are expected, with /"
                " between.",
            )
        self._answers = (words[0], words[1], words[2])
        if not options.instruction.strip():
            raise ArgumentError("instruction", "is empty; expected is a text that names the answers.")

    def describe(self) -> dict[str, Any]:
        """Return model, options and templates; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            **asdict(self._options),
            "right": RIGHT_MEANS,
            "prompt": self._prompt("{statement}"),
            **self._items.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: a walk from each subject, the drawing of negatives, and one scoring of three answers to each statement,
        with the prompts' common prefix computed once.
        """
        items = self._items.of(facts, seed)
        asked_items = [item for item in items if item.reason is None]
        prompts = list(map(self._prompt, chain.from_iterable(map(_texts, asked_items))))
        scored = iter(
            self._scorer.score(
                prompts,
                [self._answers] * len(prompts),
                separator=self._language.joiner,
                beginnings=[self._beginning] * len(prompts),
                progress=share_counter(len(prompts) * len(self._answers)),
            )
        )
        outcomes = [self._outcome(item, list(islice(scored, len(_texts(item))))) for item in asked_items]
        return in_order(map(attrgetter("fact"), items), map(attrgetter("reason"), items), outcomes)

    @property
    def _beginning(self) -> str:
        return f"{self._options.instruction.strip()}\n\n{self._language.prompts.statement_label}"

    def _prompt(self, statement: str) -> str:
        language = self._language
        return f"{self._beginning}{language.joiner}{statement}\n{language.prompts.answer_label}"

    def _outcome(self, item: StatementItem, scored: Sequence[ScoredContinuations]) -> Outcome:
        key, relation = item.fact.key, item.fact.relation
        if scored[0].reasons:
            return unaskable(key, relation, next(iter(scored[0].reasons.values())))
        negatives, left_out = [], []
        for negative, answers in zip(item.negatives, scored[1:], strict=True):
            if answers.reasons:
                left_out.append(next(iter(answers.reasons.values())))
            else:
                false = negative.fact
                ids = (false.subject, false.relation, false.object)
                negatives.append(NegativeStatement(negative.text, answers.values, false.replaced, *ids))
        if not negatives:
            return unaskable(key, relation, f"the model cannot score any of its negatives: {left_out[0]}")
        evidence = StatementEvidence(
            fact=JudgedStatement(item.text, scored[0].values),
            negatives=tuple(negatives),
            answers=self._answers,
            wanted=self._options.negatives,
            left_out=tuple(left_out),
        )
        verdict = verdict_of(evidence.fact.judgement, list(map(attrgetter("judgement"), negatives)))
        return Outcome(key, verdict, relation, self._prompt(item.text), evidence=evidence)


def _texts(item: StatementItem) -> list[str]:
    """Return the statements to judge: the fact's, then its negatives."""
    return [item.text, *map(attrgetter("text"), item.negatives)]


def make_probe(setting: ProbeContext, options: StatementOptions) -> StatementProbe:
    """Return the probe of a model, graph and options."""
    items = statement_items(setting, options, options.negatives)
    return StatementProbe(items, setting.model.scorer(), options)
