"""Trees that grow turn by turn, as a search finds out where to go on: every node goes through the model once.

What predicts little is not computed to the end either. A token's probability is the exponential of its logit over the
sum of all exponentials; the sum over a part of the vocabulary, if it is the likely part, is nearly as large, and costs
a fraction. So a bound of a log-probability comes first, and the log-probability itself where the bound is no answer.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from kgprobe.models.eval_mode import in_eval_mode
from kgprobe.models.scoring.batching import BatchLimits, compute_if_it_fits
from kgprobe.models.scoring.forward import LONGEST_ROW, PLACES_A_TOKEN
from kgprobe.models.scoring.node_cache import KeptNodes, NewNodes, take_in
from kgprobe.models.scoring.plan import batches, fill_rows
from kgprobe.models.scoring.prefixes import share_of
from kgprobe.models.scoring.projection import LikelyPart, VocabularyProjection
from kgprobe.models.scoring.scored import Floats
from kgprobe.models.scoring.trie import Integers, Tree

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Tokens that are new in a row are about so many, where trees are small.
_ROW = 96

Anew = Callable[[Sequence[Tree]], Iterable[tuple[Tree, Floats]]]


class GrowingTrees:
    """Trees of one search, of a model that is gone through the packed way."""

    def __init__(
        self,
        model: "PreTrainedModel",
        projection: VocabularyProjection,
        likely: LikelyPart | None,
        limits: BatchLimits,
        anew: Anew,
        most: int | None = None,
    ) -> None:
        """Nothing is kept yet.

        Args:
            model, projection: as the check found them.
            likely: the part of the vocabulary that bounds are made of; learnt here, where it is not yet; None for
                no bounds.
            limits: what goes through the model at once.
            anew: gives log-probabilities where memory is too short for anything to be kept.
            most: bytes that may be kept; None leaves it to the device.
        """
        self._model = model
        self._projection = projection
        self._likely = likely
        self._limits = limits
        self._anew = anew
        self._most = share_of(model.device) if most is None else most
        self._kept = KeptNodes()

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterator[tuple[Tree, Floats]]:
        """The log-probability of every edge, as :meth:`.Scorer.edge_log_probabilities`."""
        for tree, values, _ in self._edges(trees, bounds=False):
            yield tree, values

    def edge_bounds(self, trees: Sequence[Tree]) -> Iterator[tuple[Tree, Floats, bool]]:
        """What the log-probability of every edge is at most.

        Returns:
            each tree once, with one value an edge, in (-inf, 0], and whether these are the log-probabilities.
        """
        yield from self._edges(trees, bounds=True)

    def _edges(self, trees: Sequence[Tree], bounds: bool) -> Iterator[tuple[Tree, Floats, bool]]:
        with torch.inference_mode(), in_eval_mode(self._model):
            places = self._places(trees)
            found = None
            if places is not None:
                found = compute_if_it_fits(partial(self._values, trees, places, bounds), self._model.device)
        if found is None:
            # What is kept takes what the batches need.
            self._kept.clear()
            self._most = 0
            yield from ((tree, values, True) for tree, values in self._anew(trees))
            return
        values, exact = found
        ends = np.cumsum([len(tree.sources) for tree in trees])
        for tree, own in zip(trees, np.split(values, ends[:-1]), strict=True):
            yield tree, own, exact

    def _values(self, trees: Sequence[Tree], places: Sequence[Integers], bounds: bool) -> tuple[Floats, bool]:
        """For all edges of all trees their log-probabilities, or bounds of them; and whether they are exact."""
        sources = np.concatenate([own[tree.sources] for tree, own in zip(trees, places, strict=True)])
        targets = np.concatenate([tree.targets for tree in trees])
        positions, rows = np.unique(sources, return_inverse=True)
        part = self._likely.part if bounds and self._likely is not None else None
        values = np.empty(len(targets))
        # In pieces, with all edges of a position in the same.
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

    def _places(self, trees: Sequence[Tree]) -> list[Integers] | None:
        """The places of all nodes of all trees, when those that are new went through the model.

        Returns:
            None if these are too many to be kept.
        """
        for _ in range(2):
            asked = [NewNodes(tree, self._kept.find(tree)) for tree in trees]
            more = sum(len(one.fresh) for one in asked)
            if (self._kept.places + more) * self._kept.bytes_of_one() <= self._most:
                break
            self._kept.clear()
        else:
            return None
        if max((len(one.fresh) for one in asked), default=0) > LONGEST_ROW:
            return None
        places = [one.places for one in asked]
        new = sorted(
            (place for place, one in enumerate(asked) if len(one.fresh)),
            key=lambda place: (len(asked[place].fresh), len(asked[place].old)),
            reverse=True,
        )
        rows = fill_rows(
            [[place] for place in new], [len(asked[place].fresh) for place in new], min(_ROW, self._limits.tokens)
        )
        sizes = [_size([asked[place] for place in row]) for row in rows]
        order = sorted(range(len(rows)), key=lambda row: sizes[row], reverse=True)
        ordered = [rows[row] for row in order]
        for batch in batches(ordered, [sizes[row] for row in order], lambda: self._limits.tokens):
            compute = partial(take_in, self._model, self._kept, [[asked[place] for place in row] for row in batch])
            found = compute_if_it_fits(compute, self._model.device)
            if found is None:
                return None
            for place, own in zip((place for row in batch for place in row), found, strict=True):
                places[place] = own
        return places


def _size(row: Sequence[NewNodes]) -> tuple[int, int]:
    """What a row takes up in a batch, see :func:`.forward.padded_tokens`."""
    return 1, sum(len(new.fresh) for new in row) + sum(len(new.old) for new in row) // PLACES_A_TOKEN
