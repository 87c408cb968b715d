"""``kgprobe export``: write files for other tools from label tables."""

import click

from kgprobe.cli.export_retrieval import retrieval
from kgprobe.cli.export_sft import sft
from kgprobe.cli.groups import CommandGroup


@click.group(cls=CommandGroup)
def export() -> None:
    """Write files for other tools: training sets, and facts to retrieve."""


export.add_command(retrieval)
export.add_command(sft)
