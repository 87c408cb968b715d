"""``kgprobe.draw_graph``: an interactive picture of a part of the graph, coloured by beliefs."""

from collections.abc import Sequence
from datetime import date

from kgprobe.api.rounds import open_run
from kgprobe.arguments import whole_number
from kgprobe.errors import ArgumentError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import entity_ids
from kgprobe.graph.subgraphs import neighbourhood
from kgprobe.results.graph_picture import MOST_FACTS, GraphPicture


def draw_graph(
    graph: Graph,
    entity: str | None = None,
    *,
    run: str | None = None,
    steps: int = 1,
    relations: Sequence[str] = (),
    as_of: int | str | date | None = None,
    limit: int = 200,
) -> GraphPicture:
    """Draw the facts around an entity, coloured by a run's probability that the model fails on them.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=2, facts_per_round=8, distractors=3, name="drawn")
    >>> picture = kgprobe.draw_graph(graph, "France", run="drawn", relations=["P36", "P47"])
    >>> print(picture)
    France: ... facts, ... entities; run drawn has beliefs about ... of them.

    Args:
        entity: id or name; None is the entity with the most surely unknown facts.
        run: name of the run; None is the latest, if there is one.
        steps, relations, as_of: selection of facts, see :func:`~kgprobe.graph.subgraphs.neighbourhood`.
        limit: maximum number of facts, 1 to 2,000; facts that the run asked come first.

    Raises:
        ArgumentError: an argument is out of range.
        UnknownNameError: no such entity, relation or run; or no entity is given, and no run has answers.

    Cost: that of :func:`~kgprobe.graph.subgraphs.neighbourhood`; without an entity, also of reading the run's beliefs.
    """
    if whole_number("limit", limit) > MOST_FACTS:
        raise ArgumentError("limit", f"is {limit}; expected at most {MOST_FACTS:,}.")
    if run is not None or graph.read("beliefs/runs"):
        run = open_run(graph, run).name
    around = _start(graph, run) if entity is None else entity_ids(graph, [entity])[0]
    drawn = neighbourhood(graph, around, steps=steps, relations=relations, as_of=as_of, limit=limit, run=run)
    return GraphPicture(around, run, drawn)


def _start(graph: Graph, run: str | None) -> str:
    rows = graph.read("explore/least_known_entity", run=run) if run is not None else []
    if not rows:
        raise UnknownNameError("No run of this graph has answers yet, and so no default start; name an `entity`.")
    entity: str = rows[0]["entity"]
    return entity
