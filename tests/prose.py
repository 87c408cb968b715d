"""Prose of the project (docstrings, comments, messages, documents), and habits that hide its meaning."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACES = ("kgprobe", "loaders", "cypher", "docs", "benchmarks", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
SUFFIXES = {".py", ".md", ".cypher", ".html"}
# Fewer words are names and fragments, not prose.
LEAST_WORDS = 4


@dataclass(frozen=True, slots=True)
class Habit:
    """A habit of writing.

    Attributes:
        name: name of the habit, with what to write instead.
        pattern: one match for each occurrence.
        most: maximum number of occurrences per 1,000 words.
    """

    name: str
    pattern: re.Pattern[str]
    most: float


_VERBS = "is|are|was|were|has|have|had|comes?|came|goes|stands?|can|cannot|would|may|must|makes?|gives?|takes?"
HABITS = (
    Habit(
        "a clause in place of a noun: 'the asked facts', not 'what was asked'",
        re.compile(rf"\b(?:what|whatever|whoever|whichever|who) (?:{_VERBS})\b", re.IGNORECASE),
        0.5,
    ),
    Habit("stand: is, is stored in, contains", re.compile(r"\b(?:stands?|stood)\b(?! (?:for|out|in for)\b)"), 0.1),
    Habit("tell: show, report, return", re.compile(r"\b(?:tells?|told)\b"), 0.2),
    Habit("is no: is not a", re.compile(r"\b(?:is|are|was|were) no\b(?! longer\b)"), 0.5),
    Habit("beside: next to, compared with", re.compile(r"\bbeside\b"), 0.05),
    Habit(
        "whoever, nobody: the caller, another process",
        re.compile(r"\b(?:whoever|whatever|whichever|nobody|somebody|whosoever)\b", re.IGNORECASE),
        0.35,
    ),
    Habit(
        "anew, has a say: again, affects",
        re.compile(r"\b(?:anew|thereof|therein|(?:has|have|had) (?:a|no) say|as far as)\b"),
        0.3,
    ),
    Habit(
        "a sentence that begins with Of, Who or What",
        re.compile(r"(?:(?<=[.:;] )|^)(?:Of|Who|What|Whose) (?![^.?]*\?)"),
        0.3,
    ),
)
# A docstring begins with a verb (functions) or a noun (classes).
CLAUSE = re.compile(r"(?:What|Which|How|Whether|Those|Of|Who|Whose|That|Where|So)\b")
# A function's that is not a property begins with a verb.
ARTICLE = re.compile(r"(?:An?|The|Its?|All|Each|Every|This|These)\b")
# Characters of a test's name: test_<unit>_<condition>_<result>.
LONGEST_NAME = 60
MOST_CLAUSES = 0.02
VAGUE = {"one", "found", "its", "made", "told", "asked", "named", "wanted", "together", "said", "taken", "meant"}
MOST_VAGUE = 0.002


def files() -> list[Path]:
    """Return all files of the project that have prose for a reader."""
    found = [ROOT / place for place in PLACES if place.endswith(".md")]
    for place in PLACES:
        if not place.endswith(".md"):
            found += [path for path in sorted((ROOT / place).rglob("*")) if path.suffix in SUFFIXES]
    return found


def passages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield pieces of prose with their first lines; code within them is left out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _of_python(path, text)
        return
    if path.suffix == ".md":
        lines = _of_markdown(text)
    elif path.suffix == ".cypher":
        lines = ((number, line[2:]) for number, line in enumerate(text.splitlines(), 1) if line.startswith("//"))
    else:
        plain = re.sub(r"<[^>]*>|\{[{%#].*?[}%#]\}", " ", text)
        lines = enumerate(plain.splitlines(), 1)
    yield from lines


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return the nodes of a module."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of functions and classes, with their lines."""
    for node in nodes(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            text = ast.get_docstring(node)
            if text:
                yield node.lineno, text


def functions(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the functions that are not properties: their lines, names and docstrings (empty without one)."""
    for node in nodes(path):
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if is_function and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
            yield node.lineno, node.name, ast.get_docstring(node) or ""


def tests() -> list[Path]:
    """Return the files of tests and of their helpers."""
    return sorted((ROOT / "tests").rglob("*.py"))


def bindings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the names that a module binds, with their lines."""
    for node in nodes(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def _of_python(path: Path, text: str) -> Iterator[tuple[int, str]]:
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            piece = re.sub(r"``?[^`\n]+``?", "x", node.value)
        elif isinstance(node, ast.JoinedStr):
            piece = "".join(part.value if isinstance(part, ast.Constant) else " x " for part in node.values)
        else:
            continue
        if len(piece.split()) >= LEAST_WORDS:
            yield node.lineno, piece
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and len(token.string.split()) >= LEAST_WORDS:
            yield token.start[0], token.string.lstrip("# ")


def _of_markdown(text: str) -> Iterator[tuple[int, str]]:
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, re.sub(r"`[^`]+`", "x", line)
