"""Optimal distractors: those of a fact's Ω(f) that the model itself finds most plausible after a cloze sentence.

Sections 3 and 4 of the distractor paper; docs/methods/distractor-strategies.md. A sentence's candidates are all
entities that share a type with the object (without a type: all objects of the relation). Their names stand in label
tries, one a type, which are searched together: approximately, by a beam, or exactly, with a certificate
(:mod:`kgprobe.search.most_plausible`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kgprobe.graph.client import Graph
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.progress import share_counter
from kgprobe.sampling.distractors import Distractor, admissible
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.search.exploration import Exploration
from kgprobe.search.label_trie import Integers, LabelTrie
from kgprobe.search.label_tries import LabelTries, NameSet
from kgprobe.search.most_plausible import TOLERANCE, Found, beam, best_first, find
from kgprobe.search.name_tokens import agrees
from kgprobe.search.plausibility import Candidates, log_plausibilities
from kgprobe.verbalize.sentences import Cloze

# Sentences searched at once: what is known of each lies in memory meanwhile.
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The optimal distractors of one sentence.

    Attributes:
        distractors: at most as many as were wanted, the most plausible first.
        log_plausibilities: log Pl of each after the sentence, over all its names.
        certified: how many of the first are proved to be the most plausible in Ω(f), in their order, within
            ``kgprobe.search.most_plausible.TOLERANCE``; None where nothing can be proved, see ``reason``.
        bound: the most that log Pl of any other can be; -inf if there is no other, None where nothing can be proved.
        expanded: after how many prefixes of names the model was asked.
        pool: how many entities they are the best of, the object and what else is right among them.
        reason: why there are no distractors, why nothing can be proved, or how many entities were left out since the
            model cannot take a name of theirs; None if there is nothing to say.
    """

    distractors: list[Distractor] = field(default_factory=list)
    log_plausibilities: list[float] = field(default_factory=list)
    certified: int | None = None
    bound: float | None = None
    expanded: int = 0
    reason: str | None = None
    pool: int | None = None


@dataclass(slots=True)
class _Question:
    """A sentence that can be searched: its tokens, its pool, and what is known of the pool's entities."""

    key: FactKey
    cloze: Cloze
    prompt: TokenizedPrompt
    tries: list[LabelTrie]
    candidates: dict[int, Distractor | None]


