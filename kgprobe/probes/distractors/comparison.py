"""Facts answered by comparison: is the right object more plausible after each sentence than its distractors?

Section 3 of the distractor paper; docs/methods/distractors.md. A strategy gives distractors
(:mod:`kgprobe.search.strategies`), each candidate's plausibility is summed over its names
(:mod:`kgprobe.search.plausibility`), and Min@n (:mod:`.measure`) says whether the right object comes out first. What
stands in the way of a fact's answer is its outcome's reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.probes.clozes import ClozeItem, ClozeItems
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.distractors.evidence import (
    DistractorEvidence,
    LeftOut,
    Named,
    Rival,
    Sentence,
    plausibility_table,
)
from kgprobe.probes.distractors.measure import chance_at_n, min_at_n
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.sampling.distractors import Distractor
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.search.plausibility import Candidates, log_plausibilities
from kgprobe.search.strategies import Rivals, Strategy, StrategyOptions, make_strategy
from kgprobe.stats.proportions import more_than_half
from kgprobe.verbalize.sentences import Cloze

Floats = NDArray[np.float64]

NAMELESS = "it has no name but white space"


class DistractorProbe:
    """Asks facts by cloze sentences with distractors.

    One ask is some cloze sentences of the relation, each with distractors of the strategy; it is right when the object
    beats all of them in more than half of the sentences. With one sentence and random distractors, both are drawn anew
    at each ask.
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

        Args:
            as_of: what is true at this date (``yyyymmdd``) is no distractor; facts that ended before it are asked in
                the past tense.
            relations: ids; none means every active relation that has cloze sentences.

        Raises:
            UnknownNameError: a relation that was named is not active or has no cloze sentence, or there is no such
                strategy.
            KgprobeError: no relation has a cloze sentence.
        """
        self._items = ClozeItems(
            graph, as_of, sentences=options.sentences, relations=relations, templates=options.templates
        )
        self._comparison = comparison_of(graph, scorer, options, as_of)
        self.relations = self._items.relations

    def describe(self) -> dict[str, Any]:
        """The model, the distractors and the sentences; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {**self._comparison.describe(), **self._items.describe()}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """One outcome a fact; see :class:`~kgprobe.probes.outcome.Probe`. Cost: see :meth:`Comparison.answer`."""
        return self._comparison.answer(self._items.of(facts, seed), seed)


class Comparison:
    """Answers cloze items with one model and one strategy."""

    def __init__(self, scorer: TextScorer, strategy: Strategy, distractors: int) -> None:
        """Compare with so many distractors of a strategy, at least 1."""
        self._scorer = scorer
        self._endless = _without_end(scorer)
        self._strategy = strategy
        self._count = distractors

    def describe(self) -> dict[str, Any]:
        """Model, strategy and number of distractors; JSON-compatible."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            "strategy": self._strategy.describe(),
            "distractors": self._count,
        }

    def answer(self, items: Sequence[ClozeItem], seed: Sequence[int]) -> list[Outcome]:
        """One outcome an item, in order.

        A fact whose names the model cannot take is unaskable, and so is every fact of a model without an EOS token;
        broken weights are raised.

        Cost: what the strategy costs, and one scoring of the items' sentences with (distractors + 1) x names
        continuations each; with the object's names alone where the strategy knows its distractors' plausibilities.
        """
        reasons = [_why_not(item) or self._endless for item in items]
        possible = [item for item, reason in zip(items, reasons, strict=True) if reason is None]
        outcomes = iter(self._outcomes(possible, seed) if possible else ())
        return [
            next(outcomes) if reason is None else unaskable(item.fact.key, item.fact.relation, reason)
            for item, reason in zip(items, reasons, strict=True)
        ]

    def _outcomes(self, items: Sequence[ClozeItem], seed: Sequence[int]) -> list[Outcome]:
        retrieved = self._strategy.rivals([(item.fact, item.clozes) for item in items], self._count, seed)
        asked = [
            _refused(lists) or [_put(cloze, rivals) for cloze, rivals in zip(item.clozes, lists, strict=True)]
            for item, lists in zip(items, retrieved, strict=True)
        ]
        candidates = [
            _candidates(item.fact, sentence)
            for item, sentences in zip(items, asked, strict=True)
            if not isinstance(sentences, str)
            for sentence in sentences
        ]
        found = iter(log_plausibilities(self._scorer, candidates, ends_batch=True))
        return [
            unaskable(item.fact.key, item.fact.relation, sentences)
            if isinstance(sentences, str)
            else _outcome(item.fact, [_compared(sentence, next(found)) for sentence in sentences])
            for item, sentences in zip(items, asked, strict=True)
        ]


def comparison_of(graph: Graph, scorer: TextScorer, options: DistractorOptions, as_of: int) -> Comparison:
    """A comparison by the distractor measure's options.

    Raises:
        UnknownNameError: there is no such strategy.
    """
    made = StrategyOptions(as_of, options.weighting, options.max_prefixes)
    return Comparison(scorer, make_strategy(options.strategy, graph, scorer, made), options.distractors)


@dataclass(frozen=True, slots=True)
class _Put:
    """A cloze sentence as it is put to the model.

    Attributes:
        known: log Pl of each rival, where the strategy had to find that out.
    """

    cloze: Cloze
    rivals: Sequence[Distractor]
    known: Sequence[float] | None
    certified: int | None
    note: str | None
    pool: int | None = None
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class _Compared:
    """A cloze sentence with what the model made of it.

    Attributes:
        values: log Pl of the object, then of each rival.
        reason: why the sentence cannot be asked; None if it can.
    """

    put: _Put
    values: Floats
    reason: str | None = None


def _without_end(scorer: TextScorer) -> str | None:
    """Why no fact can be asked of a model; None if it has an end token."""
    try:
        scorer.end_token()
    except KgprobeError as error:
        return str(error)
    return None


def _why_not(item: ClozeItem) -> str | None:
    """Why a fact cannot be asked of any model; None if it can."""
    fact = item.fact
    if not item.clozes:
        return item.reason or "there is no sentence to ask it in"
    if not fact.subject_label.strip():
        return "its subject's label is white space"
    if not any(name.strip() for name in (fact.object_label, *fact.object_aliases)):
        return "all names of its object are white space"
    return None


def _refused(lists: Sequence[Rivals]) -> str | None:
    """Why a fact cannot be asked with these distractors, one list a sentence; None if it can."""
    without = [rivals.reason for rivals in lists if not any(map(_has_name, rivals.distractors))]
    return (without[0] or "there is no distractor in the graph") if without else None


def _has_name(rival: Distractor) -> bool:
    return any(name.strip() for name in (rival.label, *rival.aliases))


def _put(cloze: Cloze, rivals: Rivals) -> _Put:
    """A sentence without the rivals that have no name to fill it with."""
    named = [rival for rival in rivals.distractors if _has_name(rival)]
    if len(named) == len(rivals.distractors):
        return _Put(cloze, named, rivals.log_plausibilities, rivals.certified, rivals.reason, rivals.pool)
    left_out = tuple(LeftOut(rival.id, NAMELESS) for rival in rivals.distractors if not _has_name(rival))
    # What is proved of the first is no more so of those that move up.
    return _Put(cloze, named, None, rivals.certified and 0, rivals.reason, rivals.pool, left_out)


def _candidates(fact: AskedFact, put: _Put) -> Candidates:
    """Whose plausibility is to be found: the object's, then that of each rival where it is not known."""
    names = [(fact.object_label, *fact.object_aliases)]
    if put.known is None:
        names += [(rival.label, *rival.aliases) for rival in put.rivals]
    return Candidates(put.cloze, names)


