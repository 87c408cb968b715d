"""Askable facts of a run, as places in a graph's columns."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgprobe.sampling.columns.graph_columns import GraphColumns
from kgprobe.sampling.keys import FactKey


class AskableFacts:
    """Facts of some relations that are current at a date and have names at both ends, in the order of the columns.

    The position of a fact in this order identifies it during a run. Memory: 8 bytes per fact; columns are on disk.
    """

    def __init__(self, columns: GraphColumns, relations: Sequence[str], as_of: int) -> None:
        """Select the facts. Cost: some passes over all facts of the graph."""
        self.columns = columns
        self.places = columns.askable(relations, as_of)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, position: int) -> FactKey:
        place = int(self.places[position])
        subject = self.columns.entity_ids[int(self.columns.subjects[place])]
        return FactKey(subject.as_py(), self.columns.fact_ids[place].as_py())

    def positions(self, facts: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of facts by their ids, shape (facts,); -1 for an unknown id.

        Cost: one pass over all facts of the graph.
        """
        if not len(self.places):
            return np.full(len(facts), -1, np.int64)
        ids = pa.array(facts, type=self.columns.fact_ids.type)
        places = pc.index_in(ids, value_set=self.columns.fact_ids).fill_null(-1).to_numpy(zero_copy_only=False)
        positions = np.minimum(np.searchsorted(self.places, places), len(self.places) - 1)
        is_askable = (places >= 0) & (self.places[positions] == places)
        return np.where(is_askable, positions, -1).astype(np.int64)

    @property
    def subjects(self) -> NDArray[np.int32]:
        """Subjects as places in the columns, shape (facts,)."""
        return self.columns.subjects[self.places]

    @property
    def objects(self) -> NDArray[np.int32]:
        """Objects as places in the columns, shape (facts,)."""
        return self.columns.objects[self.places]

    @property
    def relations(self) -> NDArray[np.int32]:
        """Relations as places in the columns, shape (facts,)."""
        return self.columns.relations[self.places]
