"""Facts about the entities of a question that a model does not know, for retrievers."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import make_options
from kgprobe.base.progress import print_message
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph
from kgprobe.graph.names import entities_in_text
from kgprobe.labelling.exports.labels import FactLabels
from kgprobe.labelling.exports.retrieval import (
    FactToRetrieve,
    NotRetrieved,
    OnLeftOut,
    Sentences,
    facts_to_retrieve,
    sentences_of,
    surest_first,
)
from kgprobe.labelling.exports.retrieval_options import RetrievalOptions


class QuestionFacts:
    """Unknown facts in memory, found by the entities that a question names.

    Memory: about 1 KB for each unknown fact.
    """

    def __init__(
        self,
        graph: Graph,
        labels: FactLabels,
        sentences: Sentences,
        options: RetrievalOptions,
        on_left_out: OnLeftOut,
    ) -> None:
        """Read the labels."""
        self._graph = graph
        self._facts: dict[str, list[FactToRetrieve]] = defaultdict(list)
        for fact in sorted(facts_to_retrieve(labels, sentences, options, (), on_left_out), key=surest_first):
            for entity in {fact.subject, fact.object}:
                self._facts[entity].append(fact)

    def find(self, question: str, limit: int) -> list[FactToRetrieve]:
        """Return the unknown facts of the entities in a question, the surest unknown first; at most ``limit``."""
        facts: dict[tuple[str, str], FactToRetrieve] = {}
        for entity in entities_in_text(self._graph, question):
            for fact in self._facts.get(entity, ())[:limit]:
                facts[fact.subject, fact.fact] = fact
        return sorted(facts.values(), key=surest_first)[:limit]


def question_facts(graph: Graph, labels: FactLabels, options: Mapping[str, Any]) -> QuestionFacts:
    """Return the unknown facts for a retriever; numbers of left-out facts are printed on stderr.

    Args:
        options: those of :class:`.RetrievalOptions` that a retriever has.
    """
    for name in ("steps", "per_entity"):
        if name in options:
            raise ArgumentError(
                name, "is not an option of retrievers, which return the facts of a question's entities."
            )
    chosen = make_options(RetrievalOptions, options, "the retriever")
    reports = list[NotRetrieved]()
    facts = QuestionFacts(graph, labels, sentences_of(graph, labels), chosen, reports.append)
    if reports[0].predicted or reports[0].remedy:
        print_message(f"The retriever has {counted(reports[0].taken, 'unknown fact')}. {reports[0]}")
    return facts
