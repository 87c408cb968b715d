"""A judge's predictions for all facts of a graph, as a predictor of their difficulty.

docs/methods/labels.md. The learner of :mod:`.prediction` estimates its coefficient from the answers.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError
from kgprobe.graph.state import state_difference
from kgprobe.judge.judged_facts import read_judged_graph, stream_judged_facts
from kgprobe.judge.judged_shards import missing_shards
from kgprobe.probes.statements.metrics import TRUE
from kgprobe.sampling.columns.graph_columns import AskableFacts
from kgprobe.sampling.lists import places_among

Floats = NDArray[np.float64]

# Smallest probability of a judgement, before its log odds.
_SMALLEST = 1e-6


@dataclass(frozen=True, slots=True)
class JudgedFacts:
    """The facts of a judged graph, in the order of the columns; the judge predicts the answers of ``answers_of``."""

    folder: Path
    relations: tuple[str, ...]
    as_of: int
    answers_of: str
    digest: str

    @classmethod
    def open(cls, folder: Path, state: str) -> "JudgedFacts":
        """Open a judged graph; ArgumentError if facts are not yet judged, or the graph's state has changed since."""
        config = read_judged_graph(folder)
        if config.graph != state:
            changes = state_difference(config.graph, state)
            raise ArgumentError("judge", f"{folder} does not fit this graph: {changes}. Judge the graph again.")
        if missing := missing_shards(folder, range(config.shards)):
            raise ArgumentError(
                "judge", f"{folder} lacks {len(missing):,} of {config.shards:,} shards; repeat `kgprobe judge predict`."
            )
        settings, judge = config.settings, config.judge
        return cls(folder, tuple(settings.relations), settings.as_of, judge.answers_of, judge.digest)

    def predictor(self, facts: AskableFacts) -> Floats:
        """Return the standardised log odds that the judge calls a fact's statement not true, shape (facts,).

        0, the mean, for facts that it could not judge. Cost: one pass over the judged facts.
        """
        judged = AskableFacts(facts.columns, self.relations, self.as_of)
        log_odds = np.full(len(facts), np.nan)
        start = 0
        shards = range(read_judged_graph(self.folder).shards)
        for batch in stream_judged_facts(self.folder, shards, ["probabilities"]):
            stop = start + len(batch)
            column = batch.column("probabilities")
            true = np.full(len(batch), np.nan)
            is_judged = np.asarray(column.is_valid())
            true[is_judged] = column.drop_null().flatten().to_numpy().reshape(-1, 3)[:, TRUE]
            true = np.clip(true, _SMALLEST, 1 - _SMALLEST)
            places = places_among(facts.places, judged.places[start:stop])
            log_odds[places[places >= 0]] = np.log((1 - true) / true)[places >= 0]
            start = stop
        known = ~np.isnan(log_odds)
        spread = float(log_odds[known].std()) if known.any() else 0.0
        predictor = np.zeros(len(facts))
        if spread > 0:
            predictor[known] = (log_odds[known] - log_odds[known].mean()) / spread
        return predictor
