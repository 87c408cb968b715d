"""The learner ``hierarchical``: answers inform about relations and entities, and so about the unasked facts.

docs/methods/learner.md. The model is in memory and depends only on the answers: a resumed run replays them, round by
round, from its file. After each round the graph stores the beliefs of the asked facts and the effects of their
relations and entities; when the run stops, all other beliefs and effects. A round costs its batch and the ends of its
facts, whatever the size of the graph; resuming costs the answers.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.choosing import choose
from kgprobe.beliefs.draw import RoundChoice, credible_interval
from kgprobe.beliefs.effects import Effects, effects_of, standardised_popularity
from kgprobe.beliefs.hierarchical_model import HierarchicalModel, beta_parameters
from kgprobe.beliefs.summary import belief_rows
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.running.applying import apply_round
from kgprobe.running.learner import Applied
from kgprobe.running.runs import Plan
from kgprobe.running.store import StoredDraw, read_rounds
from kgprobe.sampling.columns.askable import AskableFacts
from kgprobe.sampling.columns.graph_columns import open_columns

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# Number of facts over which the width of intervals is averaged, at most.
_WIDTH_FACTS = 4_096
# Rows of effects per statement.
_EFFECTS = 5_000
# Facts with beliefs per statement, at most; messages are also bounded in bytes.
_BELIEFS = 20_000


def positioned_rounds(
    facts: AskableFacts, answers: Path, count: int | None = None
) -> Iterator[tuple[Positions, list[StoredDraw]]]:
    """Yield the draws of each round of a run with the positions of the facts; -1 for one outside ``facts``.

    Args:
        answers: path of the answers.
        count: see :func:`kgprobe.running.store.read_rounds`.

    Raises:
        KgprobeError: see :func:`kgprobe.running.store.read_rounds`.

    Cost: one pass over all facts of the graph, and two over the file. Memory: 100 bytes for each asked fact.
    """
    drawn = list({draw.fact: None for draws in read_rounds(answers, count) for draw in draws})
    position = dict(zip(drawn, facts.positions(drawn).tolist(), strict=True))
    for draws in read_rounds(answers, count):
        yield np.array([position[draw.fact] for draw in draws], np.int64), draws


class HierarchicalBeliefs:
    """The hierarchical model of the facts that a run can ask, with the facts asked so far."""

    def __init__(self, facts: AskableFacts, max_degree: int, predictors: Sequence[Floats] = ()) -> None:
        """Start without answers. Cost: some passes over all facts.

        Args:
            predictors: of the difficulty of facts, each standardised, shape (facts,).
        """
        self.facts = facts
        columns = facts.columns
        ends = facts.subjects, facts.objects
        self.popularity = standardised_popularity(*(columns.popularities[end] for end in ends))
        of_facts = None if self.popularity is None else self.popularity.of_facts
        self.effects: Effects = effects_of(*ends, relations=facts.relations, popularity=of_facts, predictors=predictors)
        self.model = HierarchicalModel.of(self.effects, max_degree)
        self.asked, self.unaskable = np.zeros(len(facts), np.bool_), np.zeros(len(facts), np.bool_)

    def learn(self, positions: Positions, verdicts: Sequence[Verdict]) -> None:
        """Update the model by a round.

        Args:
            positions: of its facts, all different; -1 for a fact that is no longer in the graph, which is ignored.
            verdicts: one per fact.
        """
        is_known = positions >= 0
        counts = np.array([verdict.counts for verdict in verdicts], np.bool_) & is_known
        wrong = np.array([verdict.is_failure for verdict in verdicts], np.bool_)
        unaskable = np.array([verdict is Verdict.UNASKABLE for verdict in verdicts], np.bool_) & is_known
        self.asked[positions[is_known]] = True
        self.unaskable[positions[unaskable]] = True
        self.model.learn(positions[counts], wrong[counts])

    def beliefs(self, positions: Positions) -> list[Row]:
        """Return ``{subject, fact, alpha, beta}`` of facts."""
        alpha, beta = (values.tolist() for values in beta_parameters(self.model.posterior(positions)))
        keys = [self.facts[int(position)] for position in positions]
        return [
            {"subject": key.subject, "fact": key.fact, "alpha": a, "beta": b}
            for key, a, b in zip(keys, alpha, beta, strict=True)
        ]

    def effects_rows(self, run: str, parts: Positions) -> list[Row]:
        """Return the rows of the query ``beliefs/effects`` for some parts."""
        columns, effects = self.facts.columns, self.effects
        starts = dict(zip(effects.kinds, effects.starts, strict=False))
        rows = []
        for part, kind_number, (precision, shift) in zip(
            parts.tolist(), effects.kinds_of(parts).tolist(), self.model.messages.heard[parts].tolist(), strict=True
        ):
            kind = effects.kinds[kind_number]
            within = part - starts[kind]
            ids = {"relation": columns.relation_ids, "entity": columns.entity_ids}.get(kind)
            name = "" if ids is None else str(ids[within])
            rows.append(
                {"id": f"{run}/{kind}/{name}", "kind": kind, "of": name, "precision": precision, "shift": shift}
            )
        return rows

    def describe(self) -> Row:
        """Return the properties of the query ``beliefs/learned``."""
        variances = self.model.messages.variances
        properties = {
            f"variance_{kind}": float(value) for kind, value in zip(self.effects.kinds, variances.kinds, strict=True)
        }
        properties["variance_fact"] = variances.own
        if self.popularity is not None:
            properties |= {"popularity_mean": self.popularity.mean, "popularity_spread": self.popularity.spread}
        return properties


def _with_answers(beliefs: Sequence[Row], answers: Sequence[Row]) -> list[Row]:
    """Return the beliefs of facts in the graph, with the counts of their own answers: right, wrong, chances."""
    by_fact = {row["fact"]: row for row in answers}
    rows = []
    for belief in beliefs:
        counts = by_fact.get(belief["fact"])
        if counts is not None:
            rows.append({**belief, **{name: counts[name] for name in ("right", "wrong", "chances")}})
    return rows


class HierarchicalLearner:
    """The beliefs of a run, and their copy in the graph."""

    def __init__(self, graph: Graph, plan: Plan, run: Row, labels: Mapping[str, str], answers: Path) -> None:
        """Replay the answers of the run.

        Args:
            answers: path of the answers.

        Cost: the graph's columns, made once for each state of the graph, and the answers.
        """
        self._graph, self._plan, self._run, self._labels = graph, plan, run, labels
        self.keys = AskableFacts(open_columns(graph), run["relations"], plan.as_of)
        self._beliefs = HierarchicalBeliefs(self.keys, plan.max_degree)
        for positions, draws in positioned_rounds(self.keys, answers):
            self._beliefs.learn(positions, [draw.verdict for draw in draws])
        self._chosen: dict[str, int] = {}
        generator = np.random.default_rng([plan.seed, 0])
        sample_size = min(_WIDTH_FACTS, len(self.keys))
        self._width_sample = np.sort(generator.choice(len(self.keys), sample_size, replace=False))

    def choose(self, number: int) -> RoundChoice:
        """Draw the facts of a round, see :func:`kgprobe.beliefs.choosing.choose`."""
        plan = self._plan
        generator = np.random.default_rng([plan.seed, number])
        messages, left_out = self._beliefs.model.messages, self._beliefs.unaskable
        chosen = choose(messages, plan.sampling, plan.batch, generator, left_out=left_out, number=number)
        self._chosen = {self.keys[position].fact: position for position in chosen.positions.tolist()}
        return chosen

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

    def apply(self, number: int, outcomes: Sequence[Outcome], chances: Sequence[float | None]) -> Applied:
        """Update beliefs by a round's answers, and write those of the asked facts and the effects of their ends."""
        clock = time.monotonic()
        positions = np.array([self._chosen[outcome.fact.fact] for outcome in outcomes], np.int64)
        self._beliefs.learn(positions, [outcome.verdict for outcome in outcomes])
        touched = self._beliefs.beliefs(positions)
        parts = self._parts_of(positions)
        learning = time.monotonic() - clock

        effects, learned = self._beliefs.effects_rows(self._plan.run, parts), self._beliefs.describe()

        def follow(transaction: Transaction, applied: list[Row], _answered: list[Row]) -> list[Row]:
            transaction.run("beliefs/learned", id=self._plan.run, learned=learned)
            transaction.run("beliefs/effects", run=self._plan.run, rows=effects)
            return _with_answers(touched, applied)

        rows, seconds = apply_round(self._graph, self._run, self._labels, number, outcomes, chances, follow)
        return Applied(len(rows), {"learn": learning, **seconds})

    def finish(self, number: int) -> None:
        """Write the beliefs of all asked facts, and all effects. Cost: linear in these facts."""
        if self._run.get("settled") == number:
            return
        run, positions = self._plan.run, np.flatnonzero(self._beliefs.asked)
        answers = self._graph.read("beliefs/touched", run=run)
        for start in range(0, len(positions), _BELIEFS):
            beliefs = _with_answers(self._beliefs.beliefs(positions[start : start + _BELIEFS]), answers)
            for part in belief_rows(run, beliefs):
                self._graph.write("beliefs/summarize", rows=part)
        parts = self._parts_of(positions)
        for start in range(0, len(parts), _EFFECTS):
            rows = self._beliefs.effects_rows(run, parts[start : start + _EFFECTS])
            self._graph.write("beliefs/effects", run=run, rows=rows)
        self._graph.write("beliefs/learned", id=run, learned={**self._beliefs.describe(), "settled": number})

    def _parts_of(self, positions: Positions) -> Positions:
        """Return the distinct parts of facts: relations, entities and others."""
        return np.unique(self._beliefs.effects.of(positions)[0])
