"""What is looked at, on the terminal: tables or JSON lines on stdout, what is unusual on stderr."""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

import click

from kgprobe.cli.options import in_flags

if TYPE_CHECKING:
    from kgprobe.results.result import Result

# On the terminal.
SHOWN_NOTES = 20


def show_look(look: "Result", as_json: bool) -> None:
    """Print a look: one JSON object a row, or its tables."""
    show_notes(look)
    if as_json:
        for row in look.rows():
            click.echo(json.dumps(row, ensure_ascii=False))
    else:
        show_tables(look)


def show_notes(look: "Result") -> None:
    """Say on stderr what is unusual."""
    from kgprobe.sanitize import visible

    for note in look.notes[:SHOWN_NOTES]:
        click.echo(visible(in_flags(note)), err=True)
    if len(look.notes) > SHOWN_NOTES:
        click.echo(f"… and {len(look.notes) - SHOWN_NOTES:,} more.", err=True)


def show_tables(look: "Result", only: Collection[str] | None = None) -> None:
    """Print the tables of a look, every row of them.

    Args:
        only: the keys of the tables to print; None for all.
    """
    from rich.console import Console

    from kgprobe.report.tables import lined_table

    for table in look.tables():
        if only is None or table.key in only:
            Console().print(lined_table(table))
