"""The distractor measure as a probe: facts are put into cloze sentences and compared with distractors.

Section 3 of the distractor paper; docs/methods.md, 1. :mod:`.cloze_questions` makes sentences,
:mod:`.comparison` answers.
"""

from collections.abc import Sequence
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.clozes import ClozeQuestions
from kgprobe.probes.distractors.comparison import Comparison
from kgprobe.probes.distractors.measure import chance_level
from kgprobe.probes.distractors.strategies import StrategyOptions
from kgprobe.probes.outcome import Outcome
from kgprobe.sampling.facts import FactKey


class DistractorProbe:
    """Asks facts by cloze sentences with distractors.

    One ask is some cloze sentences of the relation, each with distractors of the strategy; it is right when the object
    beats all of them in more than half of the sentences. With one sentence and random distractors, both are drawn anew
    at each ask.
    """

    name = "distractors"

    def __init__(
        self,
        graph: Graph,
        scorer: Scorer,
        strategy: StrategyOptions,
        *,
        distractors: int = 10,
        sentences: int | None = 1,
        relations: Sequence[str] = (),
    ) -> None:
        """Read the relations' cloze sentences, and make the strategy.

        Args:
            strategy: which distractors; facts that ended before its ``as_of`` are asked in the past tense.
            distractors: how many, at least 1.
            sentences: how many cloze sentences of the relation, drawn at random; None asks all of them.
            relations: ids; none means every active relation that has cloze sentences.

        Raises:
            UnknownNameError: a relation that was named is not active or has no cloze sentence, or there is no such
                strategy.
            KgprobeError: no relation has a cloze sentence.
        """
        self._questions = ClozeQuestions(graph, strategy.as_of, sentences=sentences, relations=relations)
        self._comparison = Comparison(graph, scorer, strategy, distractors)
        self.relations = self._questions.relations
        # The relations differ in how many sentences they have; each outcome says its own.
        self._chance = chance_level(distractors, 1) if sentences == 1 else None

    def describe(self) -> dict[str, Any]:
        """The model, the distractors and the sentences; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {**self._comparison.describe(), **self._questions.describe(), "chance": self._chance}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """One outcome a fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: see :meth:`~kgprobe.probes.distractors.comparison.Comparison.answer`.
        """
        return self._comparison.answer(self._questions.of(facts, seed), seed)
