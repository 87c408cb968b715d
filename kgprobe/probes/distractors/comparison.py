"""Questions answered by comparison: is the right object more plausible after each sentence than its distractors?

Section 3 of the distractor paper; docs/methods.md, 1. A strategy gives distractors (:mod:`.strategies`), each
candidate's plausibility is summed over its names (:mod:`.plausibility`), and Min@n and Avg@n (:mod:`.measure`) say
whether the right object comes out first. What stands in the way of a fact's answer is its outcome's reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError
from kgprobe.probes.clozes import ClozeQuestion
from kgprobe.probes.distractors.measure import avg_at_n, chance_level, min_at_n
from kgprobe.probes.distractors.strategies import Rivals, StrategyOptions, make_strategy
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.distractors import Distractor
from kgprobe.sampling.facts import AskedFact
from kgprobe.search.plausibility import Candidates, log_plausibilities, untakable
from kgprobe.verbalize.sentences import Cloze

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A cloze sentence with its distractors, and those that the model cannot take, with the reason."""

    cloze: Cloze
    rivals: Rivals
    left_out: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A fact that can be asked."""

    fact: AskedFact
    sentences: Sequence[_Sentence]


class Comparison:
    """Answers questions with one model and one strategy."""

    def __init__(self, graph: Graph, scorer: Scorer, options: StrategyOptions, distractors: int) -> None:
        """Make the strategy.

        Args:
            distractors: how many stand beside each right object, at least 1.

        Raises:
            UnknownNameError: there is no such strategy.
        """
        self._scorer = scorer
        self._endless = _without_end(scorer)
        self._strategy = make_strategy(graph, scorer, options)
        self._count = distractors

    def describe(self) -> dict[str, Any]:
        """Model, strategy and number of distractors; JSON-compatible."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            "strategy": self._strategy.describe(),
            "distractors": self._count,
        }

    def answer(self, questions: Sequence[ClozeQuestion], seed: Sequence[int]) -> list[Outcome]:
        """One outcome a question, in order.

        A fact whose names the model cannot take is unaskable, and so is every fact of a model without an EOS token;
        broken weights are raised.

        Cost: what the strategy costs, and one scoring of the questions' sentences with (distractors + 1) x names
        continuations each; with the object's names alone where the strategy knows its distractors' plausibilities.
        """
        reasons = [_unaskable(question) or self._endless for question in questions]
        possible = [question for question, reason in zip(questions, reasons, strict=True) if reason is None]
        outcomes = iter(self._outcomes(possible, seed) if possible else ())
        return [
            next(outcomes) if reason is None else _unasked(question.fact, reason)
            for question, reason in zip(questions, reasons, strict=True)
        ]

    def _outcomes(self, questions: Sequence[ClozeQuestion], seed: Sequence[int]) -> list[Outcome]:
        asked: list[_Asked] = []
        failed: dict[int, str] = {}
        for index, (question, its) in enumerate(
            zip(questions, self._strategy.rivals(questions, self._count, seed), strict=True)
        ):
            without = [rivals.reason for rivals in its if not any(map(_has_name, rivals.distractors))]
            if without:
                failed[index] = without[0] or "there is no distractor in the graph"
            else:
                sentences = [_sentence(cloze, rivals) for cloze, rivals in zip(question.clozes, its, strict=True)]
                asked.append(_Asked(question.fact, sentences))
        outcomes = iter(self._scored(asked))
        return [
            _unasked(question.fact, failed[index]) if index in failed else next(outcomes)
            for index, question in enumerate(questions)
        ]

    def _scored(self, asked: Sequence[_Asked]) -> list[Outcome]:
        candidates = [_candidates(one.fact, sentence) for one in asked for sentence in one.sentences]
        try:
            values = iter(log_plausibilities(self._scorer, candidates))
        except TextError as error:
            # One name that the model cannot take must not cost the others their answers.
            if len(asked) > 1:
                return [outcome for one in asked for outcome in self._scored([one])]
            return [self._without_untakable(asked[0], str(error))]
        return [_outcome(one, [_with_known(sentence, next(values)) for sentence in one.sentences]) for one in asked]

    def _without_untakable(self, asked: _Asked, error: str) -> Outcome:
        """The outcome without the distractors that the model cannot take; unaskable if it cannot take the object."""
        remaining = []
        for sentence in asked.sentences:
            reasons = untakable(self._scorer, _candidates(asked.fact, sentence))
            if 0 in reasons:
                return _unasked(asked.fact, reasons[0])
            kept = [rival for n, rival in enumerate(sentence.rivals.distractors, start=1) if n not in reasons]
            if not kept:
                return _unasked(asked.fact, f"the model can take none of its distractors: {error}")
            left_out = tuple(
                {"id": sentence.rivals.distractors[n - 1].id, "reason": reason} for n, reason in reasons.items()
            )
            rivals = _part(sentence.rivals, kept) if reasons else sentence.rivals
            remaining.append(_Sentence(sentence.cloze, rivals, (*sentence.left_out, *left_out)))
        return self._scored([_Asked(asked.fact, remaining)])[0]


