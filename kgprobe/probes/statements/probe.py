"""Facts judged as statements: is the most probable answer that it is true, that it is false, or that it is not known?

docs/methods/statements.md. What stands in the way of a fact's answer is its outcome's reason.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kgprobe.errors import ArgumentError
from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.probes.outcome import Outcome, unaskable
from kgprobe.probes.statements import StatementOptions
from kgprobe.probes.statements.evidence import NegativeStatement, Statement, StatementEvidence
from kgprobe.probes.statements.items import StatementItem, StatementItems
from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.probes.statements.verdicts import RIGHT_MEANS, verdict_of
from kgprobe.progress import share_counter
from kgprobe.sampling.keys import FactKey


class StatementProbe:
    """Asks whether statements are true. A fact is right when its own is judged true and its negatives false.

    Attributes:
        relations: ids of those whose facts can be asked, sorted.
    """

    def __init__(self, items: StatementItems, scorer: TextScorer, options: StatementOptions) -> None:
        """Make a probe.

        Raises:
            ArgumentError: the answers are not three different ones, or the instruction is empty.
        """
        self.relations: Sequence[str] = items.relations
        self._items = items
        self._scorer = scorer
        self._options = options
        self._answers = _three(options.answers)
        if not options.instruction.strip():
            raise ArgumentError("instruction", "is empty; a text that says what the answers are is expected.")

    def describe(self) -> dict[str, Any]:
        """The model, the options and the words; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            **asdict(self._options),
            "right": RIGHT_MEANS,
            "prompt": self._prompt("{statement}"),
            **self._items.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """One outcome a fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: a walk from each subject, the drawing of negatives, and one scoring of three answers to each statement;
        what all prompts begin with is computed once.

        Raises:
            KgprobeError: the model cannot be asked at all.
        """
        items = self._items.of(facts, seed)
        texts = [text for item in items for text in _texts(item)]
        scored = iter(
            self._scorer.score(
                [self._prompt(text) for text in texts],
                [self._answers] * len(texts),
                beginnings=[self._beginning] * len(texts),
                progress=share_counter(len(texts) * len(self._answers)),
            )
        )
        return [self._outcome(item, [next(scored) for _ in _texts(item)]) for item in items]

    @property
    def _beginning(self) -> str:
        return f"{self._options.instruction.strip()}\n\nStatement:"

    def _prompt(self, statement: str) -> str:
        return f"{self._beginning} {statement}\nAnswer:"

    def _outcome(self, item: StatementItem, scored: Sequence[ScoredContinuations]) -> Outcome:
        key, relation = item.fact.key, item.fact.relation
        if item.reason is not None:
            return unaskable(key, relation, item.reason)
        reasons = [next(iter(its.reasons.values()), None) for its in scored]
        if reasons[0] is not None:
            return unaskable(key, relation, reasons[0])
        negatives = tuple(
            NegativeStatement(
                text=negative.text,
                log_probabilities=its.values,
                replaced=negative.fact.replaced,
                subject=negative.fact.subject,
                relation=negative.fact.relation,
                object=negative.fact.object,
            )
            for negative, its, reason in zip(item.negatives, scored[1:], reasons[1:], strict=True)
            if reason is None
        )
        left_out = tuple(reason for reason in reasons if reason is not None)
        if not negatives:
            return unaskable(key, relation, f"the model takes none of its negatives: {left_out[0]}")
        evidence = StatementEvidence(
            fact=Statement(item.text, scored[0].values),
            negatives=negatives,
            answers=self._answers,
            wanted=self._options.negatives,
            left_out=left_out,
        )
        verdict = verdict_of(evidence.fact.judgement, [negative.judgement for negative in negatives])
        return Outcome(key, verdict, relation, self._prompt(item.text), evidence=evidence)


def _texts(item: StatementItem) -> list[str]:
    """The statements that are put to the model: the fact's, then its negatives."""
    return [] if item.reason is not None else [item.text, *(negative.text for negative in item.negatives)]


def _three(answers: str) -> tuple[str, str, str]:
    words = [word.strip() for word in answers.split("/")]
    if len(words) != len(JUDGEMENTS) or not all(words) or len(set(words)) != len(words):
        raise ArgumentError(
            "answers",
            f"is {answers!r}; three different words, for true, false and unknown, are expected, with / between.",
        )
    return words[0], words[1], words[2]
