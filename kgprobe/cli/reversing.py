"""``--inverse``: the other direction of a graph, made when it is needed; and ``kgprobe graph reverse``."""

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
from kgprobe.cli.options import ask_password, debug_option, graph_option, in_flags, json_option

if TYPE_CHECKING:
    from kgprobe.api.loading import LoadProgress
    from kgprobe.graph.client import Graph
    from kgprobe.graph.reversal import Reversal


@dataclass(frozen=True, slots=True)
class Direction:
    """In which direction a graph is asked.

    Attributes:
        inverse: whether from object to subject.
        given: what was given of :class:`~kgprobe.api.options.ReversingOptions`, by name.
    """

    inverse: bool
    given: Mapping[str, Any]


def direction_options(command: Callable[..., None]) -> Callable[..., None]:
    """``--inverse`` and ``--max-subjects``, as ``direction``."""

    @wraps(command)
    def gathered(*, inverse: bool, _reversing: Mapping[str, Any], **values: Any) -> None:
        if _reversing and not inverse:
            raise click.UsageError("--max-subjects is for --inverse only; add --inverse.")
        command(**values, direction=Direction(inverse, _reversing))

    decorated: Callable[..., None] = given_options((None, ReversingOptions), argument="_reversing")(gathered)
    return cloup.option(
        "--inverse",
        is_flag=True,
        help="Ask from object to subject, where a relation's objects have few subjects. The reversed graph is made when"
        " it is first needed, and made anew when the graph has changed.",
    )(decorated)


@contextmanager
def open_directed(graph: str | None, direction: Direction) -> Iterator["Graph"]:
    """The graph that ``--graph`` names, or its reversal.

    Args:
        graph: None for the user's own.
    """
    from kgprobe.servers.opening import open_graph

    if not direction.inverse:
        with open_graph(graph, ask_password=ask_password) as connection:
            yield connection
        return
    with reversed_graph(graph, None, direction.given) as connection:
        yield connection


@contextmanager
def reversed_graph(graph: str | None, folder: Path | None, given: Mapping[str, Any]) -> Iterator["Graph"]:
    """The reversal of a graph, with a bar and notes on stderr while it is made.

    Args:
        graph, folder, given: as :func:`kgprobe.reverse_graph` takes them.
    """
    from kgprobe.api.reversing import reverse_graph
    from kgprobe.progress import waiting
    from kgprobe.servers.opening import open_graph

    with open_graph(graph, ask_password=ask_password) as connection, waiting("Reversing the graph") as wait:

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
    help="Where the reversed graph lies.  [default: a folder of your own, for each graph]",
)
@graph_option
@json_option
@debug_option
def reverse(given: dict[str, Any], folder: Path | None, graph: str | None, as_json: bool) -> None:
    """Make the graph from object to subject, and show which relations it has.

    `kgprobe probe … --inverse` makes it by itself; made here, it can lie in a folder of your choice. It is a graph as
    any other: --graph FOLDER asks it.

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
    rows = [
        {
            "relation": one.id,
            "label": one.label,
            "facts": one.facts,
            "subjects_an_object": round(one.subjects_an_object, 3),
            "kept": one.kept,
        }
        for one in (*sorted(reversal.kept, key=lambda one: -one.facts), *reversal.left_out)
    ]
    if as_json:
        shown = {"folder": place, "most_subjects": reversal.most_subjects, "relations": rows}
        click.echo(json.dumps(shown, ensure_ascii=False))
        return
    from rich.console import Console

    from kgprobe.report.rows import table

    Console().print(table(list(rows[0]), rows, len(rows))[0])
    click.echo(f"Folder: {place}")
