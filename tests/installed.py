"""Somebody else's package, as pip installs it: its modules, and entry points that name what they add."""

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, modules: Mapping[str, str], entry_points: str) -> None:
    """Put a package on the path for one test.

    Args:
        folder: is made where it is missing.
        modules: the code of each, by its name.
        entry_points: as they stand in the package's file of that name.
    """
    installed = folder / "others-1.0.dist-info"
    installed.mkdir(parents=True)
    for module, code in modules.items():
        (folder / f"{module}.py").write_text(code, encoding="utf-8")
        # A test before this one may have had another module of that name.
        monkeypatch.delitem(sys.modules, module, raising=False)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
