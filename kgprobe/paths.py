"""Where kgprobe keeps its files: one folder of the user's, named by ``KGPROBE_HOME``."""

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """The folder that holds graphs, converted models, runs and downloads.

    ``KGPROBE_HOME`` if set, else the platform's per-user data folder. It is not created here.
    """
    named = os.environ.get("KGPROBE_HOME")
    return (
        Path(named).expanduser().absolute() if named else Path(platformdirs.user_data_dir("kgprobe", appauthor=False))
    )
