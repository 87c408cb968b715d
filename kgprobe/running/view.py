"""The view: the beliefs of one run as properties of the facts, for Cypher and Neo4j Browser.

docs/guides/data-model.md. A graph has at most one run in view. Each of its rounds also writes the touched facts, in
the transaction of the round. When the run stops, or is shown, all facts that it can ask are written, in batches. The
`Run` node counts the written facts, so that an interrupted call is continued. Before another run comes into view, or
the same one after a load, the former beliefs are removed: at no time do facts hold beliefs of two runs, and facts that
a load has made former ones hold none.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.beliefs.summary import summarize, view_rows
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.graph.state import graph_state
from kgprobe.graph.twins import clear_twins
from kgprobe.running.learner import Learner, write_on_facts

REMOVING, WRITING = "Removing beliefs", "Writing beliefs"

# Facts written, and entities cleared, in one transaction.
_FACTS, _ENTITIES = 5_000, 5_000


class ViewTakenError(KgprobeError):
    """Another process has brought another run into view."""


def take_view(graph: Graph, run: str, on_progress: OnProgress = no_progress) -> None:
    """Bring a run into view; does nothing if it is in view and the graph has not changed since.

    Other beliefs are removed from the facts first; an interrupted removal is continued.

    Raises:
        ViewTakenError: another process has brought another run into view meanwhile.

    Cost: nothing to remove: a look-up. Else a walk through all facts.
    """
    now = graph_state(graph)
    views = [(row["run"], row["in_view"], row["viewed_graph"]) for row in graph.read("view/runs")]
    if views != [(run, True, now)]:
        hide_view(graph, on_progress)
    if not graph.write("view/begin", run=run, graph=now):
        raise ViewTakenError(f"Run {run!r} cannot come into view: another process has brought another run into view.")


def hide_view(graph: Graph, on_progress: OnProgress = no_progress) -> int:
    """Remove the beliefs of the run in view from the facts; return the number of cleared facts.

    Cost: a walk through all facts, if a run is in view, or was when an earlier call was interrupted, or if the node of
    the run in view was deleted by other means.
    """
    if not graph.read("view/runs") and not graph.read("view/orphans"):
        return 0
    graph.write("view/end")
    size = graph.read("view/size")[0]["size"]
    cleared = 0
    for start in range(0, size, _ENTITIES):
        end = min(start + _ENTITIES, size)
        cleared += graph.transaction(partial(_clear, start, end))
        on_progress(StepProgress(REMOVING, end, size, "entities"))
    while graph.write("view/clear_about", size=_FACTS)[0]["cleared"]:
        pass
    graph.write("view/cleared")
    return cleared


def _clear(start: int, end: int, transaction: Transaction) -> int:
    """Remove the beliefs from the facts of subjects with some numbers; return the number of cleared facts."""
    cleared: int = transaction.run("view/clear", **{"from": start, "to": end})[0]["cleared"]
    if cleared:
        clear_twins(transaction, start, end)
    return cleared


def write_view(
    graph: Graph, run: str, learner: Learner, number: int, state: str, on_progress: OnProgress = no_progress
) -> bool:
    """Write a run's beliefs about all facts that it can ask; return False if the run is not in view.

    Args:
        learner: its beliefs, the same as in the graph (:meth:`kgprobe.running.learner.Learner.finish`).
        number: the last round.
        state: of the graph, when the learner was opened.
    """
    view = _view_of(graph, run)
    if view is not None and view["viewed_graph"] != state:
        try:
            take_view(graph, run, on_progress)
        except ViewTakenError:
            return False
        view = _view_of(graph, run)
    if view is None:
        return False
    resumed = (view["viewed_round"], view["viewed_graph"]) == (number, state)
    own = {row["fact"]: row for row in graph.stream("beliefs/touched", run=run)}
    count = len(learner.keys)
    written = view["viewed"] if resumed else 0
    order = learner.keys.by_subject()
    for start in range(written, count, _FACTS):
        end = min(start + _FACTS, count)
        beliefs = _with_own_answers(learner.beliefs(order[start:end]), own)
        parts = list(view_rows(beliefs, summarize(beliefs)))
        stored = [belief["fact"] for belief in beliefs if belief["fact"] in own]

        def work(
            transaction: Transaction, parts: list[list[Row]] = parts, stored: list[str] = stored, end: int = end
        ) -> bool:
            in_view = bool(transaction.run("view/advance", run=run, viewed=end, round=number, graph=state))
            if in_view:
                write_on_facts(transaction, parts)
                transaction.run("view/about", run=run, facts=stored)
            return in_view

        if not graph.transaction(work):
            return False
        on_progress(StepProgress(WRITING, end, count, "facts"))
    return True


def _view_of(graph: Graph, run: str) -> Row | None:
    """Return the progress of a run's view; None if the run is not in view."""
    return next((row for row in graph.read("view/runs") if row["run"] == run and row["in_view"]), None)


def _with_own_answers(beliefs: Iterable[Row], own: Mapping[str, Row]) -> list[Row]:
    """Return the beliefs of facts with the counts of their own answers, and the last round that touched them."""
    rows = []
    for belief in beliefs:
        counts = own.get(belief["fact"], {"right": 0, "wrong": 0, "chances": [], "round": None})
        rows.append({**belief, **{name: counts[name] for name in ("right", "wrong", "chances", "round")}})
    return rows
