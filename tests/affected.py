"""Tests that a change affects: ``python -m tests.affected`` selects them by imports and names, and runs them.

The syntax trees of all modules give a graph of definitions. A definition leads to those that it names, in its own
module or through imports, and an import leads to the top level of the imported module. A test is selected when a path
leads from it to a changed file. Names that Python looks up at run time (plug-ins, commands, queries, data files) are
followed where the test has them in a string. Nothing is imported. Imports under ``TYPE_CHECKING`` and annotations are
not followed.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from fnmatch import fnmatch
from itertools import accumulate, chain, pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOP = ""  # The statements of a module that run when it is imported.
ALL = "*"  # All definitions of a module.
DELETED = (0, 0)  # The state of a file that is not there.
END = ("", "")  # After the end of a path.
ALL_TESTS = ("pyproject.toml", "tests/conftest.py", "tests/__init__.py")
# The module that finds queries by name, and its functions that list those with a beginning.
QUERIES = "kgprobe/graph/queries.py"
QUERY_LISTS = {"query_names": "", "explore_names": "explore/"}
THIS = "tests/affected.py"
CACHE = Path(".pytest_cache", "affected.msgpack")
_UNEXECUTED = {"annotation", "returns", "ctx", "op", "ops", "type_comment"}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_TARGET = re.compile(r"(?:\w+\.)+\w+(?::\w+)?")
_IMPORTED = re.compile(r"\b(?:from\s+([\w.]+)\s+)?import\s+\(?([\w., ]+)")
_WORD = re.compile(r"[\w@.-]+")


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


Key = tuple[str, str]  # A file's path and one of its definitions, TOP or ALL.


class Tree(NamedTuple):
    """All modules of a repository.

    Attributes:
        sources: by path.
        modules: paths by dotted name.
        groups: "module:attribute" of each plug-in, by group and name.
        folders: the package of each source folder.
    """

    sources: dict[str, Source]
    modules: dict[str, str]
    groups: dict[str, dict[str, str]]
    folders: dict[str, str]


class Graph(NamedTuple):
    """Successors of each definition: in any case, and by a name that a test may have in a string."""

    edges: dict[Key, set[Key]]
    tables: dict[Key, dict[str, set[Key]]]


class Mentions(NamedTuple):
    """Definitions by the last part of a path, by a pattern of file names, and by the beginning of a query's name."""

    names: dict[str, set[Key]]
    globs: dict[str, set[Key]]
    queries: dict[str, set[Key]]


# Reading a module


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
        if name and ":" in target and _TARGET.fullmatch(target):
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


# Names to definitions


def resolve(tree: Tree, name: str, depth: int = 0) -> Iterator[Key]:
    """Yield the definition that an absolute dotted name leads to; a module alone means ALL of it."""
    parts = name.replace(":", ".").split(".")
    lengths = (length for length in range(len(parts), 0, -1) if ".".join(parts[:length]) in tree.modules)
    length = next(lengths, 0)
    if not length:
        return
    path = tree.modules[".".join(parts[:length])]
    if length == len(parts):
        yield path, ALL
        return
    definitions, attribute = tree.sources[path].definitions, parts[length]
    imports = {**tree.sources[path].lazy, **definitions[TOP].imports}
    if attribute in definitions:
        yield path, attribute
    elif attribute in imports and depth < len(tree.modules):
        yield from resolve(tree, ".".join([imports[attribute], *parts[length + 1 :]]), depth + 1)
    else:
        yield path, TOP


def imported(tree: Tree, name: str) -> set[Key]:
    """Return the top levels that run when a dotted name is imported: of its module and of the packages around it."""
    names = accumulate(name.split("."), "{}.{}".format)
    return {(tree.modules[each], TOP) for each in names if each in tree.modules}


def used(tree: Tree, path: str, definition: Definition, name: str) -> Iterator[Key]:
    """Yield the definitions that a name leads to where a definition uses it."""
    first, point, rest = name.partition(".")
    source = tree.sources[path]
    if target := definition.imports.get(first):
        yield from resolve(tree, target + point + rest)
    elif first in source.definitions:
        yield path, first
    elif target := source.definitions[TOP].imports.get(first):
        yield from resolve(tree, target + point + rest)


