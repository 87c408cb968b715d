"""Roles of facts in a fine-tune: taught, held out, or a control in a ring around the taught facts.

docs/methods/controls.md. A file of roles has one JSON object per line, ``{"subject": …, "fact": …, "role": …}``:
`kgprobe probe --facts FILE` asks the facts, and `kgprobe check --roles FILE` reports each role.
"""

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from kgprobe.base.errors import ArgumentError
from kgprobe.base.files import replacing

TAUGHT, HELD_OUT = "taught", "held out"
# Rings of controls, from near to far.
NEAR = ("same subject", "inverse", "same relation", "neighbour", "two hops")
FAR = "far"
ROLES = (TAUGHT, HELD_OUT, *NEAR, FAR)


class FactRole(msgspec.Struct, frozen=True):
    """A fact and its role (``ROLES``), with the id of the taught fact that it belongs to; None for none."""

    subject: str
    fact: str
    role: str
    of: str | None = None


def write_roles(path: Path, roles: Iterable[FactRole]) -> None:
    """Write a file of roles, one JSON object per line."""
    encoder = msgspec.json.Encoder()
    with replacing(path) as unfinished, open(unfinished, "wb") as file:
        for role in roles:
            file.write(encoder.encode(role) + b"\n")


def read_roles(path: Path) -> Iterator[FactRole]:
    """Yield the roles of a file."""
    decoder = msgspec.json.Decoder(FactRole)
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.removeprefix(BOM_UTF8) if number == 1 else line
                if text.strip():
                    yield _checked(decoder.decode(text), path, number)
    except OSError as error:
        raise ArgumentError("roles", f"is {path}, which cannot be read: {error.strerror or error}.") from error
    except msgspec.DecodeError as error:
        raise ArgumentError("roles", f"{path}, line {number}: {error}.") from error


def _checked(role: FactRole, path: Path, number: int) -> FactRole:
    if role.role not in ROLES:
        raise ArgumentError("roles", f"{path}, line {number}: no role {role.role!r}. Roles are {', '.join(ROLES)}.")
    return role
