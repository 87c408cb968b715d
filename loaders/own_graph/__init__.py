"""``kgprobe load graph``: a property graph of any schema, read as a mapping says (:mod:`.mapping`).

Which labels are entities and what they are called, which relationships, intermediate nodes and properties are facts,
and when these held: a file says so, and ``--propose`` writes a first one. The graph is only read.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.base.options import option
from kgprobe.base.progress import print_message
from kgprobe.sources.contract import Loader, Proposal

if TYPE_CHECKING:
    from .source import OwnGraph

_NAMED = "KGPROBE_FROM"


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Options of the loader."""

    source: str = option(
        help="The graph: bolt://HOST:PORT or neo4j://HOST:PORT (+s or +ssc behind bolt or neo4j for encryption), or the"
        f" folder of a graph that kgprobe serves. User, password and database are {_NAMED}_USER, {_NAMED}_PASSWORD and"
        f" {_NAMED}_DATABASE.",
        flag="from",
        metavar="ADDRESS|FOLDER",
        common=True,
    )
    mapping: Path = option(
        Path("mapping.toml"), "Mapping in TOML: entities, facts and their templates.", metavar="FILE", common=True
    )


def _open(options: GraphOptions) -> "OwnGraph":
    # Here, so that the help of a command need not load what speaks Bolt.
    from kgprobe.graph.servers.opening import open_users_graph

    from .mapping import read_mapping
    from .schema import check_fit, read_schema
    from .source import OwnGraph

    mapping = read_mapping(options.mapping)
    graph = open_users_graph(options.source, "source")
    schema = read_schema(graph)
    for misfit in check_fit(mapping, schema, str(options.mapping), options.source):
        print_message(misfit)
    return OwnGraph(options.source, graph, mapping, options.mapping.name, schema)


def _propose(options: GraphOptions) -> str:
    from kgprobe.graph.servers.opening import open_users_graph

    from .proposal import propose

    with open_users_graph(options.source, "source") as graph:
        return propose(graph, options.source)


loader = Loader(
    summary="""Load a property graph of any schema: Neo4j, or another server with Bolt.

    A mapping says which labels are entities and what they are called, which relationships, intermediate nodes and
    properties are facts, when these held, and how they are asked. --propose writes a first one, made of what the graph
    has: look through it, then load. The graph is read, never written to.

    \b
    kgprobe load graph --from bolt://localhost:7687 --propose
    kgprobe load graph --from bolt://localhost:7687 --mapping mapping.toml
    """,
    options=GraphOptions,
    open=_open,
    proposes=Proposal("Write a first mapping, made of what the graph has, to look through.", "mapping", _propose),
)
