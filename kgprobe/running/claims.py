"""Settings of a folder of answers: ``config.json``, written once and compared on every later use."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import read_json, replacing
from kgprobe.running.identity import differences, identity_of

CONFIG = "config.json"

T = TypeVar("T")


def claim(folder: Path, config: Mapping[str, Any], content: str) -> None:
    """Write the settings of a folder, or compare them with the ones it has.

    Args:
        content: of the folder, such as a measurement, for messages.

    Raises:
        KgprobeError: the folder has other settings.
    """
    if (folder / CONFIG).exists():
        stored = read_config(folder, content)
        if identity_of(stored) != identity_of(config):
            changes = "; ".join(differences(stored, config))
            raise KgprobeError(
                f"{folder} holds a {content} made with other settings ({changes}). Choose another `name`, or delete "
                "the folder."
            )
        return
    with replacing(folder / CONFIG) as unfinished:
        unfinished.write_bytes(msgspec.json.encode(config, order="sorted"))


def read_config(folder: Path, content: str) -> dict[str, Any]:
    """Return the settings of a folder.

    Raises:
        KgprobeError: the folder has no settings, or the file is damaged.
    """
    return read_form(folder, content, dict[str, Any])


def read_form(folder: Path, content: str, form: type[T]) -> T:
    """Return the settings of a folder, checked against a type.

    Args:
        content: of the folder, such as a measurement, for messages.
        form: struct of the settings.

    Raises:
        KgprobeError: the folder has no settings, or the file is damaged.
    """
    try:
        return read_json(folder / CONFIG, form, f"Restore the file, or delete the {content}'s folder.")
    except FileNotFoundError as error:
        raise KgprobeError(f"{folder} holds no {content}: it has no file {CONFIG}.") from error
