"""Trees that grow turn by turn as a search proceeds: every node goes through the model once.

Unpromising tokens are bounded instead of computed. A token's probability is the exponential of its logit over the sum
of all exponentials. The sum over the likely part of the vocabulary is nearly as large, and costs a fraction. So a
search first gets an upper bound of a log-probability, and the log-probability itself only where the bound does not
decide.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch

from kgprobe.models.scoring.batching import BatchLimits, compute_if_it_fits
from kgprobe.models.scoring.contract import Floats
from kgprobe.models.scoring.forward import LONGEST_ROW, PLACES_A_TOKEN, in_eval_mode
from kgprobe.models.scoring.node_cache import KeptNodes, NewNodes, share_of, size_of_row, take_in
from kgprobe.models.scoring.plan import batches, fill_rows
from kgprobe.models.scoring.projection import LikelyPart, VocabularyProjection
from kgprobe.models.scoring.trie import Integers, Tree

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# About this many new tokens per row, where trees are small.
_ROW = 96

Recompute = Callable[[Sequence[Tree]], Iterable[tuple[Tree, Floats]]]


class GrowingTrees:
    """The trees of one search through a model that is computed the packed way."""

    def __init__(
        self,
        model: "PreTrainedModel",
        projection: VocabularyProjection,
        likely: LikelyPart | None,
        limits: BatchLimits,
        recompute: Recompute,
        most: int | None = None,
    ) -> None:
        """Start with an empty cache.

        Args:
            model, projection: the model and its projection, as checked.
            likely: the likely part of the vocabulary, for bounds; learned here if not learned yet. None for no bounds.
            limits: batch limits of the device.
            recompute: computes log-probabilities where memory is too short to keep nodes.
            most: maximum number of bytes to keep; None for a share of the device's memory.
        """
        self._model = model
        self._projection = projection
        self._likely = likely
        self._limits = limits
        self._recompute = recompute
        self._most = share_of(model.device) if most is None else most
        self._kept = KeptNodes()

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterator[tuple[Tree, Floats]]:
        """Yield the log-probability of every edge, as :meth:`.Scorer.edge_log_probabilities`."""
        for tree, values, _ in self._edges(trees, bounds=False):
            yield tree, values

    def edge_bounds(self, trees: Sequence[Tree]) -> Iterator[tuple[Tree, Floats, bool]]:
        """Yield upper bounds of the log-probability of every edge.

        Yields:
            each tree once, with one value per edge in (-inf, 0], and True if these are the exact log-probabilities.
        """
        yield from self._edges(trees, bounds=True)

    def _edges(self, trees: Sequence[Tree], bounds: bool) -> Iterator[tuple[Tree, Floats, bool]]:
        with torch.inference_mode(), in_eval_mode(self._model):
            places = self._take_in(trees)
            computed = None
            if places is not None:
                computed = compute_if_it_fits(partial(self._values, trees, places, bounds), self._model.device)
        if computed is None:
            # The kept nodes take the memory that the batches need.
            self._kept.clear()
            self._most = 0
            yield from ((tree, values, True) for tree, values in self._recompute(trees))
            return
        values, exact = computed
        ends = np.cumsum([len(tree.sources) for tree in trees])
        for tree, own in zip(trees, np.split(values, ends[:-1]), strict=True):
            yield tree, own, exact

    def _values(self, trees: Sequence[Tree], places: Sequence[Integers], bounds: bool) -> tuple[Floats, bool]:
        """Return log-probabilities or bounds of all edges of all trees, and whether they are exact."""
        sources = np.concatenate([own[tree.sources] for tree, own in zip(trees, places, strict=True)])
        targets = np.concatenate([tree.targets for tree in trees])
        positions, rows = np.unique(sources, return_inverse=True)
        part = self._likely.part if bounds and self._likely is not None else None
        values = np.empty(len(targets))
        # In pieces, each with all edges of its positions.
        order = np.argsort(rows, kind="stable")
        bound_at = range(0, len(positions), self._limits.tokens)
        cuts = np.searchsorted(rows[order], [*bound_at, len(positions)])
        for first, begin, end in zip(bound_at, cuts, cuts[1:], strict=False):
            hidden = self._kept.states(positions[first : first + self._limits.tokens])
            edges = order[begin:end]
            own = (rows[edges] - first, targets[edges], self._limits.logits)
            if part is not None:
                values[edges] = self._projection.bounds(hidden, part, *own).double().numpy()
                continue
            values[edges] = self._projection.log_probabilities(hidden, *own)[:, 0].double().numpy()
            if self._likely is not None:
                self._likely.learn(hidden, self._limits.logits)
        return values, part is None

    def _take_in(self, trees: Sequence[Tree]) -> list[Integers] | None:
        """Take the new nodes of all trees through the model and return the places of all nodes; None if too many."""
        additions = self._find_new_nodes(trees)
        more = sum(len(new.fresh) for new in additions)
        if (self._kept.places + more) * self._kept.bytes_of_one() > self._most:
            self._kept.clear()
            additions = self._find_new_nodes(trees)
        if max((len(new.fresh) for new in additions), default=0) > LONGEST_ROW:
            return None
        places = [new.places for new in additions]
        for batch in self._batches(additions):
            rows = [_pick(additions, row) for row in batch]
            computed = compute_if_it_fits(partial(take_in, self._model, self._kept, rows), self._model.device)
            if computed is None:
                return None
            for number, own in zip(chain.from_iterable(batch), computed, strict=True):
                places[number] = own
        return places

    def _find_new_nodes(self, trees: Sequence[Tree]) -> list[NewNodes]:
        return [NewNodes(tree, self._kept.find(tree)) for tree in trees]

    def _batches(self, additions: Sequence[NewNodes]) -> Iterator[list[list[int]]]:
        """Yield batches of rows of trees with new nodes, by their numbers, the largest first."""
        numbers = [number for number, new in enumerate(additions) if len(new.fresh)]
        numbers.sort(key=lambda number: size_of_row([additions[number]]), reverse=True)
        lengths = [len(additions[number].fresh) for number in numbers]
        rows = fill_rows([[number] for number in numbers], lengths, min(_ROW, self._limits.tokens))

        def size(row: list[int]) -> tuple[int, int]:
            fresh, old = size_of_row(_pick(additions, row))
            return 1, fresh + old // PLACES_A_TOKEN

        rows.sort(key=size, reverse=True)
        return batches(rows, list(map(size, rows)), lambda: self._limits.tokens)


def _pick(additions: Sequence[NewNodes], numbers: Sequence[int]) -> list[NewNodes]:
    return [additions[number] for number in numbers]