def edges(tree: Tree, key: Key) -> set[Key]:
    """Return the definitions that run, or may run, where one runs, without those that are chosen by a name."""
    path, name = key
    source = tree.sources[path]
    top = source.definitions[TOP]
    if name == ALL:
        names = [resolve(tree, target) for local, target in {**source.lazy, **top.imports}.items() if local[0] != " "]
        values = {target for target in chain.from_iterable(names) if target[1] != ALL}
        return values | {(path, definition) for definition in source.definitions}
    definition = source.definitions[name]
    keys = {(path, TOP)}
    for target in definition.imports.values():
        keys.update(imported(tree, target))
    for each in definition.names:
        keys.update(used(tree, path, definition, each))
    for text in definition.strings.difference(definition.table.values(), tree.groups):
        if _TARGET.fullmatch(text):
            keys.update(resolve(tree, text))
    if name == TOP:
        keys.update(imported(tree, module_of(tree.folders, path)))
        called = chain.from_iterable(used(tree, path, top, each) for each in source.called)
        keys |= {each for each in called if each[1] == ALL or not tree.sources[each[0]].definitions[each[1]].variable}
    keys |= fixtures(tree, path, definition) if is_test(path) else plug_ins(tree, path, definition)
    return keys - {key}


def is_test(path: str) -> bool:
    """Return whether a file belongs to the tests."""
    return path.startswith("tests/")


def fixtures(tree: Tree, path: str, definition: Definition) -> set[Key]:
    """Return the fixtures of conftest files that a definition takes by name."""
    names = definition.names | definition.given
    keys = set()
    for conftest in conftests(tree, path):
        top = tree.sources[conftest].definitions
        keys |= {(conftest, name) for name in names & top.keys()}
        for name in names & top[TOP].imports.keys():
            keys.update(resolve(tree, top[TOP].imports[name]))
    return keys


def conftests(tree: Tree, path: str) -> list[str]:
    """Return the conftest files of a file's folder and of those around it."""
    paths = [str(folder / "conftest.py") for folder in PurePosixPath(path).parents]
    return [conftest for conftest in paths if conftest in tree.sources]


def plug_ins(tree: Tree, path: str, definition: Definition) -> set[Key]:
    """Return the plug-ins that a definition of the package names, and the top levels of all where its module loops."""
    keys: set[Key] = set()
    for group in tree.groups.values():
        for name in group.keys() & definition.given:
            keys.update(resolve(tree, group[name]))
    listed = {name for one in tree.sources[path].definitions.values() for name in one.names if name.endswith(".names")}
    for name in definition.names:
        if name.endswith((".get", ".names")) and f"{name.partition('.')[0]}.names" in listed:
            for key in used(tree, path, definition, name):
                keys |= {(target[0], TOP) for targets in choices(tree, key).values() for target in targets}
    return keys


def choices(tree: Tree, key: Key) -> dict[str, set[Key]]:
    """Return what a definition finds by a name: the plug-ins of a register, the commands of a table."""
    definition = tree.sources[key[0]].definitions.get(key[1], Definition())
    named = dict(definition.table)
    for group in definition.given & tree.groups.keys():
        named |= tree.groups[group]
    return {name: set(resolve(tree, target)) for name, target in named.items()}


# Changed files to tests


def changed_definitions(tree: Tree, mentions: Mentions, path: str) -> set[Key]:
    """Return the definitions of a changed module, or those that name a changed file, its query or its folder."""
    keys = naming(tree, mentions, path)
    if path in tree.sources:
        return keys | {(path, ALL), *((path, name) for name in tree.sources[path].definitions)}
    folders = PurePosixPath(path).parents
    package = next((f"{one}/" for one in folders if f"{one}/__init__.py" in tree.sources), "")
    if path.endswith(".cypher") and package != "tests/":
        return keys
    if any(key[0].startswith(package or "tests/") for key in keys):
        return keys
    inside = {other for other in tree.sources if other.startswith(package or "tests/")}
    for folder in filter(lambda one: one.name, folders):
        named = {key for key, definition in definitions_of(tree, inside) if folder.name in definition.strings}
        if named:
            return keys | named
    return keys | {(other, TOP) for other in inside if package}


