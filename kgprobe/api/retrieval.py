"""``kgprobe.unknown_facts`` and ``kgprobe.export_retrieval``: facts that a model does not know, for its prompts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.api.writing_back import find_labels
from kgprobe.base.arguments import check_choice, several, whole_number
from kgprobe.base.errors import ArgumentError, KgprobeError, how_to_install
from kgprobe.base.files import replacing
from kgprobe.base.options import make_options
from kgprobe.base.progress import print_message
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph
from kgprobe.graph.names import entity_ids
from kgprobe.labelling.exports.question_facts import QuestionFacts
from kgprobe.labelling.exports.retrieval import (
    WRITERS,
    FactToRetrieve,
    NotRetrieved,
    OnLeftOut,
    Writer,
    facts_to_retrieve,
    sentences_of,
)
from kgprobe.labelling.exports.retrieval_options import FORMATS, RetrievalOptions
from kgprobe.labelling.table import LabelTable
from kgprobe.results.measurement import Run

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from neo4j_graphrag.retrievers.base import Retriever


@dataclass(frozen=True, slots=True)
class RetrievalFile:
    """A written file of facts to retrieve.

    Attributes:
        left_out: numbers of other facts, by reason.
        change: how the graph has changed since the labels were made, in a sentence; empty if it has not.
    """

    path: Path
    facts: int
    left_out: NotRetrieved
    change: str = ""

    def __str__(self) -> str:
        """Return the path and the numbers of facts."""
        parts = [f"{self.path}: {counted(self.facts, 'fact')}.", str(self.left_out), self.change]
        return " ".join(filter(None, parts))


def unknown_facts(
    graph: Graph,
    labels: LabelTable | Run | str | Path,
    entities: Sequence[str] = (),
    *,
    on_left_out: OnLeftOut = lambda left_out: None,
    **options: Any,
) -> Iterator[FactToRetrieve]:
    """Yield the facts that a model does not know: those around some entities, the surest unknown first, or all.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=1, facts_per_round=8, distractors=3, name="to-retrieve")
    >>> [fact.text for fact in kgprobe.unknown_facts(graph, run)][:1]  # doctest: +SKIP
    ["N'Djamena is the capital of Chad."]

    Without entities, facts come in the order of the labels. Facts that the model was not asked are left out: their
    intervals hold on average over facts, and cover fewer of those that the model does not know.

    Args:
        graph: graph of the facts, for their sentences and the entities' names.
        labels: a label table, its name or folder; or a run, for its beliefs.
        entities: ids or names; empty for all facts.
        on_left_out: called at the end with the numbers of facts that are left out, by reason.
        options: fields of :class:`~kgprobe.labelling.exports.retrieval_options.RetrievalOptions`.

    Raises:
        UnknownNameError: an entity is unknown.
        ArgumentError: an option is not allowed.
        KgprobeError: there is no such table.

    Cost: a pass over the labels; two for two steps. Memory: the facts around the entities.
    """
    chosen = make_options(RetrievalOptions, options, "retrieval")
    ids = entity_ids(graph, several("entities", entities))
    return facts_to_retrieve(find_labels(labels), sentences_of(graph), chosen, ids, on_left_out)


def retrieval_texts(
    graph: Graph,
    labels: LabelTable | Run | str | Path,
    entities: Sequence[str] = (),
    *,
    format: str = "text",  # noqa: A002
    on_left_out: OnLeftOut = lambda left_out: None,
    **options: Any,
) -> Iterator[str]:
    """Yield the lines of a file of facts to retrieve, without line breaks at their ends.

    Args:
        graph, labels, entities, on_left_out, options: as in :func:`unknown_facts`.
        format: ``text`` (a sentence per line), ``jsonl`` (an object per line) or ``cypher`` (a script for cypher-shell
            that merges the facts as relationships ``TO_RETRIEVE`` between nodes ``Entity``).

    Raises:
        UnknownNameError, ArgumentError, KgprobeError: as in :func:`unknown_facts`.
    """
    return _writer(format)(unknown_facts(graph, labels, entities, on_left_out=on_left_out, **options))


def export_retrieval(
    graph: Graph,
    labels: LabelTable | Run | str | Path,
    output: str | Path,
    entities: Sequence[str] = (),
    *,
    format: str = "text",  # noqa: A002
    **options: Any,
) -> RetrievalFile:
    """Write a file of facts that a model does not know.

    Args:
        output: file, replaced if it exists.
        graph, labels, entities, format, options: as in :func:`retrieval_texts`.

    Raises:
        UnknownNameError, ArgumentError, KgprobeError: as in :func:`unknown_facts`; or the file cannot be written.
    """
    path, reports = Path(output), list[NotRetrieved]()
    lines = retrieval_texts(graph, labels, entities, format=format, on_left_out=reports.append, **options)
    with replacing(path) as unfinished, open(unfinished, "w", encoding="utf-8") as opened:
        opened.writelines(f"{line}\n" for line in lines)
    (left_out,) = reports
    return RetrievalFile(path, left_out.taken, left_out, find_labels(labels).change_since(graph))


def _writer(format_: str) -> Writer:
    check_choice("format", format_, FORMATS)
    return WRITERS[format_]


def langchain_retriever(
    graph: Graph, labels: LabelTable | Run | str | Path, *, limit: int = 10, **options: Any
) -> "BaseRetriever":
    """Return a LangChain retriever of facts that the model does not know, about the entities that a question names.

    >>> retriever = kgprobe.langchain_retriever(graph, "labels")  # doctest: +SKIP
    >>> [document.page_content for document in retriever.invoke("What is the capital of Chad?")]  # doctest: +SKIP
    ["N'Djamena is the capital of Chad."]

    A document's metadata are the other fields of :class:`~kgprobe.labelling.exports.retrieval.FactToRetrieve`, such as
    ``known``.

    Args:
        graph: graph of the entities' names; it must stay open.
        labels: as in :func:`unknown_facts`.
        limit: maximum number of documents, the surest unknown facts first.
        options: ``classes``, ``below`` and ``predicted``, as in :func:`unknown_facts`. Facts that are left out without
            ``predicted`` are reported on stderr.

    Raises:
        ArgumentError: an option is not allowed.
        KgprobeError: there is no such table, or ``langchain-core`` is not installed.

    Cost: a pass over the labels; for a question, look-ups of its words. Memory: the unknown facts.
    """
    try:
        from kgprobe.labelling.exports.langchain_retriever import LangchainFactsRetriever
    except ModuleNotFoundError as error:
        raise _missing("langchain-core") from error
    return LangchainFactsRetriever(facts=_question_facts(graph, labels, options), limit=whole_number("limit", limit))


def graphrag_retriever(graph: Graph, labels: LabelTable | Run | str | Path, **options: Any) -> "Retriever":
    """Return a retriever of neo4j-graphrag of facts that the model does not know; see :func:`langchain_retriever`.

    >>> retriever = kgprobe.graphrag_retriever(graph, "labels")  # doctest: +SKIP
    >>> retriever.search(query_text="What is the capital of Chad?", top_k=5).items[0].content  # doctest: +SKIP
    "N'Djamena is the capital of Chad."

    Args:
        graph, labels, options: as in :func:`langchain_retriever`.

    Raises:
        ArgumentError: an option is not allowed.
        KgprobeError: there is no such table, or ``neo4j-graphrag`` is not installed.
    """
    try:
        from kgprobe.labelling.exports.graphrag_retriever import GraphragFactsRetriever
    except ModuleNotFoundError as error:
        raise _missing("neo4j-graphrag") from error
    return GraphragFactsRetriever(_question_facts(graph, labels, options))


def _missing(package: str) -> KgprobeError:
    return KgprobeError(f"The retriever needs {package}: {how_to_install('rag')}.")


def _question_facts(graph: Graph, labels: LabelTable | Run | str | Path, options: dict[str, Any]) -> QuestionFacts:
    for name in ("steps", "per_entity"):
        if name in options:
            raise ArgumentError(
                name, "is not an option of retrievers, which return the facts of a question's entities."
            )
    chosen = make_options(RetrievalOptions, options, "the retriever")
    reports = list[NotRetrieved]()
    facts = QuestionFacts(graph, find_labels(labels), sentences_of(graph), chosen, reports.append)
    if reports[0].predicted or reports[0].remedy:
        print_message(f"The retriever has {counted(reports[0].taken, 'unknown fact')}. {reports[0]}")
    return facts
