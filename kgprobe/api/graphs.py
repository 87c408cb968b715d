"""Calls about a whole graph: describe it, paint beliefs, draw a part, find paths and communities, reverse it."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from kgprobe.base.arguments import check_choice, whole_number
from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.options import make_options
from kgprobe.base.progress import OnProgress, no_progress
from kgprobe.beliefs.painting import Painted, expected_facts, paint_runs
from kgprobe.graph.client import Graph
from kgprobe.graph.communities import METHODS
from kgprobe.graph.names import entity_ids
from kgprobe.graph.runs import find_run, find_run_in_view, latest_run
from kgprobe.graph.subgraphs import neighbourhood
from kgprobe.results.communities import IgnoranceCommunities, communities_of
from kgprobe.results.graph_picture import MOST_FACTS, GraphPicture
from kgprobe.results.graph_size import GraphSize, read_graph_size
from kgprobe.results.known_path import KnownPath, best_path
from kgprobe.results.measurement import open_run
from kgprobe.sampling.drawing import ReversingOptions
from kgprobe.verbalize.inverse_graph import OnNote, open_inverse


def paint_beliefs(
    graph: Graph, runs: str | Sequence[str] | None = None, *, against: str | None = None, expected: int | None = None
) -> Painted:
    """Add relationships parallel to the facts that runs asked, whose types are the beliefs, for Neo4j Browser.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=2, facts_per_round=8, distractors=3, name="painted")
    >>> painted = kgprobe.paint_beliefs(graph, "painted", expected=20)
    >>> print(painted)
    Painted the beliefs of run painted: ... 20 EXPECTED.

    The types are ``KNOWN``, ``LEANS_KNOWN``, ``LEANS_UNKNOWN`` and ``UNKNOWN``; with an earlier run, ``LEARNED`` and
    ``FORGOT`` if that was sure of the opposite; ``EXPECTED`` for unasked facts. The words are those of the run's page:
    see :mod:`kgprobe.beliefs.summary`. Asked entities get a label: ``MostlyKnown``, ``HalfKnown`` or ``MostlyUnknown``.
    Earlier paint is cleared first.

    Args:
        runs: names of runs, each painted by relationships of its own; None is the latest run.
        against: name of an earlier run on the same graph, such as one before fine-tuning.
        expected: number of unasked facts to paint, those that the run in view most probably fails on. None: 200 if a
            painted run is in view (:func:`kgprobe.apply_beliefs`), else 0.

    Raises:
        UnknownNameError: no such run.
        ArgumentError: a run is compared with itself, or ``expected`` is above 0 and no painted run is in view.

    Cost: the runs' beliefs, and a walk through the facts of their subjects; in transactions of bounded size. Memory:
    the asked entities, and the earlier run's sure facts.
    """
    if runs is None or isinstance(runs, str):
        runs = [runs] if runs else []
    names = [open_run(graph, run).name for run in dict.fromkeys(runs)] or [open_run(graph).name]
    if against is not None:
        against = open_run(graph, against).name
        if against in names:
            raise ArgumentError("against", f"is {against!r}, a painted run itself; expected another run.")
    return paint_runs(graph, names, against, expected_facts(graph, names, expected))


def reverse_graph(
    graph: Graph,
    max_subjects: float = ReversingOptions().max_subjects,
    folder: str | Path | None = None,
    *,
    on_note: OnNote = lambda note: None,
    on_progress: OnProgress = no_progress,
) -> Graph:
    """Open the inverse graph, with all facts from object to subject; it is made at the first call.

    >>> with kgprobe.reverse_graph(graph) as backwards:
    ...     result = kgprobe.measure(backwards, "demo", "examples", limit=4, examples=2, relations=["capital"])
    >>> result.reversed
    True

    A fact keeps its id, relation and validity; its object becomes its subject. A relation is kept if an object has at
    most ``max_subjects`` subjects, on average over facts without an end. Literals are left out, and beliefs are not
    copied. Every probe and study works on the inverse graph; :func:`kgprobe.reversal_of` returns its origin and the
    left-out relations.

    If the original has changed, the inverse graph is made again; an old one with runs is moved to another folder. An
    interrupted call is resumed.

    Cost: at the first call, one pass over the graph's facts and the load of the kept ones; memory of a few thousand
    records.

    Args:
        max_subjects: maximum mean number of subjects per object, at least 1.
        folder: folder of the inverse graph; None is one in kgprobe's own, for this graph and ``max_subjects``.
        on_note: called with notes, one sentence at a time.
        on_progress: called after each batch of records.

    Returns:
        The inverse graph, open on a server of its own; close it, or use it as a context manager.

    Raises:
        ArgumentError: an argument is out of range, or the folder has another graph.
        KgprobeError: the graph is empty, no relation qualifies, the graph changed meanwhile, or another process makes
            or uses the inverse graph.
    """
    max_subjects = make_options(ReversingOptions, {"max_subjects": max_subjects}, "reversing").max_subjects
    return open_inverse(graph, max_subjects, folder, on_note, on_progress)


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
    """Draw the facts around an entity, coloured by a run's probability that the model knows them.

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
    if entity is not None:
        around = entity_ids(graph, [entity])[0]
    elif run is not None and (rows := graph.read("explore/least_known_entity", run=run)):
        around = rows[0]["entity"]
    else:
        raise UnknownNameError("No run of this graph has answers yet, and so no default start; name an `entity`.")
    drawn = neighbourhood(graph, around, steps=steps, relations=relations, as_of=as_of, limit=limit, run=run)
    return GraphPicture(around, run, drawn)


