"""Speed and memory of loading, compared with a bare driver loop over the same rows and statements.

The peer sends the recorded statements of our batches, one transaction for each, without reading, checking or building
rows. Both use a new server each, alternating. Memory is the peak of a process that only loads, for a tenth of the facts
and for all. The time for a fact is also measured for many facts of one subject, where it must not grow with their
number.
"""

import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import neo4j

from benchmarks.report import Report, Row, show, versions_of
from benchmarks.synthetic import SyntheticSource
from kgprobe.base.records import Entity, Fact, Placed
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph import client
from kgprobe.graph.client import Graph, Transaction, apply_schema
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.graph.queries import get_query
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.servers.signals import ending_in_order

Statements = list[tuple[str, dict[str, Any]]]

FACTS_OF_ONE_SUBJECT = (1_250, 5_000, 20_000)


@dataclass
class OneSubject:
    """Source of facts of one subject, each with its own object.

    Attributes:
        size: number of facts.
        subject: its id, the prefix of the other ids.
    """

    size: int
    subject: str
    name: str = "one subject"
    partial: bool = False
    done: int = 0

    @property
    def fingerprint(self) -> str:
        """Identifier of the graph, from the attributes."""
        return f"one subject {self.subject} {self.size}"

    @property
    def total(self) -> int:
        """Number of records in all three streams."""
        return 2 * self.size + 1

    def relations(self) -> Iterator[Placed]:
        """Yield no relations: facts create them."""
        return iter(())

    def entities(self) -> Iterator[Placed]:
        """Yield the subject and its objects."""
        yield Placed(1, Entity(self.subject))
        for number in range(self.size):
            yield Placed(number + 2, Entity(f"{self.subject}-{number}"))

    def facts(self) -> Iterator[Placed]:
        """Yield one fact for each object, of five relations in turn."""
        for number in range(self.size):
            object_ = f"{self.subject}-{number}"
            yield Placed(number + 1, Fact(f"F{object_}", self.subject, f"P{number % 5}", object_))


def record(graph: Graph, source: SyntheticSource) -> list[Statements]:
    """Return the batches that a load sends, recorded during the load."""
    batches: list[Statements] = []
    run, transaction = Transaction.run, Graph.transaction

    def recording_run(self: Transaction, query: str, **parameters: Any) -> list[client.Row]:
        batches[-1].append((get_query(query).text, parameters))
        return run(self, query, **parameters)

    def recording_transaction(self: Graph, work: Any) -> Any:
        def fresh(opened: Transaction) -> Any:
            batches.append([])
            return work(opened)

        return transaction(self, fresh)

    Transaction.run, Graph.transaction = recording_run, recording_transaction  # type: ignore[method-assign]
    try:
        load(graph, source)
    finally:
        Transaction.run, Graph.transaction = run, transaction  # type: ignore[method-assign]
    return batches


def replay(endpoint: Endpoint, batches: list[Statements]) -> float:
    """Return the seconds of a bare driver for the recorded statements."""
    auth = (endpoint.user, endpoint.password)
    with (
        neo4j.GraphDatabase.driver(endpoint.address, auth=auth) as driver,
        driver.session(database=endpoint.database) as session,
    ):
        started = time.perf_counter()
        for statements in batches:

            def work(transaction: neo4j.ManagedTransaction, statements: Statements = statements) -> None:
                for text, parameters in statements:
                    transaction.run(text, parameters).data()

            session.execute_write(work)
        return time.perf_counter() - started


def subject_times(engine: str, repeat: int) -> dict[int, float]:
    """Return the median milliseconds for each fact of one subject, by their number, on a warm server."""
    times: dict[int, list[float]] = {size: [] for size in FACTS_OF_ONE_SUBJECT}
    with (
        tempfile.TemporaryDirectory(prefix="kgprobe-") as temporary,
        open_graph(Path(temporary) / "graph", engine=engine, memory=4096) as graph,
    ):
        _seconds_of_facts(graph, OneSubject(max(FACTS_OF_ONE_SUBJECT), "warm"))
        for turn in range(repeat):
            for size, measured in times.items():
                seconds = _seconds_of_facts(graph, OneSubject(size, f"Q{turn}-{size}"))
                measured.append(1_000 * seconds / size)
    return {size: statistics.median(measured) for size, measured in times.items()}


def _seconds_of_facts(graph: Graph, source: OneSubject) -> float:
    begun = time.perf_counter()

    def mark(stage: str, _records: int) -> None:
        nonlocal begun
        if stage != "facts":
            begun = time.perf_counter()

    load(graph, source, report_progress=mark)
    return time.perf_counter() - begun


def peak_memory(size: int, engine: str, seed: int) -> float:
    """Return the peak resident memory in MiB of a process that loads a synthetic graph."""
    with (
        tempfile.TemporaryDirectory(prefix="kgprobe-") as temporary,
        ending_in_order(),
        open_graph(Path(temporary) / "graph", engine=engine, memory=4096) as graph,
        multiprocessing.get_context("spawn").Pool(1) as pool,
    ):
        return pool.apply(_load_and_look, (graph.endpoint, size, seed))


def _load_and_look(endpoint: Endpoint, size: int, seed: int) -> float:
    with Graph(endpoint) as graph:
        load(graph, SyntheticSource(size, seed=seed))
    # Linux counts in KiB, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


@click.command(context_settings={"max_content_width": 100})
@click.option("--size", default=200_000, show_default=True, help="Facts.")
@click.option("--repeat", default=3, show_default=True, help="Repetitions; medians are compared.")
@click.option("--engine", default="arcadedb", show_default=True, help="arcadedb or neo4j.")
@seed_option
@json_option
def main(size: int, repeat: int, engine: str, seed: int, as_json: bool) -> None:
    """Measure loading, compared with a bare driver loop over the same rows and statements."""
    source = SyntheticSource(size, seed=seed)
    # First, since a process's peak is at least its parent's memory at its start.
    rows: list[Row] = []
    for part in (size // 10, size):
        print(f"memory for {part:,} facts", file=sys.stderr)
        peak = peak_memory(part, engine, seed)
        rows.append(Row(f"{part:,} facts", "peak memory", peak, "MiB", less_is_better=True))
    print("facts of one subject", file=sys.stderr)
    for count, milliseconds in subject_times(engine, repeat).items():
        rows.append(Row(f"{count:,} facts of one subject", "time per fact", milliseconds, "ms", less_is_better=True))
    ours: list[float] = []
    bare: list[float] = []
    server = ""
    batches: list[Statements] = []
    for turn in range(repeat + 1):
        for kind in ("record",) if turn == 0 else ("ours", "bare"):
            print(f"{kind}, turn {turn} of {repeat}", file=sys.stderr)
            with tempfile.TemporaryDirectory(prefix="kgprobe-") as temporary:
                folder = Path(temporary) / "graph"
                with ending_in_order(), open_graph(folder, engine=engine, memory=4096) as graph:
                    server = graph.server
                    apply_schema(graph)
                    if kind == "record":
                        batches = record(graph, source)
                    elif kind == "ours":
                        started = time.perf_counter()
                        load(graph, source)
                        ours.append(time.perf_counter() - started)
                    else:
                        bare.append(replay(graph.endpoint, batches))
    records = source.total
    row = Row(
        case=f"{size:,} facts",
        measure="rate",
        value=records / statistics.median(ours),
        unit="records/s",
        peer="bare driver loop",
        peer_value=records / statistics.median(bare),
    )
    rows.append(row)
    show(Report("loading", rows, seed, {**versions_of("neo4j"), "engine": server}), as_json=as_json)


if __name__ == "__main__":
    main()
