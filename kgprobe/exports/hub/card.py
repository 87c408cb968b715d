"""The card (README.md) of a published label table: a header for the Hugging Face hub, and a description."""

import json
from collections.abc import Mapping, Sequence

import msgspec

from kgprobe import __version__
from kgprobe.datasets.card import plain, size_category
from kgprobe.exports.hub.columns import Column, in_order
from kgprobe.labelling.table import LabelTable
from kgprobe.models.spec_forms import model_name
from kgprobe.sanitize import counted


def description_of(table: LabelTable) -> str:
    """Return a sentence about the table."""
    return (
        f"{counted(len(table), 'fact')} of a knowledge graph, each with the probability that the language model"
        f" {model_name(table.model)} knows it, and its classes."
    )


def card_of(
    table: LabelTable,
    name: str,
    licence: str | None,
    path: str,
    columns: Sequence[Column],
    classes: Mapping[str, Mapping[str, int]],
) -> str:
    """Return the card: Markdown with a YAML header.

    Args:
        path: of the Parquet file.
        classes: number of facts by scheme and class.
    """
    # JSON strings are valid YAML.
    header = [
        "---",
        f"pretty_name: {json.dumps(name, ensure_ascii=False)}",
        *([] if licence is None else [f"license: {json.dumps(licence, ensure_ascii=False)}"]),
        "size_categories:",
        f"- {size_category(len(table))}",
        "tags:",
        "- knowledge-probing",
        "- knowledge-graph",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        f"    path: {path}",
        "---",
    ]
    body = ["", f"# {plain(name)}", "", plain(description_of(table)), "", *_classes_lines(classes), "## Columns", ""]
    body += ["| column | |", "| --- | --- |"]
    body += [f"| `{column.name}` | {column.description} |" for column in columns]
    # The model without its folder on this machine or the address of its server.
    config = {**table.config, "model": model_name(table.model)}
    settings = msgspec.json.format(msgspec.json.encode(config, order="sorted"), indent=2).decode()
    body += [
        "",
        "## How it was made",
        "",
        f"`kgprobe export hub` {__version__}, from a label table with these settings:",
    ]
    return "\n".join([*header, *body, "", "```json", settings, "```", ""])


def _classes_lines(classes: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the section on the numbers of facts by class."""
    lines = ["## Classes", "", "| column | class | facts |", "| --- | --- | --- |"]
    for scheme, counts in classes.items():
        lines += [f"| `{scheme}` | {name} | {count:,} |" for name, count in in_order(scheme, counts)]
    return [*lines, ""]
