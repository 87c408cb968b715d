"""The Cypher prompt: statements over several lines, tables, plans, timing, Tab, and commands with a colon."""

import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rich.console import Console

from kgprobe.errors import KgprobeError
from kgprobe.files import home
from kgprobe.graph.client import Graph
from kgprobe.graph.explore import resolve_parameters, why_empty
from kgprobe.graph.parameters import complete_parameters, parse_assignment, parse_map, parse_parameters
from kgprobe.graph.queries import Query, explore_names, get_query, parameters_in, split_statements
from kgprobe.graph.rows import QueryPlan, asks_for_plan, cell, plan_of
from kgprobe.graph.state import PAINTED
from kgprobe.progress import waiting
from kgprobe.report.rows import plan_shown, table

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer

# Maximum number of rows of a table; for programs there is `kgprobe graph query --json`.
ROWS_SHOWN = 200

HELP = """\
Cypher, ended by a semicolon; it may span lines. Each statement is one
transaction. EXPLAIN shows the plan without running it, PROFILE runs it and
shows the costs.

:queries                  list kgprobe's queries
:run NAME name=value …    run one of them; a value is JSON or text
:param name => value      set a parameter: :param id => 'Q142'
:params {name: value, …}  set several, as Cypher or JSON writes them
:params                   list the parameters
:help                     show this help
:exit, exit, quit         leave, as Ctrl-D does

Tab completes keywords, labels, relationship types, properties, and names of
queries. Ctrl-C cancels the current input or statement."""

KEYWORDS = (
    *("AND", "AS", "ASC", "BY", "CALL", "CASE", "CONTAINS", "CREATE", "DELETE", "DESC", "DETACH", "DISTINCT", "ELSE"),
    *("END", "ENDS WITH", "EXISTS", "EXPLAIN", "FALSE", "IN", "IS NOT NULL", "IS NULL", "LIMIT", "MATCH", "MERGE"),
    *("NOT", "NULL", "ON CREATE SET", "ON MATCH SET", "OPTIONAL MATCH", "OR", "ORDER BY", "PROFILE", "REMOVE"),
    *("RETURN", "SET", "SKIP", "STARTS WITH", "THEN", "TRUE", "UNION", "UNION ALL", "UNWIND", "WHEN", "WHERE"),
    *("WITH", "XOR", "YIELD"),
)

# Names in every graph of kgprobe, for engines that do not list them; see docs/guides/data-model.md.
LABELS = ("Belief", "Effect", "Entity", "Literal", "Relation", "Run", "Type")
TYPES = ("BELIEVES", "FACT", "INSTANCE_OF", "OBJECT_OF", *PAINTED)
PROPERTIES = (
    *("aliases", "alpha", "beta", "clozes", "datatype", "degree", "description", "end", "fact", "from", "high", "id"),
    *("label", "low", "model", "number", "off_format", "popularity", "probe", "question", "rank", "refused"),
    *("relation",),
    *("relation_label", "right", "round", "run", "size", "source", "start", "statements", "theta", "types"),
    *("answers", "sentences", "unaskable", "until", "value", "wh_questions", "wrong", "yes_no_questions"),
)

_NAME_SO_FAR = re.compile(r"[^\W\d]\w*\Z")

_LEAVING = re.compile(r"\s*(?:exit|quit)\s*;?\s*", re.IGNORECASE)


class _LeaveError(Exception):
    """Request of the user to leave."""


@dataclass
class Shell:
    """State of a session.

    Attributes:
        graph: graph of the statements.
        parameters: set by ``:param``.
        failures: number of failed statements and commands.
    """

    graph: Graph
    out: Console
    messages: Console
    parameters: dict[str, Any] = field(default_factory=dict)
    failures: int = 0


def run_shell(graph: Graph) -> int:
    """Run statements until the input ends, from a terminal with editing and history, or from a pipe.

    Returns:
        number of failed statements of a pipe; 0 at a terminal.
    """
    shell = Shell(graph, Console(), Console(stderr=True, highlight=False))
    try:
        if sys.stdin.isatty():
            _say(shell, f"{graph.server} at {graph.endpoint.address}. :help explains, Ctrl-D leaves.")
            _converse(shell)
            return 0
        for piece in pieces(sys.stdin):
            execute(shell, piece)
    except _LeaveError:
        pass
    return shell.failures if not sys.stdin.isatty() else 0


def pieces(lines: Iterable[str]) -> Iterator[str]:
    """Yield commands (one line each) and statements (to their semicolon, or the end) from lines."""
    rest = ""
    for line in lines:
        if not rest and _is_command(line):
            yield line.strip()
            continue
        statements, rest = split_statements(rest + line)
        rest = f"{rest}\n" if rest else ""
        yield from statements
    if rest.strip():
        yield rest.strip()


