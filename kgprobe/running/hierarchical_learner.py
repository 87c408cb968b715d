"""The learner ``hierarchical``: answers inform about relations and entities, and so about the unasked facts.

docs/methods/learner.md. The model is in memory and depends only on the answers; :mod:`.learning` keeps it with the
run's answers when the run stops. After each round the graph stores the beliefs of the asked facts and the effects of
their relations and entities; when the run stops, all other beliefs and effects. A round costs its batch and the ends
of its facts, whatever the size of the graph; when the answers have grown by a quarter or have doubled, all facts are
predicted once for the estimate of the whole graph.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.choosing import choose
from kgprobe.beliefs.draw import RoundChoice, credible_interval
from kgprobe.beliefs.hierarchical_model import beta_parameters
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.graph.runs import run_folder
from kgprobe.probes.outcome import Outcome
from kgprobe.running.frame import open_frame
from kgprobe.running.learner import Applied, Write, apply_round, write_beliefs
from kgprobe.running.learning import AskedRound, open_learning
from kgprobe.running.plan import Plan
from kgprobe.sampling.lists import places_among

Positions = NDArray[np.int64]

# Number of facts over which the width of intervals is averaged, at most.
_WIDTH_FACTS = 4_096
# Rows of effects per statement.
_EFFECTS = 5_000
# Unasked facts whose expectation a round writes into the view, at most.
_EXPECTED = 256
# Facts with beliefs per transaction.
_BELIEFS = 5_000


def _with_answers(beliefs: Sequence[Row], answers: Sequence[Row]) -> list[Row]:
    """Return the beliefs of facts in the graph, with the counts of their own answers and their round."""
    counts: dict[str, Row] = {}
    for row in answers:
        counts[row["fact"]] = {name: row.get(name) for name in ("right", "wrong", "chances", "round")}
    return [belief | counts[belief["fact"]] for belief in beliefs if belief["fact"] in counts]


class HierarchicalLearner:
    """The beliefs of a run, and their copy in the graph."""

    def __init__(self, graph: Graph, plan: Plan, run: Row, labels: Mapping[str, str]) -> None:
        """Open what the run has learned.

        Cost: the graph's columns, made once for each state of the graph; see :func:`.learning.open_learning`.
        """
        self._graph, self._plan, self._run, self._labels = graph, plan, run, labels
        self.keys = open_frame(graph, run, run_folder(run)).facts
        self._learning = open_learning(graph, run, self.keys)
        self._beliefs = self._learning.beliefs
        generator = np.random.default_rng([plan.seed, 0])
        sample_size = min(_WIDTH_FACTS, len(self.keys))
        self._width_sample = np.sort(generator.choice(len(self.keys), sample_size, replace=False))

    def choose(self, number: int) -> RoundChoice:
        """Draw the facts of a round, see :func:`kgprobe.beliefs.choosing.choose`."""
        plan = self._plan
        generator = np.random.default_rng([plan.seed, number])
        messages, left_out = self._beliefs.model.messages, self._beliefs.unaskable
        self._chosen = choose(
            messages, plan.options.rule, plan.options.facts_per_round, generator, left_out=left_out, number=number
        )
        return self._chosen

    def has_askable(self) -> bool:
        """Return True if a fact is left to ask."""
        return not bool(self._beliefs.unaskable.all())

    def width(self) -> float:
        """Return the mean width of the intervals that the graph stores, over a fixed sample of at most 4,096 facts.

        Cost: an interval for each of them.
        """
        sample = self._width_sample[~self._beliefs.unaskable[self._width_sample]]
        if not len(sample):
            return float("nan")
        low, high = credible_interval(*beta_parameters(self._beliefs.model.posterior(sample)))
        return float((high - low).mean())

    def beliefs(self, positions: Positions) -> list[Row]:
        """Return ``{subject, fact, alpha, beta}`` of facts, asked or not."""
        return self._beliefs.beliefs(positions)

    def apply(self, number: int, outcomes: Sequence[Outcome]) -> Write:
        """Update beliefs by a round; the function writes those of the asked facts and the effects of their ends."""
        clock = time.monotonic()
        chosen = self._chosen
        verdicts = [outcome.verdict for outcome in outcomes]
        self._learning.add(AskedRound(chosen.positions, verdicts, chosen.probabilities, chosen.smallest))
        return partial(self._write, number, outcomes, chosen.positions, time.monotonic() - clock)

    def _write(
        self,
        number: int,
        outcomes: Sequence[Outcome],
        positions: Positions,
        learning: float,
        chances: Sequence[float | None],
        can_choose: Callable[[], None],
    ) -> Applied:
        can_choose()
        clock = time.monotonic()
        touched = self._beliefs.beliefs(positions)
        effects = self._beliefs.effects_rows(self._plan.run, self._parts_of(positions))
        learned = self._beliefs.describe()
        learning += time.monotonic() - clock

        def follow(transaction: Transaction, applied: list[Row], _answered: list[Row]) -> list[Row]:
            transaction.run("beliefs/learned", id=self._plan.run, learned=learned)
            transaction.run("beliefs/effects", run=self._plan.run, rows=effects)
            return _with_answers(touched, applied)

        def expect() -> list[Row]:
            return self._beliefs.beliefs(self._unasked_around(positions))

        rows, seconds = apply_round(self._graph, self._run, self._labels, number, outcomes, chances, follow, expect)
        return Applied(len(rows), {"learn": learning, **seconds})

    def finish(self) -> None:
        """Keep what was learned, and write the beliefs of all asked facts, and all effects.

        Cost: linear in these facts, and a file of 16 bytes for each fact of the graph.
        """
        self._learning.keep()
        run, positions = self._plan.run, np.flatnonzero(self._beliefs.asked)
        answers = self._graph.read("beliefs/touched", run=run)
        learned = self._beliefs.describe()
        for start in range(0, len(positions), _BELIEFS):
            beliefs = _with_answers(self._beliefs.beliefs(positions[start : start + _BELIEFS]), answers)

            def work(transaction: Transaction, beliefs: list[Row] = beliefs) -> None:
                (state,) = transaction.run("beliefs/learned", id=run, learned=learned)
                write_beliefs(transaction, run, beliefs, on_facts=state["in_view"])

            self._graph.transaction(work)
        parts = self._parts_of(positions)
        for start in range(0, len(parts), _EFFECTS):
            rows = self._beliefs.effects_rows(run, parts[start : start + _EFFECTS])
            self._graph.write("beliefs/effects", run=run, rows=rows)

    def _unasked_around(self, positions: Positions) -> Positions:
        """Return other facts of the subjects and objects of asked facts, those of entities with few facts first.

        Cost: the facts of these entities, at most ``_EXPECTED`` each.
        """
        columns = self.keys.columns
        places = self.keys.places[positions]
        entities = np.unique([columns.subjects[places], columns.objects[places]])
        # The columns are sorted by subject.
        starts, ends = (np.searchsorted(columns.subjects, entities, side) for side in ("left", "right"))
        few_first = np.argsort(ends - starts, kind="stable")
        ranges = [np.arange(starts[i], min(ends[i], starts[i] + _EXPECTED)) for i in few_first]
        around = places_among(self.keys.places, np.concatenate(ranges))
        around = around[around >= 0]
        return around[~self._beliefs.asked[around]][:_EXPECTED]

    def _parts_of(self, positions: Positions) -> Positions:
        """Return the distinct parts of facts: relations, entities and others."""
        return np.unique(self._beliefs.effects.of(positions)[0])
