"""Facts as statements, each with negatives: statements in the same words that are false.

Section 3.1 of the paper on evaluating with large graphs; docs/methods/statements.md. A statement is in the words of a
template of its relation, or of a cloze sentence where it has none; what has ended is said in the past, and so are its
negatives, which were true at no time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kgprobe.dates import first_day
from kgprobe.graph.client import Graph
from kgprobe.probes.statements.words import StatementWords, asked_relations
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import generator_of
from kgprobe.sampling.statement_negatives import OBJECT, FalseFact, StatementNegatives
from kgprobe.verbalize.sentences import fill
from kgprobe.verbalize.tense import has_ended

# Sets the choice of templates apart from all others that follow from the same seed.
_STATEMENTS = 15


@dataclass(frozen=True, slots=True)
class FalseStatement:
    """A negative in words."""

    fact: FalseFact
    text: str


@dataclass(frozen=True, slots=True)
class StatementItem:
    """A fact in words, with its negatives.

    Attributes:
        text: empty where it cannot be asked; then ``reason`` says why.
        negatives: at least one where it can be; may be fewer than were wanted.
    """

    fact: AskedFact
    text: str = ""
    negatives: Sequence[FalseStatement] = ()
    reason: str | None = None


class StatementItems:
    """Makes statements of the facts of a graph whose relations have templates of them.

    Attributes:
        relations: ids of those whose facts can be asked, sorted.
    """

    def __init__(
        self,
        graph: Graph,
        as_of: int,
        *,
        negatives: int = 1,
        replace: str = OBJECT,
        any_type: bool = False,
        relations: Sequence[str] = (),
    ) -> None:
        """Read the relations' templates.

        Args:
            as_of: facts that ended before this date (``yyyymmdd``) are said in the past tense.
            negatives: how many of each fact are wanted.
            replace, any_type: as of :class:`~kgprobe.sampling.statement_negatives.StatementNegatives`. A relation is
            replaced by any
                that is active and has words, whichever are asked.
            relations: ids; none means every active relation that has statements or cloze sentences.

        Raises:
            UnknownNameError: a relation that was named is not active or has neither.
            KgprobeError: no relation has any.
        """
        self.relations: Sequence[str] = asked_relations(graph, relations)
        self._words = StatementWords.of(graph)
        self._graph = graph
        self._as_of = as_of
        self._count = negatives
        self._replaced = "any of its parts" if replace == "any" else f"its {replace}"
        said = self._words.said()
        # What has ended needs words in the past, and so does what stands in a relation's place there.
        self._false_facts = {
            ended: StatementNegatives(graph, said, self._words.that_say(ended), replace=replace, any_type=any_type)
            for ended in (False, True)
        }

    def describe(self) -> dict[str, Any]:
        """What the items depend on besides graph, facts, seed and what is wanted; JSON-compatible."""
        return {
            "as_of": self._as_of,
            "relations": self.relations,
            "statements": self._words.present,
            "past_statements": self._words.past,
        }

    def of(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[StatementItem]:
        """An item a fact, in order, drawn from a stream of the fact's own.

        Cost: a walk from each subject, and the drawing of negatives.
        """
        described = describe_facts(self._graph, facts)
        reasons = [self._why_not(fact) for fact in described]
        negatives: dict[FactKey, list[FalseFact]] = {}
        for ended, false_facts in self._false_facts.items():
            keys = [
                fact.key
                for fact, reason in zip(described, reasons, strict=True)
                if reason is None and self._has_ended(fact) is ended
            ]
            negatives |= dict(zip(keys, false_facts.draw(keys, self._count, seed), strict=True))
        return [
            StatementItem(fact, reason=reason) if reason else self._worded(fact, negatives[fact.key], seed)
            for fact, reason in zip(described, reasons, strict=True)
        ]

    def _why_not(self, fact: AskedFact) -> str | None:
        """Why a fact cannot be said in a statement."""
        if fact.relation not in self.relations:
            return "its relation is not among those asked: inactive, not named, or without a statement"
        if not fact.subject_label.strip():
            return "its subject's label is white space"
        if not fact.object_label.strip():
            return "its object's label is white space"
        if fact.start is not None and first_day(fact.start) > self._as_of:
            return f"it begins in {fact.start}, after {self._as_of}"
        if not self._words.templates(fact.relation, self._has_ended(fact)):
            return f"it has ended, and the relation {fact.relation} has no statement in the past tense"
        return None

    def _worded(self, fact: AskedFact, negatives: Sequence[FalseFact], seed: Sequence[int]) -> StatementItem:
        """A fact and its negatives in the same words, drawn at random; with another relation, in those of that."""
        if not negatives:
            return StatementItem(fact, reason=f"the graph has nothing that makes it false in place of {self._replaced}")
        generator = generator_of(fact.key, [*seed, _STATEMENTS])

        def drawn(relation: str) -> str:
            templates = self._words.templates(relation, self._has_ended(fact))
            return templates[generator.integers(len(templates))]

        own = drawn(fact.relation)
        worded = []
        for negative in negatives:
            template = own if negative.relation == fact.relation else drawn(negative.relation)
            worded.append(FalseStatement(negative, fill(template, negative.subject_label, negative.object_label)))
        return StatementItem(fact, fill(own, fact.subject_label, fact.object_label), worded)

    def _has_ended(self, fact: AskedFact) -> bool:
        return has_ended(fact.end, self._as_of)
