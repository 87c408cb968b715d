"""What lies in a folder of import files: which files, what they hold, and how the import is told of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.graph.bulk.csv_text import ARRAY_DELIMITER_NAME

_MANIFEST = "bulk.json"
UNSAID_ENTITIES, UNSAID_RELATIONS = "entities.jsonl", "relations.jsonl"


class Told(msgspec.Struct, frozen=True):
    """What was left out while the files were written, as a load's report counts it."""

    written: Mapping[str, int]
    problems: Mapping[str, int]
    broken: Sequence[str]
    outside: int


class BulkFiles(msgspec.Struct, frozen=True):
    """A folder of files for ``neo4j-admin database import``, whole.

    Attributes:
        source, fingerprint: of what was read.
        node_files: files of nodes; ``relationship_files``: by type.
        line_files: those of them whose rows may have line breaks in them.
        next_number: of entities that are loaded later.
        counts: of nodes by label and of relationships by type, once they are imported.
        told: what was left out.
    """

    source: str
    fingerprint: str
    node_files: Sequence[str]
    relationship_files: Mapping[str, Sequence[str]]
    line_files: Sequence[str]
    next_number: int
    counts: Mapping[str, int]
    told: Told

    def arguments(self, database: str) -> list[str]:
        """Return those of neo4j-admin, which is to run in the folder."""
        # Since 2025 the import asks for the parent of each path: "entities.csv" has none, "./entities.csv" has.
        multiline = [f"--multiline-fields={','.join(f'./{name}' for name in self.line_files)}"]
        return [
            *("database", "import", "full", database, "--overwrite-destination", "--id-type=integer"),
            # We write no row that is wrong; one that is would be missing from the graph.
            "--bad-tolerance=0",
            f"--array-delimiter={ARRAY_DELIMITER_NAME}",
            "--read-buffer-size=16m",
            *(["--multiline-fields-format=v2", *multiline] if self.line_files else []),
            *(f"--nodes=./{name}" for name in self.node_files),
            *(
                f"--relationships={type_}=./{name}"
                for type_, names in self.relationship_files.items()
                for name in names
            ),
        ]

    def save(self, folder: Path) -> None:
        """Write it beside the files, as the last thing."""
        (folder / _MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1))


def read_bulk_files(folder: Path) -> BulkFiles:
    """What lies in a folder.

    Raises:
        KgprobeError: it holds no import files, or not all of them.
    """
    try:
        files = msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=BulkFiles)
    except (OSError, msgspec.DecodeError) as error:
        raise KgprobeError(
            f"{folder} holds no import files that kgprobe has written whole; `kgprobe load NAME --bulk-files FOLDER` or"
            " kgprobe.write_bulk writes them."
        ) from error
    return files