def definitions_of(tree: Tree, paths: Iterable[str]) -> Iterator[tuple[Key, Definition]]:
    """Yield the definitions of some modules."""
    for path in paths:
        for name, definition in tree.sources[path].definitions.items():
            yield (path, name), definition


def read_mentions(tree: Tree) -> Mentions:
    """Return the strings of all definitions that may name a file or a query."""
    mentions = Mentions(defaultdict(set), defaultdict(set), defaultdict(set))
    for key, definition in definitions_of(tree, tree.sources):
        for text in definition.strings:
            mentions.names[text.rpartition("/")[2]].add(key)
            if "*." in text and is_test(key[0]):
                mentions.globs[text.rpartition("/")[2]].add(key)
            if "/" in text and key[0] != QUERIES:
                mentions.queries[text].add(key)
        for name in definition.names & QUERY_LISTS.keys():
            if is_test(key[0]) or (QUERY_LISTS[name] and key[0] != QUERIES):
                mentions.queries[QUERY_LISTS[name]].add(key)
    return mentions


def naming(tree: Tree, mentions: Mentions, path: str) -> set[Key]:
    """Return the definitions with the name of a file or of a query in a string, or with a glob that finds the file."""
    file = PurePosixPath(path)
    keys: set[Key] = set()
    if not file.name.startswith("__") and (file.suffix or not file.name.islower()):
        keys |= mentions.names.get(file.name, set())
    if path.endswith(".cypher"):
        query = path.partition("/")[2].removesuffix(".cypher")
        keys.update(
            *(users for text, users in mentions.queries.items() if query.startswith(text) or query in text.split())
        )
    for pattern, users in mentions.globs.items():
        for key in users if fnmatch(file.name, pattern) else ():
            folders = set().union(*(one.strings for one in tree.sources[key[0]].definitions.values()))
            keys |= {key} if len(file.parts) == 1 or folders & set(file.parts[:-1]) else set()
    return keys


def roots(tree: Tree, test: str) -> set[Key]:
    """Return what runs whenever a test file runs: itself, top levels, hooks and automatic fixtures of its conftests."""
    keys = {(test, ALL)}
    for (path, name), definition in definitions_of(tree, conftests(tree, test)):
        if name == TOP or name.startswith("pytest_") or "autouse" in definition.names:
            keys.add((path, name))
    return keys


def reach(
    starts: Iterable[Key], neighbours: Callable[[Key], Iterable[Key]], ends: Container[Key] = ()
) -> dict[Key, Key]:
    """Return the definitions on paths from some up to one of the ends, breadth first, each with the one before it."""
    before = {start: start for start in starts}
    waiting = deque(before)
    while waiting:
        key = waiting.popleft()
        if key in ends:
            return before | {END: key}
        for following in neighbours(key):
            if following not in before:
                before[following] = key
                waiting.append(following)
    return before


def chosen_names(tree: Tree, test: str, graph: Graph) -> set[str]:
    """Return the words in the strings of a test and its helpers; none where the test goes through a whole register."""
    own = reach(roots(tree, test), lambda key: (each for each in graph.edges[key] if is_test(each[0])))
    words: set[str] = set()
    for path, name in own:
        definition = tree.sources[path].definitions.get(name, Definition())
        words.update(*map(_WORD.findall, definition.strings))
        names = [used(tree, path, definition, each) for each in definition.names if not each.endswith(".get")]
        if any(graph.tables.get(key) for key in chain.from_iterable(names)):
            return set()
        if definition.strings & {"*.md", "*.ipynb"}:  # Documents show the whole library.
            return set()
    return words


def build_graph(tree: Tree, starts: Iterable[Key]) -> Graph:
    """Return the graph of all definitions that tests reach."""
    graph = Graph({}, {})

    def following(key: Key) -> set[Key]:
        graph.edges[key], graph.tables[key] = edges(tree, key), choices(tree, key)
        return graph.edges[key].union(*graph.tables[key].values())

    reach(starts, following)
    return graph


