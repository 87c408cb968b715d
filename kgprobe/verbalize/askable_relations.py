"""Relations that can be asked: active ones with templates, or with generic templates in place of missing ones."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import msgspec

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.records import Relation
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.reversal import reversal_of
from kgprobe.verbalize.language import Language, language_of
from kgprobe.verbalize.templates.generic import FIELDS, completed, generic_relation
from kgprobe.verbalize.templates.kinds import backwards

# Objects of a relation whose types decide between "who" and "what".
_OBJECTS = 20
_PERSONS = frozenset({"human", "person", "people", "fictional human", "human being"})


def askable_relations(
    graph: Graph, templates: Sequence[str] = (), ids: Sequence[str] = (), *, only_generic: bool = False
) -> dict[str, Row]:
    """Return the active relations with templates of one of some kinds, by id, sorted.

    A relation without any of them gets generic templates from its label, and ``generic`` is true in its row. If the
    graph is asked in another language than English, other relations get generic templates of the kinds that they lack.

    Args:
        templates: properties of relations: ``clozes``, ``mined_clozes``, ``yes_no_questions``; empty needs none.
        only_generic: replace all templates of every relation by generic ones.
    """
    active = [row for row in graph.read("sample/relations") if row["active"] and (not ids or row["id"] in ids)]
    language = language_of(graph.language)
    needy = _without_templates(active, templates, only_generic)
    generic = _generic_rows(graph, needy if language.is_english else _without_own(active, only_generic), language)
    needing = {row["id"] for row in needy}
    rows = {}
    for row in active:
        offered = generic.get(row["id"], row)
        if _has_any(offered, templates):
            rows[row["id"]] = {**offered, "generic": row["id"] in needing}
    unusable = [relation for relation in ids if relation not in rows]
    if unusable:
        lack = f", not active, or have no {_kinds(templates)}" if templates else " or not active"
        raise UnknownNameError(f"These relations are not in the graph{lack}: {', '.join(unusable)}.")
    if not rows:
        raise KgprobeError(_no_relation(templates))
    return dict(sorted(rows.items()))


def _without_templates(rows: Sequence[Row], kinds: Sequence[str], only_generic: bool) -> list[Row]:
    """Return the relations that get generic templates: all, without their own templates, or those that have none."""
    return _without_own(rows, True) if only_generic else [row for row in rows if not _has_any(row, kinds)]


def _without_own(rows: Sequence[Row], only_generic: bool) -> list[Row]:
    """Return the relations, without their own templates if only generic ones are asked."""
    return [{**row, **dict.fromkeys(FIELDS, ())} if only_generic else row for row in rows]


def _has_any(row: Row, kinds: Sequence[str]) -> bool:
    """Return True if a relation has templates of one of these kinds; always for no kinds."""
    return not kinds or any(row[kind] for kind in kinds)


def generic_setting(rows: Mapping[str, Row]) -> dict[str, list[str]]:
    """Return the ids of the relations with generic templates as a setting ``generic``; empty if there are none."""
    generic = [relation for relation, row in rows.items() if row["generic"]]
    return {"generic": generic} if generic else {}


def relations_of_persons(graph: Graph, ids: Sequence[str]) -> set[str]:
    """Return the ids of the relations whose objects are mostly persons, so that questions begin with *who*."""
    kinds = graph.read("sample/object_kinds", relations=list(ids), objects=_OBJECTS)
    words = language_of(graph.language).words
    persons = _PERSONS | (words.persons if words else frozenset())
    return {row["relation"] for row in kinds if _are_persons(row["types"], persons)}


def _generic_rows(graph: Graph, rows: Sequence[Row], language: Language) -> dict[str, Row]:
    """Return the rows of relations completed by generic templates, by id.

    In an inverse graph they are the forward relation's, turned around: *Paris is the capital of …*.
    """
    if not rows:
        return {}
    is_inverse = reversal_of(graph) is not None
    of_persons = relations_of_persons(graph, [row["id"] for row in rows])
    completed_rows = {}
    for row in rows:
        relation = msgspec.convert(row, Relation)
        if is_inverse:
            # The objects here are the subjects of the forward relation.
            generic = backwards(generic_relation(relation, language=language))
            relation = replace(relation, **{name: getattr(relation, name) or getattr(generic, name) for name in FIELDS})
        else:
            relation = completed(relation, row["id"] in of_persons, language)
        completed_rows[row["id"]] = {**row, **{name: list(getattr(relation, name)) for name in FIELDS}}
    return completed_rows


def _are_persons(types: Sequence[Sequence[str | None]], words: Container[str]) -> bool:
    """Return True if most objects are persons, by the labels of their types."""
    persons = 0
    for labels in types:
        persons += any(label is not None and label.lower() in words for label in labels)
    return 2 * persons > len(types)


def _kinds(templates: Sequence[str]) -> str:
    """Return the names of kinds of templates, such as ``cloze or yes/no question``."""
    return " or ".join(kind.replace("_", " ").replace("yes no", "yes/no").removesuffix("s") for kind in templates)


def _no_relation(templates: Sequence[str]) -> str:
    if not templates:
        return "No relation in the graph is active. Load relations, or try `kgprobe load example`."
    properties = " or ".join(f"`{kind}`" for kind in templates)
    return (
        f"No relation in the graph is active and has a label or a {_kinds(templates)}. Load relations with"
        f" {properties}, or try `kgprobe load example`."
    )
