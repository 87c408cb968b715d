"""Selection of the test files from which a path leads to a changed file."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from fnmatch import fnmatch
from itertools import chain
from pathlib import PurePosixPath
from typing import NamedTuple

from tests.affected.definitions import (
    ALL,
    END,
    Graph,
    Key,
    Tree,
    build_graph,
    conftests,
    definitions_of,
    is_test,
    reach,
    used,
)
from tests.affected.modules import DELETED, TOP, Definition

ALL_TESTS = ("pyproject.toml", "tests/conftest.py", "tests/__init__.py")
# The module that finds queries by name, and its functions that list those with a beginning.
QUERIES = "kgprobe/graph/queries.py"
QUERY_LISTS = {"query_names": "", "explore_names": "explore/"}
_WORD = re.compile(r"[\w@.-]+")


class Mentions(NamedTuple):
    """Definitions by the last part of a path, by a pattern of file names, and by the beginning of a query's name."""

    names: dict[str, set[Key]]
    globs: dict[str, set[Key]]
    queries: dict[str, set[Key]]


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
    """Return the files on the shortest path from a test to a changed file; an empty list without a path."""
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
