"""A folder of answers belongs to what its ``config.json`` says: the first who asks claims it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.asking.identity import differences, identity_of
from kgprobe.errors import KgprobeError
from kgprobe.files import replacing

CONFIG = "config.json"


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
    """What the answers of a folder depend on.

    Raises:
        KgprobeError: it holds none.
    """
    try:
        return msgspec.json.decode((folder / CONFIG).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise KgprobeError(f"{folder} holds no {what}: {error}.") from error
