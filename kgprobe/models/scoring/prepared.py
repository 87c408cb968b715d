"""Arrays of a batch, made before the device needs them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from kgprobe.models.scoring.forward import (
    AnyPrefix,
    PackedRows,
    ScoringMethod,
    keys_and_values,
    packed_rows,
    run_method,
)
from kgprobe.models.scoring.trie import Forest, Integers

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """Forests with all that does not depend on the device.

    Attributes:
        method: any but ``plain``.
        targets: the edges' tokens, one forest after the other, shape (edges,).
        packed: the forests' rows and the positions with edges; None for methods that arrange rows themselves.
    """

    method: ScoringMethod
    forests: Sequence[Forest]
    targets: Integers
    packed: tuple[PackedRows, "Positions"] | None

    def hidden(self, model: "PreTrainedModel", prefix: AnyPrefix | None) -> tuple[torch.Tensor, Integers]:
        """Return the last hidden states at the positions with edges, and for each edge its row of them.

        Args:
            prefix: all forests are after it; None for none.

        Returns:
            states of shape (positions, hidden size), and rows of shape (edges,).
        """
        if self.packed is None:
            states, sources = run_method(model, self.method, self.forests, prefix)
            positions = positions_of(sources)
        else:
            rows, positions = self.packed
            states, _ = rows.run(model, None if prefix is None else keys_and_values(prefix))
        return states[torch.from_numpy(positions.places).to(states.device)], positions.rows


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions with edges.

    Attributes:
        places: rows of the states, increasing, shape (positions,).
        rows: place of each edge's source among them, shape (edges,).
    """

    places: Integers
    rows: Integers


def positions_of(sources: Integers) -> Positions:
    """Return the positions of edges by the rows with the states of their sources."""
    places, rows = np.unique(sources, return_inverse=True)
    return Positions(places, rows)


def prepare_batch(method: ScoringMethod, forests: Sequence[Forest]) -> PreparedBatch:
    """Return the arrays of at least one forest; no model is needed yet."""
    targets = np.concatenate([forest.targets for forest in forests])
    if method != "packed":
        return PreparedBatch(method, forests, targets, None)
    rows = packed_rows(forests)
    return PreparedBatch(method, forests, targets, (rows, positions_of(rows.sources)))
