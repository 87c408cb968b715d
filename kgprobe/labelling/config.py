"""Settings of a label table (``config.json``), checked when they are read."""

from pathlib import Path
from typing import Any

import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.graph.state import state_uid
from kgprobe.running.settings import CONFIG, WRITTEN, digest_of, read_config

# Kind of the folder, in messages.
LABEL_TABLE = "label table"
REMEDY = "Restore it, or delete the folder and repeat the kgprobe label command that made it."


class Written(msgspec.Struct, frozen=True):
    """The table as it was written: number of facts, SHA-256 digests of files by name, and one of the settings."""

    rows: int
    sha256: dict[str, str]
    settings: str


class _Settings(msgspec.Struct):
    """Types of the settings that are used; a table of another program has at least those without a default."""

    model: str
    ways: list[str]
    by: str | None = None
    seed: int = 0
    repeats: int | None = None
    as_of: int | None = None
    last_changes: dict[str, int | None] | None = None
    graph: str | None = None
    written: Written | None = None


def read_label_config(folder: Path) -> tuple[dict[str, Any], Written | None]:
    """Return the settings of a label table, and the table as it was written; None for another program's."""
    config = read_config(folder, LABEL_TABLE)
    try:
        settings = msgspec.convert(config, _Settings)
        if settings.graph is not None:
            state_uid(settings.graph)
    except (msgspec.DecodeError, ValueError) as error:
        raise KgprobeError(f"{folder / CONFIG} is damaged: {error}. {REMEDY}") from error
    config.pop(WRITTEN, None)
    if settings.written is not None and settings.written.settings != digest_of(config):
        raise KgprobeError(f"{folder / CONFIG} is damaged: it has been changed since it was written. {REMEDY}")
    return config, settings.written
