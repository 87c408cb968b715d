"""Labels for other tools: training sets, facts to retrieve, and properties of a user's own graph."""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.base.arguments import check_choice, several, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import ArgumentError, KgprobeError, how_to_install
from kgprobe.base.files import replacing
from kgprobe.base.options import documented, make_options
from kgprobe.base.progress import OnProgress, no_progress
from kgprobe.graph.client import Graph
from kgprobe.graph.located_facts import LocatesFacts, refuse_loaded
from kgprobe.graph.names import entity_ids
from kgprobe.graph.servers.opening import open_users_graph
from kgprobe.labelling.exports.labels import find_labels
from kgprobe.labelling.exports.question_facts import question_facts
from kgprobe.labelling.exports.retrieval import (
    WRITERS,
    FactToRetrieve,
    NotRetrieved,
    OnLeftOut,
    RetrievalFile,
    facts_to_retrieve,
    sentences_of,
)
from kgprobe.labelling.exports.retrieval_options import FORMATS, RetrievalOptions
from kgprobe.labelling.exports.sft import SftOptions
from kgprobe.labelling.exports.sft.making import TrainingSet, make_training_set
from kgprobe.labelling.exports.write_back import PREFIX, RemovedLabels, WriteBack, write_labels
from kgprobe.labelling.exports.write_back import remove_labels as remove_written
from kgprobe.labelling.table import LabelTable, read_label_table
from kgprobe.results.kind_names import LABEL_TABLE
from kgprobe.results.measurement import Run
from kgprobe.results.shelf import find
from kgprobe.sources.contract import open_source

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from neo4j_graphrag.retrievers.base import Retriever


def write_back(
    labels: LabelTable | Run | str | Path,
    output: str | Path,
    mapping: str | Path,
    *,
    scheme: str | None = None,
    prefix: str = PREFIX,
    dry_run: bool = False,
    graph: Graph | None = None,
    on_progress: OnProgress = no_progress,
) -> WriteBack:
    """Write labels as properties of the relationships of your own graph.

    >>> done = kgprobe.write_back("labels", "bolt://localhost:7687", "movies.toml")  # doctest: +SKIP
    >>> print(done.summary())  # doctest: +SKIP
    labels: 20 of 20 labelled facts are in the graph.

    Properties, with the default prefix: ``kgprobe_known`` (probability that the model knows the fact, in [0, 1]),
    ``kgprobe_low`` and ``kgprobe_high`` (its 90% interval), ``kgprobe_class``, ``kgprobe_belief``, ``kgprobe_basis``
    (``asked`` or ``predicted``), ``kgprobe_run`` (name of the table or run), ``kgprobe_model`` and ``kgprobe_digest``,
    by which kgprobe recognizes the properties that it has written. Nothing else is changed, also if you write to the
    graph at the same time. A second call changes nothing; labels of an earlier table with the same prefix are replaced.
    Repeat an interrupted call to complete it.

    Args:
        labels: a label table or, for its beliefs, a run; or its name or folder.
        output: address of the server of your graph, with user, password and database from ``KGPROBE_FROM_USER``,
            ``KGPROBE_FROM_PASSWORD`` and ``KGPROBE_FROM_DATABASE``; or the folder of a graph that kgprobe serves.
        mapping: mapping of ``kgprobe load graph``.
        scheme: classes to write: ``slick``, ``profile`` or ``belief``; None is the first that the labels have.
        prefix: beginning of the names of the properties.
        dry_run: True to count and write nothing.
        graph: graph of a run that is given by name.
        on_progress: called with the relationships and nodes that were read, and with those that were written.

    Raises:
        ArgumentError: an argument is not allowed.
        KgprobeError: there is no such table or graph; the mapping matches no label; the graph has properties of these
            names that kgprobe has not written; or it was loaded by kgprobe.

    Cost: one pass over the relationships and nodes of the mapping, a look-up for each change. Memory: 70 bytes for each
    label, and the current batch.
    """
    source = _open_source(str(output), Path(mapping))
    with source.graph:
        refuse_loaded(source.graph, "output")
        return write_labels(
            source,
            find_labels(labels, graph),
            scheme=scheme,
            prefix=prefix,
            dry_run=dry_run,
            on_progress=on_progress,
        )


