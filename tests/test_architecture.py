"""The house: which room may know which."""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

from tests import shape

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(__file__).parent.parent / "kgprobe"

# From the ground up: a room knows itself and those before it. A room in a room has a place of its own.
ORDER = [
    "base",
    "stats",
    "sources",
    "graph",
    "graph.servers",
    "models",
    "sampling",
    "verbalize",
    "probes.search",
    "probes",
    "answers",
    "beliefs",
    "running",
    "judge",
    "results.rendering",
    "results",
    "datasets",
    "task_logs",
    "papers.baselines",
    "papers.studies",
    "papers",
    "labelling",
    "labelling.exports",
    "api",
    "cli",
]
MOST_LINES = 900
# Modules that read the trail of outcomes, with all evidence; others read its table (`kgprobe/answers/table.py`).
READERS_OF_THE_TRAIL = {
    "answers/table.py": "makes the table",
    "api/datasets.py": "exports the probability of each choice",
    "api/studies.py": "opens measurements for curves by number of distractors",
    "datasets/assessment.py": "writes all names of right answers into the sheets of annotators",
    "cli/probe.py": "prints the path of the trail",
    "judge/correction.py": "opens the labels of statements and negatives",
    "judge/labels.py": "labels are the answers to statements and negatives, with their texts",
    "papers/studies/templates.py": "compares a fact's sentences",
    "results/graph_rates.py": "names lost facts of a run, whose table may not be made yet",
    "results/judged_graph.py": "opens the labels of statements and negatives",
    "results/measurement.py": "returns outcomes to users, and writes the probes' exports",
    "running/learning.py": "learns from a run's answers before it resumes, without its table",
    "running/rounds.py": "counts a run's named answers before it resumes, without its table",
}
# Readers of `kgprobe.answers.store`, and the outcomes of a result, unless they are in memory.
_READS_THE_TRAIL = re.compile(
    r"\bread_(outcomes|lines|rounds)\b|\bOutcomes\(|(?<!self)(?<!batch)(?<!learning)\.outcomes\b"
)


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def room_of(module: str) -> str:
    """Return the room of a module by its dotted name; the ground for the package itself."""
    parts = module.split(".")
    if len(parts) == 1:
        return ORDER[0]
    inner = ".".join(parts[1:3])
    return inner if inner in ORDER else parts[1]


def test_data_moves_downwards_only() -> None:
    above = []
    for name, imports in import_graph().items():
        own = room_of(name)
        if own in ORDER:
            above += [f"{name} knows {each}" for each in imports if ORDER.index(room_of(each)) > ORDER.index(own)]
    assert above == []


def test_papers_are_known_to_the_doors_only() -> None:
    above = []
    for name, imports in import_graph().items():
        if room_of(name).split(".")[0] not in ("papers", "api", "cli"):
            above += [f"{name} knows {each}" for each in imports if room_of(each).startswith("papers")]
    assert above == []


def test_evidence_is_read_by_few_modules_with_a_reason() -> None:
    texts = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in modules()}
    readers = {name for name, text in texts.items() if _READS_THE_TRAIL.search(text)}
    assert readers - {"answers/store.py"} == set(READERS_OF_THE_TRAIL)


def import_graph() -> dict[str, set[str]]:
    """Return the modules of the package that each of them imports, also inside functions and for types alone."""
    names = {module.name for module in shape.modules()}
    return {module.name: module.imports & names for module in shape.modules()}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or through others."""
    reached = {name: set(imports) for name, imports in graph.items()}
    for through in graph:
        for name in graph:
            if through in reached[name]:
                reached[name] |= reached[through]
    groups = {frozenset(each for each in reached[name] if name in reached[each]) for name in graph}
    return sorted(sorted(group) for group in groups if group)


def test_circles_of_imports_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": set(), "f": {"g"}, "g": {"f"}}
    assert circles(graph) == [["a", "b", "c"], ["f", "g"]]


def test_no_modules_import_each_other() -> None:
    assert circles(import_graph()) == []


def test_public_class_names_occur_once() -> None:
    places = defaultdict(list)
    for module in shape.modules():
        for node in module.classes:
            if not node.name.startswith("_"):
                places[node.name].append(module.path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_no_module_has_more_lines_than_a_reader_has_patience() -> None:
    assert {
        str(path.relative_to(PACKAGE)): lines
        for path in PACKAGE.rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    } == {}


def test_what_is_installed_holds_every_package() -> None:
    # An editable install finds them all; a wheel has those that are listed.
    root = PACKAGE.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    found = {".".join(path.parent.relative_to(root).parts) for path in PACKAGE.rglob("__init__.py")}
    assert found <= set(project["tool"]["setuptools"]["packages"])


def test_comprehensions_are_not_nested() -> None:
    # A loop with named steps reads better; a few short ones may stay.
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    lines, nested = 0, []
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines += len(text.splitlines())
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, kinds):
                inner = any(isinstance(other, kinds) for other in ast.walk(node) if other is not node)
                if inner or len(node.generators) > 1:
                    nested.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert len(nested) <= lines / 1200, nested


def test_names_of_a_module_are_bound_once() -> None:
    # A constant that is set again further down changes the functions above.
    twice = []
    for path in sorted(PACKAGE.rglob("*.py")):
        seen: set[str] = set()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for name in _bound_names(node):
                twice += [f"{path.relative_to(PACKAGE)}: {name}"] if name in seen else []
                seen.add(name)
    assert twice == []


def _bound_names(node: ast.stmt) -> list[str]:
    """Return the names that a statement of a module binds; none of an overload."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [] if any("overload" in ast.unparse(each) for each in node.decorator_list) else [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [each.id for target in targets if target for each in ast.walk(target) if isinstance(each, ast.Name)]
