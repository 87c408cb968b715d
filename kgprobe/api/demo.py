"""The demo: the example graph, the demo model, a few hundred questions, and what they show."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from kgprobe.api.loading import load
from kgprobe.api.rounds import forget_run, open_run, resume_rounds, run_rounds
from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.files import home
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.endpoint import is_address
from kgprobe.models.model import Model, load_model
from kgprobe.progress import waiting
from kgprobe.results.run import Run
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.running.runs import get_run
from kgprobe.sanitize import visible
from kgprobe.servers.opening import open_graph

RUN = "demo"
MODEL = "demo"
EXAMPLE = "example"


def demo_graph() -> Path:
    """The folder of the demo's graph."""
    return home() / "demo"


def run_demo(
    graph: str | Path | None = None,
    *,
    rounds: int = 8,
    facts_per_round: int = 32,
    seed: int = 0,
    again: bool = False,
    callbacks: Callbacks = NO_CALLBACKS,
    say: Callable[[str], None] = lambda message: None,
    ask_password: Callable[[str], str] | None = None,
) -> Run:
    """Load the example graph, ask the demo model, and give the run.

    >>> run = kgprobe.run_demo("bolt://host:7687")  # doctest: +SKIP

    What was done before is given as it stands, without the model; what was interrupted goes on. The graph stays open:
    ``run.graph.close()`` ends that, or the end of the program.

    Args:
        graph: a folder or an address, of a graph that is empty or has the example alone; None is a folder of the
            demo's own. What ``KGPROBE_GRAPH`` names has no say: it is where a person works.
        again: whether the run starts afresh in any case, as it does with other settings.
        say: called with a sentence at each step.
        ask_password: as in :func:`~kgprobe.servers.opening.open_graph`.

    Raises:
        ArgumentError: that graph holds something else.
        KgprobeError: a part of the demo is not installed, or does not work here.
    """
    named = str(graph or demo_graph())
    say(f"Opening the graph at {named}" if is_address(named) else f"Starting the graph in {named}")
    opened = open_graph(named, ask_password=ask_password)
    try:
        _refuse_others(opened)
        before = _done_before(opened)
        wanted = {"rounds": rounds, "batch": facts_per_round, "seed": seed}
        if before is not None and not again and {name: before[name] for name in wanted} == wanted:
            if before["round"] == rounds:
                say(f"The demo was done before, on {before['started'][:10]}; `again` asks anew.")
                return open_run(opened, RUN)
            say(f"The demo goes on after round {before['round']}.")
            return resume_rounds(opened, RUN, _loaded(), callbacks=callbacks)
        model = _loaded()
        report = load(opened, EXAMPLE)
        say(f"The example graph has {report.facts:,} facts about {report.entities:,} entities.")
        with contextlib.suppress(UnknownNameError):
            forget_run(opened, RUN)
        return run_rounds(
            opened, model, name=RUN, rounds=rounds, facts_per_round=facts_per_round, seed=seed, callbacks=callbacks
        )
    except BaseException:
        opened.close()
        raise


def _refuse_others(graph: Graph) -> None:
    """See that a graph has nothing but the example: what is loaded stays, and the demo asks all of it."""
    sources = {row["source"] for row in graph.read("load/loads")}
    if not sources and graph.read("load/any_node")[0]["nodes"]:
        raise ArgumentError("graph", "holds what kgprobe has not loaded; an empty graph is expected.")
    if others := sorted(sources - {EXAMPLE}):
        held = visible(", ".join(others))
        raise ArgumentError("graph", f"holds {held}; one that is empty, or has the example alone, is expected.")


def _done_before(graph: Graph) -> Row | None:
    """The properties of the demo's run; None where there is none, or another version of kgprobe began it."""
    try:
        return get_run(graph, RUN)
    except KgprobeError:
        return None


def _loaded() -> Model:
    model = load_model(MODEL)
    with waiting(f"Loading {MODEL}", remembered=True):
        model.scorer()
    return model
