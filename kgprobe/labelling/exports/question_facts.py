"""Facts about the entities of a question that a model does not know, for retrievers."""

from collections import defaultdict

from kgprobe.graph.client import Graph
from kgprobe.graph.names import entities_in_text
from kgprobe.labelling.exports.labels import FactLabels
from kgprobe.labelling.exports.retrieval import FactToRetrieve, OnLeftOut, Sentences, facts_to_retrieve, surest_first
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