def is_complete(typed: str) -> bool:
    """Return True if Enter should run the input instead of starting another line."""
    return _is_command(typed) or not split_statements(typed)[1]


def _is_command(typed: str) -> bool:
    return typed.lstrip().startswith(":") or _LEAVING.fullmatch(typed) is not None


def _converse(shell: Shell) -> None:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        if is_complete(event.current_buffer.text):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    history = home() / "shell_history"
    history.parent.mkdir(parents=True, exist_ok=True)
    history.touch(mode=0o600)
    session: PromptSession[str] = PromptSession(
        "kgprobe> ",
        history=FileHistory(str(history)),
        multiline=True,
        prompt_continuation="       > ",
        key_bindings=keys,
        completer=completer_of(vocabulary_of(shell.graph), list(_COMMANDS)),
        complete_while_typing=False,
    )
    while True:
        try:
            for piece in pieces(session.prompt().splitlines(keepends=True)):
                execute(shell, piece)
        except KeyboardInterrupt:  # noqa: PERF203  (interactive input)
            continue
        except EOFError:
            return


def execute(shell: Shell, piece: str) -> None:
    """Run one command or statement; print errors as messages."""
    try:
        if _LEAVING.fullmatch(piece):
            raise _LeaveError
        if piece.startswith(":"):
            word, _, rest = piece.partition(" ")
            if word not in _COMMANDS:
                raise KgprobeError(f"Unknown command {word}; :help lists all.")
            _COMMANDS[word](shell, rest.strip())
        else:
            _run(shell, Query("The statement", piece, ":param name => value sets one."), _parameters_for(shell, piece))
    except KgprobeError as error:
        shell.failures += 1
        _say(shell, f"Error: {error}", style="red")
    except KeyboardInterrupt:
        shell.failures += 1
        _say(shell, "Stopped; the statement was rolled back.")


def _parameters_for(shell: Shell, statement: str) -> dict[str, Any]:
    names = parameters_in(statement)
    return {name: value for name, value in shell.parameters.items() if name in names}


def _run(shell: Shell, query: Query, parameters: Mapping[str, Any]) -> None:
    complete = resolve_parameters(shell.graph, query, complete_parameters(query, parameters))
    plans: list[QueryPlan | None] = []
    began = time.perf_counter()
    with waiting("Running the statement"):
        columns, rows = shell.graph.run_text(query.text, complete, lambda summary: plans.append(plan_of(summary)))
        shown, count = table(columns, rows, ROWS_SHOWN, shell.out.width)
    milliseconds = (time.perf_counter() - began) * 1000
    plan = plans[0] if plans else None
    # An explained statement has columns, but was not run.
    if columns and (count or plan is None):
        shell.out.print(shown)
    if plan is not None:
        shell.out.print(plan_shown(plan))
    elif asks_for_plan(query.text):
        _say(shell, f"{shell.graph.server} returns no plan for this statement.")
    left_out = f", {count - ROWS_SHOWN} of them not shown" if count > ROWS_SHOWN else ""
    _say(shell, f"{count} {'row' if count == 1 else 'rows'}{left_out}, {milliseconds:.0f} ms")
    if not count and (reason := why_empty(shell.graph, query, complete)):
        _say(shell, reason)


def _say(shell: Shell, message: str, style: str | None = None) -> None:
    # No markup: messages may quote data with brackets.
    shell.messages.print(message, markup=False, style=style)


def _queries(shell: Shell, _: str) -> None:
    rows = [{"query": name, "question": get_query(name).question} for name in explore_names()]
    shell.out.print(table(["query", "question"], rows, len(rows))[0])


def _run_named(shell: Shell, typed: str) -> None:
    try:
        words = shlex.split(typed)
    except ValueError as error:
        raise KgprobeError(f":run {typed}: {error}.") from error
    if not words:
        raise KgprobeError(":run needs the name of a query; :queries lists all.")
    query = get_query(words[0])
    _run(shell, query, _parameters_for(shell, query.text) | parse_parameters(words[1:]))


def _set_parameter(shell: Shell, typed: str) -> None:
    shell.parameters |= parse_assignment(typed)


def _parameters(shell: Shell, typed: str) -> None:
    if typed:
        shell.parameters |= parse_map(typed)
        return
    for name, value in shell.parameters.items():
        shell.out.print(f"{name} = {cell(value)}", markup=False, highlight=False)


def _help(shell: Shell, _: str) -> None:
    shell.out.print(HELP, markup=False, highlight=False)


def _leave(_: Shell, __: str) -> None:
    raise _LeaveError


_COMMANDS: Mapping[str, Callable[[Shell, str], None]] = {
    ":queries": _queries,
    ":run": _run_named,
    ":param": _set_parameter,
    ":params": _parameters,
    ":help": _help,
    ":exit": _leave,
}


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
