"""What does a language model know of a knowledge graph, and how sure can one be?

    import kgprobe

    graph = kgprobe.open_graph()
    kgprobe.load(graph, "example")
    result = kgprobe.measure(graph, "demo", limit=100)
    print(result.summary())
    result.to_frame()

docs/library.md goes on from here. Nothing heavy is imported before it is used.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from kgprobe.base.version import __version__ as __version__

# Modules of the public names, which ``__init__.pyi`` imports for type checkers.
_IMPORTS = re.compile(r"^from (\S+) import ([a-zA-Z]\w*) as", re.MULTILINE)
_MODULES = {name: module for module, name in _IMPORTS.findall(Path(f"{__file__}i").read_text(encoding="utf-8"))}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
