"""Relations without templates, completed by generic templates when they are asked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from kgprobe.graph.client import Graph, Row
from kgprobe.graph.reversal import reversal_of
from kgprobe.records import Relation
from kgprobe.verbalize.templates.generic import FIELDS, completed, generic_relation
from kgprobe.verbalize.templates.kinds import backwards

# Objects of a relation whose types decide between "who" and "what".
_OBJECTS = 20
_PERSONS = frozenset({"human", "person", "people", "fictional human", "human being"})


def generic_setting(rows: Mapping[str, Row]) -> dict[str, list[str]]:
    """Return the ids of the relations with generic templates as a setting ``generic``; empty if there are none."""
    generic = [relation for relation, row in rows.items() if row["generic"]]
    return {"generic": generic} if generic else {}


def generic_rows(graph: Graph, rows: Sequence[Row]) -> dict[str, Row]:
    """Return the rows of relations completed by generic templates, by id.

    In an inverse graph they are the forward relation's, turned around: *Paris is the capital of …*.
    """
    if not rows:
        return {}
    is_inverse = reversal_of(graph) is not None
    kinds = graph.read("sample/object_kinds", relations=[row["id"] for row in rows], objects=_OBJECTS)
    types = {row["relation"]: row["types"] for row in kinds}
    completed_rows = {}
    for row in rows:
        relation = msgspec.convert(row, Relation)
        if is_inverse:
            # The objects here are the subjects of the forward relation.
            generic = backwards(generic_relation(relation))
            relation = replace(relation, **{name: getattr(relation, name) or getattr(generic, name) for name in FIELDS})
        else:
            relation = completed(relation, who=_are_persons(types.get(row["id"], ())))
        completed_rows[row["id"]] = {**row, **{name: list(getattr(relation, name)) for name in FIELDS}}
    return completed_rows


def _are_persons(types: Sequence[str]) -> bool:
    persons = sum(type_.lower() in _PERSONS for type_ in types)
    return 2 * persons > len(types)
