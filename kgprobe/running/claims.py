"""A folder of answers belongs to what its ``config.json`` says: the first who asks claims it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import read_json, replacing
from kgprobe.running.identity import differences, identity_of

CONFIG = "config.json"

T = TypeVar("T")


def claim(folder: Path, config: Mapping[str, Any], what: str) -> None:
    """Say in a folder what its answers depend on, or see that it says the same.

    Args:
        what: it holds, such as a measurement.

    Raises:
        KgprobeError: it holds answers that depend on something else.
    """
    if (folder / CONFIG).exists():
        kept = read_config(folder, what)
        if identity_of(kept) != identity_of(config):
            told = "; ".join(differences(kept, config))
            raise KgprobeError(
                f"{folder} holds a {what} made with other settings ({told}). Choose another `name`, or delete "
                "the folder."
            )
        return
    with replacing(folder / CONFIG) as unfinished:
        unfinished.write_bytes(msgspec.json.encode(config, order="sorted"))


def read_config(folder: Path, what: str) -> dict[str, Any]:
    """Return what the answers of a folder depend on.

    Raises:
        KgprobeError: the folder holds none, or the file is damaged.
    """
    return read_form(folder, what, dict[str, Any])


def read_form(folder: Path, what: str, form: type[T]) -> T:
    """Return what the answers of a folder depend on, checked against a type.

    Args:
        what: the folder's content, such as a measurement.
        form: a struct with the settings that are read later.

    Raises:
        KgprobeError: the folder holds none, or the file is damaged.
    """
    try:
        return read_json(folder / CONFIG, form, f"Restore the file, or delete the {what}'s folder.")
    except FileNotFoundError as error:
        raise KgprobeError(f"{folder} holds no {what}: there is no {CONFIG} in it.") from error
