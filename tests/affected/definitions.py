"""Graph of the definitions of all modules: which definitions may run where one runs."""

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import accumulate, chain
from pathlib import PurePosixPath
from typing import NamedTuple

from tests.affected.modules import TARGET, TOP, Definition, Source

ALL = "*"  # All definitions of a module.
END = ("", "")  # After the end of a path.

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
        if TARGET.fullmatch(text):
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


def definitions_of(tree: Tree, paths: Iterable[str]) -> Iterator[tuple[Key, Definition]]:
    """Yield the definitions of some modules."""
    for path in paths:
        for name, definition in tree.sources[path].definitions.items():
            yield (path, name), definition


def module_of(folders: Mapping[str, str], path: str) -> str:
    """Return the dotted name of a module by its path."""
    folder, _, rest = path.partition("/")
    return ".".join([folders[folder], *rest.removesuffix(".py").split("/")]).removesuffix(".__init__")


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


def build_graph(tree: Tree, starts: Iterable[Key]) -> Graph:
    """Return the graph of all definitions that tests reach."""
    graph = Graph({}, {})

    def following(key: Key) -> set[Key]:
        graph.edges[key], graph.tables[key] = edges(tree, key), choices(tree, key)
        return graph.edges[key].union(*graph.tables[key].values())

    reach(starts, following)
    return graph
