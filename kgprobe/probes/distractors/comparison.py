"""Probe that compares the plausibility of the right object with those of its distractors.

Section 3 of the distractor paper; docs/methods/distractors.md. A strategy retrieves distractors
(:mod:`kgprobe.search.strategies`), each candidate's plausibility is summed over its names
(:mod:`kgprobe.search.plausibility`), and Min@n (:mod:`.measure`) decides if the right object ranks first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
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
    chance_at_n,
    min_at_n,
    plausibility_table,
)
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.sampling.distractors import Distractor
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.search.plausibility import Candidates, log_plausibilities
from kgprobe.search.strategies import Rivals, Strategy, StrategyOptions, make_strategy
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

        Args:
            as_of: reference date (``yyyymmdd``). Objects that are true at it are not used as distractors; facts that
                ended before it are asked in the past tense.
            relations: ids; by default every active relation with cloze sentences.

        Raises:
            UnknownNameError: the strategy is unknown, or a listed relation is not active or has no cloze sentence.
            KgprobeError: no relation has a cloze sentence.
        """
        self._items = ClozeItems(
            graph, as_of, sentences=options.sentences, relations=relations, templates=options.templates
        )
        self._comparison = comparison_of(graph, scorer, options, as_of)
        self.relations = self._items.relations

    def describe(self) -> dict[str, Any]:
        """Return model, distractors and sentences; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {**self._comparison.describe(), **self._items.describe()}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: see :meth:`DistractorComparison.answer`.
        """
        return self._comparison.answer(self._items.of(facts, seed), seed)


class DistractorComparison:
    """Comparison of cloze items with one model and one strategy."""

    def __init__(self, scorer: TextScorer, strategy: Strategy, distractors: int) -> None:
        """Compare with a number of distractors of a strategy, at least 1."""
        self._scorer = scorer
        self._endless = _without_end(scorer)
        self._strategy = strategy
        self._count = distractors

    def describe(self) -> dict[str, Any]:
        """Return model, strategy and number of distractors; JSON-compatible."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            "strategy": self._strategy.describe(),
            "distractors": self._count,
        }

    def answer(self, items: Sequence[ClozeItem], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each item, in order.

        Facts with names that the model cannot score are unaskable. Without an EOS token, all facts are. Broken weights
        raise an error.

        Cost: the strategy's cost, and one scoring of the items' sentences with (distractors + 1) x names continuations
        each; only with the object's names if the strategy knows its distractors' plausibilities.
        """
        reasons = [_reason_unaskable(item) or self._endless for item in items]
        possible = [item for item, reason in zip(items, reasons, strict=True) if reason is None]
        return in_order([item.fact for item in items], reasons, self._outcomes(possible, seed) if possible else ())

    def _outcomes(self, items: Sequence[ClozeItem], seed: Sequence[int]) -> list[Outcome]:
        retrieved = self._strategy.rivals([(item.fact, item.clozes) for item in items], self._count, seed)
        reasons = [_reason_without_rivals(lists) for lists in retrieved]
        tasks: list[list[_Task]] = []
        candidates: list[Candidates] = []
        for item, lists, reason in zip(items, retrieved, reasons, strict=True):
            pairs = zip(item.clozes, lists, strict=True)
            tasks.append([_task(cloze, rivals) for cloze, rivals in pairs] if reason is None else [])
            candidates += [_candidates(item.fact, task) for task in tasks[-1]]
        scored = iter(log_plausibilities(self._scorer, candidates, ends_batch=True))
        outcomes = []
        for item, item_tasks in zip(items, tasks, strict=True):
            if item_tasks:
                outcomes.append(_outcome(item.fact, list(map(_compared, item_tasks, scored))))
        return in_order([item.fact for item in items], reasons, outcomes)


def comparison_of(graph: Graph, scorer: TextScorer, options: DistractorOptions, as_of: int) -> DistractorComparison:
    """Return the comparison with these options.

    Raises:
        UnknownNameError: the strategy is unknown.
    """
    strategy_options = StrategyOptions(as_of, options.weighting, options.max_prefixes)
    strategy = make_strategy(options.strategy, graph, scorer, strategy_options)
    return DistractorComparison(scorer, strategy, options.distractors)