def select(tree: Tree, changed: Iterable[str]) -> dict[str, list[str]]:
    """Return the affected test files, each with the files on the shortest path to a changed one."""
    existing = (path for path, source in tree.sources.items() if is_test(path) and source.state != DELETED)
    tests = sorted(path for path in existing if PurePosixPath(path).match("test_*.py"))
    for path in sorted(set(changed) & set(ALL_TESTS)):
        return {test: [test, path] for test in tests}
    mentions = read_mentions(tree)
    targets = {key: path for path in sorted(changed) for key in changed_definitions(tree, mentions, path)}
    graph = build_graph(tree, {key for test in tests for key in roots(tree, test)})
    backwards: dict[Key, set[Key]] = defaultdict(set)
    for key, following in graph.edges.items():
        for each in following.union(*graph.tables[key].values()):
            backwards[each].add(key)
    near = reach(targets, lambda key: backwards.get(key, ()))
    paths = {
        test: find_path(tree, test, graph, targets, near.keys()) for test in tests if near.keys() & roots(tree, test)
    }
    return {test: files for test, files in paths.items() if files}


def find_path(tree: Tree, test: str, graph: Graph, targets: Mapping[Key, str], near: Set[Key]) -> list[str]:
    """Return the files on the shortest path from a test to a changed file; none where there is no path."""
    words = chosen_names(tree, test, graph)

    def following(key: Key) -> Iterator[Key]:
        yield from sorted(graph.edges[key] & near)
        table = graph.tables[key]
        for name in sorted(words & table.keys() or table.keys()):
            yield from table[name] & near

    before = reach(sorted(roots(tree, test) & near), following, targets)
    if END not in before:
        return []
    keys = [before[END]]
    while before[keys[-1]] != keys[-1]:
        keys.append(before[keys[-1]])
    return list(dict.fromkeys([test, *(path for path, _ in reversed(keys)), targets[keys[0]]]))


# The repository


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
    if THIS not in known or read_state(root / THIS) != known[THIS].state:
        known = {}
    for path in {*git(root, "ls-files", "-z"), *changed}:
        if path.endswith(".py") and path.partition("/")[0] in folders:
            module = module_of(folders, path)
            tree.modules[module] = path
            tree.sources[path] = read_source(root / path, module, known.get(path))
    cache.parent.mkdir(exist_ok=True)
    cache.write_bytes(msgspec.msgpack.encode(tree.sources))
    return tree


def module_of(folders: Mapping[str, str], path: str) -> str:
    """Return the dotted name of a module by its path."""
    folder, _, rest = path.partition("/")
    return ".".join([folders[folder], *rest.removesuffix(".py").split("/")]).removesuffix(".__init__")


def main(arguments: Sequence[str]) -> int:
    """Select the affected tests, and list or run them; returns the exit code."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m tests.affected", description="Run the tests that a change affects."
    )
    parser.add_argument("--base", default="HEAD", metavar="REV", help="Commit to compare the working tree with.")
    parser.add_argument("--list", action="store_true", help="Print the affected test files; run none.")
    parser.add_argument(
        "--why", action="store_true", help="With --list: print the shortest chain of imports to the change."
    )
    parser.epilog = "Arguments after -- go to pytest, for example: -- -n 2 -x"
    options = parser.parse_args(arguments[:place])
    try:
        root = Path(git(Path.cwd(), "rev-parse", "--show-toplevel")[0].rstrip("\n"))
    except subprocess.CalledProcessError:
        return fail(f"{Path.cwd()} is not in a git checkout.")
    try:
        changed = changed_files(root, git(root, "rev-parse", "--verify", f"{options.base}^{{commit}}")[0].strip())
    except subprocess.CalledProcessError:
        return fail(f"--base {options.base}: git knows no such commit.")
    selected = select(read_tree(root, changed), changed)
    if options.list or not selected:
        lines = [" > ".join(files) if options.why else test for test, files in selected.items()]
        print("\n".join(lines) or "No test is affected.")
        return 0
    done = subprocess.run([sys.executable, "-m", "pytest", *selected, *arguments[place + 1 :]], cwd=root, check=False)
    return 0 if done.returncode == 5 else done.returncode


def fail(message: str) -> int:
    """Print a message, and return the exit code of wrong usage."""
    print(message, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
