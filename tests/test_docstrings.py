"""The examples in the docstrings of public modules: each is run, on the example graph.

An example finds there, beside what its module has: ``graph``, the example graph on the embedded engine; ``kgprobe``;
and whatever opens a graph without naming one gets that graph.
"""

import doctest
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgprobe
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.runs import list_runs
from kgprobe.graph.servers.opening import open_graph
from kgprobe.loaders.example import open_example
from kgprobe.running.runs import forget_run
from tests.cases import slow_except
from tests.doctests import run_all

# Every module whose docstrings open with use.
MODULES = (
    "kgprobe.beliefs.summary",
    "kgprobe.beliefs.choosing",
    "kgprobe.beliefs.corrected_rates",
    "kgprobe.graph.client",
    "kgprobe.graph.reversal",
    "kgprobe.graph.rows",
    "kgprobe.graph.subgraphs",
    "kgprobe.base.dates",
    "kgprobe.api.comparing",
    "kgprobe.api.datasets",
    "kgprobe.api.measuring",
    "kgprobe.api.models",
    "kgprobe.api.graphs",
    "kgprobe.api.labelling",
    "kgprobe.api.exporting",
    "kgprobe.api.rounds",
    "kgprobe.api.sampling",
    "kgprobe.api.studies",
    "kgprobe.api.templates",
    "kgprobe.stats.prediction_powered",
    "kgprobe.graph.servers.opening",
    "kgprobe.stats.design_based",
    "kgprobe.verbalize.templates.kinds",
)

# On a tiny model in slow tests alone: the commands of the documents run the same code.
SLOW = {"kgprobe.api.graphs", "kgprobe.api.rounds", "kgprobe.api.studies"}


@pytest.fixture(scope="module")
def example_graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Graph, Path]]:
    """The example graph and its folder; examples may write to it what others do not see."""
    folder = tmp_path_factory.mktemp("example") / "graph"
    with open_graph(folder, memory=1024) as graph:
        load(graph, open_example())
        yield graph, folder


@pytest.mark.parametrize("module", slow_except(MODULES, set(MODULES) - SLOW))
def test_examples_run(
    module: str,
    example_graph: tuple[Graph, Path],
    demo_models: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    graph, folder = example_graph
    # The same examples ran before, on another model.
    for run in list_runs(graph):
        forget_run(graph, run["id"])
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "models").symlink_to(demo_models)
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KGPROBE_GRAPH", str(folder))
    # Files that an example writes.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    imported = importlib.import_module(module)
    examples = doctest.DocTestFinder(exclude_empty=True).find(
        imported, globs={**vars(imported), "graph": graph, "kgprobe": kgprobe}
    )
    assert run_all(examples, tiny="tiny" in request.node.callspec.id) > 0, f"{module} has no example"
