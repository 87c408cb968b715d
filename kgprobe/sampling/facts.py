"""Which facts can be asked, and what is said of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.keys import FactKey, FactKeys


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


def askable_relations(graph: Graph, templates: Sequence[str] = (), wanted: Sequence[str] = ()) -> dict[str, Row]:
    """The relations that are active and have templates of one of some kinds, by id, in its order.

    Args:
        templates: the kinds, as the graph calls them: ``clozes``, ``mined_clozes``, ``yes_no_questions``; none where
            none is needed.
        wanted: ids; none means all.

    Raises:
        UnknownNameError: one that is wanted is not among them.
        KgprobeError: there is none.
    """
    kinds = " or ".join(kind.replace("_", " ").replace("yes no", "yes/no").removesuffix("s") for kind in templates)
    rows = {
        row["id"]: row
        for row in graph.read("sample/relations")
        if row["active"] and (not templates or any(row[kind] for kind in templates))
    }
    unusable = [relation for relation in wanted if relation not in rows]
    if unusable:
        lack = f", not active, or have no {kinds}" if templates else " or not active"
        raise UnknownNameError(f"These relations are not in the graph{lack}: {', '.join(unusable)}.")
    if not rows:
        have = f" and has a {kinds}" if templates else ""
        written = " `kgprobe templates write --from-label` writes plain ones." if "clozes" in templates else ""
        named = f" with {' or '.join(f'`{kind}`' for kind in templates)}" if templates else ""
        raise KgprobeError(
            f"No relation in the graph is active{have}.{written} Load relations{named}, or try `kgprobe load example`."
        )
    return {relation: rows[relation] for relation in sorted(wanted or rows)}


def askable_facts(graph: Graph, relations: Sequence[str], as_of: int) -> FactKeys:
    """The facts of these relations that are current at ``as_of`` (``yyyymmdd``) and have a name at both ends.

    Cost: one scan of the graph's facts, streamed.
    """
    rows = graph.stream("sample/askable", relations=list(relations), as_of=as_of)
    return FactKeys((row["subject"].encode(), row["fact"].encode()) for row in rows)


def describe_facts(graph: Graph, keys: Sequence[FactKey]) -> list[AskedFact]:
    """The facts with the names of both ends, in the order of the keys. Cost: a walk from each subject."""
    rows = graph.read("sample/facts", rows=[key._asdict() for key in keys])
    by_fact = {row["fact"]: row for row in rows}
    return [
        AskedFact(
            key=key,
            relation=row["relation"],
            subject_label=row["subject_label"],
            subject_aliases=tuple(row["subject_aliases"]),
            object=row["object"],
            object_label=row["object_label"],
            object_aliases=tuple(row["object_aliases"]),
            start=row["start"],
            end=row["end"],
        )
        for key in keys
        for row in (by_fact[key.fact],)
    ]
