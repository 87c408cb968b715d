"""Where kgprobe keeps its files: one folder of the user's, named by ``KGPROBE_HOME``."""

import os
from pathlib import Path

import platformdirs

from kgprobe.errors import KgprobeError


def home() -> Path:
    """The folder that holds graphs, converted models, runs and downloads.

    ``KGPROBE_HOME`` if set, else the platform's per-user data folder. It is not created here.
    """
    named = os.environ.get("KGPROBE_HOME")
    return (
        Path(named).expanduser().absolute() if named else Path(platformdirs.user_data_dir("kgprobe", appauthor=False))
    )


def make_folder(folder: Path) -> None:
    """Make a folder and those above it.

    Raises:
        KgprobeError: that is not possible there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KgprobeError(
            f"The folder {folder} cannot be made: {error.strerror}. KGPROBE_HOME names another place."
        ) from error