def _compared(put: _Put, found: ScoredContinuations) -> _Compared:
    """A sentence without the rivals that the model cannot take."""
    if 0 in found.reasons:
        return _Compared(put, found.values, found.reasons[0])
    values = found.values if put.known is None else np.append(found.values, put.known)
    if not found.reasons:
        return _Compared(put, values)
    left_out = tuple(LeftOut(put.rivals[place - 1].id, reason) for place, reason in found.reasons.items())
    kept = [place for place in range(1, len(values)) if place not in found.reasons]
    rivals = [put.rivals[place - 1] for place in kept]
    part = _Put(put.cloze, rivals, None, put.certified and 0, put.note, put.pool, (*put.left_out, *left_out))
    if not kept:
        first = next(iter(found.reasons.values()))
        return _Compared(part, values, f"the model can take none of its distractors: {first}")
    return _Compared(part, values[[0, *kept]])


def _outcome(fact: AskedFact, compared: Sequence[_Compared]) -> Outcome:
    """Whether the object came first in more than half of the sentences; or why it cannot be said."""
    reason = next((one.reason for one in compared if one.reason is not None), None)
    if reason is not None:
        return unaskable(fact.key, fact.relation, reason)
    longest = max(len(one.values) for one in compared) - 1
    wins = min_at_n(*plausibility_table([one.values for one in compared], longest))[:, -1]
    right = bool(wins.mean() > 0.5)
    # The sentence to show is the first that speaks for the verdict.
    shown = int(np.argmax(wins == right))
    rivals = {rival.id: rival for one in compared for rival in one.put.rivals}
    places = {identifier: place for place, identifier in enumerate(rivals)}
    evidence = DistractorEvidence(
        subject=fact.subject_label,
        object=Named(fact.object, fact.object_label),
        rivals=tuple(Rival(one.id, one.label, one.reason, one.former, one.unlike) for one in rivals.values()),
        sentences=tuple(_sentence(one, places) for one in compared),
        shown=shown,
        chance=more_than_half([_chance(one) for one in compared]),
    )
    verdict = Verdict.RIGHT if right else Verdict.WRONG
    return Outcome(fact.key, verdict, fact.relation, compared[shown].put.cloze.prompt, evidence=evidence)


def _sentence(one: _Compared, places: dict[str, int]) -> Sentence:
    return Sentence(
        prompt=one.put.cloze.prompt,
        rivals=tuple(places[rival.id] for rival in one.put.rivals),
        log_plausibilities=one.values,
        certified=one.put.certified,
        note=one.put.note,
        left_out=one.put.left_out,
        pool=one.put.pool,
    )


def _chance(one: _Compared) -> float:
    """How probably a guess beats all distractors of a sentence."""
    rivals = len(one.put.rivals)
    return float(chance_at_n(rivals, one.put.pool, rivals)[-1])
