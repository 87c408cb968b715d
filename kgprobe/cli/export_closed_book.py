"""``kgprobe export closed-book``: what a model knows without retrieval, for each question of a data set."""

from pathlib import Path

import click
import cloup

from kgprobe.cli.commands import OptionsFirst
from kgprobe.cli.options import debug_option, graph_option
from kgprobe.cli.write_back import labels_called, scheme_option


@cloup.command("closed-book", cls=OptionsFirst)
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
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("closed-book.jsonl"),
    show_default=True,
    metavar="FILE",
    help="File to write.",
)
@scheme_option
@graph_option
@debug_option
def closed_book(labels: str, questions: Path, output: Path, scheme: str | None, graph: str | None) -> None:
    """Add to the questions of a data set what the model of TABLE or RUN knows without retrieval.

    Split the accuracy of a RAG system by closed_book_known or closed_book_class. A question names its fact by "fact"
    (id), or by "subject", "relation" and "object", or it names "entity" or "entities"; each is an id or a name.

    \b
    kgprobe export closed-book labels --questions questions.jsonl
    """  # noqa: D301
    from kgprobe.api.closed_book import export_closed_book

    with labels_called(labels, graph) as opened:
        click.echo(str(export_closed_book(opened, questions, output, scheme=scheme)), err=True)
