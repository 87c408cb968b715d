"""The example graph, read only, and a table of its labels."""

from collections.abc import Iterator

import pytest

from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.labelling.table import LabelTable, write_label_table
from tests.labelling.exports.own_graphs import CONFIG, labelled, with_varied_labels


@pytest.fixture(scope="module")
def example(example_endpoint: Endpoint) -> Iterator[Graph]:
    with Graph(example_endpoint) as graph:
        yield graph


@pytest.fixture(scope="module")
def table(example: Graph, tmp_path_factory: pytest.TempPathFactory) -> LabelTable:
    facts = with_varied_labels(labelled(example))
    return write_label_table(tmp_path_factory.mktemp("labels") / "example", CONFIG, facts)
