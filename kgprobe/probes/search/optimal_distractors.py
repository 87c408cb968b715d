"""Optimal distractors: the members of a fact's Ω(f) that the model finds most plausible after a cloze sentence.

Sections 3 and 4 of the distractor paper; docs/methods/distractor-strategies.md. The candidates of a sentence are all
entities that share a type with the object (without a type: all objects of the relation). Their names are stored in
label tries, one per type, which are searched together: approximately, by a beam, or exactly, with a certificate
(:mod:`kgprobe.probes.search.most_plausible`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, islice
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from kgprobe.base.progress import share_counter
from kgprobe.graph.client import Graph
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.probes.search.exploration import Exploration, Floats
from kgprobe.probes.search.label_tries import Integers, LabelTrie, LabelTries, NameSet, agrees
from kgprobe.probes.search.most_plausible import TOLERANCE, MostPlausible, beam, best_first, find
from kgprobe.probes.search.plausibility import Candidates, log_plausibilities
from kgprobe.probes.search.rivals import Rivals, Sentences
from kgprobe.sampling.distractors import Distractor, FormerObjects, admissible, former_objects
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.pool_draws import PoolEntities
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.tense import speaks_of_today

# Sentences searched at once; the explored prefixes of each are in memory.
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Retrieved(Rivals):
    """The optimal distractors of one sentence, proved within ``kgprobe.probes.search.most_plausible.TOLERANCE``.

    Attributes:
        bound: upper bound of log Pl of all others; -inf if there are none, None without proof.
    """

    log_plausibilities: Sequence[float] = field(default_factory=list)
    bound: float | None = None
    expanded: int = 0


@dataclass(slots=True)
class _Question:
    """A sentence to be searched: its tokens, the tries of its pool, and the decided candidates (None if not wrong)."""

    fact: AskedFact
    former: FormerObjects
    cloze: Cloze
    prompt: TokenizedPrompt
    tries: list[LabelTrie]
    candidates: dict[int, Distractor | None]


class OptimalDistractors:
    """Retriever of optimal distractors from one graph for one model."""

    def __init__(
        self,
        graph: Graph,
        scorer: TextScorer,
        *,
        exact: bool,
        max_prefixes: int = 2_000,
        beams: int | None = None,
        as_of: int | None = None,
        former: str = "never",
    ) -> None:
        """Create a retriever.

        Args:
            scorer: the model; its EOS token ends each name.
            exact: True for exact search with a proof, False for beam search.
            max_prefixes: maximum prefixes that exact search evaluates per sentence.
            beams: width of the beam; at least, and by default, the number of distractors.
            as_of: reference date (``yyyymmdd``) of former objects; None excludes them.
            former: an entry of :data:`~kgprobe.sampling.distractors.FORMER`.
        """
        self.name = "exact-optimal" if exact else "approximate-optimal"
        self._entities = PoolEntities(graph)
        self._scorer = scorer
        self._exact = exact
        self._max_prefixes = max_prefixes
        self._beams = beams
        self._as_of = as_of
        self._former = former
        self._tries = LabelTries(graph, scorer.tokenizer)
        self._agreeing: dict[tuple[str, str], bool] = {}

    def describe(self) -> dict[str, Any]:
        """Return the name and the options of the strategy, for results."""
        if self._exact:
            return {"strategy": self.name, "max_prefixes": self._max_prefixes, "tolerance": TOLERANCE}
        return {"strategy": self.name, "beams": self._beams}

    def retrieve(self, questions: Sequence[tuple[AskedFact, Cloze]], count: int) -> list[Retrieved]:
        """Return the optimal distractors of each sentence, best first.

        Args:
            questions: facts of the graph with a sentence each; a fact can occur several times.

        Cost: apart from new tries, beam search evaluates some ``count`` prefixes per token of depth, exact search up
        to ``max_prefixes``.
        """
        self._scorer.end_token()
        self._tries.refresh()
        # Former objects depend on the tense of the sentence.
        candidates: defaultdict[tuple[str, FormerObjects], dict[int, Distractor | None]] = defaultdict(dict)
        results: list[Retrieved] = []
        # The remaining share is for scoring the right object's names.
        counter = share_counter(len(questions), until=0.9)
        for begin in range(0, len(questions), _AT_ONCE):
            prepared = []
            for fact, cloze in questions[begin : begin + _AT_ONCE]:
                present = self._as_of is not None and speaks_of_today(cloze.template, cloze.language)
                former = former_objects(self._former, self._as_of or 0, present)
                prepared.append(self._prepare(fact, former, cloze, candidates[fact.key.fact, former]))
            searched = [question for question in prepared if isinstance(question, _Question)]
            counter(len(prepared) - len(searched))
            retrieved = iter(self._search(searched, count, counter))
            for question in prepared:
                if isinstance(question, _Question):
                    results.append(next(retrieved))
                else:
                    results.append(Retrieved([], reason=question))
        return results

    def rivals(
        self,
        asked: Sequence[Sentences],
        count: int,
        seed: Sequence[int],  # noqa: ARG002 nothing here is random
    ) -> list[list[Rivals]]:
        """Return at most ``count`` distractors for each sentence of each fact, see :class:`.strategies.Strategy`."""
        questions = []
        for fact, clozes in asked:
            questions += [(fact, cloze) for cloze in clozes]
        retrieved = iter(self.retrieve(questions, count))
        return [list(islice(retrieved, len(clozes))) for _, clozes in asked]

    def _prepare(
        self, fact: AskedFact, former: FormerObjects, cloze: Cloze, candidates: dict[int, Distractor | None]
    ) -> _Question | str:
        """Return a sentence to be searched, or the reason why it cannot be."""
        (prompt,) = self._scorer.tokenize([cloze.prompt], [[]])
        if prompt.reason is not None:
            return prompt.reason
        if not prompt.context:
            return "the sentence begins with the blank, so nothing predicts a name's first token"
        limit = self._scorer.max_tokens
        if limit is not None and len(prompt.context) >= limit:
            return (
                f"its sentence has {len(prompt.context)} tokens, which leaves no room for a name within the model's"
                f" limit of {limit}"
            )
        pools = [NameSet("members", id_) for id_ in sorted(map(attrgetter("id"), fact.object_types))]
        tries = [self._tries.open(pool, cloze) for pool in pools or [NameSet("objects", fact.relation)]]
        return _Question(fact, former, cloze, prompt, tries, candidates)

    def _search(self, questions: Sequence[_Question], count: int, progress: Callable[[int], None]) -> list[Retrieved]:
        limit = self._scorer.max_tokens
        explorations = [Exploration(question.prompt.context, question.tries, limit) for question in questions]
        too_long = [len(exploration.refused) for exploration in explorations]
        if self._exact:
            searches = [best_first(exploration, count, self._max_prefixes) for exploration in explorations]
        else:
            searches = [beam(exploration, count, max(count, self._beams or 0)) for exploration in explorations]

        def admit(rows: Sequence[tuple[int, Integers]]) -> list[Integers]:
            self._decide([(questions[number], numbers) for number, numbers in rows])
            admitted = []
            for number, numbers in rows:
                candidates = questions[number].candidates
                is_distractor = np.array([candidates[entity] is not None for entity in numbers.tolist()], dtype=bool)
                admitted.append(numbers[is_distractor])
            return admitted

        results = find(self._scorer, explorations, searches, count, admit, progress)
        return list(map(self._retrieved, questions, results, too_long))

    def _decide(self, rows: Sequence[tuple[_Question, Integers]]) -> None:
        """Read from the graph if these entities are distractors of their fact."""
        questions: dict[tuple[str, FormerObjects], _Question] = {}
        unknown: defaultdict[tuple[str, FormerObjects], set[int]] = defaultdict(set)
        for question, numbers in rows:
            key = question.fact.key.fact, question.former
            questions[key] = question
            unknown[key] |= set(numbers.tolist()) - question.candidates.keys()
        ruled = [(question.fact, question.former) for question in questions.values()]
        tried = [(place, sorted(unknown[key])) for place, key in enumerate(questions) if unknown[key]]
        of_places = list(questions.values())
        for (place, entities), distractors in zip(tried, admissible(self._entities, ruled, tried), strict=True):
            of_places[place].candidates.update(zip(entities, map(distractors.get, entities), strict=True))

    def _retrieved(self, question: _Question, found: MostPlausible, too_long: int) -> Retrieved:
        distractors = [question.candidates[number] for number in found.numbers.tolist()]
        rivals = [distractor for distractor in distractors if distractor is not None]
        notes = list(_left_out(question.tries, too_long))
        if not rivals:
            reason = "; ".join(["there is no distractor in the graph", *notes])
            return Retrieved([], reason=reason, expanded=found.evaluated)
        values = found.log_plausibilities
        certified: int | None = found.certified
        bound: float | None = found.bound
        odd = self._other_tokens(question, rivals)
        if odd is not None:
            notes.append(f"nothing is proved: {odd} has other tokens after this sentence than in the search")
            certified = bound = None
            rivals, values = self._rescored(question.cloze, rivals, notes)
        explained = []
        for place, (rival, value) in enumerate(zip(rivals, values.tolist(), strict=True), start=1):
            proof = ", proved" if place <= (certified or 0) else ""
            rank = f"number {place} of its {'search' if self._exact else 'beam'}{proof}"
            reason = f"{rival.reason}; plausibility {np.exp(value):.2g}, {rank}"
            explained.append(msgspec.structs.replace(rival, reason=reason))
        note = "; ".join(notes) or None
        pool = len(reduce(np.union1d, (trie.entities for trie in question.tries)))
        return Retrieved(explained, certified, values.tolist(), note, pool, bound, found.evaluated)

    def _rescored(
        self, cloze: Cloze, rivals: Sequence[Distractor], notes: list[str]
    ) -> tuple[list[Distractor], Floats]:
        """Score the names of distractors after a sentence, and return the distractors in order with their values."""
        names = [(rival.label, *rival.aliases) for rival in rivals]
        (scored,) = log_plausibilities(self._scorer, [Candidates(cloze, names)])
        if scored.reasons:
            reason = next(iter(scored.reasons.values()))
            notes.append(f"{len(scored.reasons):,} distractors left out, as the model cannot encode them: {reason}")
        # Distractors without a value come last.
        order = np.argsort(-scored.values, kind="stable")[: len(rivals) - len(scored.reasons)]
        return [rivals[place] for place in order], scored.values[order]

    def _other_tokens(self, question: _Question, rivals: Sequence[Distractor]) -> str | None:
        """Return a name that has other tokens after the sentence than in the trie; None if there is none.

        Checks the names of the distractors, and for each last word of a sentence the samples of the tries.
        """
        prompt = question.cloze.prompt
        for trie in question.tries:
            # The first token of a name can reach only into the last word.
            key = (trie.key, prompt.split()[-1] if prompt.split() else "")
            if key not in self._agreeing:
                samples, joiner = trie.samples, question.cloze.language.joiner
                self._agreeing[key] = trie.crossing == 0 and agrees(self._scorer.tokenizer, prompt, samples, joiner)
            if not self._agreeing[key]:
                return "a name of its candidates"
        for rival, expected in zip(rivals, _sequences(question.tries, rivals), strict=True):
            names = question.cloze.continuations([rival.label, *rival.aliases])
            (behind,) = self._scorer.tokenize([prompt], [names], separator=question.cloze.language.joiner)
            if sorted(behind.tails) != sorted(expected) or set(behind.starts) != {len(question.prompt.context)}:
                return repr(rival.label)
        return None


def _sequences(tries: Sequence[LabelTrie], rivals: Sequence[Distractor]) -> Iterator[list[tuple[int, ...]]]:
    """Yield the token sequences of each distractor's names."""
    for rival in rivals:
        for trie in tries:
            place = trie.find(np.array([rival.number]))
            if place[0] >= 0:
                yield list(map(trie.sequence, trie.labels_of(place)[1].tolist()))
                break


def _left_out(tries: Sequence[LabelTrie], too_long: int) -> Iterator[str]:
    empty = dict(chain.from_iterable(trie.left_out for trie in tries))
    if empty:
        name = next(iter(empty.values()))
        yield f"{len(empty):,} of its candidates left out, as they have a name that tokenizes to nothing: {name!r}"
    if too_long:
        yield f"{too_long:,} of its candidates left out, as they have a name too long for the model"
