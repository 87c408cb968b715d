"""Finish an imported graph: indexes, properties that the import files cannot contain, and a check of the counts."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.bulk.bulk_files import EXTRA_ENTITIES, EXTRA_RELATIONS, BulkFiles, read_bulk_files
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.driver import MESSAGE_BYTES
from kgprobe.graph.ingest import IMPORTED
from kgprobe.graph.schema import apply_schema

_INDEX_SECONDS = 3600
_NUMBERS_AT_ONCE = 50_000
_ROWS_AT_ONCE = 1_000


def finish(
    graph: Graph, folder: Path, on_progress: Callable[[str, int, int], None] = lambda stage, done, total: None
) -> BulkFiles:
    """Complete a graph that was imported from a folder of files, and check its counts.

    Creates constraints and indexes, empty lists, and the few properties that the files cannot contain. Repeating the
    call changes nothing. Until it has succeeded, the load counts as unfinished.

    Cost: the indexes, and one visit of each entity.

    Args:
        on_progress: called with the step, the number of entities done, and the number of all entities.

    Raises:
        ArgumentError: the graph was not imported from these files.
        KgprobeError: the counts of the graph and of the files differ.
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
    for kind, path in (("relation", folder / EXTRA_RELATIONS), ("entity", folder / EXTRA_ENTITIES)):
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
    actual = {row["name"]: row["count"] for row in graph.read("bulk/counts")}
    wrong = [name for name, count in files.counts.items() if actual[name] != count]
    if wrong:
        details = "; ".join(f"{name}: {actual[name]:,} instead of {files.counts[name]:,}" for name in wrong)
        raise KgprobeError(f"The graph differs from the import files. {details}.")


def _batches(path: Path) -> Iterator[list[Row]]:
    """Yield the lines of a file in batches of one statement."""
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
