"""``kgprobe export``: write files for other tools from a label table."""

import click

from kgprobe.cli.commands import CommandGroup
from kgprobe.cli.export_hub import hub
from kgprobe.cli.export_sft import sft


@click.group(cls=CommandGroup)
def export() -> None:
    """Write files for other tools from a label table: training sets, facts to retrieve, published results."""


export.add_command(hub)
export.add_command(sft)
