"""The learner ``hierarchical``: answers inform about relations and entities, and so about the unasked facts.

docs/methods/learner.md. What was learned is in memory, and follows from the answers alone: a run that goes
on learns them again, round by round, from the file that holds them. The graph gets, with each round, the beliefs of the
facts that it asked and the effects of what these share; and when a run ends for now, all other beliefs and effects as
they are then. A round costs its batch and the ends of it, whatever the size of the graph; going on with a run, its
answers.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgprobe.beliefs.choosing import choose
from kgprobe.beliefs.draw import Chosen, credible_interval
from kgprobe.beliefs.effects import Effects, effects_of, standardised_popularity
from kgprobe.beliefs.hierarchical_model import HierarchicalModel, beta_parameters
from kgprobe.beliefs.summary import belief_rows
from kgprobe.graph.client import Graph, Row, Transaction
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.running.applying import apply_round
from kgprobe.running.learner import Applied
from kgprobe.running.runs import Plan
from kgprobe.running.store import Draw, read_rounds
from kgprobe.sampling.columns.askable import AskableFacts
from kgprobe.sampling.columns.graph_columns import open_columns

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# Facts that the width of intervals is told of, in graphs of more.
_WIDTH_OF = 4_096
# Rows of effects in a statement.
_EFFECTS = 5_000
# Facts in a statement's beliefs at most; messages are bounded in bytes, too.
_BELIEFS = 20_000


def positioned_rounds(
    facts: AskableFacts, answers: Path, count: int | None = None
) -> Iterator[tuple[Positions, list[Draw]]]:
    """Yield what was asked in each round of a run with the positions of the facts; -1 for one that is not in ``facts``.

    Args:
        answers: the file that holds them.
        count: see :func:`kgprobe.running.store.read_rounds`.

    Raises:
        KgprobeError: see :func:`kgprobe.running.store.read_rounds`.

    Cost: one pass over all facts of the graph, and two readings of the file. Memory: 100 bytes for each fact asked.
    """
    asked = list({draw.fact: None for draws in read_rounds(answers, count) for draw in draws})
    position = dict(zip(asked, facts.positions(asked).tolist(), strict=True))
    for draws in read_rounds(answers, count):
        yield np.array([position[draw.fact] for draw in draws], np.int64), draws


class GraphLearning:
    """The learner on the facts that a run can ask, and which of them turned out not to be askable."""

    def __init__(self, facts: AskableFacts, max_degree: int, predictors: Sequence[Floats] = ()) -> None:
        """Before any answer. Cost: some passes over all facts.

        Args:
            predictors: what else may tell which facts are hard, each standardised, shape (facts,).
        """
        self.facts = facts
        columns = facts.columns
        ends = facts.subjects, facts.objects
        self.popularity = standardised_popularity(*(columns.popularities[end] for end in ends))
        of_facts = None if self.popularity is None else self.popularity.of_facts
        self.effects: Effects = effects_of(*ends, relations=facts.relations, popularity=of_facts, predictors=predictors)
        self.learner = HierarchicalModel.of(self.effects, max_degree)
        self.asked, self.unaskable = np.zeros(len(facts), np.bool_), np.zeros(len(facts), np.bool_)

    def learn(self, positions: Positions, verdicts: Sequence[Verdict]) -> None:
        """Take over a round.

        Args:
            positions: of its facts, all different; -1 of those that the graph has no more, which are left out.
            verdicts: one each.
        """
        there = positions >= 0
        counts, wrong, unaskable = (
            np.array([test(verdict) for verdict in verdicts], np.bool_) & there
            for test in (_counts, _is_failure, _is_unaskable)
        )
        self.asked[positions[there]] = True
        self.unaskable[positions[unaskable]] = True
        self.learner.learn(positions[counts], wrong[counts])

    def beliefs(self, positions: Positions) -> list[Row]:
        """Return ``{subject, fact, alpha, beta}`` of facts."""
        alpha, beta = (values.tolist() for values in beta_parameters(self.learner.posterior(positions)))
        keys = [self.facts[int(position)] for position in positions]
        return [
            {"subject": key.subject, "fact": key.fact, "alpha": a, "beta": b}
            for key, a, b in zip(keys, alpha, beta, strict=True)
        ]

    def effects_rows(self, run: str, parts: Positions) -> list[Row]:
        """What ``beliefs/effects`` takes of some parts."""
        columns, effects = self.facts.columns, self.effects
        starts = dict(zip(effects.kinds, effects.starts, strict=False))
        rows = []
        for part, kind_number, (precision, shift) in zip(
            parts.tolist(), effects.kinds_of(parts).tolist(), self.learner.messages.heard[parts].tolist(), strict=True
        ):
            kind = effects.kinds[kind_number]
            within = part - starts[kind]
            of = {"relation": columns.relation_ids, "entity": columns.entity_ids}.get(kind)
            name = "" if of is None else str(of[within])
            rows.append(
                {"id": f"{run}/{kind}/{name}", "kind": kind, "of": name, "precision": precision, "shift": shift}
            )
        return rows

    def described(self) -> Row:
        """What ``beliefs/learned`` takes."""
        variances = self.learner.messages.variances
        its = {
            f"variance_{kind}": float(value) for kind, value in zip(self.effects.kinds, variances.kinds, strict=True)
        }
        its["variance_fact"] = variances.own
        if self.popularity is not None:
            its |= {"popularity_mean": self.popularity.mean, "popularity_spread": self.popularity.spread}
        return its


def _with_answers(beliefs: Sequence[Row], answers: Sequence[Row]) -> list[Row]:
    """Return the beliefs of facts that the graph has, with their own answers: right, wrong, chances."""
    known = {row["fact"]: {name: row[name] for name in ("right", "wrong", "chances")} for row in answers}
    return [{**belief, **known[belief["fact"]]} for belief in beliefs if belief["fact"] in known]


def _counts(verdict: Verdict) -> bool:
    return verdict.counts


def _is_failure(verdict: Verdict) -> bool:
    return verdict.is_failure


def _is_unaskable(verdict: Verdict) -> bool:
    return verdict is Verdict.UNASKABLE


class HierarchicalLearner:
    """A run's learner, and what of it the graph has."""

    def __init__(self, graph: Graph, plan: Plan, run: Row, labels: Mapping[str, str], answers: Path) -> None:
        """Learn what a run has been told so far.

        Args:
            answers: the file that holds them.

        Cost: the graph's columns, made once for each state of the graph; and the answers.
        """
        self._graph, self._plan, self._run, self._labels = graph, plan, run, labels
        self.keys = AskableFacts(open_columns(graph), run["relations"], plan.as_of)
        self.learning = GraphLearning(self.keys, plan.max_degree)
        for positions, draws in positioned_rounds(self.keys, answers):
            self.learning.learn(positions, [draw.verdict for draw in draws])
        self._chosen: dict[str, int] = {}
        generator = np.random.default_rng([plan.seed, 0])
        several = min(_WIDTH_OF, len(self.keys))
        self._looked_at = np.sort(generator.choice(len(self.keys), several, replace=False))

    def choose(self, number: int) -> Chosen:
        """Draw the facts of a round, see :func:`kgprobe.beliefs.choosing.choose`."""
        plan = self._plan
        generator = np.random.default_rng([plan.seed, number])
        messages, left_out = self.learning.learner.messages, self.learning.unaskable
        chosen = choose(messages, plan.sampling, plan.batch, generator, left_out=left_out, number=number)
        self._chosen = {self.keys[position].fact: position for position in chosen.positions.tolist()}
        return chosen

    def has_askable(self) -> bool:
        """Whether there is a fact left to ask."""
        return not bool(self.learning.unaskable.all())

    def width(self) -> float:
        """Return the mean width of the intervals that the graph stores, over 4,096 facts where there are more.

        The 4,096 facts are always the same. Cost: an interval for each of them.
        """
        looked_at = self._looked_at[~self.learning.unaskable[self._looked_at]]
        if not len(looked_at):
            return float("nan")
        low, high = credible_interval(*beta_parameters(self.learning.learner.posterior(looked_at)))
        return float((high - low).mean())

    def apply(self, number: int, outcomes: Sequence[Outcome], chances: Sequence[float | None]) -> Applied:
        """Learn from a round's answers, and write what that makes of the facts asked and of what they share."""
        clock = time.monotonic()
        asked = np.array([self._chosen[outcome.fact.fact] for outcome in outcomes], np.int64)
        self.learning.learn(asked, [outcome.verdict for outcome in outcomes])
        touched = self.learning.beliefs(asked)
        parts = self._parts_of(asked)
        learning = time.monotonic() - clock

        effects, learned = self.learning.effects_rows(self._plan.run, parts), self.learning.described()

        def follow(transaction: Transaction, applied: list[Row], _answered: list[Row]) -> list[Row]:
            transaction.run("beliefs/learned", id=self._plan.run, learned=learned)
            transaction.run("beliefs/effects", run=self._plan.run, rows=effects)
            return _with_answers(touched, applied)

        rows, seconds = apply_round(self._graph, self._run, self._labels, number, outcomes, chances, follow)
        return Applied(len(rows), {"learn": learning, **seconds})

    def finish(self, number: int) -> None:
        """Write the beliefs of all facts that were asked, and all effects. Cost: linear in these facts."""
        if self._run.get("settled") == number:
            return
        run, positions = self._plan.run, np.flatnonzero(self.learning.asked)
        answers = self._graph.read("beliefs/touched", run=run)
        for start in range(0, len(positions), _BELIEFS):
            beliefs = _with_answers(self.learning.beliefs(positions[start : start + _BELIEFS]), answers)
            for part in belief_rows(run, beliefs):
                self._graph.write("beliefs/summarize", rows=part)
        parts = self._parts_of(positions)
        for start in range(0, len(parts), _EFFECTS):
            rows = self.learning.effects_rows(run, parts[start : start + _EFFECTS])
            self._graph.write("beliefs/effects", run=run, rows=rows)
        self._graph.write("beliefs/learned", id=run, learned={**self.learning.described(), "settled": number})

    def _parts_of(self, positions: Positions) -> Positions:
        """The parts of facts, each once."""
        return np.unique(self.learning.effects.of(positions)[0])
