"""The learners ``propagation`` and ``own``: a fact's answers are counted, with those of the facts around it or alone.

docs/methods/rounds.md. A round costs its batch and, with propagation, the facts around it.
"""

import time
from collections.abc import Mapping, Sequence

import numpy as np

from kgprobe.beliefs.choosing import Chosen
from kgprobe.beliefs.draw import Beliefs
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.probes.outcome import Outcome
from kgprobe.running.applying import apply_round
from kgprobe.running.learner import Applied
from kgprobe.running.runs import Plan
from kgprobe.sampling.facts import askable_facts
from kgprobe.sampling.keys import FactKeys


class CountLearner:
    """Beta parameters of the facts that a run has touched."""

    def __init__(self, graph: Graph, plan: Plan, run: Row, labels: Mapping[str, str]) -> None:
        """Read what a run has learned so far. Cost: a scan of the graph's facts, and one of its beliefs."""
        self._graph, self._plan, self._run, self._labels = graph, plan, run, labels
        self.keys: FactKeys = askable_facts(graph, run["relations"], plan.as_of)
        self._beliefs = read_beliefs(graph, plan.run, self.keys)

    def choose(self, number: int) -> Chosen:
        """See :meth:`~kgprobe.beliefs.draw.Beliefs.choose`; of uniform draws the probability is known."""
        generator = np.random.default_rng([self._plan.seed, number])
        positions = self._beliefs.choose(self._plan.sampling, self._plan.batch, number, generator)
        uniform = self._plan.sampling == "monte-carlo" and len(positions)
        known = len(positions) / self._beliefs.count_askable() if uniform else np.nan
        return Chosen(positions, np.full(len(positions), known), known)

    def has_askable(self) -> bool:
        """Whether there is a fact left to ask."""
        return self._beliefs.has_askable()

    def width(self) -> float:
        """See :meth:`~kgprobe.beliefs.draw.Beliefs.width`."""
        return self._beliefs.width()

    def apply(self, number: int, outcomes: Sequence[Outcome], chances: Sequence[float | None]) -> Applied:
        """Count a round's answers, and propagate them if so planned."""
        plan, hubs = self._plan, list[Row]()
        shared = {"run": plan.run, "model": self._run["model"], "labels": dict(self._labels)}

        def follow(transaction: Transaction, applied: list[Row], answered: list[Row]) -> list[Row]:
            touched = {row["fact"]: row for row in applied}
            hubs.clear()
            if plan.learner == "propagation":
                scope = {"relations": list(self._labels), "as_of": plan.as_of, "max_degree": plan.max_degree}
                reached = transaction.run("beliefs/propagate", rows=answered, **scope, **shared)
                touched |= {row["fact"]: row for row in reached}
                hubs.extend(transaction.run("beliefs/hubs", rows=answered, max_degree=plan.max_degree))
            return list(touched.values())

        rows, seconds = apply_round(self._graph, self._run, self._labels, number, outcomes, chances, follow)
        clock = time.monotonic()
        _take_over(self._beliefs, self.keys, rows)
        seconds["update"] = time.monotonic() - clock
        return Applied(len(rows), seconds, {row["id"]: row["label"] for row in hubs})

    def finish(self, number: int) -> None:
        """All is written already."""


def read_beliefs(graph: Graph, run: str, keys: FactKeys) -> Beliefs:
    """What a run has learned so far. Cost: one read of the run's beliefs."""
    beliefs = Beliefs.untouched(len(keys))
    _take_over(beliefs, keys, list(graph.stream("beliefs/touched", run=run)))
    return beliefs


def _take_over(beliefs: Beliefs, keys: FactKeys, rows: Sequence[Row]) -> None:
    beliefs.update(
        keys.positions([row["fact"] for row in rows]),
        np.array([row["alpha"] for row in rows], dtype=np.float64),
        np.array([row["beta"] for row in rows], dtype=np.float64),
        np.array([not row["unaskable"] for row in rows], dtype=np.bool_),
    )
