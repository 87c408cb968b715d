"""The demo: the sample graph, the demo model, a few hundred questions, and what they show."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from kgprobe.asking.watch import NOBODY, Watch
from kgprobe.errors import UnknownNameError
from kgprobe.files import home
from kgprobe.library.loading import load
from kgprobe.library.rounds import Run, forget_run, run_rounds
from kgprobe.models.model import load_model
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
    watch: Watch = NOBODY,
    say: Callable[[str], None] = lambda message: None,
) -> Run:
    """Load the sample graph into a folder of its own, ask the demo model, and give the run.

    Doing it again starts the run afresh, on the same graph. The graph stays open: ``run.graph.close()`` ends that, or
    the end of the program.

    Args:
        say: called with a sentence at each step.

    Raises:
        KgprobeError: a part of the demo is not installed, or does not work here.
    """
    model = load_model(MODEL)
    model.scorer()
    say(f"Starting the graph in {demo_graph()}")
    graph = open_graph(demo_graph())
    try:
        report = load(graph, "sample")
        say(f"The sample graph has {report.facts:,} facts about {report.entities:,} entities.")
        with contextlib.suppress(UnknownNameError):
            forget_run(graph, RUN)
        return run_rounds(graph, model, run=RUN, rounds=rounds, batch=batch, seed=seed, watch=watch)
    except BaseException:
        graph.close()
        raise