class OptimalDistractors:
    """Retrieves them from one graph for one model; remembers what it opened."""

    def __init__(
        self,
        graph: Graph,
        scorer: TextScorer,
        *,
        exact: bool,
        max_prefixes: int = 2_000,
        beams: int | None = None,
    ) -> None:
        """Search this graph's names.

        Args:
            graph: where the distractors are.
            scorer: the model; its EOS token ends each name.
            exact: whether to prove that nothing is better, or to follow a beam.
            max_prefixes: after how many prefixes of names the model is asked for one sentence before exact search ends
                with what it has proved.
            beams: how many are kept; None, and anything less, is the number of distractors wanted.
        """
        self.name = "exact-optimal" if exact else "approximate-optimal"
        self._graph = graph
        self._scorer = scorer
        self._exact = exact
        self._max_prefixes = max_prefixes
        self._beams = beams
        self._tries = LabelTries(graph, scorer.tokenizer)
        self._agreeing: dict[tuple[str, str], bool] = {}

    def describe(self) -> dict[str, Any]:
        """The strategy with its options: what a result has to say of it."""
        if self._exact:
            return {"strategy": self.name, "max_prefixes": self._max_prefixes, "tolerance": TOLERANCE}
        return {"strategy": self.name, "beams": self._beams}

    def retrieve(self, questions: Sequence[tuple[AskedFact, Cloze]], count: int) -> list[Retrieved]:
        """The optimal distractors of each sentence, best first.

        Args:
            questions: facts of the graph, each with a sentence; a fact may come with several.
            count: how many are wanted for each.

        Returns:
            one for each question, in their order; with fewer distractors where the graph has no more.

        Raises:
            KgprobeError: the model has no EOS token, or its probabilities are not numbers.

        Cost: apart from tries that are not there yet, the model at some ``count`` prefixes a token of depth; exact
        search asks for up to ``max_prefixes``.
        """
        self._scorer.end_token()
        self._tries.refresh()
        keys = list(dict.fromkeys(fact.key for fact, _ in questions))
        pools: dict[str, list[NameSet]] = {}
        for row in self._graph.read("sample/pools", rows=[key._asdict() for key in keys]):
            types = sorted(type_["id"] for type_ in row["types"])
            pools[row["fact"]] = [NameSet("members", id_) for id_ in types] or [
                NameSet("objects", row["relation"]["id"])
            ]
        candidates: dict[str, dict[int, Distractor | None]] = {key.fact: {} for key in keys}
        results: list[Retrieved] = []
        # What comes after it, the right object's own names, is little.
        counter = share_counter(len(questions), until=0.9)
        for begin in range(0, len(questions), _AT_ONCE):
            prepared = [
                self._prepare(fact.key, cloze, pools[fact.key.fact], candidates[fact.key.fact])
                for fact, cloze in questions[begin : begin + _AT_ONCE]
            ]
            searched = [one for one in prepared if isinstance(one, _Question)]
            counter(len(prepared) - len(searched))
            found = iter(self._search(searched, count, counter))
            results += [next(found) if isinstance(one, _Question) else Retrieved(reason=one) for one in prepared]
        return results

    def _prepare(
        self, key: FactKey, cloze: Cloze, pools: Sequence[NameSet], candidates: dict[int, Distractor | None]
    ) -> _Question | str:
        """A question, or why it cannot be searched."""
        (prompt,) = self._scorer.tokenize([cloze.prompt], [[]])
        if prompt.reason is not None:
            return prompt.reason
        if not prompt.context:
            return "nothing stands before the blank, so nothing predicts a name's first token"
        limit = self._scorer.max_tokens
        if limit is not None and len(prompt.context) >= limit:
            return (
                f"its sentence has {len(prompt.context)} tokens, which leaves no room for a name in the {limit} that"
                " the model takes in"
            )
        tries = [self._tries.open(pool, cloze.template) for pool in pools]
        return _Question(key, cloze, prompt, tries, candidates)

    def _search(self, questions: Sequence[_Question], count: int, progress: Callable[[int], None]) -> list[Retrieved]:
        explorations = [Exploration(one.prompt.context, one.tries, self._scorer.max_tokens) for one in questions]
        too_long = [len(exploration.refused) for exploration in explorations]
        if self._exact:
            searches = [best_first(exploration, count, self._max_prefixes) for exploration in explorations]
        else:
            searches = [beam(exploration, count, max(count, self._beams or 0)) for exploration in explorations]

        def admit(rows: Sequence[tuple[int, Integers]]) -> list[Integers]:
            self._learn([(questions[number], numbers) for number, numbers in rows])
            return [
                np.array([n for n in numbers.tolist() if questions[number].candidates[n] is not None], dtype=np.int64)
                for number, numbers in rows
            ]

        found = find(self._scorer, explorations, searches, count, admit, progress)
        return [
            self._retrieved(question, one, left_out)
            for question, one, left_out in zip(questions, found, too_long, strict=True)
        ]

    def _learn(self, rows: Sequence[tuple[_Question, Integers]]) -> None:
        """Learn of these entities whether they are distractors of their fact."""
        unknown: dict[FactKey, tuple[dict[int, Distractor | None], set[int]]] = {}
        for question, numbers in rows:
            _, missing = unknown.setdefault(question.key, (question.candidates, set()))
            missing.update(number for number in numbers.tolist() if number not in question.candidates)
        asked = [(key, sorted(missing)) for key, (_, missing) in unknown.items() if missing]
        for (key, its), known in zip(asked, admissible(self._graph, asked), strict=True):
            candidates, _ = unknown[key]
            candidates.update({number: known.get(number) for number in its})

    def _retrieved(self, question: _Question, found: Found, too_long: int) -> Retrieved:
        distractors = [question.candidates[number] for number in found.numbers.tolist()]
        rivals = [distractor for distractor in distractors if distractor is not None]
        notes = list(_left_out(question.tries, too_long))
        if not rivals:
            return Retrieved(
                expanded=found.evaluated, reason="; ".join(["there is no distractor in the graph", *notes])
            )
        values = found.log_plausibilities
        certified: int | None = found.certified
        bound: float | None = found.bound
        odd = self._other_tokens(question, rivals)
        if odd is not None:
            notes.append(
                f"nothing is proved: {odd} has other tokens behind this sentence than the search took it to have"
            )
            certified = bound = None
            names = [(rival.label, *rival.aliases) for rival in rivals]
            (scored,) = log_plausibilities(self._scorer, [Candidates(question.cloze, names)])
            if scored.reasons:
                reason = next(iter(scored.reasons.values()))
                notes.append(
                    f"{len(scored.reasons):,} of what was found left out, as the model cannot take it: {reason}"
                )
            # Those without a value stand last.
            order = np.argsort(-scored.values, kind="stable")[: len(rivals) - len(scored.reasons)]
            rivals, values = [rivals[place] for place in order], scored.values[order]
        named = [
            replace(rival, reason=f"{rival.reason}; {self._why(place, value, certified or 0)}")
            for place, (rival, value) in enumerate(zip(rivals, values.tolist(), strict=True), start=1)
        ]
        note = "; ".join(notes) or None
        return Retrieved(named, values.tolist(), certified, bound, found.evaluated, note, _pool_size(question.tries))

    def _why(self, place: int, value: float, certified: int) -> str:
        proof = ", proved" if place <= certified else ""
        return f"plausibility {np.exp(value):.2g}, number {place} of its {'search' if self._exact else 'beam'}{proof}"

    def _other_tokens(self, question: _Question, rivals: Sequence[Distractor]) -> str | None:
        """A name that has other tokens behind the sentence than in the trie; None if none was found.

        Tried are the names of what was found, and for each sentence's last word a name of each beginning.
        """
        prompt = question.cloze.prompt
        for trie in question.tries:
            # What a name's first token can reach into is the last word at most.
            key = (trie.key, prompt.split()[-1] if prompt.split() else "")
            if key not in self._agreeing:
                self._agreeing[key] = trie.crossing == 0 and agrees(self._scorer.tokenizer, prompt, trie.samples)
            if not self._agreeing[key]:
                return "a name of its candidates"
        for rival, expected in zip(rivals, _sequences(question.tries, rivals), strict=True):
            names = question.cloze.continuations([rival.label, *rival.aliases])
            (behind,) = self._scorer.tokenize([prompt], [names])
            if sorted(behind.tails) != sorted(expected) or set(behind.starts) != {len(question.prompt.context)}:
                return repr(rival.label)
        return None


def _sequences(tries: Sequence[LabelTrie], rivals: Sequence[Distractor]) -> Iterator[list[tuple[int, ...]]]:
    """The token sequences of each distractor's names."""
    for rival in rivals:
        for trie in tries:
            place = trie.find(np.array([rival.number]))
            if place[0] >= 0:
                yield [trie.sequence(label) for label in trie.labels_of(place)[1].tolist()]
                break


def _pool_size(tries: Sequence[LabelTrie]) -> int:
    """How many entities have a name in one of the tries."""
    if len(tries) == 1:
        return len(tries[0].entities)
    return len(np.unique(np.concatenate([trie.entities for trie in tries])))


def _left_out(tries: Sequence[LabelTrie], too_long: int) -> Iterator[str]:
    unsayable = {number: name for trie in tries for number, name in trie.left_out}
    if unsayable:
        name = next(iter(unsayable.values()))
        yield f"{len(unsayable):,} of its candidates left out, as they have a name that tokenizes to nothing: {name!r}"
    if too_long:
        yield f"{too_long:,} of its candidates left out, as they have a name too long for the model"
