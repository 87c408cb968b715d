"""Messages about extras that are not installed name what works: kgprobe is not on PyPI."""

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


def sources() -> list[Path]:
    """Return all modules and documents that users see."""
    folders = [ROOT / name for name in ("kgprobe", "loaders", "docs", "docker", "benchmarks")]
    files = [path for folder in folders for ending in ("py", "md") for path in folder.rglob(f"*.{ending}")]
    return [*files, *ROOT.glob("*.md")]


def test_how_to_install_is_asked_for_extras_that_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {
        extra
        for path in sources()
        for extra in re.findall(r"how_to_install\(['\"]([\w-]+)['\"]\)", path.read_text(encoding="utf-8"))
    }
    assert len(named) >= 8
    assert named <= set(extras)


def test_messages_name_no_package_of_pypi_for_kgprobe() -> None:
    wrong = [path.name for path in sources() if re.search(r"pip install .?kgprobe\b", path.read_text(encoding="utf-8"))]
    assert wrong == []
