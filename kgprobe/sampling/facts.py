"""Facts that can be asked, and their names."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.rows import rows_by
from kgprobe.sampling.generic_relations import generic_rows
from kgprobe.sampling.keys import FactKey, FactKeys, key_rows


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A fact with the names of both ends."""

    key: FactKey
    relation: str
    subject_label: str
    subject_aliases: tuple[str, ...]
    object: str
    object_label: str
    object_aliases: tuple[str, ...]
    start: str | None
    end: str | None

    @property
    def subject_names(self) -> list[str]:
        """The subject's label and aliases, without those of white space."""
        return names_of(self.subject_label, self.subject_aliases)

    @property
    def object_names(self) -> list[str]:
        """The object's label and aliases, without those of white space."""
        return names_of(self.object_label, self.object_aliases)


def names_of(label: str, aliases: Sequence[str]) -> list[str]:
    """Return an entity's label and aliases, without those of white space."""
    return list(filter(str.strip, (label, *aliases)))


def askable_relations(graph: Graph, templates: Sequence[str] = (), ids: Sequence[str] = ()) -> dict[str, Row]:
    """Return the active relations with templates of one of some kinds, by id, sorted.

    A relation without any of them gets generic templates from its label, and ``generic`` is true in its row.

    Args:
        templates: properties of relations: ``clozes``, ``mined_clozes``, ``yes_no_questions``; empty needs none.
        ids: of relations; empty means all.

    Raises:
        UnknownNameError: an id is not among them.
        KgprobeError: there are none.
    """
    active = [row for row in graph.read("sample/relations") if row["active"] and (not ids or row["id"] in ids)]
    without = [row["id"] for row in active if templates and not any(row[kind] for kind in templates)]
    generic = generic_rows(graph, [row for row in active if row["id"] in without])
    rows = {}
    for row in active:
        offered = generic.get(row["id"], row)
        if not templates or any(offered[kind] for kind in templates):
            rows[row["id"]] = {**offered, "generic": row["id"] in generic}
    unusable = [relation for relation in ids if relation not in rows]
    if unusable:
        raise UnknownNameError(_unusable(unusable, templates))
    if not rows:
        raise KgprobeError(_no_relation(templates))
    return {relation: rows[relation] for relation in sorted(ids or rows)}


def _kinds(templates: Sequence[str]) -> str:
    """Return the names of kinds of templates, such as ``cloze or yes/no question``."""
    return " or ".join(kind.replace("_", " ").replace("yes no", "yes/no").removesuffix("s") for kind in templates)


def _unusable(relations: Sequence[str], templates: Sequence[str]) -> str:
    lack = f", not active, or have no {_kinds(templates)}" if templates else " or not active"
    return f"These relations are not in the graph{lack}: {', '.join(relations)}."


def _no_relation(templates: Sequence[str]) -> str:
    if not templates:
        return "No relation in the graph is active. Load relations, or try `kgprobe load example`."
    properties = " or ".join(f"`{kind}`" for kind in templates)
    return (
        f"No relation in the graph is active and has a label or a {_kinds(templates)}. Load relations with"
        f" {properties}, or try `kgprobe load example`."
    )


def askable_facts(graph: Graph, relations: Sequence[str], as_of: int) -> FactKeys:
    """Return the facts of these relations that are current at ``as_of`` (``yyyymmdd``) with names at both ends.

    Cost: one scan of the graph's facts, streamed.
    """
    rows = graph.stream("sample/askable", relations=list(relations), as_of=as_of)
    return FactKeys((row["subject"].encode(), row["fact"].encode()) for row in rows)


def describe_facts(graph: Graph, keys: Sequence[FactKey]) -> list[AskedFact]:
    """Return facts with the names of both ends, in the order of the keys. Cost: a look-up from each subject."""
    rows = graph.read("sample/facts", rows=key_rows(keys))
    by_fact = rows_by("fact", rows)
    return [msgspec.convert({**by_fact[key.fact], "key": key}, AskedFact) for key in keys]