def describe_graph(graph: Graph) -> GraphSize:
    """Return the size of a graph: entities, relations, facts, mean degree and density.

    >>> size = kgprobe.describe_graph(graph)
    >>> size.facts == size.active_facts + size.inactive_facts > 0, size.linked <= size.entities
    (True, True)

    An active relation can be asked; facts of inactive ones only connect entities (*dead edges* in KGLens, Table 1).

    Cost: one scan of the entities and of the facts.
    """
    return read_graph_size(graph)


def known_path(graph: Graph, one: str, other: str, *, facts: int = 6) -> KnownPath:
    """Return the best known path between two entities: of all paths, the one whose least known fact is best known.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=1, facts_per_round=8, distractors=3, name="walked")
    >>> path = kgprobe.known_path(graph, "Q142", "Berlin")
    >>> path.run, path.known == min(fact.known for fact in path.facts)
    ('walked', True)

    Paths walk facts in both directions; *known* is that of the run in view, for unasked facts the expectation. Of
    equally known paths, the result is a shortest one.

    Args:
        one, other: ids or names of the entities.
        facts: maximum number of facts, at least 1.

    Raises:
        ArgumentError: both are the same entity, or ``facts`` is out of range.
        UnknownNameError: no such entity, or several.
        KgprobeError: no run is in view, or the search has read millions of facts.

    Cost: see :func:`kgprobe.graph.known_path.find_known_path`.
    """
    most_facts = whole_number("facts", facts)
    run = find_run_in_view(graph)
    start, end = (entity_ids(graph, [name])[0] for name in (one, other))
    if start == end:
        raise ArgumentError("other", f"is {start}, the same entity; expected another one.")
    return best_path(graph, run, start, end, most_facts)


def find_ignorance(
    graph: Graph,
    run: str | None = None,
    *,
    method: str = "louvain",
    sure: bool = False,
    seed: int = 0,
    limit: int = 10,
) -> IgnoranceCommunities:
    """Return communities of ignorance: groups of entities that are connected by facts that a model does not know.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=1, facts_per_round=8, distractors=3, name="grouped")
    >>> communities = kgprobe.find_ignorance(graph, "grouped", limit=3)
    >>> len(communities.to_frame()) <= 3, communities.facts >= communities.communities[0].unknown
    (True, True)

    Unknown facts are asked ones without more right answers than wrong ones.

    Args:
        run: name of the run; None is the latest.
        method: ``louvain`` maximizes modularity, ``labels`` propagates labels, ``components`` returns connected
            components.
        sure: use surely unknown facts only.
        seed: random seed of ``louvain`` and ``labels``.
        limit: maximum number of communities, at least 1; those with most unknown facts.

    Raises:
        UnknownNameError: no such run.
        ArgumentError: an argument is not allowed.

    Cost: one reading of the run's beliefs. Memory of the unknown facts; ``components`` takes time linear in them,
    ``louvain`` about 20 seconds for 65,000 facts.
    """
    check_choice("method", method, METHODS)
    limit, seed = whole_number("limit", limit), whole_number("seed", seed, 0)
    run = latest_run(graph) if run is None else find_run(graph, run)["id"]
    return communities_of(graph, run, method, sure=sure, seed=seed, limit=limit)
