"""Probe that compares the plausibility of the right object with those of its distractors.

Section 3 of the distractor paper; docs/methods/distractors.md. A strategy retrieves distractors
(:mod:`kgprobe.probes.search.strategies`), each candidate's plausibility is summed over its names
(:mod:`kgprobe.probes.search.plausibility`), and Min@n (:func:`.evidence.min_at_n`) decides if the right object
ranks first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.probes.asking import in_order
from kgprobe.probes.clozes import ClozeItem, ClozeItems
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.distractors.evidence import (
    DistractorEvidence,
    LeftOut,
    NamedEntity,
    Rival,
    Sentence,
    min_at_n,
    plausibility_table,
)
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.search.plausibility import Candidates, log_plausibilities
from kgprobe.probes.search.rivals import Rivals
from kgprobe.probes.search.strategies import Strategy, StrategyContext, make_strategy
from kgprobe.sampling.distractors import Distractor
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import more_than_half
from kgprobe.verbalize.sentences import Cloze

Floats = NDArray[np.float64]

NAMELESS = "all of its names are white space"


class DistractorProbe:
    """Probe that asks facts in cloze sentences with distractors.

    A fact is asked in one or more cloze sentences of its relation, each with distractors of the strategy. It is right
    if the object beats all distractors in more than half of the sentences. With one sentence and random distractors,
    both are drawn again at each ask.
    """

    def __init__(
        self,
        graph: Graph,
        scorer: TextScorer,
        options: DistractorOptions,
        *,
        as_of: int,
        relations: Sequence[str] = (),
    ) -> None:
        """Read the relations' cloze sentences, and make the strategy.

        Objects that are true at ``as_of`` (``yyyymmdd``) are not used as distractors; facts that ended before it are
        asked in the past tense. Without listed relations, they are all active ones with cloze sentences.
        """
        self._items = ClozeItems(
            graph,
            as_of,
            sentences=options.sentences,
            relations=relations,
            templates=options.templates,
            articles=options.articles,
        )
        self._comparison = DistractorComparison(graph, scorer, options, as_of)
        self.relations = self._items.relations

    def describe(self) -> dict[str, Any]:
        """Return model, distractors and sentences; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {**self._comparison.describe(), **self._items.describe()}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact, at the cost of :meth:`DistractorComparison.answer`."""
        return self._comparison.answer(self._items.of(facts, seed), seed)


class DistractorComparison:
    """Comparison of cloze items with one model and one strategy."""

    def __init__(
        self,
        graph: Graph,
        scorer: TextScorer,
        options: DistractorOptions,
        as_of: int,
        strategy: Strategy | None = None,
    ) -> None:
        """Make the strategy that the options name, unless one is given."""
        self._scorer = scorer
        # The error of a model without an end token.
        self._endless: str | None = None
        try:
            scorer.end_token()
        except KgprobeError as error:
            self._endless = str(error)
        context = StrategyContext(graph, scorer, as_of, options.former)
        self._strategy = strategy or make_strategy(options.strategy, context, options)
        self._former = options.former
        self._count = options.distractors

    def describe(self) -> dict[str, Any]:
        """Return model, strategy and number of distractors; JSON-compatible."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            "strategy": self._strategy.describe(),
            "distractors": self._count,
            "former": self._former,
        }

    def answer(self, items: Sequence[ClozeItem], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each item, in order.

        Facts with names that the model cannot score are unaskable. Without an EOS token, all facts are. Broken weights
        raise an error.

        Cost: the strategy's cost, and one scoring of the items' sentences with (distractors + 1) x names continuations
        each; only with the object's names if the strategy knows its distractors' plausibilities.
        """
        reasons = [_reason_unaskable(item) or self._endless for item in items]
        sentences_of = self._with_rivals(items, reasons, seed)
        candidates = []
        for place, sentences in sentences_of.items():
            candidates += [sentence.candidates(items[place].fact) for sentence in sentences]
        scored = iter(log_plausibilities(self._scorer, candidates, ends_batch=True) if candidates else ())
        outcomes = []
        for place, sentences in sentences_of.items():
            faults = [sentence.compare(next(scored)) for sentence in sentences]
            reasons[place] = next(filter(None, faults), None)
            if reasons[place] is None:
                outcomes.append(_outcome(items[place].fact, sentences))
        return in_order(map(attrgetter("fact"), items), reasons, outcomes)

    def _with_rivals(
        self, items: Sequence[ClozeItem], reasons: list[str | None], seed: Sequence[int]
    ) -> "dict[int, list[_AskedSentence]]":
        """Return the sentences of the items without a reason, by place; items without distractors get a reason."""
        possible = [place for place, reason in enumerate(reasons) if reason is None]
        if not possible:
            return {}
        pairs = [(items[place].fact, items[place].clozes) for place in possible]
        sentences = {}
        for place, lists in zip(possible, self._strategy.rivals(pairs, self._count, seed), strict=True):
            without = [rivals for rivals in lists if not any(map(_has_name, rivals.distractors))]
            if without:
                reasons[place] = without[0].reason or "there is no distractor in the graph"
            else:
                sentences[place] = list(map(_AskedSentence.of, items[place].clozes, lists))
        return sentences


@dataclass(slots=True)
class _AskedSentence:
    """A cloze sentence with the distractors that can be asked.

    Attributes:
        rivals: the distractors with a name that the model can score.
        values: log Pl of the object, then of each rival; empty until they are compared.
    """

    cloze: Cloze
    retrieved: Rivals
    rivals: Sequence[Distractor]
    left_out: tuple[LeftOut, ...] = ()
    values: Floats = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, cloze: Cloze, retrieved: Rivals) -> "_AskedSentence":
        """Return a sentence with its rivals, leaving out rivals without a name."""
        sentence = cls(cloze, retrieved, retrieved.distractors)
        sentence.leave_out({place: NAMELESS for place, rival in enumerate(sentence.rivals) if not _has_name(rival)})
        return sentence

    @property
    def certified(self) -> int | None:
        """Number of leading rivals that are proved to be the most plausible; None without proofs."""
        # The proof for the first rivals does not cover the rivals that move up.
        return self.retrieved.certified and 0 if self.left_out else self.retrieved.certified

    @property
    def known(self) -> Sequence[float] | None:
        """The log Pl of each rival, if the strategy has computed it."""
        return None if self.left_out else self.retrieved.log_plausibilities

    def leave_out(self, reasons: Mapping[int, str]) -> None:
        """Leave out rivals, with a reason for each position."""
        if not reasons:
            return
        self.left_out += tuple(LeftOut(self.rivals[place].id, reason) for place, reason in reasons.items())
        self.rivals = [rival for place, rival in enumerate(self.rivals) if place not in reasons]

    def candidates(self, fact: AskedFact) -> Candidates:
        """Return the entities to score: the object, and the rivals unless their plausibilities are known."""
        names = [(fact.object_label, *fact.object_aliases)]
        if self.known is None:
            names += [(rival.label, *rival.aliases) for rival in self.rivals]
        return Candidates(self.cloze, names)

    def compare(self, scored: ScoredContinuations) -> str | None:
        """Take the plausibilities, leaving out rivals that the model cannot score; return why it cannot be asked."""
        if 0 in scored.reasons:
            return scored.reasons[0]
        self.values = scored.values if self.known is None else np.append(scored.values, self.known)
        if scored.reasons:
            self.values = np.delete(self.values, list(scored.reasons))
            self.leave_out({place - 1: reason for place, reason in scored.reasons.items()})
        if not self.rivals:
            return f"the model cannot score any of its distractors: {next(iter(scored.reasons.values()))}"
        return None

    def stored(self, places: Mapping[str, int]) -> Sentence:
        """Return the sentence as evidence, with its rivals' places."""
        return Sentence(
            prompt=self.cloze.prompt,
            rivals=tuple(places[rival.id] for rival in self.rivals),
            log_plausibilities=self.values,
            certified=self.certified,
            note=self.retrieved.reason,
            left_out=self.left_out,
            pool=self.retrieved.pool,
        )


def _reason_unaskable(item: ClozeItem) -> str | None:
    """Return why a fact cannot be asked of any model; None if it can."""
    fact = item.fact
    if not item.clozes:
        return item.reason or "its relation has no sentence for it"
    if not fact.subject_label.strip():
        return "its subject's label is white space"
    if not any(map(str.strip, (fact.object_label, *fact.object_aliases))):
        return "all names of its object are white space"
    return None


def _has_name(rival: Distractor) -> bool:
    return bool(rival.label.strip()) or any(map(str.strip, rival.aliases))


def _outcome(fact: AskedFact, compared: Sequence[_AskedSentence]) -> Outcome:
    """Return the outcome of a fact: right if the object wins in more than half of the sentences."""
    values = list(map(attrgetter("values"), compared))
    wins = min_at_n(*plausibility_table(values, max(map(len, values)) - 1))[:, -1]
    right = bool(wins.mean() > 0.5)
    # Show the first sentence that agrees with the verdict.
    shown = int(np.argmax(wins == right))
    rivals = {rival.id: rival for sentence in compared for rival in sentence.rivals}
    places = {identifier: place for place, identifier in enumerate(rivals)}
    sentences = tuple(sentence.stored(places) for sentence in compared)
    # A guess beats all distractors of a sentence.
    chances = [float(sentence.chance_at_n(len(sentence.rivals))[-1]) for sentence in sentences]
    evidence = DistractorEvidence(
        subject=fact.subject_label,
        object=NamedEntity(fact.object, fact.object_label),
        rivals=tuple(
            Rival(rival.id, rival.label, rival.reason, rival.former, rival.unlike) for rival in rivals.values()
        ),
        sentences=sentences,
        shown=shown,
        chance=more_than_half(chances),
    )
    verdict = Verdict.RIGHT if right else Verdict.WRONG
    return Outcome(fact.key, verdict, fact.relation, compared[shown].cloze.prompt, evidence=evidence)
