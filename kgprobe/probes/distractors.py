"""The distractor measure: does a model find the right object more plausible than wrong ones of its kind?

Section 3 of the distractor paper; docs/methods.md, 1. The plausibility of an entity after a cloze is the sum, over
its label and aliases, of the probability of that name followed by the end of the text. Min@n asks whether the object
beats all of n distractors, Avg@n how many of them. A tie counts against the model.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.models.scorer import Scorer
from kgprobe.models.tokens import TextError
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.distractors import Distractor, RandomDistractors
from kgprobe.sampling.facts import AskedFact, FactKey, describe_facts
from kgprobe.verbalize.sentences import cloze_prompt, object_continuations

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Sets the random choice of sentences apart from all others that follow from the same seed.
SENTENCES = 1


def min_at_n(plausibility: Floats, rivals: Floats) -> Bools:
    """Whether the object beats all of its first n distractors, for every n at once.

    Args:
        plausibility: log Pl(o | c), shape (facts,).
        rivals: log Pl(o* | c), in the order of retrieval, shape (facts, n); NaN where a fact has fewer.

    Returns:
        shape (facts, n), non-increasing along n. A tie is a loss.
    """
    beaten: Bools = (plausibility[:, None] > rivals) | np.isnan(rivals)
    survives: Bools = np.logical_and.accumulate(beaten, axis=1)
    return survives


def avg_at_n(plausibility: Floats, rivals: Floats) -> Floats:
    """The share of its first n distractors that the object beats, for every n at once.

    Args:
        plausibility: log Pl(o | c), shape (facts,).
        rivals: log Pl(o* | c), in the order of retrieval, shape (facts, n); NaN where a fact has fewer.

    Returns:
        shape (facts, n), in [0, 1]; NaN where there is no distractor.
    """
    present = np.cumsum(~np.isnan(rivals), axis=1)
    beaten = np.cumsum(plausibility[:, None] > rivals, axis=1)
    shares: Floats = np.divide(beaten, present, out=np.full(rivals.shape, np.nan), where=present > 0)
    return shares


def chance_level(rivals: int, sentences: int) -> float:
    """How probably a guess at random beats all rivals in more than half of the sentences, each guessed by itself."""
    once = 1 / (rivals + 1)
    return sum(
        math.comb(sentences, wins) * once**wins * (1 - once) ** (sentences - wins)
        for wins in range(sentences // 2 + 1, sentences + 1)
    )


@dataclass(frozen=True, slots=True)
class _Question:
    """A fact with its distractors and the sentences it is asked in."""

    fact: AskedFact
    rivals: Sequence[Distractor]
    templates: Sequence[str]


class DistractorProbe:
    """Asks facts by cloze sentences with random distractors.

    One ask is one cloze sentence of the relation, drawn at random, with fresh distractors; it is right when the object
    beats all of them. With ``all_sentences`` it is every cloze sentence, and right when that is so for more than half.
    """

    name = "distractors"

    def __init__(
        self,
        graph: Graph,
        scorer: Scorer,
        *,
        as_of: int,
        distractors: int = 10,
        all_sentences: bool = False,
        relations: Sequence[str] = (),
    ) -> None:
        """Read the relations' cloze sentences.

        Args:
            as_of: what is true at this date (``yyyymmdd``) is no distractor.
            distractors: how many, at least 1.
            relations: ids; none means every active relation that has cloze sentences.

        Raises:
            UnknownNameError: a relation that was named is not active or has no cloze sentence.
            KgprobeError: no relation has a cloze sentence, or the model has no EOS token.
        """
        # What every question needs: without it none could be asked, and that is no fault of the facts.
        scorer.end_token()
        rows = {row["id"]: row for row in graph.read("sample/relations") if row["active"] and row["clozes"]}
        unusable = [relation for relation in relations if relation not in rows]
        if unusable:
            raise UnknownNameError(
                f"These relations are not in the graph, not active, or have no cloze: {', '.join(unusable)}."
            )
        if not rows:
            raise KgprobeError(
                "No relation in the graph is active and has a cloze sentence. Load relations with `clozes`, or try "
                "`kgprobe load sample`."
            )
        self.relations: Sequence[str] = sorted(relations or rows)
        self._clozes = {relation: list(rows[relation]["clozes"]) for relation in self.relations}
        self._graph = graph
        self._scorer = scorer
        self._distractors = RandomDistractors(graph, as_of)
        self._count = distractors
        self._all = all_sentences

    def describe(self) -> dict[str, Any]:
        """The model, the distractors and the sentences; see :class:`~kgprobe.probes.outcome.Probe`."""
        return {
            "model": self._scorer.name,
            "scorer": self._scorer.describe(),
            "strategy": "random",
            "distractors": self._count,
            "sentences": "all" if self._all else "one",
            "clozes": self._clozes,
            # The relations differ in how many sentences they have; each outcome says its own.
            "chance": None if self._all else chance_level(self._count, 1),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """One outcome a fact; see :class:`~kgprobe.probes.outcome.Probe`.

        A fact whose names the model cannot take is unaskable; what is wrong with the model itself is raised.

        Cost: one scoring of the batch's sentences, with (distractors + 1) x labels continuations each.
        """
        described = describe_facts(self._graph, facts)
        drawn = self._distractors.retrieve(facts, self._count, seed)
        questions = []
        for fact, rivals in zip(described, drawn, strict=True):
            clozes = self._clozes[fact.relation]
            chosen = clozes if self._all else [clozes[_draw(seed, fact.key, len(clozes))]]
            named = [rival for rival in rivals if _has_name(rival.label, rival.aliases)]
            questions.append(_Question(fact, named, chosen))
        reasons = [_unaskable(question) for question in questions]
        asked = [question for question, reason in zip(questions, reasons, strict=True) if reason is None]
        outcomes = iter(self._outcomes(asked))
        return [
            next(outcomes) if reason is None else Outcome(question.fact.key, Verdict.UNASKABLE, reason=reason)
            for question, reason in zip(questions, reasons, strict=True)
        ]

    def _outcomes(self, questions: Sequence[_Question]) -> list[Outcome]:
        try:
            return self._score(questions)
        except TextError as error:
            # One name that the model cannot take must not cost the others their answers.
            if len(questions) > 1:
                return [outcome for question in questions for outcome in self._outcomes([question])]
            return [Outcome(questions[0].fact.key, Verdict.UNASKABLE, reason=str(error))]

    def _score(self, questions: Sequence[_Question]) -> list[Outcome]:
        prompts: list[str] = []
        continuations: list[list[str]] = []
        owners: list[list[int]] = []
        for question in questions:
            names = [(question.fact.object_label, question.fact.object_aliases)]
            names += [(rival.label, rival.aliases) for rival in question.rivals]
            for template in question.templates:
                texts = [object_continuations(template, [label, *aliases]) for label, aliases in names]
                prompts.append(cloze_prompt(template, question.fact.subject_label))
                continuations.append([text for entity in texts for text in entity])
                owners.append([index for index, entity in enumerate(texts) for _ in entity])
        scores = iter(zip(prompts, owners, self._scorer.score(prompts, continuations, eos=True), strict=True))
        outcomes = []
        for question in questions:
            sentences = [next(scores) for _ in question.templates]
            plausibilities = np.array(
                [_sum_by_owner(values, owner, len(question.rivals) + 1) for _, owner, values in sentences]
            )
            outcomes.append(_outcome(question, [prompt for prompt, _, _ in sentences], plausibilities))
        return outcomes


def _has_name(label: str, aliases: Sequence[str]) -> bool:
    return any(name.strip() for name in (label, *aliases))


def _unaskable(question: _Question) -> str | None:
    """Why a question cannot be asked of any model; None if it can."""
    if not question.fact.subject_label.strip():
        return "its subject's label is white space"
    if not _has_name(question.fact.object_label, question.fact.object_aliases):
        return "its object has no name but white space"
    if not question.rivals:
        return "there is no distractor in the graph"
    return None


def _draw(seed: Sequence[int], key: FactKey, count: int) -> int:
    # From a stream of the fact's own, so that neither what stands beside it nor how it was chosen has a say.
    generator = np.random.default_rng([*seed, SENTENCES, zlib.crc32(key.fact.encode())])
    return int(generator.integers(count))


def _sum_by_owner(log_probabilities: Floats, owners: Sequence[int], count: int) -> Floats:
    """Log Pl of each entity: the sum of its names' probabilities, shape (count,)."""
    names = np.asarray(owners)
    return np.array([logsumexp(log_probabilities[names == owner]) for owner in range(count)])


