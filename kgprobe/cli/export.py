"""``kgprobe export``: write files for other tools from label tables and measurements."""

import click

from kgprobe.cli.commands import CommandGroup
from kgprobe.cli.export_closed_book import closed_book
from kgprobe.cli.export_hub import hub
from kgprobe.cli.export_results import eval_results, every_eval_ever
from kgprobe.cli.export_retrieval import retrieval
from kgprobe.cli.export_sft import sft


@click.group(cls=CommandGroup)
def export() -> None:
    """Write files for other tools: training sets and facts to retrieve from label tables, published results."""


export.add_command(closed_book)
export.add_command(eval_results)
export.add_command(every_eval_ever)
export.add_command(hub)
export.add_command(retrieval)
export.add_command(sft)
