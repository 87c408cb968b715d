"""Retriever of LangChain: facts that a model does not know, about the entities of a question."""

from typing import Any

import msgspec
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from kgprobe.labelling.exports.question_facts import QuestionFacts
from kgprobe.labelling.exports.retrieval import FactToRetrieve


class LangchainFactsRetriever(BaseRetriever):
    """Retriever whose documents are sentences of unknown facts, with ids and labels as metadata."""

    facts: QuestionFacts
    limit: int = 10

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        return list(map(_document, self.facts.find(query, self.limit)))


def _document(fact: FactToRetrieve) -> Document:
    metadata: dict[str, Any] = msgspec.to_builtins(fact)
    return Document(page_content=metadata.pop("text"), metadata=metadata)
