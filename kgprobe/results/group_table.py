"""Rates of groups of facts, without a limit on their number: groups in rows, stored results in columns.

Figures 4 and 6 to 10 of the parameterized-graph paper: zero-sense rates by year, country and team;
docs/methods/findings.md. A finding shows the largest groups of each kind only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
import pandas as pd

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph
from kgprobe.graph.names import entity_ids, relation_ids, relation_names
from kgprobe.results.about import About
from kgprobe.results.about_facts import read_about_facts
from kgprobe.results.answers import Stored
from kgprobe.results.rate_table import RateTable, rate_cell
from kgprobe.results.shared_facts import answered_facts, labels_of
from kgprobe.stats.value_counts import HEAD, TAIL, TORSO, thirds_of

# Kinds of groups, with their definition.
KINDS = {
    "entity": "subject or object of a fact",
    "relation": "relation of a fact",
    "type": "type of the subject",
    "year": "year of a fact",
    "popularity": "thirds of the subjects' popularity",
}
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Grouped:
    """Assignment of facts to groups.

    Attributes:
        by: definition of the groups.
        groups: ids of the groups of each fact.
        names: names of the groups by id.
        order: ids in the order of the table; empty for the largest first.
    """

    by: str
    groups: Mapping[str, Sequence[str]]
    names: Mapping[str, str]
    order: Sequence[str] = ()


def group_by_kind(graph: Graph, facts: pd.DataFrame, kind: str) -> Grouped:
    """Return facts by entity, relation, type or year.

    Args:
        facts: rows of :func:`~kgprobe.results.about_facts.read_about_facts`.
        kind: a key of :data:`KINDS`.
    """
    if kind == "popularity":
        return group_by_popularity(facts)
    names: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for row in facts.to_dict("records"):
        if kind == "entity":
            keyed = {row[end]: row[f"{end}_label"] or row[end] for end in ("subject", "object")}
        elif kind == "type":
            keyed = {type_["id"]: type_["label"] or type_["id"] for type_ in row["types"]}
        elif kind == "relation":
            keyed = {row["relation"]: row["relation"]}
        else:
            keyed = {} if pd.isna(row["year"]) else {str(int(row["year"])): str(int(row["year"]))}
        names |= keyed
        groups[row["fact"]] = list(keyed)
    if kind == "relation":
        names = relation_names(graph, names)
    return Grouped(kind, groups, names, sorted(names, key=int) if kind == "year" else ())


def group_by_popularity(facts: pd.DataFrame) -> Grouped:
    """Return facts by thirds of their subjects' popularity, the most popular first."""
    popularity = pd.Series(facts["popularity"].to_numpy(np.float64), index=facts["fact"])
    known = popularity.dropna()
    thirds = thirds_of(known.to_numpy())
    groups = {str(fact): [str(thirds.of(value))] for fact, value in known.items()}
    present = {name for group in groups.values() for name in group}
    names = {name: name for name in (HEAD, TORSO, TAIL) if name in present}
    return Grouped("popularity", groups, names, list(names))


def group_by_entities(facts: pd.DataFrame, entities: Mapping[str, str]) -> Grouped:
    """Return the facts of chosen entities, as subject or object, in their order.

    Args:
        entities: names of the entities, by id.
    """
    groups = {}
    for fact, subject, object_ in zip(facts["fact"], facts["subject"], facts["object"], strict=True):
        groups[fact] = [entity for entity in dict.fromkeys((subject, object_)) if entity in entities]
    return Grouped("chosen entity", groups, entities, list(entities))


def group_by_object(graph: Graph, facts: pd.DataFrame, relation: str) -> Grouped:
    """Return facts by the objects of a relation: those that their subject has, or that their subject is.

    Facts of a film are grouped by its countries of origin, and facts of a country by itself.

    Cost: a walk from each subject.
    """
    names: dict[str, str] = {}
    objects: dict[str, list[str]] = {}
    subjects = sorted(set(facts["subject"]))
    for first in range(0, len(subjects), _AT_ONCE):
        some = subjects[first : first + _AT_ONCE]
        for row in graph.read("sample/objects_at", subjects=some, relation=relation):
            names[row["object"]] = row["label"] or row["object"]
            objects.setdefault(row["subject"], []).append(row["object"])
    groups = {}
    for fact, subject in zip(facts["fact"], facts["subject"], strict=True):
        own = [subject] if subject in names else []
        groups[fact] = list(dict.fromkeys([*own, *sorted(objects.get(subject, ()))]))
    label = relation_names(graph, [relation])[relation]
    return Grouped(f"object of {label}", groups, names)


def chosen_entities(graph: Graph, centers: Sequence[str]) -> dict[str, str]:
    """Return the names of entities, given by ids or names, by id; with the id where two have one name."""
    ids = entity_ids(graph, centers)
    labels = {row["id"]: row["label"] or row["id"] for row in graph.read("sample/labels", ids=ids)}
    names = [labels.get(entity, entity) for entity in ids]
    return {
        entity: name if names.count(name) == 1 else f"{name} ({entity})"
        for entity, name in zip(ids, names, strict=True)
    }


