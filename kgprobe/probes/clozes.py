"""Cloze items: facts with their cloze sentences, or the reason why they have none.

A fact that has ended before ``as_of`` is asked in its relation's cloze sentences in the past tense, any other fact in
the present tense. The sentences are written by hand or mined from a corpus.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.probes.asking import not_begun
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import generator_of
from kgprobe.verbalize.askable_relations import askable_relations, generic_setting
from kgprobe.verbalize.language import language_of
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.kinds import CLOZES, GENERIC
from kgprobe.verbalize.tense import has_ended, templates_of

# Key of the random stream of sentences, different from all other streams of the same seed.
SENTENCES = 1


@dataclass(frozen=True, slots=True)
class ClozeItem:
    """A fact and its cloze sentences.

    Attributes:
        reason: why the fact has no sentence; None if it has some.
    """

    fact: AskedFact
    clozes: Sequence[Cloze]
    reason: str | None = None


def lacking_sentence(number: int | None) -> str:
    """Return the reason of a fact whose relation has fewer cloze sentences than this number, from 1."""
    return f"its relation has no cloze sentence {number or 1}"


def few_sentences_note(facts: int, sentences: int | None) -> str:
    """Return a note on facts with fewer cloze sentences than requested."""
    return f"{facts:,} facts have fewer than {sentences} cloze sentences; they count with those they have."


class ClozeItems:
    """Cloze items from the templates of a graph's relations.

    Attributes:
        relations: ids of the relations with cloze sentences, sorted.
    """

    def __init__(
        self,
        graph: Graph,
        as_of: int,
        *,
        sentences: int | None = None,
        relations: Sequence[str] = (),
        templates: str = "hand",
        template: int | None = None,
        articles: bool = True,
    ) -> None:
        """Read the relations' cloze sentences.

        Args:
            as_of: facts that ended before this date (``yyyymmdd``) are asked in the past tense.
            sentences: number of cloze sentences per fact, drawn at random; None means all.
            relations: ids; by default every active relation with cloze sentences.
            templates: source of the sentences, one of ``CLOZES``.
            template: number of the sentence to use, from 1; None draws ``sentences``.
            articles: False fills the blanks with names without added articles.

        Raises:
            UnknownNameError: a listed relation is not active or has no cloze sentence.
            KgprobeError: no relation has a cloze sentence.
        """
        kind = CLOZES[templates]
        rows = askable_relations(graph, [kind], relations, only_generic=templates == GENERIC)
        self.relations: Sequence[str] = list(rows)
        self._clozes = {relation: list(rows[relation][kind]) for relation in self.relations}
        self._past_clozes: dict[str, list[str]] = {}
        # Mined sentences have no counterparts in the past tense.
        if templates != "mined":
            self._past_clozes = {relation: list(row["past_clozes"]) for relation, row in rows.items()}
        self._generic = generic_setting(rows)
        self._graph = graph
        self._as_of = as_of
        self._sentences = sentences
        self._template = template
        self._articles = articles
        self._language = language_of(graph.language)

    def describe(self) -> dict[str, Any]:
        """Return the settings that the items depend on; JSON-compatible. Graph, facts and seed are not included."""
        return {
            "as_of": self._as_of,
            "sentences": self._sentences,
            "clozes": self._clozes,
            "past_clozes": self._past_clozes,
            **({} if self._template is None else {"template": self._template}),
            **({} if self._articles else {"articles": False}),
            **self._generic,
        }

    def of(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[ClozeItem]:
        """Return an item for each fact, in order. Cost: a walk from each subject."""
        return [self._item(fact, seed) for fact in describe_facts(self._graph, facts)]

    def _item(self, fact: AskedFact, seed: Sequence[int]) -> ClozeItem:
        if fact.relation not in self._clozes:
            return ClozeItem(
                fact, (), "its relation is not asked: it is inactive, not selected, or has no cloze sentence"
            )
        reason = not_begun(fact, self._as_of)
        if reason is not None:
            return ClozeItem(fact, (), reason)
        ended = has_ended(fact.end, self._as_of)
        past = self._past_clozes.get(fact.relation, [])
        templates = templates_of(self._clozes[fact.relation], past, ended, self._language)
        if not templates:
            reason = f"it has ended, and the relation {fact.relation} has no cloze sentence in the past tense"
            return ClozeItem(fact, (), reason)
        if self._template is not None:
            templates = templates[self._template - 1 : self._template]
            if not templates:
                return ClozeItem(fact, (), lacking_sentence(self._template))
        elif self._sentences is not None and self._sentences < len(templates):
            # Each fact has its own random stream, so its sentences do not depend on the other facts of the batch.
            generator = generator_of(fact.key, [*seed, SENTENCES])
            chosen = generator.choice(len(templates), self._sentences, replace=False)
            templates = list(map(templates.__getitem__, sorted(chosen)))
        own = (fact.subject_label, self._articles, self._language)
        return ClozeItem(fact, [Cloze(template, *own) for template in templates])
