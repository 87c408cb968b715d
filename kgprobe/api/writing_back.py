"""``kgprobe.write_back`` and ``kgprobe.remove_labels``: labels as properties of a user's own graph."""

from pathlib import Path

from kgprobe.api.stored import open_label_table
from kgprobe.base.errors import ArgumentError
from kgprobe.base.progress import OnProgress, no_progress
from kgprobe.graph.located_facts import LocatesFacts, refuse_loaded
from kgprobe.graph.servers.opening import open_users_graph
from kgprobe.labelling.exports.labels import FactLabels, labels_of_run, labels_of_table
from kgprobe.labelling.exports.write_back import PREFIX, RemovedLabels, WriteBack, write_labels
from kgprobe.labelling.exports.write_back import remove_labels as remove_written
from kgprobe.labelling.table import LabelTable
from kgprobe.results.measurement import Run
from kgprobe.sources.contract import open_source


def write_back(
    labels: LabelTable | Run | str | Path,
    output: str | Path,
    mapping: str | Path,
    *,
    scheme: str | None = None,
    prefix: str = PREFIX,
    dry_run: bool = False,
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
        labels: a label table, its name or folder; or a run, for its beliefs.
        output: address of the server of your graph, with user, password and database from ``KGPROBE_FROM_USER``,
            ``KGPROBE_FROM_PASSWORD`` and ``KGPROBE_FROM_DATABASE``; or the folder of a graph that kgprobe serves.
        mapping: mapping of ``kgprobe load graph``.
        scheme: classes to write: ``slick``, ``profile`` or ``belief``; None is the first that the labels have.
        prefix: beginning of the names of the properties.
        dry_run: True to count and write nothing.
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
            find_labels(labels),
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


def find_labels(labels: LabelTable | Run | str | Path) -> FactLabels:
    """Return the labels of a table, or the beliefs of a run."""
    if isinstance(labels, Run):
        return labels_of_run(labels.graph, labels.name)
    return labels_of_table(labels if isinstance(labels, LabelTable) else open_label_table(labels))


def _open_source(output: str, mapping: Path) -> LocatesFacts:
    try:
        source = open_source("graph", source=output, mapping=mapping)
    except ArgumentError as error:
        raise ArgumentError("output" if error.argument == "source" else error.argument, error.problem) from error
    if not isinstance(source, LocatesFacts):
        raise TypeError("the loader `graph` cannot locate facts")
    return source
