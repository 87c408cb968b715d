"""The facts that a run can ask, as places in a graph's columns."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgprobe.sampling.columns.graph_columns import GraphColumns
from kgprobe.sampling.keys import FactKey


class AskableFacts:
    """Facts of some relations that are current at a date and have a name at both ends, in the order of the columns.

    A fact's position in this order names it during a run. Memory: eight bytes a fact; all else is mapped from disk.
    """

    def __init__(self, columns: GraphColumns, relations: Sequence[str], as_of: int) -> None:
        """Find them. Cost: some passes over all facts of the graph."""
        self.columns = columns
        self.places = columns.askable(relations, as_of)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, position: int) -> FactKey:
        place = int(self.places[position])
        subject = self.columns.entity_ids[int(self.columns.subjects[place])]
        return FactKey(subject.as_py(), self.columns.fact_ids[place].as_py())

    def positions(self, facts: Sequence[str]) -> NDArray[np.int64]:
        """The positions of facts by their ids, shape (facts,); -1 for one that is not among them.

        Cost: one pass over all facts of the graph, whatever ``facts`` are.
        """
        wanted = pa.array(facts, type=self.columns.fact_ids.type)
        places = pc.index_in(wanted, value_set=self.columns.fact_ids).fill_null(-1).to_numpy(zero_copy_only=False)
        at = np.minimum(np.searchsorted(self.places, places), max(0, len(self.places) - 1))
        found = (places >= 0) & (self.places[at] == places) if len(self.places) else np.zeros(len(places), np.bool_)
        return np.where(found, at, -1).astype(np.int64)

    @property
    def subjects(self) -> NDArray[np.int32]:
        """Entities, as places in the columns, shape (facts,)."""
        return self.columns.subjects[self.places]

    @property
    def objects(self) -> NDArray[np.int32]:
        """Likewise."""
        return self.columns.objects[self.places]

    @property
    def relations(self) -> NDArray[np.int32]:
        """Relations, as places in the columns, shape (facts,)."""
        return self.columns.relations[self.places]
