"""Fixtures of the library's tests: the example graph, and a small model."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kgprobe
from tests.graph.servers.shared import wipe
from tests.models.tiny import byte_level, random_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kgprobe.graph.client import Graph
    from kgprobe.graph.endpoint import Endpoint
    from kgprobe.models.model import Model


@pytest.fixture(scope="session")
def example_graph(add_graph: "Callable[[], Endpoint]") -> "Iterator[Graph]":
    """An example graph that only tests of the library add runs to, so that names of runs are free."""
    from kgprobe.graph.client import Graph

    with Graph(add_graph()) as graph:
        kgprobe.load(graph, "example")
        yield graph


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a test's measurements."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def tiny() -> "Model":
    """A small model with random weights."""
    tokenizer = byte_level(bos=True)
    return kgprobe.wrap_model(random_model("gpt2", len(tokenizer), n_positions=1024), tokenizer, name="tiny")


@pytest.fixture(scope="module")
def example_graphs(endpoint: "Endpoint") -> "Iterator[Graph]":
    """The example graph on each engine, for a module that has no ``graph`` beside it."""
    from kgprobe.graph.client import Graph

    with Graph(endpoint) as graph:
        wipe(graph)
        kgprobe.load(graph, "example")
        yield graph
