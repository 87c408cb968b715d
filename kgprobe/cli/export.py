"""``kgprobe export``: write files for other tools from a label table."""

import click

from kgprobe.cli.commands import CommandGroup
from kgprobe.cli.export_closed_book import closed_book
from kgprobe.cli.export_retrieval import retrieval


@click.group(cls=CommandGroup)
def export() -> None:
    """Write files for other tools from a label table: training sets, facts to retrieve, published results."""


export.add_command(retrieval)
export.add_command(closed_book)
