"""Search for the entities that a model finds most plausible after a prompt: beam search and exact search.

docs/methods/distractor-strategies.md: ``Pl(o | c)`` is the sum, over an entity's names, of the probability that the
name and then the end follow the prompt. The result is the n admitted entities of largest ``Pl``.

**Beam search** extends the most probable prefixes by one token at a time. Prefixes whose names all belong to one entity
share a slot of the beam; an entity that already leads needs none.

**Exact search** is best-first. The probability of a prefix bounds the sum over all names below it. So the mass of an
entity is at most that of its ended names plus that of the open prefixes above its others, each once
(:meth:`.Exploration.bounds`). The search ends when no bound exceeds the n-th mass by more than ``TOLERANCE``: sums of a
name's log-probabilities differ by that much between batches, through rounding. It works with upper bounds of
probabilities, if the model has faster ones. When no prefix is left above the n-th mass, the leading entities are
evaluated exactly, until their masses are exact.

Both searches then complete the names of the result, so that its plausibilities are complete. The bounds of all other
entities give the number of first entities that are proved to be the first.

A search is a generator: it yields entities to be decided, or None to wait for the model, so that many prompts are
evaluated in one batch.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgprobe.base.errors import KgprobeError
from kgprobe.probes.search.exploration import Exploration, Floats
from kgprobe.probes.search.label_tries import Integers

if TYPE_CHECKING:
    from kgprobe.models.scoring.contract import EdgeScorer, TextScorer
    from kgprobe.models.scoring.trie import Tree

# Natural logarithm. Precision of the scorer in fp32.
TOLERANCE = 1e-4
# Additional entities per decision, because some are refused and each decision costs a turn.
_SPARE = 8
# Minimum prefixes per turn of exact search: nearly all probable prefixes must be evaluated at some time, and a model
# reads all its weights in each turn.
_LEAST_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class MostPlausible:
    """The most plausible entities after a prompt.

    Attributes:
        numbers: numbers of the entities, the most plausible first.
        log_plausibilities: log Pl of each, over all its names.
        certified: number of the first entities that are proved to be the most plausible of all, in order within
            ``TOLERANCE``.
        bound: upper bound of log Pl of all others; -inf if there is none left.
    """

    numbers: Integers
    log_plausibilities: Floats
    certified: int
    bound: float
    evaluated: int


# A search yields entities to be decided, or None to wait for the model.
Search = Generator[Integers | None, None, Integers]
Admit = Callable[[Sequence[tuple[int, Integers]]], Sequence[Integers]]


def find(
    scorer: "TextScorer",
    explorations: Sequence[Exploration],
    searches: Sequence[Search],
    count: int,
    admit: Admit,
    progress: Callable[[int], None] = lambda searches: None,
) -> list[MostPlausible]:
    """Run searches in parallel, with one decision and one evaluation of the model per turn.

    Args:
        scorer: its EOS token ends each name.
        admit: given entities of some prompts, returns the admitted ones of each.
    """
    end = scorer.end_token()
    edges = scorer.growing()
    ends: dict[int, Integers] = {}
    waiting = _advance(searches, range(len(searches)), ends)
    ended = 0
    while waiting:
        progress(len(ends) - ended)
        ended = len(ends)
        undecided = [(number, entities) for number, entities in waiting.items() if entities is not None]
        if undecided:
            for (number, entities), admitted in zip(undecided, admit(undecided), strict=True):
                explorations[number].settle(entities, admitted)
            waiting |= _advance(searches, [number for number, _ in undecided], ends)
        else:
            _evaluate(edges, end, explorations, list(waiting))
            waiting = _advance(searches, list(waiting), ends)
        waiting = {number: entities for number, entities in waiting.items() if number not in ends}
    progress(len(ends) - ended)
    return [_result(exploration, ends[number], count) for number, exploration in enumerate(explorations)]


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
            for tree, edge_places in explorations[number].trees(number, end, exactly):
                trees.append(tree)
                places[id(tree)] = (number, edge_places)
                sizes[number] += len(edge_places)
        values = {number: np.full(size, np.nan) for number, size in sizes.items()}
        for tree, tree_values, exact in _edge_values(edges, trees, exactly):
            number, edge_places = places[id(tree)]
            values[number][edge_places] = tree_values
            answers[number][exactly] = (values[number], exact)
        for number, prompt_values in values.items():
            if np.isnan(prompt_values).any():
                raise KgprobeError(
                    f"Prompt {number}: the model's probabilities are not numbers; its weights are broken."
                )
    for number in numbers:
        explorations[number].learn(answers[number])


def _edge_values(edges: "EdgeScorer", trees: "Sequence[Tree]", exactly: bool) -> "Iterable[tuple[Tree, Floats, bool]]":
    """Return the values of the edges of each tree, and True if they are exact."""
    if not trees:
        return ()
    if not exactly:
        return edges.edge_bounds(trees)
    return ((tree, values, True) for tree, values in edges.edge_log_probabilities(trees))


def beam(exploration: Exploration, count: int, beams: int) -> Search:
    """Search at least ``count`` entities, if there are as many, by a beam of ``beams`` slots.

    Returns:
        The numbers of the entities of largest mass, at most the greater of ``count`` and ``beams``, with all names
        completed.
    """
    beams = max(beams, count)
    fresh = exploration.expand(np.zeros(1, dtype=np.int64), exactly=True)
    while True:
        yield None
        leading = yield from _leading(exploration, beams)
        near = fresh[exploration.log_probability[fresh] > _floor(exploration, beams)]
        chosen = yield from _slots(exploration, near, leading, beams)
        if not len(chosen) and len(leading) < count:
            # Reconsider the prefixes that were dropped before.
            chosen = yield from _slots(exploration, np.flatnonzero(exploration.open), leading, beams)
        if not len(chosen):
            return (yield from _completed(exploration, leading, count))
        fresh = exploration.expand(chosen, exactly=True)


def best_first(exploration: Exploration, count: int, max_prefixes: int) -> Search:
    """Search the ``count`` most plausible entities exactly, with a limited number of prefixes.

    Args:
        max_prefixes: maximum evaluated prefixes, apart from those that complete the names of the result.

    Returns:
        The numbers of at most ``count`` entities, with all names completed.
    """
    if sum(len(trie.entities) for trie in exploration.tries) <= count:
        # Evaluate all entities in one turn.
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
    """Return the admitted entities of largest mass so far, at most ``count``."""
    while True:
        ranked = exploration.ranked()[: count + _SPARE]
        unknown = np.setdiff1d(ranked, exploration.admitted)
        if not np.isin(ranked[:count], unknown).any():
            return ranked[:count]
        yield unknown


def _floor(exploration: Exploration, count: int) -> float:
    """Return the ``count``-th largest mass of the admitted entities, which a new one must exceed."""
    masses = exploration.mass(exploration.admitted)
    return float(np.partition(masses, -count)[-count]) if len(masses) >= count else -np.inf


def _slots(exploration: Exploration, nodes: Integers, leading: Integers, beams: int) -> Search:
    """Return the most probable nodes that fill the beam; an entity has one slot, or none if it leads."""
    log_probability = exploration.log_probability
    nodes = nodes[np.argsort(-log_probability[nodes], kind="stable")]
    # Several nodes share a slot, and some need none; so many nodes usually fill the beam.
    enough = 4 * beams
    while True:
        near = nodes[:enough]
        owners = exploration.sole_owners(near)
        done = np.isin(owners, exploration.refused) | np.isin(owners, leading)
        near, owners = near[~done], owners[~done]
        # A prefix of several entities has its own slot.
        slot, place = np.unique(np.where(owners < 0, -1 - near, owners), return_inverse=True)
        if len(slot) < beams and enough < len(nodes):
            enough *= 2
            continue
        masses = np.full(len(slot), -np.inf)
        np.logaddexp.at(masses, place, log_probability[near])
        in_beam = np.isin(place, np.argsort(-masses, kind="stable")[:beams])
        unknown = np.setdiff1d(owners[in_beam & (owners >= 0)], exploration.admitted)
        if not len(unknown):
            return near[in_beam]
        yield unknown


def _rivals(
    exploration: Exploration, leading: Integers, floor: float
) -> Generator[Integers | None, None, tuple[Integers, Integers]]:
    """Return nodes to expand, and nodes to evaluate exactly: they lower the bounds of rivals.

    Rivals are entities that can exceed ``floor`` and do not lead.
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
    """Complete all names of these entities, after adding others if there are fewer than ``count``; return them."""
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


def _result(exploration: Exploration, chosen: Integers, count: int) -> MostPlausible:
    masses = exploration.mass(chosen)
    numbers = chosen[np.lexsort([chosen, -masses])][:count]
    masses = exploration.mass(numbers)
    bound = exploration.most_of_others(numbers)
    certified = int((masses >= bound - TOLERANCE).sum())
    return MostPlausible(numbers, masses, certified, bound, exploration.evaluated)