def remove_labels(
    output: str | Path, *, prefix: str = PREFIX, dry_run: bool = False, on_progress: OnProgress = no_progress
) -> RemovedLabels:
    """Remove the properties that :func:`write_back` has written, and no others.

    Args:
        output, prefix, on_progress: as in :func:`write_back`.
        dry_run: True to count and remove nothing.

    Raises:
        ArgumentError: an argument is not allowed.
        KgprobeError: there is no such graph.

    Cost: a scan of all relationships and nodes.
    """
    with open_users_graph(str(output), "output") as graph:
        return remove_written(graph, prefix, dry_run=dry_run, on_progress=on_progress)


def _open_source(output: str, mapping: Path) -> LocatesFacts:
    try:
        source = open_source("graph", source=output, mapping=mapping)
    except ArgumentError as error:
        raise ArgumentError("output" if error.argument == "source" else error.argument, error.problem) from error
    if not isinstance(source, LocatesFacts):
        raise TypeError("the loader `graph` cannot locate facts")
    return source


@documented(SftOptions)
def export_sft(
    graph: Graph,
    table: LabelTable | str | Path,
    output: str | Path,
    *,
    controls: str | Path | None = None,
    seed: int = 0,
    as_of: int | str | date | None = None,
    **options: Any,
) -> TrainingSet:
    """Write a training set for supervised fine-tuning, from the facts of chosen classes of a label table.

    The folder has ``train.jsonl``, ``test.jsonl`` with held-out facts, ``roles.jsonl`` with the role of each fact,
    files for axolotl and LLaMA-Factory, and ``manifest.json``. The same call writes the same bytes.

    No training example is about a held-out fact or a control, in either direction, or has the prompt of one.

    Cost: a pass over the table, and two walks from each subject. Memory: the facts of the chosen classes.

    Args:
        table: a label table, its folder or its name.
        output: new or empty folder, or that of an equal training set.
        controls: file of roles with control facts, which are appended to the roles and never in training.
        seed: of all random choices.
        as_of: reference date of right answers; None is that of the label table, or today.

    Raises:
        ArgumentError: an option is not allowed, a class has no facts, there are too few known facts for their share,
            a control is not in the graph, or the folder has something else.
        KgprobeError: the table does not exist, or all facts to teach are left out.
    """
    given = make_options(SftOptions, options, "export_sft")
    if "held_out_by" in options and not given.held_out:
        raise ArgumentError("held_out_by", "has no effect with `held_out` 0. Leave out one of them.")
    labels = table if isinstance(table, LabelTable) else read_label_table(find(table, [LABEL_TABLE]).folder)
    day = as_of_day(labels.config.get("as_of") if as_of is None else as_of)
    file = None if controls is None else Path(controls)
    return make_training_set(graph, labels, Path(output), given, file, whole_number("seed", seed, 0), day)


@documented(RetrievalOptions)
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
        labels: a label table or, for its beliefs, a run; or its name or folder.
        entities: ids or names; empty for all facts.
        on_left_out: called at the end with the numbers of facts that are left out, by reason.

    Raises:
        UnknownNameError: an entity is unknown.
        ArgumentError: an option is not allowed.
        KgprobeError: there is no such table.

    Cost: a pass over the labels; two for two steps. Memory: the facts around the entities.
    """
    chosen = make_options(RetrievalOptions, options, "retrieval")
    ids = entity_ids(graph, several("entities", entities))
    fact_labels = find_labels(labels, graph)
    return facts_to_retrieve(fact_labels, sentences_of(graph, fact_labels), chosen, ids, on_left_out)


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
    check_choice("format", format, FORMATS)
    return WRITERS[format](unknown_facts(graph, labels, entities, on_left_out=on_left_out, **options))


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
    return RetrievalFile(path, left_out.taken, left_out, find_labels(labels, graph).change_since(graph))


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
    return LangchainFactsRetriever(
        facts=question_facts(graph, find_labels(labels, graph), options), limit=whole_number("limit", limit)
    )


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
    return GraphragFactsRetriever(question_facts(graph, find_labels(labels, graph), options))


def _missing(package: str) -> KgprobeError:
    return KgprobeError(f"The retriever needs {package}: {how_to_install('rag')}.")