@dataclass(frozen=True, slots=True)
class _Task:
    """A cloze sentence to score, with its distractors.

    Attributes:
        known: log Pl of each rival, if the strategy has computed it.
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
    """A cloze sentence with the model's plausibilities.

    Attributes:
        values: log Pl of the object, then of each rival.
        reason: why the sentence cannot be asked; None if it can.
    """

    task: _Task
    values: Floats
    reason: str | None = None


def _without_end(scorer: TextScorer) -> str | None:
    """Return the error of a model without an end token; None if it has one."""
    try:
        scorer.end_token()
    except KgprobeError as error:
        return str(error)
    return None


def _reason_unaskable(item: ClozeItem) -> str | None:
    """Return why a fact cannot be asked of any model; None if it can."""
    fact = item.fact
    if not item.clozes:
        return item.reason or "its relation has no sentence for it"
    if not fact.subject_label.strip():
        return "its subject's label is white space"
    if not any(name.strip() for name in (fact.object_label, *fact.object_aliases)):
        return "all names of its object are white space"
    return None


def _reason_without_rivals(lists: Sequence[Rivals]) -> str | None:
    """Return why a fact cannot be asked with these distractors, one list per sentence; None if it can."""
    for rivals in lists:
        if not any(map(_has_name, rivals.distractors)):
            return rivals.reason or "there is no distractor in the graph"
    return None


def _has_name(rival: Distractor) -> bool:
    return any(name.strip() for name in (rival.label, *rival.aliases))


def _task(cloze: Cloze, rivals: Rivals) -> _Task:
    """Return a sentence with its rivals, leaving out rivals without a name."""
    named_rivals = [rival for rival in rivals.distractors if _has_name(rival)]
    if len(named_rivals) == len(rivals.distractors):
        return _Task(cloze, named_rivals, rivals.log_plausibilities, rivals.certified, rivals.reason, rivals.pool)
    left_out = tuple(LeftOut(rival.id, NAMELESS) for rival in rivals.distractors if not _has_name(rival))
    # The proof for the first rivals does not cover the rivals that move up.
    return _Task(cloze, named_rivals, None, rivals.certified and 0, rivals.reason, rivals.pool, left_out)


def _candidates(fact: AskedFact, task: _Task) -> Candidates:
    """Return the entities to score: the object, and the rivals unless their plausibilities are known."""
    names = [(fact.object_label, *fact.object_aliases)]
    if task.known is None:
        names += [(rival.label, *rival.aliases) for rival in task.rivals]
    return Candidates(task.cloze, names)


def _compared(task: _Task, scored: ScoredContinuations) -> _Compared:
    """Return a sentence with its plausibilities, leaving out rivals that the model cannot score."""
    if 0 in scored.reasons:
        return _Compared(task, scored.values, scored.reasons[0])
    values = scored.values if task.known is None else np.append(scored.values, task.known)
    if not scored.reasons:
        return _Compared(task, values)
    left_out = tuple(LeftOut(task.rivals[place - 1].id, reason) for place, reason in scored.reasons.items())
    kept = [place for place in range(1, len(values)) if place not in scored.reasons]
    rivals = [task.rivals[place - 1] for place in kept]
    part = _Task(task.cloze, rivals, None, task.certified and 0, task.note, task.pool, (*task.left_out, *left_out))
    if not kept:
        first = next(iter(scored.reasons.values()))
        return _Compared(part, values, f"the model cannot score any of its distractors: {first}")
    return _Compared(part, values[[0, *kept]])


def _outcome(fact: AskedFact, compared: Sequence[_Compared]) -> Outcome:
    """Return the outcome of a fact: right if the object wins in more than half of the sentences."""
    for sentence in compared:
        if sentence.reason is not None:
            return unaskable(fact.key, fact.relation, sentence.reason)
    values = [sentence.values for sentence in compared]
    wins = min_at_n(*plausibility_table(values, max(map(len, values)) - 1))[:, -1]
    right = bool(wins.mean() > 0.5)
    # Show the first sentence that agrees with the verdict.
    shown = int(np.argmax(wins == right))
    rivals: dict[str, Distractor] = {}
    for sentence in compared:
        rivals |= {rival.id: rival for rival in sentence.task.rivals}
    places = {identifier: place for place, identifier in enumerate(rivals)}
    evidence = DistractorEvidence(
        subject=fact.subject_label,
        object=NamedEntity(fact.object, fact.object_label),
        rivals=tuple(
            Rival(rival.id, rival.label, rival.reason, rival.former, rival.unlike) for rival in rivals.values()
        ),
        sentences=tuple(_sentence(sentence, places) for sentence in compared),
        shown=shown,
        chance=more_than_half(list(map(_chance, compared))),
    )
    verdict = Verdict.RIGHT if right else Verdict.WRONG
    return Outcome(fact.key, verdict, fact.relation, compared[shown].task.cloze.prompt, evidence=evidence)


def _sentence(compared: _Compared, places: dict[str, int]) -> Sentence:
    task = compared.task
    return Sentence(
        prompt=task.cloze.prompt,
        rivals=tuple(places[rival.id] for rival in task.rivals),
        log_plausibilities=compared.values,
        certified=task.certified,
        note=task.note,
        left_out=task.left_out,
        pool=task.pool,
    )


def _chance(compared: _Compared) -> float:
    """Return the probability that a guess beats all distractors of a sentence."""
    rivals = len(compared.task.rivals)
    return float(chance_at_n(rivals, compared.task.pool, rivals)[-1])
