"""A folder of import files: its manifest, the arguments of the import, and the steps that finish it."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path

import msgspec

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.graph.client import Graph, apply_schema
from kgprobe.graph.driver import batches
from kgprobe.graph.ingest import IMPORTED, LoadCounts
from kgprobe.graph.record_batches import KINDS
from kgprobe.graph.rows import column_by
from kgprobe.graph.state import graph_state

_INDEX_SECONDS = 3600
_NUMBERS_AT_ONCE = 50_000
_ROWS_AT_ONCE = 1_000

_MANIFEST = "bulk.json"
EXTRA_ENTITIES, EXTRA_RELATIONS = "entities.jsonl", "relations.jsonl"
ARRAY_DELIMITER = "\x1f"
# Form for the command line.
ARRAY_DELIMITER_NAME = "U+001F"
# End of the names of files whose rows contain line breaks.
LINES = "-lines.csv"


class BulkFiles(msgspec.Struct, frozen=True):
    """Manifest of a complete folder of files for ``neo4j-admin database import``.

    Attributes:
        node_files, relationship_files: files of nodes, and files of relationships by type.
        next_number: first number for entities that are loaded later.
        counts: expected numbers of nodes by label and of relationships by type.
    """

    source: str
    fingerprint: str
    node_files: Sequence[str]
    relationship_files: Mapping[str, Sequence[str]]
    next_number: int
    counts: Mapping[str, int]
    records: LoadCounts

    def arguments(self, database: str) -> list[str]:
        """Return the arguments of neo4j-admin, which must run in the folder."""
        # Since 2025 the import needs paths with a parent: "./entities.csv" instead of "entities.csv".
        relationships = []
        for type_, names in self.relationship_files.items():
            relationships += [f"--relationships={type_}=./{name}" for name in names]
        names = [*self.node_files, *chain.from_iterable(self.relationship_files.values())]
        multiline = ",".join(f"./{name}" for name in names if name.endswith(LINES))
        return [
            *("database", "import", "full", database, "--overwrite-destination", "--id-type=integer"),
            # Fail at a bad row instead of leaving it out.
            "--bad-tolerance=0",
            f"--array-delimiter={ARRAY_DELIMITER_NAME}",
            "--read-buffer-size=16m",
            *(["--multiline-fields-format=v2", f"--multiline-fields={multiline}"] if multiline else []),
            *(f"--nodes=./{name}" for name in self.node_files),
            *relationships,
        ]

    def save(self, folder: Path) -> None:
        """Write the manifest, after all other files."""
        (folder / _MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1))


def read_bulk_files(folder: Path) -> BulkFiles:
    """Return the manifest of a folder."""
    try:
        content = (folder / _MANIFEST).read_bytes()
        return msgspec.json.decode(content, type=BulkFiles, dec_hook=lambda type_, counts: type_(counts))
    except (OSError, msgspec.DecodeError) as error:
        raise KgprobeError(
            f"{folder} contains no complete import files of kgprobe. Write them with `kgprobe load NAME --bulk-files"
            " FOLDER` or kgprobe.write_bulk."
        ) from error


def finish(graph: Graph, folder: Path, on_progress: OnProgress = no_progress) -> BulkFiles:
    """Complete a graph that was imported from a folder of files, and check its counts.

    Creates constraints and indexes, empty lists, and the few properties that the files cannot contain. Repeating the
    call changes nothing. Until it has succeeded, the load counts as unfinished.

    Cost: the indexes, and one visit of each entity.

    Args:
        on_progress: called with the number of completed entities.
    """
    files = read_bulk_files(folder)
    state = graph.read("bulk/state", id=files.fingerprint)
    if not state:
        raise ArgumentError("graph", f"was not imported from the files in {folder}; import them first.")
    if state[0]["stage"] != IMPORTED:
        return files
    title = f"Completing {files.source}"
    on_progress(StepProgress("indexing", 0, files.next_number, "entities", title))
    apply_schema(graph)
    graph.write("bulk/await_indexes", seconds=_INDEX_SECONDS)
    for kind, path in (("relation", folder / EXTRA_RELATIONS), ("entity", folder / EXTRA_ENTITIES)):
        with path.open("rb") as file:
            for lines in batches(file, len, _ROWS_AT_ONCE):
                graph.write(f"copy/{kind}", rows=list(map(msgspec.json.decode, lines)))
    for first in range(0, files.next_number, _NUMBERS_AT_ONCE):
        for query in ("bulk/no_aliases", "bulk/no_types"):
            graph.write(query, first=first, behind=first + _NUMBERS_AT_ONCE)
        completed = min(first + _NUMBERS_AT_ONCE, files.next_number)
        on_progress(StepProgress("completing", completed, files.next_number, "entities", title))
    actual = column_by("name", "count", graph.read("bulk/counts"))
    wrong = [name for name, count in files.counts.items() if actual[name] != count]
    if wrong:
        details = "; ".join(f"{name}: {actual[name]:,} instead of {files.counts[name]:,}" for name in wrong)
        raise KgprobeError(f"The graph differs from the import files. {details}.")
    time = datetime.now(timezone.utc).isoformat(timespec="seconds")
    graph.write("bulk/finish", id=files.fingerprint, created=_created(files), time=time)
    return files


def _created(files: BulkFiles) -> list[int]:
    return [files.records.written[kind] for kind in KINDS]


def is_as_imported(graph: Graph, folder: Path) -> bool:
    """Return True if a graph has the content of a folder of files: nothing was loaded or changed after the import."""
    files = read_bulk_files(folder)
    loads = msgspec.json.decode(graph_state(graph))["loads"]
    states = [(load["id"], load["created"], load["changed"]) for load in loads]
    return states == [(files.fingerprint, _created(files), [0, 0, 0])]
