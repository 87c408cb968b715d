"""What the Cypher prompt offers when Tab is pressed: names of the graph, keywords, kgprobe's own queries."""

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

# What a graph of kgprobe has, for engines that do not tell; docs/guides/data-model.md says what each is.
LABELS = ("Belief", "Effect", "Entity", "Literal", "Relation", "Run", "Type")
TYPES = ("FACT", "INSTANCE_OF", "KNOWN", "OBJECT_OF", "UNKNOWN", "UNSURE")
PROPERTIES = (
    *("aliases", "alpha", "beta", "clozes", "datatype", "degree", "description", "end", "fact", "from", "high", "id"),
    *(
        "label",
        "low",
        "model",
        "number",
        "off_format",
        "popularity",
        "probe",
        "question",
        "rank",
        "refused",
        "relation",
    ),
    *("relation_label", "right", "round", "run", "size", "source", "start", "statements", "theta", "types"),
    *("answers", "sentences", "unaskable", "until", "value", "wh_questions", "wrong", "yes_no_questions"),
)

_NAME_SO_FAR = re.compile(r"[^\W\d]\w*\Z")


@dataclass(frozen=True)
class Vocabulary:
    """The names that statements about a graph can use.

    Attributes:
        ask: reads them from the graph, as ``explore/vocabulary`` gives them; asked once, when they are first needed.
    """

    ask: Callable[[], Sequence[Mapping[str, str]]]

    @cached_property
    def _asked(self) -> Sequence[Mapping[str, str]]:
        try:
            return self.ask()
        except KgprobeError:
            # Whoever presses Tab wants no message; the next statement will have one.
            return ()

    def of(self, kind: str) -> list[str]:
        """The names of a kind (label, type, property), those of every graph of kgprobe among them, sorted."""
        always = {"label": LABELS, "type": TYPES, "property": PROPERTIES}[kind]
        return sorted({*always, *(row["name"] for row in self._asked if row["kind"] == kind)})


def vocabulary_of(graph: Graph) -> Vocabulary:
    """The names of a graph, read when they are first needed."""
    return Vocabulary(lambda: graph.read("explore/vocabulary"))


def candidates(before: str, vocabulary: Vocabulary, commands: Iterable[str]) -> tuple[str, list[str]]:
    """What could stand where the cursor is.

    Args:
        before: all that is typed before the cursor.
        commands: of the shell, each with its colon.

    Returns:
        the beginning that is typed already, and all that goes on from it, whatever its capitals.
    """
    line = before.lstrip()
    if line.startswith(":"):
        command, blank, rest = line.partition(" ")
        if not blank:
            return _going_on(command, commands)
        return _going_on(rest, explore_names()) if command == ":run" and " " not in rest else ("", [])
    typed = _NAME_SO_FAR.search(before)
    name = typed[0] if typed else ""
    kind = _kind(before[: len(before) - len(name)])
    # Where a name of the graph is expected, Tab shows all there are; anything else needs a letter.
    if kind is not None:
        return _going_on(name, vocabulary.of(kind))
    return _going_on(name, KEYWORDS) if name else ("", [])


def _kind(before: str) -> str | None:
    """Which kind of name belongs behind this text; None where a keyword could stand."""
    text = before.rstrip()
    if text.endswith(".") and re.search(r"[\w)`]\s*\.\Z", text):
        return "property"
    opened = _innermost(text)
    if opened == "{" and text[-1] in "{,":
        return "property"
    if text.endswith((":", "|", "&")) and opened in ("(", "[", ""):
        return "type" if opened == "[" else "label"
    return None


def _innermost(text: str) -> str:
    """The bracket that is open at the end of a text; nothing where none is."""
    open_: list[str] = []
    for mark in re.sub(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", "", text):
        if mark in "([{":
            open_.append(mark)
        elif mark in ")]}" and open_:
            open_.pop()
    return open_[-1] if open_ else ""


def _going_on(name: str, known: Iterable[str]) -> tuple[str, list[str]]:
    return name, [one for one in known if one.lower().startswith(name.lower())]


def completer_of(vocabulary: Vocabulary, commands: Sequence[str]) -> "Completer":
    """The same for a prompt."""
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class Names(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
            name, found = candidates(document.text_before_cursor, vocabulary, commands)
            return [Completion(one, start_position=-len(name)) for one in found]

    return Names()
