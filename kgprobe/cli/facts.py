"""What commands share that are about some of a graph's facts: the options that name them, and the facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import click

from kgprobe.cli.options import Command, Common, together

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.sampling.facts import Keys

# On the terminal; the count is in the summary.
SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class FactsAsked:
    """Which facts a command is about.

    Attributes:
        file: a list of them; None for all that can be asked.
        count: how many of them, drawn at random; None for all.
        relations: ids; empty means all that can be asked.
    """

    file: TextIO | None
    count: int | None
    relations: tuple[str, ...]


def facts_options(command: Command) -> Command:
    """``--facts``, ``--sample`` and ``--relation``, as ``facts``."""
    options = (
        click.option(
            "--facts",
            "file",
            type=click.File("r", encoding="utf-8"),
            metavar="FILE",
            help="Ask the facts of this list; - reads standard input. A line is JSON with subject, relation and object,"
            " or with subject and fact (ids), or the first three separated by tabs.",
        ),
        click.option(
            "--sample",
            "count",
            type=click.IntRange(min=1),
            metavar="N",
            help="Ask N facts drawn at random.  [default: all]",
        ),
        click.option(
            "--relation", "relations", multiple=True, metavar="ID", help="Ask this relation only; repeatable."
        ),
    )
    return together(FactsAsked, "facts", *options)(command)


def chosen(graph: "Graph", facts: FactsAsked, relations: Sequence[str], common: Common) -> tuple["Keys", int]:
    """The facts that a command is about, and how many lines of its list the graph knows nothing of.

    Args:
        relations: those that can be asked, where the facts are not listed.

    Raises:
        KgprobeError: there is none.
    """
    from kgprobe.errors import KgprobeError
    from kgprobe.sampling.facts import askable_facts
    from kgprobe.sampling.selection import read_facts, sample_facts

    file, count, as_of, seed = facts.file, facts.count, common.as_of, common.seed

    if file is None:
        askable = askable_facts(graph, relations, as_of)
        if not len(askable):
            raise KgprobeError(
                f"The graph has no fact to ask: none of {', '.join(relations)} is current at {as_of} with a name at "
                "both ends. Load facts, or name another date by --as-of."
            )
        return (askable if count is None else sample_facts(askable, count, seed)), 0
    listed = read_facts(graph, file, file.name)
    for message in listed.missing[:SHOWN_PROBLEMS]:
        click.echo(message, err=True)
    if len(listed.missing) > SHOWN_PROBLEMS:
        click.echo(f"… and {len(listed.missing) - SHOWN_PROBLEMS:,} lines more.", err=True)
    keys = listed.keys
    if not keys:
        raise KgprobeError(f"{file.name} names no fact of this graph.")
    return (keys if count is None else sample_facts(keys, count, seed)), len(listed.missing)
