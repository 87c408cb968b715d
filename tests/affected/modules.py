"""Definitions of a module, with the names, strings and imports of each, read from its syntax tree."""

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

TOP = ""  # The statements of a module that run when it is imported.
DELETED = (0, 0)  # The state of a file that is not there.
_UNEXECUTED = {"annotation", "returns", "ctx", "op", "ops", "type_comment"}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
TARGET = re.compile(r"(?:\w+\.)+\w+(?::\w+)?")
_IMPORTED = re.compile(r"\b(?:from\s+([\w.]+)\s+)?import\s+\(?([\w., ]+)")


class Definition(msgspec.Struct):
    """A function, class or variable of a module's top level, or the rest of that level.

    Attributes:
        imports: what it imports, absolute, by the local name; names that start with a space bind nothing.
        names: dotted names that it uses, and its parameters.
        given: strings that are arguments of calls or defaults of parameters.
        table: "module:attribute" by the key of a dictionary.
    """

    imports: dict[str, str] = {}
    names: set[str] = set()
    strings: set[str] = set()
    given: set[str] = set()
    table: dict[str, str] = {}
    variable: bool = False


class Source(msgspec.Struct):
    """A module: its file's state, its definitions, the calls of its top level, and what ``__getattr__`` imports."""

    state: tuple[int, int]
    definitions: dict[str, Definition] = {}
    called: set[str] = set()
    lazy: dict[str, str] = {}


def read_source(file: Path, module: str, known: Source | None) -> Source:
    """Return the definitions of a module, or those known if the file is as it was; one that is not there has none."""
    source = Source(read_state(file))
    if known and known.state == source.state:
        return known
    top = source.definitions[TOP] = Definition()
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    try:
        statements = ast.parse(file.read_bytes()).body if source.state != DELETED else []
    except SyntaxError:
        return source
    if any(getattr(statement, "name", None) == "__getattr__" for statement in statements):
        typed = Definition()
        collect(typed, [one for each in statements if isinstance(each, ast.If) for one in each.body], package)
        source.lazy = typed.imports
    for statement in statements:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        names = defined_names(statement)
        for name in names:
            definition = source.definitions.setdefault(name, Definition())
            definition.variable = not isinstance(statement, _DEFINITIONS)
            collect(definition, [statement], package)
        if names:
            source.called |= set(called_at_import(statement))
            for group in map(dotted, called_decorators(statement)):
                # @group.command() registers what follows: users of the group may call it.
                if group.partition(".")[0] in source.definitions:
                    source.definitions[group.partition(".")[0]].names.update(names)
        else:
            collect(top, [statement], package)
    return source


def read_state(file: Path) -> tuple[int, int]:
    """Return the time of a file's last change and its size."""
    return (file.stat().st_mtime_ns, file.stat().st_size) if file.is_file() else DELETED


def defined_names(statement: ast.stmt) -> list[str]:
    """Return the names that a definition or an assignment at the top level binds."""
    if isinstance(statement, _DEFINITIONS):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or not all(isinstance(one, ast.Name) for one in targets):
        return []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def called_decorators(statement: ast.stmt) -> list[ast.AST]:
    """Return the decorators of a definition, without their arguments."""
    decorators = getattr(statement, "decorator_list", [])
    return [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in decorators]


def called_at_import(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a definition calls when its module is imported."""
    inner: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        inner = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    if isinstance(node, _DEFINITIONS):
        yield from filter(None, map(dotted, [*node.decorator_list, *getattr(node, "bases", [])]))
    elif isinstance(node, ast.Call):
        yield from filter(None, [dotted(node.func)])
    for child in inner if not isinstance(node, ast.Lambda) else []:
        yield from called_at_import(child)


def dotted(node: ast.AST) -> str:
    """Return ``a.b.c`` of a chain of attributes that begins at a name, else an empty string."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def collect(definition: Definition, statements: Iterable[ast.AST], package: str) -> None:
    """Add the names, strings and imports of statements to a definition; relative imports start from the package."""
    waiting = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = dotted(node)
            definition.names.add(name)
            waiting += [node.value] if isinstance(node, ast.Attribute) and not name else []
            continue
        if isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
            continue
        if type(node) in _COLLECTORS:
            _COLLECTORS[type(node)](definition, node, package)
        waiting += executed(node)


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children of a node without annotations of functions and without docstrings."""
    for name in node._fields:
        value = getattr(node, name)
        if name in _UNEXECUTED and not isinstance(node, ast.AnnAssign):
            continue
        if isinstance(value, list):
            documented = name == "body" and isinstance(node, _DEFINITIONS) and ast.get_docstring(node, clean=False)
            yield from (child for child in value[1 if documented else 0 :] if isinstance(child, ast.AST))
        elif isinstance(value, ast.AST):
            yield value


def _collect_import(definition: Definition, node: ast.Import, _package: str) -> None:
    for name in node.names:
        first = name.name.partition(".")[0]
        definition.imports |= {name.asname or first: name.name if name.asname else first, f" {name.name}": name.name}


def _collect_import_from(definition: Definition, node: ast.ImportFrom, package: str) -> None:
    start = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    module = ".".join([*start, *([node.module] if node.module else [])])
    definition.imports[f" {module}"] = module
    definition.imports |= {name.asname or name.name: f"{module}.{name.name}" for name in node.names}


def _collect_string(definition: Definition, node: ast.Constant, package: str) -> None:
    texts = list(_texts([node]))
    definition.strings.update(texts)
    for text in texts:
        # It may be a program for another process.
        for module, names in _IMPORTED.findall(text) if "\n" in text or ";" in text else []:
            written = f"from {module} import {names}" if module else f"import {names}"
            with suppress(SyntaxError):
                collect(definition, ast.parse(written.strip(" ,")).body, package)
                definition.names.update(re.findall(r"\b[A-Za-z_]\w*(?:\.\w+)*", text))


def _collect_call(definition: Definition, node: ast.Call, _package: str) -> None:
    definition.given.update(_texts(node.args))
    definition.names.update("autouse" for keyword in node.keywords if keyword.arg == "autouse")


def _collect_arguments(definition: Definition, node: ast.arguments, _package: str) -> None:
    definition.names.update(argument.arg for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs))
    definition.given.update(_texts([*node.defaults, *node.kw_defaults]))


def _collect_dictionary(definition: Definition, node: ast.Dict, _package: str) -> None:
    for key, value in zip(node.keys, node.values, strict=True):
        first = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
        name, target = "".join(_texts([key])), "".join(_texts([first]))
        if name and ":" in target and TARGET.fullmatch(target):
            definition.table[name] = target


def _collect_list(definition: Definition, node: ast.List, _package: str) -> None:
    # A command that runs a module: python -m MODULE.
    for option, module in pairwise(node.elts):
        if [*_texts([option])] == ["-m"]:
            definition.imports |= {f" {text}": text for text in _texts([module])}
            definition.strings |= {f"{text}.__main__" for text in _texts([module])}


def _texts(nodes: Iterable[ast.AST | None]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.encode(errors="replace").decode()


_COLLECTORS: dict[type[ast.AST], Any] = {
    ast.Import: _collect_import,
    ast.ImportFrom: _collect_import_from,
    ast.Constant: _collect_string,
    ast.Call: _collect_call,
    ast.arguments: _collect_arguments,
    ast.Dict: _collect_dictionary,
    ast.List: _collect_list,
}
