"""Relations between kinds of entities, from the columns of all facts."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.sampling.columns.graph_columns import GraphColumns, Int32s, Int64s
from kgprobe.sampling.lists import Lists, lists_of

# Number of facts per block.
_FACTS = 500_000


class LinkedColumns:
    """Relations between kinds of entities.

    A kind of subjects is a type, or for subjects without a type all subjects of their relation; a kind of objects is a
    type, or for objects without a type all of the same datatype.
    """

    def __init__(self, columns: GraphColumns) -> None:
        """Use these columns; passes over all facts are made on first use."""
        self._columns = columns
        self._places: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self._lists: list[Int32s] = []

    def of(self, facts: Int64s, relations: Int32s) -> tuple[Int64s, list[Int32s]]:
        """Return the number of each fact's list, and the lists: relations that link the kinds of its ends.

        Args:
            facts: places in the columns, shape (facts,).
            relations: relations to include, the same in every call.
        """
        subjects = self._kinds_of_subjects(facts)
        objects = self._kinds_of_objects(self._columns.objects[facts])
        kinds = np.empty(len(facts), dtype=np.int64)
        for row in range(len(facts)):
            key = tuple(subjects[row].tolist()), tuple(objects[row].tolist())
            if key not in self._places:
                self._places[key] = len(self._lists)
                self._lists.append(np.intersect1d(self._between(*key), relations))
            kinds[row] = self._places[key]
        return kinds, self._lists

    def _between(self, subjects: tuple[int, ...], objects: tuple[int, ...]) -> Int32s:
        pairs = np.add.outer(np.array(subjects, np.int64) * self._object_kinds, np.array(objects, np.int64)).ravel()
        links, relations = self._links
        places = np.minimum(np.searchsorted(links, pairs), len(links) - 1)
        linked = places[links[places] == pairs]
        if not len(linked):
            return np.empty(0, np.int32)
        return np.unique(np.concatenate([relations[place] for place in linked]))

    @property
    def _object_kinds(self) -> int:
        # Types, then typeless entities, then the datatypes of literals.
        return len(self._columns.type_ids) + 1 + len(self._columns.datatype_names)

    def _kinds_of_subjects(self, facts: Int64s) -> Lists[np.int64]:
        columns = self._columns
        alone = len(columns.type_ids) + columns.relations[facts].astype(np.int64)
        return types_or(columns.types, columns.subjects[facts], alone)

    def _kinds_of_objects(self, objects: NDArray[Any]) -> Lists[np.int64]:
        columns = self._columns
        alone = len(columns.type_ids) + 1 + columns.datatypes[objects].astype(np.int64)
        return types_or(columns.types, objects, alone)

    @cached_property
    def _links(self) -> tuple[Int64s, Lists[np.int32]]:
        """Pairs of kinds, ascending, and the relations of each."""
        columns = self._columns
        relations = len(columns.relation_ids)
        parts = [np.empty(0, dtype=np.int64)]
        for first in range(0, len(columns.subjects), _FACTS):
            facts = np.arange(first, min(first + _FACTS, len(columns.subjects)))
            owners, subjects = self._all_kinds_of(columns.subjects[facts])
            objects = self._kinds_of_objects(columns.objects[facts])
            places, lengths = objects.places(owners)
            pairs = np.repeat(subjects, lengths) * self._object_kinds + objects.values[places]
            keys = pairs * relations + np.repeat(columns.relations[facts[owners]], lengths)
            parts.append(np.unique(keys))
        links, codes = np.divmod(np.unique(np.concatenate(parts)), max(1, relations))
        pairs, owners = np.unique(links, return_inverse=True)
        return pairs, lists_of(owners, codes.astype(np.int32), len(pairs))

    def _all_kinds_of(self, subjects: Int32s) -> tuple[Int64s, Int64s]:
        """Return places of facts, each with a kind of its subject: its types, and the subjects of its relations."""
        columns = self._columns
        places, lengths = columns.types.places(subjects)
        of_relation, counts = self._relations_of.places(subjects)
        rows = np.arange(len(subjects))
        owners = np.concatenate([np.repeat(rows, lengths), np.repeat(rows, counts)])
        in_relations = len(columns.type_ids) + self._relations_of.values[of_relation].astype(np.int64)
        return owners, np.concatenate([columns.types.values[places].astype(np.int64), in_relations])

    @cached_property
    def _relations_of(self) -> Lists[np.int32]:
        """Relations of each subject, among those that have subjects without a type."""
        columns = self._columns
        typeless = columns.types.lengths(columns.subjects) == 0
        needed = np.zeros(len(columns.relation_ids), dtype=bool)
        needed[columns.relations[typeless]] = True
        kept = needed[columns.relations]
        size = np.int64(max(1, len(columns.relation_ids)))
        keys = np.unique(columns.subjects[kept] * size + columns.relations[kept])
        return lists_of(keys // size, (keys % size).astype(np.int32), len(columns.types))


def types_or(types: Lists[np.int32], entities: NDArray[Any], alone: Int64s) -> Lists[np.int64]:
    """Return the types of each entity, or its value in ``alone`` if it has none."""
    places, lengths = types.places(entities)
    counts = np.maximum(lengths, 1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    values = np.empty(starts[-1], dtype=np.int64)
    typed = np.repeat(lengths > 0, counts)
    values[typed] = types.values[places]
    values[~typed] = alone[lengths == 0]
    return Lists(starts, values)
