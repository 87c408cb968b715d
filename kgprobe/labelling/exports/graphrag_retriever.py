"""Retriever of neo4j-graphrag: facts that a model does not know, about the entities of a question."""

from typing import Any

import msgspec
import neo4j
from neo4j_graphrag.retrievers.base import Retriever
from neo4j_graphrag.types import RawSearchResult, RetrieverResultItem

from kgprobe.labelling.exports.question_facts import QuestionFacts


class GraphragFactsRetriever(Retriever):
    """Retriever whose items are sentences of unknown facts, with ids and labels as metadata."""

    VERIFY_NEO4J_VERSION = False

    def __init__(self, facts: QuestionFacts) -> None:
        """Keep the unknown facts; the class of neo4j-graphrag needs a driver of its own only for vector indexes."""
        self.facts = facts

    def get_search_results(self, query_text: str, top_k: int = 10) -> RawSearchResult:
        """Return the unknown facts about the entities of a question."""
        facts = self.facts.find(query_text, top_k)
        # A record has no types.
        records: list[neo4j.Record] = [neo4j.Record(msgspec.to_builtins(fact)) for fact in facts]  # type: ignore[no-untyped-call]
        return RawSearchResult(records=records, metadata={"facts": len(records)})

    def default_record_formatter(self, record: neo4j.Record) -> RetrieverResultItem:
        """Return a fact as an item."""
        metadata: dict[str, Any] = record.data()
        return RetrieverResultItem(content=metadata.pop("text"), metadata=metadata)
