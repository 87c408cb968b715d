"""``kgprobe export hub``: write a label table as a data set for the Hugging Face hub."""

from pathlib import Path
from typing import Any

import click
import cloup

from kgprobe.cli.commands import given_options
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import debug_option, json_option
from kgprobe.cli.rendering import render
from kgprobe.exports.hub import HubOptions


@cloup.command(cls=OneScreenCommand)
@cloup.argument("table", help="Label table, by its folder or name.")
@cloup.option(
    "--output",
    "-o",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of the data set; it must not exist.",
)
@given_options((None, HubOptions))
@json_option
@debug_option
def hub(table: str, folder: Path, as_json: bool, **options: Any) -> None:
    """Write a label table as a data set for the Hugging Face hub: Parquet, a card, and Croissant metadata.

    `datasets.load_dataset` reads the folder. The card lists the columns, the number of facts in each class, and the
    settings of the label table. Nothing is uploaded.

    \b
    kgprobe export hub labels -o published --licence cc0-1.0
    """  # noqa: D301
    from kgprobe.api.exporting import export_hub

    render(export_hub(table, folder, **options), as_json)
