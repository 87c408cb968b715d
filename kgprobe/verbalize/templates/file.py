"""Files of relations with templates, as ``kgprobe load table --relations`` and ``kgprobe templates check`` read them.

A line is a relation as a JSON object. What else is said of its templates (who wrote them, how probable they are) stands
beside them under names that loaders pass over.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from kgprobe.errors import KgprobeError
from kgprobe.records import Relation


def relations_in(path: Path) -> list[str]:
    """The ids of the relations that a file has; none if there is no such file.

    Raises:
        KgprobeError: it cannot be read, or a line of it is no relation.
    """
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise KgprobeError(f"{path} cannot be read: {error}.") from error
    return [_id(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1) if line.strip()]


def _id(line: str, place: str) -> str:
    try:
        return str(json.loads(line)["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise KgprobeError(
            f"{place}: no relation as a JSON object with an id, so nothing is added here. --force writes the file anew."
        ) from error


def open_for_relations(path: Path, *, anew: bool) -> TextIO:
    """A file to write relations to, behind those that it has, or anew.

    Raises:
        KgprobeError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = anew or not path.exists() or path.stat().st_size == 0 or path.read_bytes().endswith(b"\n")
        file = path.open("w" if anew else "a", encoding="utf-8")
    except OSError as error:
        raise KgprobeError(f"{path} cannot be written: {error.strerror}.") from error
    if not whole:
        file.write("\n")
    return file


def relation_line(relation: Relation, notes: Mapping[str, Any] | None = None) -> str:
    """A relation as a line with its line break; what is empty is left out.

    Args:
        notes: what else is said, by name.
    """
    fields = {name: value for name, value in asdict(relation).items() if value not in ("", ())}
    return json.dumps({**fields, **(notes or {})}, ensure_ascii=False) + "\n"
