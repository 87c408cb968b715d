"""``kgprobe.draw_graph``: a part of the graph with what is believed of it, as a picture that a person can move."""

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
    """Draw the facts around an entity, coloured by how probably a run's model fails on them.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=2, facts_per_round=8, distractors=3, name="drawn")
    >>> picture = kgprobe.draw_graph(graph, "France", run="drawn", relations=["P36", "P47"])
    >>> print(picture)
    France: ... facts, ... entities; run drawn came near ... of them.

    Args:
        entity: its id, or a name; None is the one at which the run is sure of most facts that they are unknown.
        run: whose beliefs; None is the run that was begun last, if there is one.
        steps, relations, as_of: which facts, as in :func:`~kgprobe.graph.subgraphs.neighbourhood`.
        limit: how many facts at most, from 1 to 2,000; those that the run asked come first.

    Raises:
        ArgumentError: an argument cannot be what it is.
        UnknownNameError: the graph has no entity, relation or run that is called so; or no entity is given, and there
            is no run that has an answer.

    Cost: that of :func:`~kgprobe.graph.subgraphs.neighbourhood`; without an entity, also of reading the run's beliefs.
    """
    if whole_number("limit", limit) > MOST_FACTS:
        raise ArgumentError("limit", f"is {limit}; a picture has {MOST_FACTS:,} facts at most.")
    if run is not None or graph.read("beliefs/runs"):
        run = open_run(graph, run).name
    around = _start(graph, run) if entity is None else entity_ids(graph, [entity])[0]
    drawn = neighbourhood(graph, around, steps=steps, relations=relations, as_of=as_of, limit=limit, run=run)
    return GraphPicture(around, run, drawn)


def _start(graph: Graph, run: str | None) -> str:
    found = graph.read("explore/least_known_entity", run=run) if run is not None else []
    if not found:
        raise UnknownNameError(
            "No run of this graph has an answer yet, so nothing says where a picture should begin; name an `entity`."
        )
    entity: str = found[0]["entity"]
    return entity
