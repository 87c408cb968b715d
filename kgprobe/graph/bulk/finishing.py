"""What is left to do in a graph that neo4j-admin has made of our files, until it is like a loaded one."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.bulk.bulk_files import UNSAID_ENTITIES, UNSAID_RELATIONS, BulkFiles, read_bulk_files
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.ingest import IMPORTED
from kgprobe.graph.messages import MESSAGE_BYTES
from kgprobe.graph.schema import apply_schema

_INDEX_SECONDS = 3600
_NUMBERS_AT_ONCE = 50_000
_ROWS_AT_ONCE = 1_000


def finish(
    graph: Graph, folder: Path, on_progress: Callable[[str, int, int], None] = lambda stage, done, total: None
) -> BulkFiles:
    """Make a graph whole that was imported from a folder of our files, and see that all of it is there.

    Constraints and indexes, empty lists, which an import cannot make, and what few properties it cannot say either.
    Doing it again changes nothing. Until it is done, the load counts as unfinished.

    Cost: the indexes, and a look at each entity.

    Args:
        on_progress: called with what is being done, how many entities are done, and how many there are.

    Raises:
        ArgumentError: the graph was not imported from these files.
        KgprobeError: it holds something else than they do.
    """
    files = read_bulk_files(folder)
    on_progress("looking", 0, files.next_number)
    state = graph.read("bulk/state", id=files.fingerprint)
    if not state:
        raise ArgumentError("graph", f"was not imported from the files in {folder}; import them first.")
    if state[0]["stage"] != IMPORTED:
        return files
    on_progress("indexing", 0, files.next_number)
    apply_schema(graph)
    graph.write("bulk/await_indexes", seconds=_INDEX_SECONDS)
    for kind, path in (("relation", folder / UNSAID_RELATIONS), ("entity", folder / UNSAID_ENTITIES)):
        for rows in _batches(path):
            graph.write(f"copy/{kind}", rows=rows)
    for first in range(0, files.next_number, _NUMBERS_AT_ONCE):
        for query in ("bulk/no_aliases", "bulk/no_types"):
            graph.write(query, first=first, behind=first + _NUMBERS_AT_ONCE)
        on_progress("completing", min(first + _NUMBERS_AT_ONCE, files.next_number), files.next_number)
    _check_counts(graph, files)
    graph.write("bulk/finish", id=files.fingerprint)
    return files


def _check_counts(graph: Graph, files: BulkFiles) -> None:
    there = {row["name"]: row["count"] for row in graph.read("bulk/counts")}
    wrong = [
        f"{name}: {there[name]:,} where {count:,} are expected"
        for name, count in files.counts.items()
        if there[name] != count
    ]
    if wrong:
        raise KgprobeError(f"The graph is not what was written to the import files. {'; '.join(wrong)}.")


def _batches(path: Path) -> Iterator[list[Row]]:
    """The lines of a file, as many at a time as a statement takes."""
    with path.open("rb") as file:
        while lines := _some_lines(file):
            yield [msgspec.json.decode(line) for line in lines]


def _some_lines(file: Iterator[bytes]) -> list[bytes]:
    lines: list[bytes] = []
    size = 0
    for line in islice(file, _ROWS_AT_ONCE):
        lines.append(line)
        size += len(line)
        if size > MESSAGE_BYTES // 2:
            break
    return lines
