"""Rendering of results on the terminal: tables or JSON on stdout, notes on stderr."""

import json
import os
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from kgprobe.base.progress import waiting
from kgprobe.cli.commands import Command, decorated_by
from kgprobe.cli.options import debug_option, graph_options, in_flags, json_option, open_graph

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from rich.console import Console

    from kgprobe.base.tables import Table
    from kgprobe.results.finding import Finding
    from kgprobe.results.result import Result

# Prints a result, as JSON if the second argument is true.
Show: TypeAlias = Callable[[Any, bool], object]

# Width of a pipe or a file, in characters.
_UNCUT = 100_000
# Maximum number of notes on the terminal.
SHOWN_NOTES = 20
# Maximum number of CSV files that are named one by one.
_LISTED_FILES = 3


def console(out: "TextIO | None" = None) -> "Console":
    """Return the console of a file, standard output by default; in a pipe or a file, no line is cut or wrapped."""
    from rich.console import Console

    screen = Console(file=out)
    return screen if screen.is_terminal or "COLUMNS" in os.environ else Console(file=out, width=_UNCUT)


def with_graph(title: str = "", show: "Show | None" = None) -> Callable[[Command], Command]:
    """Return a decorator: the command gets its graph, and returns the result of one public function, which is printed.

    Adds ``--graph``, ``--json`` and ``--debug``.

    Args:
        title: title of the wait for the result; empty for a command that shows its progress itself.
        show: prints a result, as JSON or not; None for :func:`render`.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def opened(graph: str | None, as_json: bool, **values: Any) -> None:
            with open_graph(graph) as connection:
                with waiting(title) if title else nullcontext():
                    result = command(connection, **values)
                (show or render)(result, as_json)

        return graph_options(opened)

    return decorate


def without_graph(title: str = "", show: "Show | None" = None) -> Callable[[Command], Command]:
    """Return a decorator of a command that needs no graph, and returns a result: see :func:`with_graph`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def printing(as_json: bool, **values: Any) -> None:
            with waiting(title) if title else nullcontext():
                result = command(**values)
            (show or render)(result, as_json)

        return decorated_by(json_option, debug_option)(printing)

    return decorate


def render(
    result: "Result",
    as_json: bool,
    page: Path | None = None,
    *,
    full: bool = True,
    files: "Sequence[Path]" = (),
) -> None:
    """Print a result: one JSON object, or its tables (all if ``full``), its summary and the address of its page."""
    from kgprobe.base.sanitize import visible_lines

    show_notes(result.notes)
    if as_json:
        content = result.to_dict()
        if page is not None:
            content["page"] = str(page)
        if files:
            content["files"] = list(map(str, files))
        click.echo(json.dumps(content, ensure_ascii=False))
        return
    show_tables(result.tables(), full=full)
    click.echo(visible_lines(result.summary()))
    data = [file for file in files if file.suffix == ".csv"]
    if len(data) > _LISTED_FILES:
        click.echo(f"Data: {len(data)} CSV files in {data[0].parent}")
    else:
        for file in data:
            click.echo(f"Data: {file}")
    if page is not None:
        click.echo(f"Page: {page.as_uri()}")


def render_rows(result: "Result", as_json: bool) -> None:
    """Print a result: one JSON object per row, or its tables."""
    show_notes(result.notes)
    if as_json:
        for row in result.rows():
            click.echo(json.dumps(row, ensure_ascii=False))
    else:
        show_tables(result.tables())


def print_rows(rows: "Sequence[dict[str, Any]]") -> None:
    """Print rows with the same keys as a table."""
    from kgprobe.results.rendering.rows import table

    screen = console()
    screen.print(table(list(rows[0]), rows, len(rows), screen.width)[0])


def show_notes(notes: "Sequence[str]") -> None:
    """Print notes on stderr, the first :data:`SHOWN_NOTES` of them."""
    from kgprobe.base.sanitize import visible

    for note in notes[:SHOWN_NOTES]:
        click.echo(visible(in_flags(note)), err=True)
    if len(notes) > SHOWN_NOTES:
        click.echo(f"… and {len(notes) - SHOWN_NOTES:,} more.", err=True)


def show_tables(tables: "Sequence[Table]", *, full: bool = True) -> None:
    """Print tables, with ``full`` also the details."""
    from kgprobe.results.rendering.tables import rich_table

    screen = console()
    for table in tables:
        if full or not table.detail:
            screen.print(rich_table(table))


def show_finding(finding: "Finding", page: Path, full: bool) -> None:
    """Print a finding in some lines, the last of them its page; with ``full``, all tables before."""
    from rich.text import Text

    from kgprobe.base.sanitize import visible

    screen = console()
    if full:
        about = finding.about
        head = f"{about.called} · {about.asked_by} · {about.name}: "
        screen.print(Text(visible(head), style="bold"), Text(f"{finding.scope}{about.in_rounds}"), sep="")
        show_tables(finding.tables())
        for note in reason_notes(finding.unaskable, finding.unanswered):
            screen.print(Text(visible(note)))
    for line in finding.summary(screen.width).splitlines():
        screen.print(Text(visible(line)))
    click.echo(f"Page: {page.as_uri()}")


def reason_notes(unaskable: Mapping[str, int], unanswered: Mapping[str, int]) -> list[str]:
    """Return why facts were not asked, and why questions got no answers; counts by reason."""
    from kgprobe.results.rendering.tables import reasons_note

    titled = ((unaskable, "Not askable"), (unanswered, "No answer came"))
    return [reasons_note(reasons, title) for reasons, title in titled if reasons]


def open_in_browser(page: Path) -> None:
    """Open a page in the web browser, or report that there is none."""
    if not webbrowser.open(page.as_uri()):
        click.echo(f"No browser could be opened; the page is {page}.", err=True)
