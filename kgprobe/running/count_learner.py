"""The learners that count answers: each for its fact, and if the learner propagates, for the facts around it.

docs/methods/rounds.md. A round costs its batch and, with propagation, the facts around it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kgprobe.beliefs.draw import Beliefs, RoundChoice
from kgprobe.beliefs.register import LEARNERS
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.graph.rows import column_by, rows_by
from kgprobe.graph.runs import run_folder
from kgprobe.probes.outcome import Outcome
from kgprobe.running.frame import open_frame
from kgprobe.running.learner import Applied, Write, apply_round
from kgprobe.running.plan import Plan
from kgprobe.sampling.columns.graph_columns import FactsById


class CountLearner:
    """Beta parameters of the facts that a run has touched."""

    def __init__(self, graph: Graph, plan: Plan, run: Row, labels: Mapping[str, str]) -> None:
        """Read the beliefs of a run so far. Cost: the graph's columns, and a scan of the beliefs."""
        self._graph, self._plan, self._run, self._labels = graph, plan, run, labels
        self._frame = open_frame(graph, run, run_folder(run))
        self.keys = FactsById(self._frame.facts)
        self._beliefs = read_beliefs(graph, plan.run, self.keys)

    def choose(self, number: int) -> RoundChoice:
        """Draw the facts of a round."""
        generator = np.random.default_rng([self._plan.seed, number])
        return self._beliefs.choose(self._plan.options.rule, self._plan.options.facts_per_round, number, generator)

    def has_askable(self) -> bool:
        """Return True if a fact is left to ask."""
        return self._beliefs.has_askable()

    def width(self) -> float:
        """Return the mean width of the 90% credible interval of theta over all facts that can be asked."""
        return self._beliefs.width()

    def beliefs(self, positions: NDArray[np.int64]) -> list[Row]:
        """Return ``{subject, fact, alpha, beta}`` of facts, asked or not."""
        alpha, beta = self._beliefs.parameters(positions)
        rows = []
        for key, a, b in zip(self.keys.keys(positions), alpha.tolist(), beta.tolist(), strict=True):
            row: Row = key._asdict()
            rows.append(row | {"alpha": a, "beta": b})
        return rows

    def apply(self, number: int, outcomes: Sequence[Outcome]) -> Write:
        """Return the function that counts a round's answers, and propagates them if the learner does."""
        return partial(self._apply, number, outcomes)

    def _apply(
        self,
        number: int,
        outcomes: Sequence[Outcome],
        chances: Sequence[float | None],
        can_choose: Callable[[], None],
    ) -> Applied:
        hubs: dict[str, str] = {}

        def follow(transaction: Transaction, applied: list[Row], answered: list[Row]) -> list[Row]:
            # A transaction can be tried again.
            hubs.clear()
            changed = rows_by("fact", applied)
            if LEARNERS[self._plan.options.learner].propagates:
                propagated = transaction.run(
                    "beliefs/propagate",
                    rows=answered,
                    later=self._frame.later_around([row["fact"] for row in answered]),
                    relations=list(self._labels),
                    as_of=self._plan.as_of,
                    max_degree=self._plan.options.max_degree,
                    run=self._plan.run,
                    model=self._run["model"],
                    labels=dict(self._labels),
                    round=number,
                )
                changed |= rows_by("fact", propagated)
                excluded = transaction.run("beliefs/hubs", rows=answered, max_degree=self._plan.options.max_degree)
                hubs.update(column_by("id", "label", excluded))
            _set_parameters(self._beliefs, self.keys, list(changed.values()))
            can_choose()
            return list(changed.values())

        rows, seconds = apply_round(self._graph, self._run, self._labels, number, outcomes, chances, follow)
        return Applied(len(rows), seconds, hubs)

    def finish(self) -> None:
        """Do nothing: every round is written already."""


def read_beliefs(graph: Graph, run: str, keys: FactsById) -> Beliefs:
    """Return the beliefs of a run so far. Cost: one read of the run's beliefs."""
    beliefs = Beliefs.untouched(len(keys))
    _set_parameters(beliefs, keys, list(graph.stream("beliefs/touched", run=run)))
    return beliefs


def _set_parameters(beliefs: Beliefs, keys: FactsById, rows: Sequence[Row]) -> None:
    columns = pd.DataFrame(rows, columns=["fact", "alpha", "beta", "unaskable"])
    beliefs.update(
        keys.positions(columns["fact"].tolist()),
        columns["alpha"].to_numpy(np.float64),
        columns["beta"].to_numpy(np.float64),
        ~columns["unaskable"].to_numpy(np.bool_),
    )
