"""The demo: the example graph, the demo model, a few hundred questions, and what they show."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from kgprobe.asking.runs import get_run
from kgprobe.asking.watch import NOBODY, Watch
from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.files import home
from kgprobe.graph.client import Graph, Row
from kgprobe.library.loading import load
from kgprobe.library.rounds import Run, forget_run, open_run, resume_rounds, run_rounds
from kgprobe.models.model import Model, load_model
from kgprobe.progress import waiting
from kgprobe.servers.opening import open_graph

RUN = "demo"
MODEL = "demo"


def demo_graph() -> Path:
    """The folder of the demo's graph."""
    return home() / "demo"


def run_demo(
    *,
    rounds: int = 8,
    batch: int = 32,
    seed: int = 0,
    again: bool = False,
    watch: Watch = NOBODY,
    say: Callable[[str], None] = lambda message: None,
) -> Run:
    """Load the example graph into a folder of its own, ask the demo model, and give the run.

    What was done before is given as it stands, without the model; what was interrupted goes on. The graph stays open:
    ``run.graph.close()`` ends that, or the end of the program.

    Args:
        again: whether the run starts afresh in any case, as it does with other settings.
        say: called with a sentence at each step.

    Raises:
        KgprobeError: a part of the demo is not installed, or does not work here.
    """
    say(f"Starting the graph in {demo_graph()}")
    graph = open_graph(demo_graph())
    try:
        before = _done_before(graph)
        wanted = {"rounds": rounds, "batch": batch, "seed": seed}
        if before is not None and not again and {name: before[name] for name in wanted} == wanted:
            if before["round"] == rounds:
                say(f"The demo was done before, on {before['started'][:10]}; `again` asks anew.")
                return open_run(graph, RUN)
            say(f"The demo goes on after round {before['round']}.")
            return resume_rounds(graph, RUN, _loaded(), watch=watch)
        model = _loaded()
        report = load(graph, "example")
        say(f"The example graph has {report.facts:,} facts about {report.entities:,} entities.")
        with contextlib.suppress(UnknownNameError):
            forget_run(graph, RUN)
        return run_rounds(graph, model, name=RUN, rounds=rounds, batch=batch, seed=seed, watch=watch)
    except BaseException:
        graph.close()
        raise


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