def grouping_of(
    graph: Graph, kind: str, centers: Sequence[str], object_of: str | None
) -> Callable[[pd.DataFrame], Grouped]:
    """Return the function that groups facts: by their kind, around centers, or by the objects of a relation."""
    if centers:
        return partial(group_by_entities, entities=chosen_entities(graph, centers))
    if object_of is not None:
        return partial(group_by_object, graph, relation=relation_ids(graph, [object_of])[0])
    return partial(group_by_kind, graph, kind=kind)


def tabulate_groups(
    graph: Graph,
    results: Sequence[Stored],
    group: Callable[[pd.DataFrame], Grouped],
    *,
    year_relation: str | None = None,
    limit: int | None = None,
    shared: bool = False,
    entities: Mapping[str, str] = MappingProxyType({}),
) -> RateTable:
    """Return the rates of results by group.

    Args:
        group: returns the groups of facts.
        entities: names of entities, by id: the columns, with the facts that each of them has in the first result;
            empty for a column for each result.
        year_relation: source of the years, as in :func:`~kgprobe.results.finding.make_finding`.
        limit: maximum number of groups, the largest; None for all.
        shared: compare the results on the facts that all of them have answered.

    Raises:
        KgprobeError: a result has no answers, or none of its facts is in the graph.
        ArgumentError: the results share no fact.

    Cost: reading all answers; a walk from each asked subject.
    """
    abouts = [result.about for result in results]
    frames = _frames(results, shared)
    about, years = read_about_facts(graph, _subjects(frames), year_relation)
    if about.empty:
        raise KgprobeError("None of the asked facts is in this graph.")
    grouped = group(about)
    members = _members(grouped)
    columns = list(zip(abouts, labels_of(abouts), frames, strict=True))
    if entities:
        columns = _columns_of(entities, about, abouts[0], frames[0])
        inside = {fact for *_, facts in columns for fact in facts.index}
        members = {
            name: shown for name, facts in members.items() if (shown := [fact for fact in facts if fact in inside])
        }
    kept = _largest(members, limit, is_ordered=bool(grouped.order))
    cells = []
    for name in kept:
        for own, label, facts in columns:
            members_of_group = facts[facts.index.isin(members[name])]
            cells.append(rate_cell(name, grouped.names[name], label, own.name, members_of_group))
    left_out = len(members) - len(kept)
    more = f"{counted(left_out, 'group')} more with as many facts or fewer (limit {len(kept)})."
    settings = {"by": grouped.by, "order": list(grouped.order), "limit": limit, "shared": shared}
    return RateTable(
        by=grouped.by,
        cells=cells,
        sizes={name: len(members[name]) for name in kept},
        shared=shared,
        remarks=[more] if left_out else [],
        config={
            "results": [str(result.folder.resolve()) for result in results],
            **settings,
            "year_relation": year_relation,
            "centers": list(entities),
        },
        centers={name: len(facts) for _, name, facts in columns} if entities else {},
        notes=[years.note] if grouped.by == "year" else [],
    )


def facts_by_group(
    graph: Graph, results: Sequence[Stored], group: Callable[[pd.DataFrame], Grouped]
) -> dict[str, tuple[str, Sequence[str]]]:
    """Return the name and the facts of each group of asked facts, the largest group first, by id."""
    about, _ = read_about_facts(graph, _subjects(_frames(results, shared=False)), None)
    if about.empty:
        raise KgprobeError("None of the asked facts is in this graph.")
    grouped = group(about)
    members = _members(grouped)
    kept = _largest(members, None, is_ordered=bool(grouped.order))
    return {name: (grouped.names[name], members[name]) for name in kept}


def _columns_of(
    entities: Mapping[str, str], about: pd.DataFrame, own: About, facts: pd.DataFrame
) -> list[tuple[About, str, pd.DataFrame]]:
    """Return a column for each entity: the result, the entity's name and its facts."""
    columns = []
    groups = group_by_entities(about, entities).groups
    for entity, name in entities.items():
        of_entity = [fact for fact in facts.index if entity in groups[fact]]
        columns.append((own, name, facts.loc[of_entity]))
    return columns


def _members(grouped: Grouped) -> dict[str, list[str]]:
    """Return the facts of each group; the user's groups first, in their order."""
    members: dict[str, list[str]] = {name: [] for name in grouped.order}
    for fact, groups in grouped.groups.items():
        for name in groups:
            members.setdefault(name, []).append(fact)
    return members


def _largest(members: Mapping[str, Sequence[str]], limit: int | None, *, is_ordered: bool) -> list[str]:
    """Return the names of the largest groups, at most ``limit``: in the given order, or the largest first."""
    by_size = sorted(members, key=lambda name: (-len(members[name]), name))[:limit]
    return [name for name in members if name in set(by_size)] if is_ordered else by_size


def _frames(results: Sequence[Stored], shared: bool) -> list[pd.DataFrame]:
    """Return the counted facts of each result."""
    frames = [answered_facts(result.about.name, result.answers) for result in results]
    if not shared:
        return frames
    common = sorted(set.intersection(*(set(frame.index) for frame in frames)))
    if not common:
        raise ArgumentError("results", "share no fact; measure all models on the same facts.")
    return [frame.loc[common] for frame in frames]


def _subjects(frames: Iterable[pd.DataFrame]) -> dict[str, str]:
    """Return the subject of each fact, by fact."""
    subjects: dict[str, str] = {}
    for frame in frames:
        subjects |= dict(zip(frame.index, frame["subject"], strict=True))
    return dict(sorted(subjects.items()))
