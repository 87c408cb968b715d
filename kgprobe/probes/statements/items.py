"""Statements of facts, and their negatives: false statements in the same words.

Section 3.1 of the paper on evaluating with large graphs; docs/methods/statements.md. A statement uses a
template of its relation, or else a cloze sentence. Statements of ended facts and of their negatives are in the past
tense. Negatives were never true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.probes.asking import nameless, not_begun
from kgprobe.probes.register import ProbeContext
from kgprobe.probes.statements import NegativeOptions
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import generator_of
from kgprobe.sampling.statement_negatives import OBJECT, FalseFact, StatementNegatives
from kgprobe.verbalize.askable_relations import askable_relations, generic_setting
from kgprobe.verbalize.language import ENGLISH, Language, language_of
from kgprobe.verbalize.sentences import fill
from kgprobe.verbalize.tense import has_ended, templates_of

# Kinds of templates of a statement, in the order of preference.
_TEMPLATES = ("statements", "clozes")


@dataclass(frozen=True, slots=True)
class StatementWords:
    """Templates of statements of every active relation that has any, by relation.

    Attributes:
        present: templates of statements, or else cloze sentences with a full stop.
        past: cloze sentences in the past tense with a full stop; may be empty.
        generic: the setting of relations with generic templates, see :func:`generic_setting`.
    """

    present: Mapping[str, Sequence[str]]
    past: Mapping[str, Sequence[str]]
    labels: Mapping[str, str]
    generic: Mapping[str, Sequence[str]]
    language: Language = ENGLISH

    @classmethod
    def of(cls, graph: Graph) -> "StatementWords":
        """Read the templates of a graph."""
        present, past, labels = {}, {}, {}
        language = language_of(graph.language)
        rows = askable_relations(graph, _TEMPLATES)
        for relation, row in rows.items():
            present[relation] = list(row["statements"]) or list(map(language.sentence, row["clozes"]))
            past[relation] = list(map(language.sentence, row["past_clozes"]))
            labels[relation] = row["label"]
        return cls(present, past, labels, generic_setting(rows), language)

    def templates(self, relation: str, ended: bool) -> list[str]:
        """Return a relation's templates in the present tense, or in the past tense; the latter may be empty."""
        return templates_of(self.present[relation], self.past[relation], ended, self.language)

    def stated(self, template: str, subject: str, object_: str) -> str:
        """Return the statement of a template about a subject and an object."""
        return fill(template, subject, object_, self.language)

    def relations_in(self, ended: bool) -> list[str]:
        """Return the relations with templates in this tense."""
        return [relation for relation in self.present if self.templates(relation, ended)]

    def texts(self) -> dict[str, set[str]]:
        """Return each relation's label and templates of both tenses, case-folded."""
        texts = {}
        for relation, label in self.labels.items():
            words = (label, *self.templates(relation, False), *self.templates(relation, True))
            texts[relation] = set(map(str.casefold, filter(str.strip, words)))
        return texts


def statement_relations(graph: Graph, relations: Sequence[str] = ()) -> list[str]:
    """Return the sorted ids of the relations, among some or all, with templates of statements."""
    return list(askable_relations(graph, _TEMPLATES, relations))


# Key of the random stream of templates, different from all other streams of the same seed.
_STATEMENTS = 15


@dataclass(frozen=True, slots=True)
class FalseStatement:
    """Statement of a negative."""

    fact: FalseFact
    text: str


@dataclass(frozen=True, slots=True)
class StatementItem:
    """Statement of a fact, with its negatives.

    Attributes:
        text: empty if the fact cannot be asked, for ``reason``.
        negatives: at least one if the fact can be asked; possibly fewer than requested.
    """

    fact: AskedFact
    text: str = ""
    negatives: Sequence[FalseStatement] = ()
    reason: str | None = None


class StatementItems:
    """Statements of a graph's facts; ``relations`` are the sorted ids of those with templates of statements."""

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
            as_of: facts that ended before this date (``yyyymmdd``) are stated in the past tense.
            replace, any_type: see :class:`~kgprobe.sampling.statement_negatives.StatementNegatives`. A relation is
                replaced by any active relation with templates, independent of ``relations``.
        """
        self.relations: Sequence[str] = statement_relations(graph, relations)
        self._words = StatementWords.of(graph)
        self.language = self._words.language
        self._graph = graph
        self._as_of = as_of
        self._count = negatives
        self._replaced = "any of its parts" if replace == "any" else f"its {replace}"
        texts = self._words.texts()
        # Ended facts need templates in the past tense, and so do the relations that replace theirs.
        self._false_facts: dict[bool, StatementNegatives] = {}
        for ended in (False, True):
            stated = self._words.relations_in(ended)
            self._false_facts[ended] = StatementNegatives(graph, texts, stated, replace=replace, any_type=any_type)

    def describe(self) -> dict[str, Any]:
        """Return the date, relations and templates that the items depend on; JSON-compatible."""
        return {
            "as_of": self._as_of,
            "relations": self.relations,
            "statements": self._words.present,
            "past_statements": self._words.past,
            **self._words.generic,
        }

    def of(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[StatementItem]:
        """Return an item for each fact, in order, drawn from the fact's own random stream.

        Cost: a walk from each subject, and the drawing of negatives.
        """
        described = describe_facts(self._graph, facts)
        reasons = {fact.key: self._reason_unaskable(fact) for fact in described}
        negatives: dict[FactKey, list[FalseFact]] = {}
        for ended, false_facts in self._false_facts.items():
            stated = [fact for fact in described if reasons[fact.key] is None and self._has_ended(fact) is ended]
            drawn = false_facts.draw(stated, self._count, seed)
            negatives |= {fact.key: of_fact for fact, of_fact in zip(stated, drawn, strict=True)}
        items = []
        for fact in described:
            reason = reasons[fact.key]
            items.append(
                self._worded(fact, negatives[fact.key], seed) if reason is None else StatementItem(fact, reason=reason)
            )
        return items

    def _reason_unaskable(self, fact: AskedFact) -> str | None:
        """Return why a fact cannot be stated; None if it can."""
        if fact.relation not in self.relations:
            return "its relation is not asked: it is inactive, not selected, or has no statement"
        reason = nameless(fact) or not_begun(fact, self._as_of)
        if reason is not None:
            return reason
        if not self._words.templates(fact.relation, self._has_ended(fact)):
            return f"it has ended, and the relation {fact.relation} has no statement in the past tense"
        return None

    def _worded(self, fact: AskedFact, negatives: Sequence[FalseFact], seed: Sequence[int]) -> StatementItem:
        """Return a fact and its negatives with a random template, a separate one for each other relation."""
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
            false = self._words.stated(template, negative.subject_label, negative.object_label)
            worded.append(FalseStatement(negative, false))
        return StatementItem(fact, self._words.stated(own, fact.subject_label, fact.object_label), worded)

    def _has_ended(self, fact: AskedFact) -> bool:
        return has_ended(fact.end, self._as_of)


def statement_items(setting: ProbeContext, options: NegativeOptions, negatives: int) -> StatementItems:
    """Return the source of statements with a number of negatives per fact, for any probe."""
    return StatementItems(
        setting.graph,
        setting.as_of,
        negatives=negatives,
        replace=options.replace,
        any_type=options.any_type,
        relations=setting.relations,
    )
