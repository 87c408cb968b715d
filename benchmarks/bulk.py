"""Speed and memory of a bulk load by Neo4j's import: reader, conversion, import.

The dump is synthetic, in Wikidata's format and gzipped: entities with labels in ten languages, a type, site links, and
ten statements with items as values; a third of these have qualifiers, half of them a reference. 1% of the facts have an
object outside of the dump. Each part runs in a separate process; wall-clock time and peak memory are reported.
"""

import gzip
import multiprocessing
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.base.progress import StepProgress
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.servers.bulk_loading import load_bulk_source, write_bulk_source
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.servers.signals import ending_in_order
from kgprobe.sources.contract import open_source

FACTS_AT_ENTITY = 10
RELATIONS = 200
TYPES = 1_000
LANGUAGES = ("en", "de", "fr", "es", "ja", "ru", "zh", "pt", "ar", "it")
_AT_ONCE = 1_000


def dump_lines(facts: int, seed: int) -> Iterator[str]:
    """Yield the lines of a dump without its brackets, one entity each."""
    count = max(2, facts // FACTS_AT_ENTITY)
    generator = np.random.default_rng(seed)
    for first in range(0, count, _AT_ONCE):
        size = min(_AT_ONCE, count - first)
        # Popular entities are objects more often; 1% are outside of the dump.
        objects = (count * 1.01 * generator.random((size, FACTS_AT_ENTITY)) ** 1.5).astype(np.int64).tolist()
        relations = generator.integers(RELATIONS, size=(size, FACTS_AT_ENTITY)).tolist()
        years = generator.integers(1800, 2000, size=(size, FACTS_AT_ENTITY)).tolist()
        types = generator.integers(TYPES, size=size).tolist()
        for offset in range(size):
            yield _entity(first + offset, objects[offset], relations[offset], years[offset], types[offset])


def _entity(number: int, objects: list[int], relations: list[int], years: list[int], type_: int) -> str:
    labels = ",".join(
        f'"{code}":{{"language":"{code}","value":"entity number {number} in {code}"}}' for code in LANGUAGES
    )
    described = ",".join(
        f'"{code}":{{"language":"{code}","value":"synthetic entity, number {number}"}}' for code in LANGUAGES[:5]
    )
    aliases = f'"en":[{{"language":"en","value":"alias of {number}"}}]' if number % 3 == 0 else ""
    by_relation: dict[int, list[str]] = {}
    for index, (object_, relation, year) in enumerate(zip(objects, relations, years, strict=True)):
        by_relation.setdefault(relation, []).append(_statement(number, index, f"P{relation + 100}", object_, year))
    statements = [f'"P31":[{_statement(number, 99, "P31", 10**9 + type_, 0)}]']
    statements += [f'"P{relation + 100}":[{",".join(group)}]' for relation, group in by_relation.items()]
    links = ",".join(
        f'"{code}wiki":{{"site":"{code}wiki","title":"Page {number}","badges":[]}}' for code in LANGUAGES[:4]
    )
    return (
        f'{{"type":"item","id":"Q{number}","labels":{{{labels}}},"descriptions":{{{described}}},"aliases":{{{aliases}}},'
        f'"claims":{{{",".join(statements)}}},"sitelinks":{{{links}}},"lastrevid":{number}}}'
    )


def _statement(number: int, index: int, relation: str, object_: int, year: int) -> str:
    hash_ = f"{number * 1000 + index:040x}"
    more = ""
    if year % 3 == 1:
        time_ = (
            f'{{"time":"+{year}-05-03T00:00:00Z","timezone":0,"before":0,"after":0,"precision":11,'
            '"calendarmodel":"http://www.wikidata.org/entity/Q1985727"}'
        )
        snak = f'"hash":"{hash_}","datavalue":{{"value":{time_},"type":"time"}},"datatype":"time"}}'
        more = f',"qualifiers":{{"P580":[{{"snaktype":"value","property":"P580",{snak}]}},"qualifiers-order":["P580"]'
    if index % 2:
        snak = _snak("P248", number % 1000)
        more += f',"references":[{{"hash":"{hash_}","snaks":{{"P248":[{snak}]}},"snaks-order":["P248"]}}]'
    return (
        f'{{"mainsnak":{_snak(relation, object_)},"type":"statement","id":"Q{number}${hash_}","rank":"normal"{more}}}'
    )


def _snak(relation: str, item: int) -> str:
    value = f'{{"entity-type":"item","numeric-id":{item},"id":"Q{item}"}}'
    return (
        f'{{"snaktype":"value","property":"{relation}","hash":"{item:040x}","datavalue":{{"value":{value},'
        '"type":"wikibase-entityid"},"datatype":"wikibase-item"}'
    )


def write_dump(path: Path, facts: int, seed: int) -> None:
    """Write a gzipped dump of about this many facts."""
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        file.write("[")
        for number, line in enumerate(dump_lines(facts, seed)):
            file.write(f",\n{line}" if number else f"\n{line}")
        file.write("\n]\n")


def read(dump: Path) -> int:
    """Read all streams of a dump and return its number of facts."""
    source = open_source("wikidata", dump=dump)
    for stream in ("relations", "entities"):
        for _ in getattr(source, stream)():
            pass
    return sum(1 for _ in source.facts())


def convert(dump: Path, folder: Path) -> int:
    """Write a dump as import files and return their number of facts."""
    return write_bulk_source(folder, open_source("wikidata", dump=dump)).facts


def load(dump: Path, files: Path, graph: Path) -> dict[str, float]:
    """Import files, complete the graph, and return the start of each stage in seconds."""
    begun: dict[str, float] = {}
    started = time.perf_counter()

    def on_progress(now: StepProgress) -> None:
        begun.setdefault(now.stage, time.perf_counter() - started)

    with ending_in_order():
        load_bulk_source(graph, open_source("wikidata", dump=dump), bulk_files=files, on_progress=on_progress)
    return begun


class Timed(NamedTuple):
    """Result of a task, with wall-clock and processor seconds and peak memory in MiB."""

    result: Any
    clock: float
    processor: float
    peak: float


def timed(work: Callable[[], Any]) -> Timed:
    """Run a task in a separate process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_timed, (work,))


def _timed(work: Callable[[], Any]) -> Timed:
    started, used = time.perf_counter(), time.process_time()
    result = work()
    clock, processor = time.perf_counter() - started, time.process_time() - used
    # Linux counts in KiB, macOS in bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Timed(result, clock, processor, peak)


def compared(case: str, converting: Timed, reading: Timed | None) -> list[Row]:
    """Yield the rate of the conversion and of the reader alone, by wall clock and by processor time."""
    rows = []
    for measure, name in (("rate", "clock"), ("rate by processor time", "processor")):
        facts = converting.result
        peer = {} if reading is None else {"peer": "reader alone", "peer_value": facts / getattr(reading, name)}
        rows.append(Row(case, f"conversion, {measure}", facts / getattr(converting, name), "facts/s", **peer))
    return rows


def measure(folder: Path, size: int, seed: int, with_reader: bool) -> tuple[list[Row], str]:
    """Return all rows and the server's version."""
    dump, files, graph = folder / "dump.json.gz", folder / "files", folder / "graph"
    _say(f"writing a dump of {size:,} facts")
    write_dump(dump, size, seed)
    case = f"{size:,} facts"
    rows = [Row(case, "dump", dump.stat().st_size / 1e6, "MB")]
    if with_reader:
        _say("reading it alone")
        reading = timed(partial(read, dump))
    _say("converting it")
    converting = timed(partial(convert, dump, files))
    rows += compared(case, converting, reading if with_reader else None)
    rows.append(Row(case, "peak memory of the conversion", converting.peak, "MiB", less_is_better=True))
    rows.append(Row(case, "facts written", converting.result, "facts"))
    rows.append(Row(case, "import files", sum(file.stat().st_size for file in files.iterdir()) / 1e6, "MB"))
    _say("importing it")
    loading = timed(partial(load, dump, files, graph))
    begun = loading.result
    rows.append(Row(case, "import by neo4j-admin", begun["looking"] - begun["importing"], "s", less_is_better=True))
    rows.append(Row(case, "start, indexes, completion", loading.clock - begun["looking"], "s", less_is_better=True))
    rows.append(Row(case, "after conversion, in all", loading.clock, "s", less_is_better=True))
    shutil.rmtree(files)
    with open_graph(graph) as connection:
        return rows, connection.server


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr)


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--size", "sizes", type=int, multiple=True, default=(100_000, 1_000_000), show_default=True, help="Facts."
)
@click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path), help="Folder of the files.  [default: temporary]"
)
@click.option("--reader/--no-reader", default=True, show_default=True, help="Also time the reader alone.")
@seed_option
@json_option
def main(sizes: tuple[int, ...], folder: Path | None, reader: bool, seed: int, as_json: bool) -> None:
    """Measure the bulk load of a dump in Wikidata's format by Neo4j's import."""
    rows: list[Row] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="kgprobe-", dir=folder) as temporary:
            more, server = measure(Path(temporary), size, seed, reader)
            rows += more
    show(Report("bulk", rows, seed, {**versions_of("msgspec", "numpy"), "engine": server}), as_json=as_json)


if __name__ == "__main__":
    main()
