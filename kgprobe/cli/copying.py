"""``kgprobe graph copy``: copy a graph into another folder or server, of any engine."""

import json
from typing import TYPE_CHECKING

import click

from kgprobe.cli.options import ask_password, on_graph, open_graph
from kgprobe.sanitize import visible
from kgprobe.servers.engines import ENGINES

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.graph.copying import Copied


@click.command()
@click.option("--to", required=True, metavar="FOLDER|ADDRESS", help="Folder or server of the copy; must be empty.")
@click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    help="Engine of the copy, for a folder.  [default: the other engine than the source's]",
)
@on_graph
def copy(to: str, engine: str | None, graph: str | None, as_json: bool) -> None:
    """Copy the graph with its beliefs into another folder or server.

    Copies entities, relations, facts, runs with their beliefs, judged graphs and painted relationships, then compares
    both graphs by counts and digests. Unknown kinds, such as beliefs of an older version, are left out and counted.
    Repeat the command to continue an interrupted copy; a finished copy is only compared. Folders of runs and
    measurements are not copied. User, password and database of the target server come from KGPROBE_TO_USER,
    KGPROBE_TO_PASSWORD and KGPROBE_TO_DATABASE.

    \b
    kgprobe graph copy --to ./neo4j
    kgprobe graph copy --graph ./neo4j --to bolt://host:7687
    """  # noqa: D301
    from kgprobe.errors import ArgumentError
    from kgprobe.graph.copying import copy_graph
    from kgprobe.progress import progress_bar

    with open_graph(graph) as source, _target(to, engine, source) as target:
        if source.endpoint.address == target.endpoint.address and source.endpoint.database == target.endpoint.database:
            raise ArgumentError("to", "is the graph itself; name another folder or server.")
        counts = source.read("copy/counts")[0]
        size = counts["nodes"] + counts["relationships"]
        with progress_bar("Copying", 3 * size, "nodes and relationships", counted=False) as bar:

            def on_progress(stage: str, done: int, total: int) -> None:  # noqa: ARG001
                bar.move_to(done, done, stage)

            copied = copy_graph(source, target, on_progress)
    _show(copied, to, as_json)


def _target(to: str, engine: str | None, source: "Graph") -> "Graph":
    from kgprobe.errors import ArgumentError
    from kgprobe.graph.client import Graph
    from kgprobe.graph.endpoint import endpoint_of, is_address
    from kgprobe.servers import opening

    if is_address(to):
        if engine is not None:
            raise ArgumentError("engine", f"is for folders only; {to} is a running server.")
        return Graph(endpoint_of(to, ask_password, "KGPROBE_TO", "to"))
    folder = opening.folder_of(to)
    if folder.path == source.endpoint.folder:
        raise ArgumentError("to", "is the graph itself; name another folder or server.")
    if folder.engine is None and engine is None:
        engine = "neo4j" if "ArcadeDB" in source.server else "arcadedb"
    return opening.open_graph(folder.path, engine=engine)


def _show(copied: "Copied", to: str, as_json: bool) -> None:
    kinds = copied.digest.kinds
    if as_json:
        rows = {kind: {"count": digest.count, "digest": f"{digest.total:032x}"} for kind, digest in kinds.items()}
        content = {"to": to, "resumed": copied.resumed, "was_there": copied.was_there, "kinds": rows}
        click.echo(json.dumps({**content, "left_out": copied.digest.left_out}))
        return
    nodes = sum(digest.count for kind, digest in kinds.items() if kind.startswith(":"))
    relationships = sum(digest.count for kind, digest in kinds.items() if kind.startswith("-"))
    verb = "Was there already" if copied.was_there else "Copied"
    click.echo(f"{verb}: {nodes:,} nodes and {relationships:,} relationships, the same in both graphs: {to}")
    if copied.digest.left_out:
        left_out = ", ".join(f"{count:,} {kind}" for kind, count in copied.digest.left_out.items())
        click.echo(visible(f"Left out, unknown to kgprobe: {left_out}."))