def _outcome(question: _Question, prompts: Sequence[str], plausibilities: Floats) -> Outcome:
    """Judge one fact; ``plausibilities`` has shape (sentences, 1 + rivals), the object first."""
    truth, rivals = plausibilities[:, 0], plausibilities[:, 1:]
    wins = min_at_n(truth, rivals)[:, -1]
    right = bool(wins.mean() > 0.5)
    # The sentence to show is the first that speaks for the verdict; where it went wrong, with the strongest rival.
    shown = int(np.argmax(wins == right))
    strongest = int(np.argmax(rivals[shown]))
    return Outcome(
        fact=question.fact.key,
        verdict=Verdict.RIGHT if right else Verdict.WRONG,
        prompt=prompts[shown],
        evidence={
            "min_at_n": float(wins.mean()),
            "avg_at_n": float(avg_at_n(truth, rivals)[:, -1].mean()),
            "chance": chance_level(len(question.rivals), len(prompts)),
            "winner": None if right else question.rivals[strongest].label,
            "object": question.fact.object_label,
            "rivals": [{"id": rival.id, "label": rival.label} for rival in question.rivals],
            "sentences": [
                {"prompt": prompt, "log_plausibility": values.tolist()}
                for prompt, values in zip(prompts, plausibilities, strict=True)
            ],
        },
    )
