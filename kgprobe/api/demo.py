"""The demo: the example graph, the demo model, and a run of a few hundred questions."""

import contextlib
import time
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.api.loading import load
from kgprobe.api.rounds import resume_rounds, run_rounds
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.files import DEMO, demo_folder
from kgprobe.base.progress import waiting
from kgprobe.base.sanitize import visible
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import is_address
from kgprobe.graph.servers.opening import open_graph
from kgprobe.models.model import Model, importing_libraries, load_model
from kgprobe.results.measurement import Run, open_run
from kgprobe.running.runs import forget_run, get_run

MODEL = "demo"
EXAMPLE = "example"


def run_demo(
    graph: str | Path | None = None,
    *,
    rounds: int = 8,
    facts_per_round: int = 32,
    seed: int = 0,
    again: bool = False,
    callbacks: Callbacks = NO_CALLBACKS,
    say: Callable[[str], None] = lambda message: None,
    on_part: Callable[[str, float], None] = lambda part, seconds: None,
    ask_password: Callable[[str], str] | None = None,
) -> Run:
    """Load the example graph, run rounds with the demo model, and return the run.

    >>> run = kgprobe.run_demo("bolt://host:7687")  # doctest: +SKIP

    A finished demo is returned without loading the model; an interrupted one is resumed. The graph stays open until
    ``run.graph.close()`` or the end of the program.

    Args:
        graph: folder or address of a graph that is empty or has only the example; None is a folder of the demo's own.
            ``KGPROBE_GRAPH`` is ignored: it names the user's graph.
        again: True to start a new run; other settings always start one.
        say: called with a sentence at each step.
        on_part: called with each part that ends (``graph``, ``model``, ``asking``) and its time in seconds.
        ask_password: as in :func:`~kgprobe.graph.servers.opening.open_graph`.

    Raises:
        ArgumentError: the graph has other data.
        KgprobeError: a part of the demo is not installed, or does not work on this machine.
    """
    place = str(graph or demo_folder())
    say(f"Opening the graph at {place}" if is_address(place) else f"Starting the graph in {place}")
    # A finished demo needs no model.
    needs_model = again or not Path(place).is_dir()
    with _timed("graph", on_part), importing_libraries() if needs_model else contextlib.nullcontext():
        opened = open_graph(place, ask_password=ask_password)
    try:
        _refuse_others(opened)
        before = None
        # There is no run yet, or another version of kgprobe began it.
        with contextlib.suppress(KgprobeError):
            before = get_run(opened, DEMO)
        requested: dict[str, Any] = {"rounds": rounds, "facts_per_round": facts_per_round, "seed": seed}
        if before is not None and not again and {name: before[name] for name in requested} == requested:
            if before["round"] == rounds:
                say(f"The demo finished on {before['started'][:10]}; `again` starts a new run.")
                return open_run(opened, DEMO)
            say(f"Resuming the demo after round {before['round']}.")
            model = _loaded(on_part)
            with _timed("asking", on_part):
                return resume_rounds(opened, DEMO, model, callbacks=callbacks)
        model = _loaded(on_part)
        with _timed("graph", on_part):
            report = load(opened, EXAMPLE)
        say(f"The example graph has {report.facts:,} facts about {report.entities:,} entities.")
        with contextlib.suppress(UnknownNameError):
            forget_run(opened, DEMO)
        with _timed("asking", on_part):
            return run_rounds(opened, model, name=DEMO, callbacks=callbacks, **requested)
    except BaseException:
        opened.close()
        raise


def _refuse_others(graph: Graph) -> None:
    """Raise an error if a graph has other data than the example: the demo asks everything in it."""
    sources = set(map(itemgetter("source"), graph.read("load/loads")))
    if not sources and graph.read("load/any_node")[0]["nodes"]:
        raise ArgumentError(
            "graph",
            "has data that this version of kgprobe has not loaded; expected an empty graph. Name another one, or delete"
            " its folder.",
        )
    if others := sorted(sources - {EXAMPLE}):
        held = visible(", ".join(others))
        raise ArgumentError("graph", f"has {held}; expected an empty graph, or one with only the example.")


def _loaded(on_part: Callable[[str, float], None]) -> Model:
    model = load_model(MODEL)
    with _timed("model", on_part), waiting(f"Loading {MODEL}"):
        model.scorer()
    return model


@contextlib.contextmanager
def _timed(part: str, on_part: Callable[[str, float], None]) -> Iterator[None]:
    began = time.monotonic()
    yield
    on_part(part, time.monotonic() - began)
