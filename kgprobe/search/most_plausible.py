"""The entities that a model finds most plausible after a prompt: by beam search, and exactly.

docs/methods/distractor-strategies.md: ``Pl(o | c)`` is the sum, over an entity's names, of the probability that the
name and then the end follow the prompt; wanted are the n entities with most of it, among those that are admitted.

The **beam** goes from the prompt on, a token at a time, with the most probable prefixes. A slot of the beam belongs to
an entity where all names behind its prefixes do, and an entity that leads already needs none.

The **exact** search asks best first. A prefix's probability bounds the sum over all names behind it, so no entity gets
more than its ended names have, and the open prefixes before its others, each once (:meth:`.Exploration.bounds`). Where
the n-th entity has that much already, nothing can be before it any more. Within the tolerance: sums of a name's
log-probabilities differ by rounding, by up to ``TOLERANCE``, from one batch to another. It goes by what probabilities
are at most, which a model tells sooner than what they are; when no prefix is left above the n-th entity's, those in
front are asked for exactly, and so on until what they have is sure.

In both, the names of what was found are then asked to their ends, so that plausibilities are whole, and what every
other entity can get at most tells how many of the first are proved to be the first.

A search is a generator: it yields whom to decide on or that it waits for the model, so that many prompts are asked at
once.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgprobe.errors import KgprobeError
from kgprobe.search.exploration import Exploration, Floats
from kgprobe.search.label_trie import Integers

if TYPE_CHECKING:
    from kgprobe.models.scoring.contract import EdgeScorer, TextScorer
    from kgprobe.models.scoring.trie import Tree

# Natural logarithm. As exact as the scorer is in fp32.
TOLERANCE = 1e-4
# Entities decided on beyond those wanted, since some will be turned down and each question costs a turn.
_SPARE = 8
# Prefixes that the exact search asks for in one turn, at least: nearly all that are probable have to be asked for
# sooner or later, and a model reads all of its weights in each turn.
_LEAST_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Found:
    """The most plausible entities after a prompt.

    Attributes:
        numbers: of the entities, the most plausible first.
        log_plausibilities: theirs, over all their names.
        certified: how many of the first are proved to be the most plausible of all, in their order within
            ``TOLERANCE``.
        bound: the most that the log-plausibility of any other can be; -inf if there is none left.
        evaluated: after how many prefixes the model was asked.
    """

    numbers: Integers
    log_plausibilities: Floats
    certified: int
    bound: float
    evaluated: int


# What a search waits for: the decision on these entities, or the model's answers where it is None.
Search = Generator[Integers | None, None, Integers]
Admit = Callable[[Sequence[tuple[int, Integers]]], Sequence[Integers]]


def find(
    scorer: "TextScorer",
    explorations: Sequence[Exploration],
    searches: Sequence[Search],
    count: int,
    admit: Admit,
    progress: Callable[[int], None] = lambda searches: None,
) -> list[Found]:
    """Let searches run side by side: one decision and one evaluation of the model a turn for all of them.

    Args:
        scorer: its EOS token ends each name.
        explorations: one a prompt, new.
        searches: one a prompt, on its exploration.
        count: how many entities are wanted of each.
        admit: given numbers of entities for some prompts, says for each which of them are admitted.
        progress: called now and then with the number of searches that ended since the last call.

    Raises:
        KgprobeError: the model's probabilities are not numbers.
    """
    end = scorer.end_token()
    edges = scorer.growing()
    ends: dict[int, Integers] = {}
    waiting = _advance(searches, range(len(searches)), ends)
    ended = 0
    while waiting:
        progress(len(ends) - ended)
        ended = len(ends)
        undecided = [(number, wanted) for number, wanted in waiting.items() if wanted is not None]
        if undecided:
            for (number, wanted), admitted in zip(undecided, admit(undecided), strict=True):
                explorations[number].settle(wanted, admitted)
            waiting |= _advance(searches, [number for number, _ in undecided], ends)
        else:
            _evaluate(edges, end, explorations, list(waiting))
            waiting = _advance(searches, list(waiting), ends)
        waiting = {number: wanted for number, wanted in waiting.items() if number not in ends}
    progress(len(ends) - ended)
    return [_found(exploration, ends[number], count) for number, exploration in enumerate(explorations)]


def _advance(
    searches: Sequence[Search], numbers: Sequence[int], ends: dict[int, Integers]
) -> dict[int, Integers | None]:
    waiting: dict[int, Integers | None] = {}
    for number in numbers:
        try:
            waiting[number] = next(searches[number])
        except StopIteration as end:  # noqa: PERF203
            ends[number] = end.value
    return waiting


def _evaluate(edges: "EdgeScorer", end: int, explorations: Sequence[Exploration], numbers: Sequence[int]) -> None:
    answers: dict[int, dict[bool, tuple[Floats, bool]]] = {number: {} for number in numbers}
    for exactly in (True, False):
        trees: list[Tree] = []
        places: dict[int, tuple[int, Integers]] = {}
        sizes = dict.fromkeys(numbers, 0)
        for number in numbers:
            for tree, own in explorations[number].trees(number, end, exactly):
                trees.append(tree)
                places[id(tree)] = (number, own)
                sizes[number] += len(own)
        if not trees:
            continue
        values = {number: np.full(size, np.nan) for number, size in sizes.items()}
        told = ((*one, True) for one in edges.edge_log_probabilities(trees)) if exactly else edges.edge_bounds(trees)
        for tree, found, exact in told:
            number, own = places[id(tree)]
            values[number][own] = found
            answers[number][exactly] = (values[number], exact)
        for number, its in values.items():
            if np.isnan(its).any():
                raise KgprobeError(
                    f"Prompt {number}: the model's probabilities are not numbers; its weights are broken."
                )
    for number in numbers:
        explorations[number].learn(answers[number])


def beam(exploration: Exploration, count: int, beams: int) -> Search:
    """At least ``count`` entities, if there are as many, by a search of ``beams`` slots.

    Returns:
        the numbers of those found with most, at most the greater of ``count`` and ``beams``, all their names asked.
    """
    beams = max(beams, count)
    fresh = exploration.expand(np.zeros(1, dtype=np.int64), exactly=True)
    while True:
        yield None
        leading = yield from _leading(exploration, beams)
        near = fresh[exploration.log_probability[fresh] > _floor(exploration, beams)]
        chosen = yield from _slots(exploration, near, leading, beams)
        if not len(chosen) and len(leading) < count:
            # What fell from the beam before.
            chosen = yield from _slots(exploration, np.flatnonzero(exploration.open), leading, beams)
        if not len(chosen):
            return (yield from _completed(exploration, leading, count))
        fresh = exploration.expand(chosen, exactly=True)


def best_first(exploration: Exploration, count: int, max_prefixes: int) -> Search:
    """The ``count`` most plausible entities, or what was found of them after so many prefixes.

    Args:
        exploration: a new one.
        count: how many are wanted.
        max_prefixes: after how many prefixes the model may be asked before the search ends; the names of what was found
            are asked to their ends in any case.

    Returns:
        the numbers of at most ``count`` entities, all their names asked.
    """
    if sum(len(trie.entities) for trie in exploration.tries) <= count:
        # All are wanted, and can be asked for in one turn.
        return (yield from _completed(exploration, np.empty(0, dtype=np.int64), count))
    while True:
        leading = yield from _leading(exploration, count)
        left = max(max_prefixes - exploration.evaluated, 0)
        at_once = min(left, max(_LEAST_AT_ONCE, count))
        floor = _floor(exploration, count) + TOLERANCE
        chosen = exploration.above(floor)[:at_once]
        unsure = np.empty(0, dtype=np.int64) if len(chosen) else exploration.unsure(leading)
        if not len(chosen) and not len(unsure) and len(leading) == count and left:
            chosen, unsure = yield from _rivals(exploration, leading, floor)
            chosen = chosen[:at_once]
        if not len(chosen) and not len(unsure):
            return (yield from _completed(exploration, leading, count))
        exploration.refine(unsure)
        exploration.expand(chosen)
        yield None


def _leading(exploration: Exploration, count: int) -> Search:
    """The admitted entities whose names have got most so far, at most ``count``."""
    while True:
        ranked = exploration.ranked()[: count + _SPARE]
        unknown = np.setdiff1d(ranked, exploration.admitted)
        if not np.isin(ranked[:count], unknown).any():
            return ranked[:count]
        yield unknown


def _floor(exploration: Exploration, count: int) -> float:
    """What an entity has to exceed to be among the first ``count``: as many admitted ones have it, at most."""
    masses = exploration.mass(exploration.admitted)
    return float(np.partition(masses, -count)[-count]) if len(masses) >= count else -np.inf


def _slots(exploration: Exploration, nodes: Integers, leading: Integers, beams: int) -> Search:
    """The nodes that the beam goes on with: the most probable ones, each entity in one slot, or in none if it leads."""
    log_probability = exploration.log_probability
    nodes = nodes[np.argsort(-log_probability[nodes], kind="stable")]
    # Several nodes share a slot, and some have none; mostly these are enough.
    enough = 4 * beams
    while True:
        near = nodes[:enough]
        owners = exploration.sole_owners(near)
        done = np.isin(owners, exploration.refused) | np.isin(owners, leading)
        near, owners = near[~done], owners[~done]
        # A prefix of several entities has a slot of its own.
        slot, place = np.unique(np.where(owners < 0, -1 - near, owners), return_inverse=True)
        if len(slot) < beams and enough < len(nodes):
            enough *= 2
            continue
        masses = np.full(len(slot), -np.inf)
        np.logaddexp.at(masses, place, log_probability[near])
        taken = np.isin(place, np.argsort(-masses, kind="stable")[:beams])
        unknown = np.setdiff1d(owners[taken & (owners >= 0)], exploration.admitted)
        if not len(unknown):
            return near[taken]
        yield unknown


def _rivals(
    exploration: Exploration, leading: Integers, floor: float
) -> Generator[Integers | None, None, tuple[Integers, Integers]]:
    """What to ask since an entity that is not among the leading may get more than ``floor``.

    Returns:
        nodes to expand, and nodes to ask exactly.
    """
    everywhere = np.flatnonzero(exploration.open)
    while True:
        rivals = np.union1d(exploration.ranked(), exploration.contenders(everywhere, floor))
        rivals = np.setdiff1d(rivals, [*leading, *exploration.refused])
        bounds, heaviest = exploration.bounds(rivals)
        above = bounds > floor
        unknown = np.setdiff1d(rivals[above], exploration.admitted)
        if not len(unknown):
            return np.setdiff1d(heaviest[above], [-1]), exploration.unsure(rivals[above], heaviest=True)
        yield unknown


def _completed(exploration: Exploration, chosen: Integers, count: int) -> Search:
    """These entities, and others where they are fewer than ``count``, when all their names were asked to the end."""
    while len(chosen) < count:
        near = exploration.nearest(count - len(chosen) + _SPARE)
        if not len(near):
            break
        yield near
        more = near[np.isin(near, exploration.admitted)]
        chosen = np.concatenate([chosen, more[: count - len(chosen)]])
    nodes = exploration.holding(chosen)
    while len(nodes):
        exploration.expand(nodes, exactly=True)
        yield None
        nodes = exploration.holding(chosen)
    exploration.refine(exploration.unsure(chosen))
    yield None
    return chosen


def _found(exploration: Exploration, chosen: Integers, count: int) -> Found:
    masses = exploration.mass(chosen)
    numbers = chosen[np.lexsort([chosen, -masses])][:count]
    masses = exploration.mass(numbers)
    bound = exploration.most_of_others(numbers)
    certified = int((masses >= bound - TOLERANCE).sum())
    return Found(numbers, masses, certified, bound, exploration.evaluated)
