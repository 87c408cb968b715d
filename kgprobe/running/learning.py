"""What a run learns from its answers: beliefs about all facts, and the estimate of the whole graph.

docs/methods/learner.md, docs/methods/graph-estimate.md. Both grow round by round. Predictions of all facts before a
round, and the inclusion probabilities of its facts, give the estimate of :mod:`kgprobe.beliefs.corrected_rates`.
Everything depends only on the answers. A file next to them keeps the state: a run that ends, is opened or resumed
replays only the rounds that the file lacks, all of them if the graph or the answers have changed.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.answers.store import FILE, digest_of_answers, read_rounds
from kgprobe.base.files import replacing
from kgprobe.base.version import __version__
from kgprobe.beliefs.corrected_rates import CORRECTED_FROM, CorrectedRates, RoundDraws
from kgprobe.beliefs.effects import Effects, effects_of, standardised_popularity
from kgprobe.beliefs.hierarchical_model import HierarchicalModel, beta_parameters
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.runs import run_folder
from kgprobe.graph.state import graph_state
from kgprobe.probes.outcome import Verdict
from kgprobe.running.learner import counted_answers
from kgprobe.sampling.columns.graph_columns import AskableFacts

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

LEARNING = "learning.npz"
# Version of that file. A change of the computation needs a new one.
_FORM = 1

# All facts are predicted again when the number of answers has grown by this factor. A prediction takes seconds in
# graphs of many facts; these have the second factor.
_GROWTH, _GROWTH_OF_MANY = 1.25, 2.0
_MANY = 500_000
# Facts that are predicted at a time.
_AT_ONCE = 200_000


@dataclass(frozen=True, slots=True)
class AskedRound:
    """A round for the learning; all of shape (asked,).

    Attributes:
        positions: of its facts, all different; -1 for a fact that the graph no longer has as it was asked, which is
            ignored.
        chances: inclusion probability of each; NaN where unknown.
        smallest: the smallest inclusion probability of any fact that the round could have drawn; NaN where unknown.
    """

    positions: Positions
    verdicts: Sequence[Verdict]
    chances: Floats
    smallest: float


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
        """Update the model by a round; see :class:`AskedRound`."""
        is_known = positions >= 0
        unaskable = is_known & _are(verdicts, Verdict.UNASKABLE)
        counts = is_known & _count(verdicts)
        self.asked[positions[is_known]] = True
        self.unaskable[positions[unaskable]] = True
        self.model.learn(positions[counts], ~_are(verdicts, Verdict.RIGHT)[counts])

    def beliefs(self, positions: Positions) -> list[Row]:
        """Return ``{subject, fact, alpha, beta}`` of facts."""
        alpha, beta = np.array(beta_parameters(self.model.posterior(positions))).tolist()
        rows = []
        for key, alpha_, beta_ in zip(self.facts.keys(positions), alpha, beta, strict=True):
            rows.append({**key._asdict(), "alpha": alpha_, "beta": beta_})
        return rows

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

    def state(self) -> dict[str, Any]:
        """Return the state as arrays."""
        model = self.model
        return {
            "model": np.array([model.answers, model.learned_at]),
            "asked": np.flatnonzero(self.asked),
            "unaskable": np.flatnonzero(self.unaskable),
            **model.messages.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set a state that :meth:`state` returned for the same facts."""
        self.model.messages.restore(state)
        self.model.answers, self.model.learned_at = state["model"].tolist()
        self.asked[state["asked"]] = True
        self.unaskable[state["unaskable"]] = True


