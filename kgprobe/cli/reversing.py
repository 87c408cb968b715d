"""``--inverse``: ask about inverse relations, in an inverse graph; and ``kgprobe graph reverse``."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.api.options import ReversingOptions
from kgprobe.cli.from_options import given_options
from kgprobe.cli.options import in_flags, on_graph, open_graph

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.graph.loading import LoadProgress
    from kgprobe.graph.reversal import Reversal


@dataclass(frozen=True, slots=True)
class Direction:
    """Direction of the questions.

    Attributes:
        inverse: True if from object to subject.
        given: options of :class:`~kgprobe.api.options.ReversingOptions`, by name.
    """

    inverse: bool
    given: Mapping[str, Any]


def direction_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--inverse`` and ``--max-subjects``, as ``direction``."""

    @wraps(command)
    def gathered(*, inverse: bool, _reversing: Mapping[str, Any], **values: Any) -> None:
        if _reversing and not inverse:
            raise click.UsageError("--max-subjects is for --inverse only; add --inverse.")
        command(**values, direction=Direction(inverse, _reversing))

    decorated: Callable[..., None] = given_options((None, ReversingOptions), argument="_reversing")(gathered)
    return cloup.option(
        "--inverse",
        is_flag=True,
        help="Ask about inverse relations, from object to subject, if objects have few subjects. Makes the reversed"
        " graph at first use, and again when the graph has changed.",
    )(decorated)


@contextmanager
def open_directed(graph: str | None, direction: Direction) -> Iterator["Graph"]:
    """Open the graph of ``--graph``, or its inverse graph.

    Args:
        graph: address or folder; None is the user's default graph.
    """
    if not direction.inverse:
        with open_graph(graph) as connection:
            yield connection
        return
    with reversed_graph(graph, None, direction.given) as connection:
        yield connection


@contextmanager
def reversed_graph(graph: str | None, folder: Path | None, given: Mapping[str, Any]) -> Iterator["Graph"]:
    """Open the inverse graph of a graph; print progress and notes on stderr.

    Args:
        graph, folder, given: see :func:`kgprobe.reverse_graph`.
    """
    from kgprobe.api.graphs import reverse_graph
    from kgprobe.progress import waiting

    with open_graph(graph) as connection, waiting("Reversing the graph") as wait:

        def on_progress(now: "LoadProgress") -> None:
            wait.note = f"{now.stage}, {now.done / max(now.total, 1):.0%}"

        opened = reverse_graph(
            connection,
            folder=folder,
            on_note=lambda note: click.echo(in_flags(note), err=True),
            on_progress=on_progress,
            **given,
        )
    with opened:
        yield opened


@click.command(cls=cloup.Command)
@given_options((None, ReversingOptions))
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the inverse graph.  [default: one per graph, in KGPROBE_HOME]",
)
@on_graph
def reverse(given: dict[str, Any], folder: Path | None, graph: str | None, as_json: bool) -> None:
    """Make the inverse graph, from object to subject, and show its relations.

    `kgprobe probe … --inverse` makes it when needed. Use this command to choose its folder. It is a normal graph: pass
    it to other commands as --graph FOLDER.

    \b
    kgprobe graph reverse
    kgprobe graph reverse --max-subjects 3 --folder ./backwards
    """  # noqa: D301
    from kgprobe.graph.reversal import reversal_of

    with reversed_graph(graph, folder, given) as opened:
        reversal = reversal_of(opened)
        place = str(opened.endpoint.folder)
    if reversal is not None:
        _show(reversal, place, as_json)


def _show(reversal: "Reversal", place: str, as_json: bool) -> None:
    kept = sorted(reversal.kept, key=lambda relation: -relation.facts)
    rows = [
        {
            "relation": relation.id,
            "label": relation.label,
            "facts": relation.facts,
            "subjects_an_object": round(relation.subjects_an_object, 3),
            "kept": relation.kept,
        }
        for relation in (*kept, *reversal.left_out)
    ]
    if as_json:
        content = {"folder": place, "most_subjects": reversal.most_subjects, "relations": rows}
        click.echo(json.dumps(content, ensure_ascii=False))
        return
    from rich.console import Console

    from kgprobe.report.rows import table

    Console().print(table(list(rows[0]), rows, len(rows))[0])
    click.echo(f"Folder: {place}")
