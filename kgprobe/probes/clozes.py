"""Facts as cloze items: in which sentences each is asked, or why in none.

A fact that holds is put in its relation's cloze sentences, one that has ended before ``as_of`` in those of the past.
The sentences are those written by hand, or those mined from a corpus.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgprobe.dates import first_day
from kgprobe.graph.client import Graph
from kgprobe.sampling.facts import AskedFact, askable_relations, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.kinds import CLOZES
from kgprobe.verbalize.tense import has_ended, templates_of

# Sets the random choice of sentences apart from all others that follow from the same seed.
SENTENCES = 1


@dataclass(frozen=True, slots=True)
class ClozeItem:
    """A fact and the sentences it is asked in.

    Attributes:
        reason: why there is no sentence; None where there are some.
    """

    fact: AskedFact
    clozes: Sequence[Cloze]
    reason: str | None = None


class ClozeItems:
    """Makes items from the templates of a graph's relations.

    Attributes:
        relations: ids of those whose facts can be asked, sorted.
    """

    def __init__(
        self,
        graph: Graph,
        as_of: int,
        *,
        sentences: int | None = None,
        relations: Sequence[str] = (),
        templates: str = "hand",
    ) -> None:
        """Read the relations' cloze sentences.

        Args:
            as_of: facts that ended before this date (``yyyymmdd``) are asked in the past tense.
            sentences: how many of a relation's cloze sentences, drawn at random; None asks all of them.
            relations: ids; none means every active relation that has cloze sentences.
            templates: one of ``CLOZES``: who made the sentences.

        Raises:
            UnknownNameError: a relation that was named is not active or has no cloze sentence.
            KgprobeError: no relation has a cloze sentence.
        """
        kind = CLOZES[templates]
        rows = askable_relations(graph, [kind], relations)
        self.relations: Sequence[str] = list(rows)
        self._clozes = {relation: list(rows[relation][kind]) for relation in self.relations}
        # What was mined has nothing written beside it for what has ended.
        past = {relation: list(row["past_clozes"]) for relation, row in rows.items()} if templates == "hand" else {}
        self._past_clozes: dict[str, list[str]] = past
        self._graph = graph
        self._as_of = as_of
        self._sentences = sentences

    def describe(self) -> dict[str, Any]:
        """What the items depend on besides graph, facts and seed; JSON-compatible."""
        return {
            "as_of": self._as_of,
            "sentences": self._sentences,
            "clozes": self._clozes,
            "past_clozes": self._past_clozes,
        }

    def of(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[ClozeItem]:
        """An item a fact, in order. Cost: a walk from each subject."""
        return [self._item(fact, seed) for fact in describe_facts(self._graph, facts)]

    def _item(self, fact: AskedFact, seed: Sequence[int]) -> ClozeItem:
        if fact.relation not in self._clozes:
            reason = "its relation is not among those asked: inactive, not named, or without a cloze sentence"
            return ClozeItem(fact, (), reason)
        if fact.start is not None and first_day(fact.start) > self._as_of:
            return ClozeItem(fact, (), f"it begins in {fact.start}, after {self._as_of}")
        ended = has_ended(fact.end, self._as_of)
        templates = templates_of(self._clozes[fact.relation], self._past_clozes.get(fact.relation, []), ended)
        if not templates:
            reason = f"it has ended, and the relation {fact.relation} has no cloze sentence in the past tense"
            return ClozeItem(fact, (), reason)
        if self._sentences is not None and self._sentences < len(templates):
            # From a stream of the fact's own, so that neither what stands beside it nor how it was chosen has a say.
            generator = np.random.default_rng([*seed, SENTENCES, zlib.crc32(fact.key.fact.encode())])
            chosen = generator.choice(len(templates), self._sentences, replace=False)
            templates = [templates[index] for index in sorted(chosen)]
        return ClozeItem(fact, [Cloze(template, fact.subject_label) for template in templates])