class Learning:
    """The learning of a run: its beliefs and its estimate after a number of outcomes.

    Memory: some hundred bytes for each fact.
    """

    def __init__(self, facts: AskableFacts, max_degree: int, predictors: Sequence[Floats] = ()) -> None:
        """Start without answers.

        Args:
            predictors: see :class:`HierarchicalBeliefs`; runs of other models predict well from the first answer on.
        """
        self.beliefs = HierarchicalBeliefs(facts, max_degree, predictors)
        self.rates = CorrectedRates(len(facts), 0 if predictors else CORRECTED_FROM)
        self.outcomes = self.answers = 0
        self._growth = _GROWTH if len(facts) <= _MANY else _GROWTH_OF_MANY
        self._predict_at = 0.0

    def add(self, asked: AskedRound) -> None:
        """Add a round. Cost: its facts and the answered facts around them; a pass over all facts at times."""
        drawn = ~np.isnan(asked.chances) & (asked.positions >= 0)
        if drawn.any():
            if self.answers >= self._predict_at:
                model, parts = self.beliefs.model, parts_of(len(self.beliefs.facts))
                self.rates.predict(np.concatenate([1 - model.posterior(part).theta for part in parts]))
                self._predict_at = self._growth * self.answers
            askable = ~_are(asked.verdicts, Verdict.UNASKABLE)
            draws = RoundDraws(
                asked.positions[drawn],
                asked.chances[drawn],
                asked.smallest,
                right=_are(asked.verdicts, Verdict.RIGHT)[drawn],
                answered=(askable & ~_are(asked.verdicts, Verdict.UNANSWERED))[drawn],
                askable=askable[drawn],
            )
            self.rates.add(draws)
        self.beliefs.learn(asked.positions, asked.verdicts)
        self.outcomes += len(asked.verdicts)
        self.answers += int(np.count_nonzero(asked.positions[_count(asked.verdicts)] >= 0))

    def difficulty(self) -> Floats:
        """Return the standardised difficulty of all facts, shape (facts,)."""
        messages = self.beliefs.model.messages
        means = np.concatenate([messages.marginals(part)[0] for part in parts_of(len(self.beliefs.facts))])
        spread = means.std()
        return (means - means.mean()) / spread if spread > 0 else np.zeros(len(means))

    def state(self) -> dict[str, Any]:
        """Return the state as arrays."""
        sums = np.array([self.outcomes, self.answers, self._predict_at])
        return {"learning": sums, **self.beliefs.state(), **self.rates.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set a state that :meth:`state` returned for the same facts."""
        self.beliefs.restore(state)
        self.rates.restore(state)
        outcomes, answers, self._predict_at = state["learning"].tolist()
        self.outcomes, self.answers = int(outcomes), int(answers)


class KeptLearning(Learning):
    """The learning of a run with the file that keeps it."""

    def __init__(self, facts: AskableFacts, max_degree: int, folder: Path, graph: str) -> None:
        """Start without answers."""
        super().__init__(facts, max_degree)
        self._folder = folder
        places = hashlib.sha256(facts.places.tobytes()).hexdigest()
        self._about = msgspec.json.encode([_FORM, __version__, graph, places, max_degree]).decode()
        self._kept = 0

    def read(self, counted: int) -> None:
        """Set the kept state, if there is one of these facts and of at most ``counted`` of these answers."""
        state: dict[str, Any] = {}
        # A missing or damaged file is written again.
        with suppress(OSError, ValueError, EOFError, BadZipFile), np.load(self._folder / LEARNING) as kept:
            state = dict(kept)
        if not state or state["about"][0] != self._about:
            return
        outcomes = int(state["learning"][0])
        if outcomes <= counted and state["about"][1] == digest_of_answers(self._folder / FILE, outcomes):
            self.restore(state)
            self._kept = outcomes

    def keep(self) -> None:
        """Write the state if it has changed. Cost: a pass over the answers, and a file of 16 bytes for each fact."""
        if self._kept == self.outcomes:
            return
        about = np.array([self._about, digest_of_answers(self._folder / FILE, self.outcomes)])
        with replacing(self._folder / LEARNING) as unfinished, unfinished.open("wb") as file:
            np.savez(file, about=about, **self.state())
        self._kept = self.outcomes


def open_learning(graph: Graph, run: Row, facts: AskableFacts, frame: AskableFacts | None = None) -> KeptLearning:
    """Return what a run has learned from the answers that its graph has counted, about some facts.

    Args:
        frame: facts of the run's frame, whose answers alone count; None if they are ``facts``.

    Cost: some passes over all facts, and the rounds that the kept state lacks.
    """
    learning = KeptLearning(facts, run["max_degree"], run_folder(run), graph_state(graph))
    learning.read(counted_answers(run))
    replay(learning, run, frame)
    return learning


def replay(learning: Learning, run: Row, frame: AskableFacts | None = None) -> None:
    """Add the counted rounds of a run that the learning lacks; a killed program can have left others in the file."""
    answers, counted, start = run_folder(run) / FILE, counted_answers(run), learning.outcomes
    if start == counted:
        return
    facts = learning.beliefs.facts
    draws_so_far = chain.from_iterable(read_rounds(answers, counted, start))
    drawn = list(dict.fromkeys(map(attrgetter("fact"), draws_so_far)))
    places = facts.positions(drawn)
    if frame is not None:
        places[frame.positions(drawn) < 0] = -1
    position = dict(zip(drawn, places.tolist(), strict=True))
    for draws in read_rounds(answers, counted, start):
        # None becomes NaN.
        chances = np.array(list(map(attrgetter("inclusion"), draws)), np.float64)
        smallest = next((draw.smallest for draw in draws if draw.smallest is not None), np.nan)
        positions = np.array([position[draw.fact] for draw in draws], np.int64)
        learning.add(AskedRound(positions, list(map(attrgetter("verdict"), draws)), chances, smallest))


def _are(verdicts: Sequence[Verdict], verdict: Verdict) -> NDArray[np.bool_]:
    """Return True for the verdicts that are ``verdict``, shape (verdicts,)."""
    return np.array([given is verdict for given in verdicts], np.bool_)


def _count(verdicts: Sequence[Verdict]) -> NDArray[np.bool_]:
    """Return True for the verdicts that are answers, shape (verdicts,)."""
    return np.array([verdict.counts for verdict in verdicts], np.bool_)


def parts_of(count: int) -> Iterator[Positions]:
    """Yield the positions of so many facts, in parts that are predicted at a time; an empty part without facts."""
    for start in range(0, max(count, 1), _AT_ONCE):
        yield np.arange(start, min(start + _AT_ONCE, count))