def _without_end(scorer: Scorer) -> str | None:
    """Why no question can be asked of a model; None if it has an end token."""
    try:
        scorer.end_token()
    except KgprobeError as error:
        return str(error)
    return None


def _unaskable(question: ClozeQuestion) -> str | None:
    """Why a question cannot be asked of any model; None if it can."""
    fact = question.fact
    if not question.clozes:
        return question.reason or "there is no sentence to ask it in"
    if not fact.subject_label.strip():
        return "its subject's label is white space"
    if not any(name.strip() for name in (fact.object_label, *fact.object_aliases)):
        return "its object has no name but white space"
    return None


def _sentence(cloze: Cloze, rivals: Rivals) -> _Sentence:
    """A sentence without the rivals that have no name to fill it with."""
    named = [rival for rival in rivals.distractors if _has_name(rival)]
    if len(named) == len(rivals.distractors):
        return _Sentence(cloze, rivals)
    reason = "it has no name but white space"
    left_out = tuple({"id": rival.id, "reason": reason} for rival in rivals.distractors if not _has_name(rival))
    return _Sentence(cloze, _part(rivals, named), left_out)


def _part(rivals: Rivals, kept: Sequence[Distractor]) -> Rivals:
    """Some of the rivals, to be scored anew; what is proved of the first is no more so of those that move up."""
    return Rivals(kept, rivals.certified and 0, reason=rivals.reason)


def _has_name(rival: Distractor) -> bool:
    return any(name.strip() for name in (rival.label, *rival.aliases))


def _candidates(fact: AskedFact, sentence: _Sentence) -> Candidates:
    """Whose plausibility is to be found: the object's, then that of each rival where it is not known."""
    names = [(fact.object_label, *fact.object_aliases)]
    if sentence.rivals.log_plausibilities is None:
        names += [(rival.label, *rival.aliases) for rival in sentence.rivals.distractors]
    return Candidates(sentence.cloze, names)


def _with_known(sentence: _Sentence, found: Floats) -> Floats:
    """The object's plausibility and that of each rival; ``found`` is what :func:`_candidates` asked for."""
    return found if sentence.rivals.log_plausibilities is None else np.append(found, sentence.rivals.log_plausibilities)


def _unasked(fact: AskedFact, reason: str) -> Outcome:
    return Outcome(fact.key, Verdict.UNASKABLE, reason=reason, evidence={"relation": fact.relation})


def _outcome(asked: _Asked, plausibilities: Sequence[Floats]) -> Outcome:
    """Judge one fact; ``plausibilities`` has one array a sentence, of shape (1 + rivals,), the object first."""
    longest = max(len(values) for values in plausibilities)
    table = np.full((len(plausibilities), longest), np.nan)
    for row, values in zip(table, plausibilities, strict=True):
        row[: len(values)] = values
    truth, rivals = table[:, 0], table[:, 1:]
    wins = min_at_n(truth, rivals)[:, -1]
    right = bool(wins.mean() > 0.5)
    # The sentence to show is the first that speaks for the verdict; where it went wrong, with the strongest rival.
    shown = int(np.argmax(wins == right))
    strongest = int(np.nanargmax(rivals[shown]))
    places: dict[str, int] = {}
    entities: list[dict[str, str]] = []
    for sentence in asked.sentences:
        for rival in sentence.rivals.distractors:
            if rival.id not in places:
                places[rival.id] = len(entities)
                entities.append({"id": rival.id, "label": rival.label, "reason": rival.reason})
    fact = asked.fact
    return Outcome(
        fact=fact.key,
        verdict=Verdict.RIGHT if right else Verdict.WRONG,
        prompt=asked.sentences[shown].cloze.prompt,
        evidence={
            "relation": fact.relation,
            "subject": fact.subject_label,
            "object": {"id": fact.object, "label": fact.object_label},
            "min_at_n": float(wins.mean()),
            "avg_at_n": float(avg_at_n(truth, rivals)[:, -1].mean()),
            "chance": chance_level(min(len(values) for values in plausibilities) - 1, len(plausibilities)),
            "winner": None if right else asked.sentences[shown].rivals.distractors[strongest].label,
            "former": sum(rival.former for rival in asked.sentences[shown].rivals.distractors),
            "rivals": entities,
            "sentences": [
                _sentence_evidence(sentence, values, [places[rival.id] for rival in sentence.rivals.distractors])
                for sentence, values in zip(asked.sentences, plausibilities, strict=True)
            ],
        },
    )


def _sentence_evidence(sentence: _Sentence, values: Floats, places: Sequence[int]) -> Mapping[str, Any]:
    """What one sentence showed: the object's plausibility first, then its rivals', in the order of retrieval."""
    evidence: dict[str, Any] = {
        "prompt": sentence.cloze.prompt,
        "rivals": list(places),
        "log_plausibility": values.tolist(),
    }
    if sentence.rivals.certified is not None:
        evidence["certified"] = sentence.rivals.certified
    if sentence.rivals.reason is not None:
        evidence["reason"] = sentence.rivals.reason
    if sentence.left_out:
        evidence["left_out"] = list(sentence.left_out)
    return evidence
