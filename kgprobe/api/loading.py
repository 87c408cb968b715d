"""Loading what a loader reads into the graph: the one call for it, and what it came to."""

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
    """Where a load stands.

    Attributes:
        stage: ``relations``, ``entities`` or ``facts``.
        records: how many have been read since what was reported before.
        done, total: the work in bytes of input, or in whatever else the source reckons it.
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
    """Load an input into the graph. Doing it again changes nothing; after an interruption it goes on.

    >>> report = load(graph, "table", entities="entities.jsonl", facts="facts.tsv")
    >>> print(report)
    entities.jsonl, facts.tsv: 3 entities, 0 relations, 2 facts.
    Skipped: 1 missing.
    >>> print(report.problems[0])
    facts.tsv, line 4: the object Q9 of 'Q183 P47 Q9' is not in the graph. ...

    The cost is that of the input's records and of the facts at their entities, however large the graph is; memory is
    that of a few thousand records.

    Args:
        loader: its name, such as ``sample``, ``table`` or ``wikidata``; ``kgprobe load --help`` lists them.
        strict: the first record that would be left out is an error instead; what came before it stays.
        on_problem: called with a message for each record that is left out.
        on_progress: called after each batch of records, and every second in which none is done.
        options: of the loader, by their names: ``kgprobe load NAME --help`` tells of them.

    Raises:
        UnknownNameError: there is no such loader.
        ArgumentError: the loader has no such option, needs one that is missing, or cannot take a value.
        KgprobeError: the input cannot be read at all, a record cannot under ``strict``, or the graph fails for longer
            than it takes to try again. Everything before is in the graph then, and the same call goes on.
    """
    source = open_source(loader, **options)
    return load_source(graph, source, strict=strict, on_problem=on_problem, on_progress=on_progress)


def propose_mapping(loader: str, **options: Any) -> Path:
    """Write the file that a loader asks for, a first version of it, for you to look through.

    >>> kgprobe.propose_mapping("graph", source="bolt://localhost:7687", mapping="mapping.toml")
    PosixPath('mapping.toml')

    The cost is that of counting what the input has, once.

    Args:
        loader: its name, such as ``graph``.
        options: of the loader, by their names; one of them names the file.

    Raises:
        UnknownNameError: there is no such loader.
        ArgumentError: the loader asks for no file, or the file is there already.
        KgprobeError: the input cannot be read, or the file cannot be written.
    """
    chosen = LOADERS.get(loader)
    if chosen.proposes is None:
        raise ArgumentError("loader", f"is {loader}, which asks for no file; there is nothing to propose.")
    made = make_options(chosen.options, options, f"the loader {loader}")
    path: Path = getattr(made, chosen.proposes.option)
    if path.exists():
        raise ArgumentError(
            chosen.proposes.option, f"is {path}, which is there already; it is not overwritten. Name another file."
        )
    text = chosen.proposes.make(made)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Nor is one that has come since.
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
    """Load a source that is open, of whatever making; all else as in :func:`load`."""
    if isinstance(source, ReadsGraph) and source.reads(graph.endpoint.address, graph.endpoint.database):
        raise ArgumentError("graph", f"is {source.name} itself; a graph is loaded into another one, such as a folder.")
    problems: list[str] = []

    def tell_of(message: str) -> None:
        if len(problems) < KEPT_PROBLEMS:
            problems.append(message)
        on_problem(message)

    done = ingest(
        graph,
        source,
        strict=strict,
        report_problem=tell_of,
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
