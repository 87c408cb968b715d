"""``kgprobe.load``: load a source into the graph."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load as ingest
from kgprobe.options import make_options
from kgprobe.results.loading import KEPT_PROBLEMS, LoadReport
from kgprobe.sources.contract import LOADERS, ReadsGraph, Source, open_source


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """Progress of a load.

    Attributes:
        stage: ``relations``, ``entities`` or ``facts``.
        records: number of records read since the last report.
        done, total: work in bytes of input, or in another unit of the source.
    """

    stage: str
    records: int
    done: int
    total: int


def load(
    graph: Graph,
    loader: str,
    *,
    strict: bool = False,
    on_problem: Callable[[str], None] = lambda message: None,
    on_progress: Callable[[LoadProgress], None] = lambda progress: None,
    **options: Any,
) -> LoadReport:
    """Load a source into the graph. Loading twice changes nothing; an interrupted load is resumed.

    >>> report = load(graph, "table", entities="entities.jsonl", facts="facts.tsv")
    >>> print(report)
    entities.jsonl, facts.tsv: 3 entities, 0 relations, 2 facts.
    Skipped: 1 missing.
    >>> print(report.problems[0])
    facts.tsv, line 4: the object Q9 of 'Q183 P47 Q9' is not in the graph. ...

    Cost: the source's records and the facts of their entities, independent of the size of the graph. Memory: a few
    thousand records.

    Args:
        loader: name of the loader, such as ``table`` or ``wikidata``; ``kgprobe load --help`` lists them.
        strict: True to raise an error at the first invalid record; earlier records stay.
        on_problem: called with a message for each skipped record.
        on_progress: called after each batch of records, and at least every second.
        options: options of the loader; see ``kgprobe load NAME --help``.

    Raises:
        UnknownNameError: no such loader.
        ArgumentError: no such option, a missing one, or an invalid value.
        KgprobeError: the source is unreadable, a record is invalid under ``strict``, or the graph fails repeatedly.
            Earlier records are in the graph, and the same call resumes.
    """
    source = open_source(loader, **options)
    return load_source(graph, source, strict=strict, on_problem=on_problem, on_progress=on_progress)


def propose_mapping(loader: str, **options: Any) -> Path:
    """Write a first version of the file that a loader needs, for you to review.

    >>> kgprobe.propose_mapping("graph", source="bolt://localhost:7687", mapping="mapping.toml")
    PosixPath('mapping.toml')

    Cost: one pass that counts the source.

    Args:
        loader: name of the loader, such as ``graph``.
        options: options of the loader; one of them is the file.

    Raises:
        UnknownNameError: no such loader.
        ArgumentError: the loader needs no file, or the file exists.
        KgprobeError: the source is unreadable, or the file is not writable.
    """
    chosen = LOADERS.get(loader)
    if chosen.proposes is None:
        raise ArgumentError("loader", f"is {loader}, which needs no file.")
    loader_options = make_options(chosen.options, options, f"the loader {loader}")
    path: Path = getattr(loader_options, chosen.proposes.option)
    if path.exists():
        raise ArgumentError(
            chosen.proposes.option, f"is {path}, which exists and is not overwritten. Name another file."
        )
    text = chosen.proposes.make(loader_options)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Mode x: a file created in the meantime is not overwritten either.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise KgprobeError(f"{path} cannot be written: {error.strerror}.") from error
    return path


def load_source(
    graph: Graph,
    source: Source,
    *,
    strict: bool = False,
    on_problem: Callable[[str], None] = lambda message: None,
    on_progress: Callable[[LoadProgress], None] = lambda progress: None,
) -> LoadReport:
    """Load an open source; otherwise as :func:`load`."""
    if isinstance(source, ReadsGraph) and source.reads(graph.endpoint.address, graph.endpoint.database):
        raise ArgumentError("graph", f"is {source.name} itself; load a graph into another one, such as a folder.")
    problems: list[str] = []

    def keep_problem(message: str) -> None:
        if len(problems) < KEPT_PROBLEMS:
            problems.append(message)
        on_problem(message)

    done = ingest(
        graph,
        source,
        strict=strict,
        report_problem=keep_problem,
        report_progress=lambda stage, records: on_progress(LoadProgress(stage, records, source.done, source.total)),
    )
    return LoadReport(
        source=source.name,
        entities=done.written["entities"],
        relations=done.written["relations"],
        facts=done.written["facts"],
        skipped={reason: done.problems[reason] for reason in ("unreadable", "duplicate", "missing")},
        outside=done.outside,
        resumed=done.resumed,
        problems=problems,
        broken=tuple(done.broken),
    )
