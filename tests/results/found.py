"""Findings of outcomes that a test has made up."""

from collections.abc import Callable, Iterable
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.probes.outcome import Outcome
from kgprobe.results.about import About, about_run
from kgprobe.results.finding import Finding, make_finding
from kgprobe.running.runs import get_run
from tests.results.answered import answers_of_outcomes


def find_in_run(graph: Graph, run: str, outcomes: Callable[[], Iterable[Outcome]], **options: Any) -> Finding:
    """Return the finding of a run in the graph with these outcomes."""
    return find_in_outcomes(graph, about_run(get_run(graph, run)), outcomes, **options)


def find_in_outcomes(graph: Graph, about: About, outcomes: Callable[[], Iterable[Outcome]], **options: Any) -> Finding:
    """Return the finding of a measurement with these outcomes."""
    return make_finding(graph, about, answers_of_outcomes(about.probe, outcomes(), about.described), **options)
