"""The manifest of a folder of import files, and the arguments of the import."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.graph.bulk.row_files import ARRAY_DELIMITER_NAME

_MANIFEST = "bulk.json"
EXTRA_ENTITIES, EXTRA_RELATIONS = "entities.jsonl", "relations.jsonl"


class BulkCounts(msgspec.Struct, frozen=True):
    """Counts of written and rejected records, as in a load."""

    written: Mapping[str, int]
    problems: Mapping[str, int]
    broken: Sequence[str]
    outside: int


class BulkFiles(msgspec.Struct, frozen=True):
    """Manifest of a complete folder of files for ``neo4j-admin database import``.

    Attributes:
        source, fingerprint: name and fingerprint of the source.
        node_files, relationship_files: files of nodes, and files of relationships by type.
        line_files: files whose rows may contain line breaks.
        next_number: first number for entities that are loaded later.
        counts: expected numbers of nodes by label and of relationships by type.
        records: counts of written and rejected records.
    """

    source: str
    fingerprint: str
    node_files: Sequence[str]
    relationship_files: Mapping[str, Sequence[str]]
    line_files: Sequence[str]
    next_number: int
    counts: Mapping[str, int]
    records: BulkCounts = msgspec.field(name="told")

    def arguments(self, database: str) -> list[str]:
        """Return the arguments of neo4j-admin, which must run in the folder."""
        # Since 2025 the import needs paths with a parent: "./entities.csv" instead of "entities.csv".
        multiline = [f"--multiline-fields={','.join(f'./{name}' for name in self.line_files)}"]
        relationships = []
        for type_, names in self.relationship_files.items():
            relationships += [f"--relationships={type_}=./{name}" for name in names]
        return [
            *("database", "import", "full", database, "--overwrite-destination", "--id-type=integer"),
            # Fail at a bad row instead of leaving it out.
            "--bad-tolerance=0",
            f"--array-delimiter={ARRAY_DELIMITER_NAME}",
            "--read-buffer-size=16m",
            *(["--multiline-fields-format=v2", *multiline] if self.line_files else []),
            *(f"--nodes=./{name}" for name in self.node_files),
            *relationships,
        ]

    def save(self, folder: Path) -> None:
        """Write the manifest, after all other files."""
        (folder / _MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1))


def read_bulk_files(folder: Path) -> BulkFiles:
    """Return the manifest of a folder.

    Raises:
        KgprobeError: the folder contains no complete import files.
    """
    try:
        return msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=BulkFiles)
    except (OSError, msgspec.DecodeError) as error:
        raise KgprobeError(
            f"{folder} contains no complete import files of kgprobe. Write them with `kgprobe load NAME --bulk-files"
            " FOLDER` or kgprobe.write_bulk."
        ) from error
