"""The strategies of retrieval that look at the graph alone, by name."""

from collections.abc import Callable, Mapping

from kgprobe.graph.client import Graph
from kgprobe.sampling.distractors import RandomDistractors, Retriever
from kgprobe.sampling.semantic import SemanticDistractors
from kgprobe.sampling.temporal import TemporalDistractors

# Made from the graph, the date (yyyymmdd) at which what is true is no distractor, and the weighting of features.
RETRIEVERS: Mapping[str, Callable[[Graph, int, str], Retriever]] = {
    "random": lambda graph, as_of, _: RandomDistractors(graph, as_of),
    "semantic": SemanticDistractors,
    "temporal-semantic": TemporalDistractors,
}
