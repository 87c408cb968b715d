"""``kgprobe export closed-book``: what a model knows without retrieval, for each question of a data set."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import cloup

from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import debug_option, force_option, graph_option, open_graph, refuse_existing
from kgprobe.cli.write_back import labels_called, scheme_option
from kgprobe.errors import UnknownNameError

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph


@cloup.command("closed-book", cls=OneScreenCommand)
@cloup.argument("labels", metavar="TABLE|RUN")
@cloup.option(
    "--questions",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="JSONL with a question per line, which names its fact or entities.",
)
@cloup.option(
    "--output",
    "-o",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("closed-book.jsonl"),
    show_default=True,
    metavar="FILE",
    help="File to write.",
)
@force_option
@scheme_option
@graph_option
@debug_option
def closed_book(labels: str, questions: Path, file: Path, force: bool, scheme: str | None, graph: str | None) -> None:
    """Add to the questions of a data set what the model of TABLE or RUN knows without retrieval.

    Split the accuracy of a RAG system by closed_book_known or closed_book_class. A question names its fact by "fact"
    (id), or by "subject", "relation" and "object", or it names "entity" or "entities"; each is an id or a name.

    \b
    kgprobe export closed-book labels --questions questions.jsonl
    """  # noqa: D301
    from kgprobe.api.closed_book import export_closed_book

    # The call refuses the file of the questions itself.
    if file.resolve() != questions.resolve():
        refuse_existing(file, force, "--output")
    with ExitStack() as stack, labels_called(labels, graph) as opened:
        open_names = partial(_open_names, stack, graph) if graph is not None or _has_graph() else None
        click.echo(str(export_closed_book(opened, questions, file, scheme=scheme, graph=open_names)), err=True)


def _open_names(stack: ExitStack, graph: str | None) -> "Graph":
    return stack.enter_context(open_graph(graph))


def _has_graph() -> bool:
    """Return True if there is a graph in kgprobe's own folder."""
    from kgprobe.servers.opening import check_exists

    try:
        check_exists()
    except UnknownNameError:
        return False
    return True
