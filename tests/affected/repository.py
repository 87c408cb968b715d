"""The files of a git repository: those that changed, and all modules."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.affected.definitions import Tree, module_of
from tests.affected.modules import Source, read_source, read_state

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Definitions by file of the last run; they hold as long as the module that reads them stays the same.
CACHE = Path(".pytest_cache", "affected.msgpack")
READER = "tests/affected/modules.py"


def git(root: Path, *arguments: str) -> list[str]:
    """Return what git prints, split at NUL."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return [text for text in done.stdout.split("\0") if text]


def changed_files(root: Path, base: str) -> set[str]:
    """Return the files that differ from a commit: staged, not staged, not tracked, deleted."""
    differing = git(root, "diff", "--name-only", "--no-renames", "-z", base, "--")
    return {*differing, *git(root, "ls-files", "--others", "--exclude-standard", "-z")}


def read_tree(root: Path, changed: Iterable[str]) -> Tree:
    """Return the modules of a repository; a deleted one has no definitions."""
    file = root / "pyproject.toml"
    settings = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    packages = settings.get("tool", {}).get("setuptools", {}).get("package-dir", {})
    folders = {"tests": "tests", "benchmarks": "benchmarks", **{folder: name for name, folder in packages.items()}}
    tree = Tree({}, {}, settings.get("project", {}).get("entry-points", {}), folders)
    cache = root / CACHE
    try:
        known = msgspec.msgpack.decode(cache.read_bytes(), type=dict[str, Source])
    except (OSError, msgspec.DecodeError):
        known = {}
    if READER not in known or read_state(root / READER) != known[READER].state:
        known = {}
    for path in {*git(root, "ls-files", "-z"), *changed}:
        if path.endswith(".py") and path.partition("/")[0] in folders:
            module = module_of(folders, path)
            tree.modules[module] = path
            tree.sources[path] = read_source(root / path, module, known.get(path))
    cache.parent.mkdir(exist_ok=True)
    cache.write_bytes(msgspec.msgpack.encode(tree.sources))
    return tree
