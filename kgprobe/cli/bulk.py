"""Bulk loading on the command line: progress bars, and ``kgprobe graph finish-import``."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgprobe.cli.options import ask_password, debug_option, graph_option

if TYPE_CHECKING:
    from kgprobe.api.loading import LoadProgress
    from kgprobe.results.loading import LoadReport
    from kgprobe.sources.contract import Source


def load_in_bulk(
    source: "Source",
    graph: str | None,
    bulk: bool,
    files: Path | None,
    strict: bool,
    on_problem: Callable[[str], None],
) -> "LoadReport":
    """Load a source by an import, or only write the files of the import."""
    from kgprobe.api.bulk_loading import load_bulk_source, write_bulk_source

    with _bars(source.name) as on_progress:
        if not bulk and files is not None:
            return write_bulk_source(files, source, strict=strict, on_problem=on_problem, on_progress=on_progress)
        return load_bulk_source(
            graph, source, bulk_files=files, strict=strict, on_problem=on_problem, on_progress=on_progress
        )


@contextmanager
def _bars(name: str) -> Iterator[Callable[["LoadProgress"], None]]:
    """Yield a function that shows progress: one bar each for reading, importing and completing."""
    from kgprobe.progress import Bar, progress_bar

    titles = {"importing": ("Importing", "%"), "indexing": ("Completing", "entities")}
    titles["completing"] = titles["indexing"]
    current: dict[str, Bar] = {}
    with ExitStack() as opened:

        def on_progress(now: "LoadProgress") -> None:
            if now.stage == "looking":
                opened.close()
                return
            title, unit = titles.get(now.stage, ("Converting", "records"))
            if title not in current:
                opened.close()
                current[title] = opened.enter_context(
                    progress_bar(f"{title} {name}", now.total, unit, counted=unit != "records")
                )
            bar = current[title]
            bar.move_to(now.done, bar.things + now.records if unit == "records" else now.done, now.stage)

        yield on_progress


@click.command()
@click.argument("files", type=click.Path(file_okay=False, path_type=Path))
@graph_option
@debug_option
def finish_import(files: Path, graph: str | None) -> None:
    """Complete a graph that was imported from FILES.

    FILES is a folder written by `kgprobe load NAME --bulk-files`. Creates indexes and the data that the import tool
    cannot. Use it after importing on another server; `kgprobe load NAME --bulk` completes the graph itself. Repeating
    it changes nothing.

    \b
    kgprobe graph finish-import ./files --graph bolt://host:7687
    """  # noqa: D301
    from kgprobe.api.bulk_loading import finish_bulk
    from kgprobe.servers.opening import open_graph

    with open_graph(graph, ask_password=ask_password) as connection, _bars(files.name) as on_progress:
        finish_bulk(connection, files, on_progress=on_progress)
    click.echo(f"The graph imported from {files} is complete.")
