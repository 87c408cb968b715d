"""Tab completion of the Cypher prompt: names of the graph, keywords, kgprobe's queries."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.queries import explore_names

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer

KEYWORDS = (
    *("AND", "AS", "ASC", "BY", "CALL", "CASE", "CONTAINS", "CREATE", "DELETE", "DESC", "DETACH", "DISTINCT", "ELSE"),
    *("END", "ENDS WITH", "EXISTS", "EXPLAIN", "FALSE", "IN", "IS NOT NULL", "IS NULL", "LIMIT", "MATCH", "MERGE"),
    *("NOT", "NULL", "ON CREATE SET", "ON MATCH SET", "OPTIONAL MATCH", "OR", "ORDER BY", "PROFILE", "REMOVE"),
    *("RETURN", "SET", "SKIP", "STARTS WITH", "THEN", "TRUE", "UNION", "UNION ALL", "UNWIND", "WHEN", "WHERE"),
    *("WITH", "XOR", "YIELD"),
)

# Names in every graph of kgprobe, for engines that do not list them; see docs/guides/data-model.md.
LABELS = ("Belief", "Effect", "Entity", "Literal", "Relation", "Run", "Type")
TYPES = ("FACT", "INSTANCE_OF", "KNOWN", "OBJECT_OF", "UNKNOWN", "UNSURE")
PROPERTIES = (
    *("aliases", "alpha", "beta", "clozes", "datatype", "degree", "description", "end", "fact", "from", "high", "id"),
    *("label", "low", "model", "number", "off_format", "popularity", "probe", "question", "rank", "refused"),
    *("relation",),
    *("relation_label", "right", "round", "run", "size", "source", "start", "statements", "theta", "types"),
    *("answers", "sentences", "unaskable", "until", "value", "wh_questions", "wrong", "yes_no_questions"),
)

_NAME_SO_FAR = re.compile(r"[^\W\d]\w*\Z")


@dataclass(frozen=True)
class Vocabulary:
    """Names for statements about a graph.

    Attributes:
        read: reads the rows of ``explore/vocabulary``; called once, at first use.
    """

    read: Callable[[], Sequence[Mapping[str, str]]]

    @cached_property
    def _rows(self) -> Sequence[Mapping[str, str]]:
        try:
            return self.read()
        except KgprobeError:
            # No message for a Tab; the next statement will show it.
            return ()

    def of(self, kind: str) -> list[str]:
        """Return the names of a kind (label, type, property), sorted."""
        always = {"label": LABELS, "type": TYPES, "property": PROPERTIES}[kind]
        return sorted({*always, *(row["name"] for row in self._rows if row["kind"] == kind)})


def vocabulary_of(graph: Graph) -> Vocabulary:
    """Return the names of a graph, read at first use."""
    return Vocabulary(lambda: graph.read("explore/vocabulary"))


def candidates(before: str, vocabulary: Vocabulary, commands: Iterable[str]) -> tuple[str, list[str]]:
    """Return the completions at the cursor.

    Args:
        before: text before the cursor.
        commands: commands of the shell, with their colons.

    Returns:
        the typed beginning, and its completions, case-insensitively.
    """
    line = before.lstrip()
    if line.startswith(":"):
        command, blank, rest = line.partition(" ")
        if not blank:
            return _matches(command, commands)
        return _matches(rest, explore_names()) if command == ":run" and " " not in rest else ("", [])
    typed = _NAME_SO_FAR.search(before)
    name = typed[0] if typed else ""
    kind = _kind(before[: len(before) - len(name)])
    # Names of the graph are completed without a letter; keywords need one.
    if kind is not None:
        return _matches(name, vocabulary.of(kind))
    return _matches(name, KEYWORDS) if name else ("", [])


def _kind(before: str) -> str | None:
    """Return the kind of name expected after this text; None for a keyword."""
    text = before.rstrip()
    if text.endswith(".") and re.search(r"[\w)`]\s*\.\Z", text):
        return "property"
    bracket = _innermost(text)
    if bracket == "{" and text[-1] in "{,":
        return "property"
    if text.endswith((":", "|", "&")) and bracket in ("(", "[", ""):
        return "type" if bracket == "[" else "label"
    return None


def _innermost(text: str) -> str:
    """Return the innermost open bracket at the end of a text; empty if there is none."""
    open_: list[str] = []
    for mark in re.sub(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", "", text):
        if mark in "([{":
            open_.append(mark)
        elif mark in ")]}" and open_:
            open_.pop()
    return open_[-1] if open_ else ""


def _matches(prefix: str, names: Iterable[str]) -> tuple[str, list[str]]:
    return prefix, [name for name in names if name.lower().startswith(prefix.lower())]


def completer_of(vocabulary: Vocabulary, commands: Sequence[str]) -> "Completer":
    """Return the completer of a prompt."""
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class Names(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
            prefix, names = candidates(document.text_before_cursor, vocabulary, commands)
            return [Completion(name, start_position=-len(prefix)) for name in names]

    return Names()
