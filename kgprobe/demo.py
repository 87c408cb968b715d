"""The demo: the sample graph, the demo model, a few hundred questions, and what they show."""

import contextlib
import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

from kgprobe.asking import survey
from kgprobe.asking.rounds import Plan
from kgprobe.asking.survey import Survey, Watch
from kgprobe.errors import UnknownNameError
from kgprobe.files import home
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.intervals import today
from kgprobe.models.spec import load_generator, load_scorer
from kgprobe.probes.registry import DistractorOptions, Models
from kgprobe.servers.folder import Folder
from kgprobe.servers.server import lease
from kgprobe.sources.contract import get_loader

RUN = "demo"
MODEL = "demo"


def demo_graph() -> Path:
    """The folder of the demo's graph."""
    return home() / "demo"


def run_demo(rounds: int, batch: int, seed: int, watch: Watch, say: Callable[[str], None]) -> Survey:
    """Load the sample graph into a folder of its own, ask the demo model, and find what it knows.

    Doing it again starts the run afresh, on the same graph.

    Args:
        say: called with a sentence at each step.

    Raises:
        KgprobeError: a part of the demo is not installed, or does not work here.
    """
    started = time.monotonic()
    scorer = load_scorer(MODEL)
    folder = Folder(demo_graph())
    say(f"Starting the graph in {folder.path}")
    with lease(folder) as endpoint, Graph(endpoint) as graph:
        report = load(graph, get_loader("sample").open())
        say(f"The sample graph has {report.written['facts']:,} facts about {report.written['entities']:,} entities.")
        with contextlib.suppress(UnknownNameError):
            survey.forget(graph, RUN)
        options = DistractorOptions(MODEL, as_of=today())
        plan = Plan(RUN, rounds, batch, seed, options.as_of)
        result = survey.begin(graph, Models(lambda _: scorer, load_generator), options, plan, watch)
    seconds = time.monotonic() - started
    return dataclasses.replace(result, report=dataclasses.replace(result.report, seconds=seconds))
