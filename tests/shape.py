"""Size and shape of the code: lines, record types, functions, modules; and the pieces that may be too small.

`python -m tests.shape` prints the figures; `--list kgprobe/graph` the small pieces of a room. A piece in the list is a
place to look at, not an order: a name that says more than its body stays.
"""

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parent.parent
SHORT = 10  # Lines of a function that is short.

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Module:
    """A file of the package: path from the root, dotted name, functions (methods too), classes, records, imports."""

    path: str
    name: str
    text: str
    functions: list[Function] = field(default_factory=list)
    classes: list[ast.ClassDef] = field(default_factory=list)
    records: list[ast.ClassDef] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Sort the nodes of the tree."""
        package = self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]
        for node in ast.walk(ast.parse(self.text)):
            if isinstance(node, Function):
                self.functions.append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes.append(node)
                self.records += [node] if _is_record(node) else []
            elif isinstance(node, ast.Import):
                self.imports |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                source = resolve_name("." * node.level + (node.module or ""), package)
                self.imports |= {source, *(f"{source}.{each.name}" for each in node.names)}


def _is_record(node: ast.ClassDef) -> bool:
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    decorators = {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list}
    return bool(bases & {"Struct", "NamedTuple", "TypedDict"}) or "dataclass" in decorators


@cache
def modules() -> tuple[Module, ...]:
    """Return the modules of the package and the loaders."""
    read = []
    for folder, package in (("kgprobe", "kgprobe"), ("loaders", "kgprobe.loaders")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = ".".join((package, *path.relative_to(ROOT / folder).with_suffix("").parts))
            text = path.read_text(encoding="utf-8")
            read.append(Module(str(path.relative_to(ROOT)), name.removesuffix(".__init__"), text))
    return tuple(read)


def once_called() -> Iterator[tuple[Module, Function]]:
    """Yield the short private functions whose names occur at one place besides their own."""
    for module in modules():
        words = Counter(re.findall(r"\w+", module.text))
        for node in module.functions:
            private = node.name.startswith("_") and not node.name.endswith("__") and not node.decorator_list
            if private and _lines(node) < SHORT and words[node.name] == 2:
                yield module, node


def once_built() -> Iterator[tuple[Module, ast.ClassDef]]:
    """Yield the records that one place builds: their name and an opening parenthesis, not in `class Name(`."""
    calls = Counter(name for module in modules() for name in re.findall(r"(?<!class )\b([A-Z_]\w*)\(", module.text))
    for module in modules():
        yield from ((module, node) for node in module.records if calls[node.name] == 1)


def once_imported() -> Iterator[Module]:
    """Yield the modules that one other module imports."""
    importers = Counter(name for module in modules() for name in module.imports)
    yield from (module for module in modules() if importers[module.name] == 1)


def _lines(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def figures() -> dict[str, float]:
    """Return the figures of the package and the lines of the tests."""
    lines = sum(module.text.count("\n") for module in modules())
    lengths = sorted(_lines(node) for module in modules() for node in module.functions)
    return {
        "lines of the package": lines,
        "lines of the tests": sum(path.read_bytes().count(b"\n") for path in (ROOT / "tests").rglob("*.py")),
        "modules": len(modules()),
        "modules with one importer": len(list(once_imported())),
        "record types": sum(len(module.records) for module in modules()),
        "records built at one place": len(list(once_built())),
        "functions": len(lengths),
        "short functions called once": len(list(once_called())),
        "lines of a function, 99th percentile": lengths[len(lengths) * 99 // 100],
    }


def listed() -> Iterator[str]:
    """Yield a line for each small piece: path, kind, name."""
    for module, function in once_called():
        yield f"{module.path}:{function.lineno} called once: {function.name}"
    for module, record in once_built():
        yield f"{module.path}:{record.lineno} built at one place: {record.name}"
    for module in once_imported():
        yield f"{module.path}:1 one importer: {module.text.count(chr(10))} lines"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", metavar="ROOM", help="list the small pieces of a room (kgprobe/graph)")
    room = parser.parse_args().list
    if room:
        print("\n".join(line for line in listed() if line.startswith(room)))
    else:
        print("\n".join(f"{value:>10,} {name}" for name, value in figures().items()))
