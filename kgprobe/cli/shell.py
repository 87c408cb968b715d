"""The Cypher prompt: statements over several lines, queries by name, parameters, tables, history and completion."""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rich.console import Console

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import home
from kgprobe.base.progress import waiting
from kgprobe.graph.client import Graph
from kgprobe.graph.explore import resolve_parameters, why_empty
from kgprobe.graph.parameters import complete_parameters, parse_assignment
from kgprobe.graph.queries import explore_names, find_query, parameters_in, split_statements
from kgprobe.graph.values import cell
from kgprobe.results.rendering.rows import table

# Maximum number of rows of a table; for programs there is `kgprobe graph query --json`.
ROWS_SHOWN = 200

_EXIT = re.compile(r"\s*(?:exit|quit)\s*;?\s*", re.IGNORECASE)

# Input that is complete without a semicolon: a command, a name of a query.
_LINE = re.compile(rf"\s*(?::.*|[\w-]+(?:/[\w-]+)+)\s*|{_EXIT.pattern}", re.IGNORECASE)
_WORD = re.compile(r"[\w/]+")


@dataclass
class Shell:
    """State of a session: parameters set by ``:param``, and the number of failed statements and commands."""

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
    # Opens the graph: a fault is reported once, before the first statement.
    address = graph.endpoint.address
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        _say(shell, f"{graph.server} at {address}. Ctrl-D leaves; `kgprobe graph shell --help` explains.")
    for piece in pieces(_typed_lines(graph) if is_terminal else sys.stdin):
        if _EXIT.fullmatch(piece):
            break
        execute(shell, piece)
    return 0 if is_terminal else shell.failures


def pieces(lines: Iterable[str]) -> Iterator[str]:
    """Yield commands and names of queries (one line each), and statements (to their semicolon, or the end)."""
    rest = ""
    for line in lines:
        if not rest and _LINE.fullmatch(line):
            yield line.strip()
            continue
        statements, rest = split_statements(rest + line)
        rest = f"{rest}\n" if rest else ""
        yield from statements
    if rest.strip():
        yield rest.strip()


def is_complete(typed: str) -> bool:
    """Return True if Enter should run the input instead of starting another line."""
    return _LINE.fullmatch(typed) is not None or not split_statements(typed)[1]


def _typed_lines(graph: Graph) -> Iterator[str]:
    """Yield the lines of complete inputs at a terminal; Ctrl-C cancels an input."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
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
        completer=WordCompleter(partial(completions, graph), ignore_case=True, pattern=_WORD),
        complete_while_typing=False,
    )
    while True:
        try:
            yield from session.prompt().splitlines(keepends=True)
        except KeyboardInterrupt:  # noqa: PERF203  (interactive input)
            continue
        except EOFError:
            return


def completions(graph: Graph) -> list[str]:
    """Return names of queries, and the labels and relationship types of a graph."""
    try:
        rows = graph.read("explore/vocabulary")
    except KgprobeError:
        # No message for a Tab; the next statement will show it.
        rows = []
    return [*explore_names(), *(row["name"] for row in rows)]


def execute(shell: Shell, piece: str) -> None:
    """Run one command or statement; print errors as messages."""
    try:
        if piece.startswith(":"):
            _command(shell, piece)
        else:
            _run(shell, piece)
    except KgprobeError as error:
        shell.failures += 1
        _say(shell, f"Error: {error}", style="red")
    except KeyboardInterrupt:
        shell.failures += 1
        _say(shell, "Stopped; the statement was rolled back.")


def _command(shell: Shell, piece: str) -> None:
    word, _, assignment = piece.partition(" ")
    if word != ":param":
        raise KgprobeError(f"Unknown command {word}; the only one is :param name => value.")
    if assignment.strip():
        shell.parameters |= parse_assignment(assignment)
        return
    for name, value in shell.parameters.items():
        shell.out.print(f"{name} = {cell(value)}", markup=False, highlight=False)


def _run(shell: Shell, statement: str) -> None:
    query = find_query(statement)
    given = {name: shell.parameters[name] for name in parameters_in(query.text) if name in shell.parameters}
    parameters = resolve_parameters(shell.graph, query, complete_parameters(query, given))
    with waiting("Running the statement"):
        columns, rows = shell.graph.run_text(query.text, parameters)
        shown, count = table(columns, rows, ROWS_SHOWN, shell.out.width)
    if columns and count:
        shell.out.print(shown)
    left_out = f", {count - ROWS_SHOWN} of them not shown" if count > ROWS_SHOWN else ""
    _say(shell, f"{count} {'row' if count == 1 else 'rows'}{left_out}")
    if not count and (reason := why_empty(shell.graph, query, parameters)):
        _say(shell, reason)


def _say(shell: Shell, message: str, style: str | None = None) -> None:
    # No markup: messages may quote data with brackets.
    shell.messages.print(message, markup=False, style=style)
