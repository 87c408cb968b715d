"""Rates of groups of facts, without a limit on their number: groups in rows, stored results in columns.

Figures 4 and 6 to 10 of the parameterized-graph paper: zero-sense rates by year, country and team;
docs/methods/findings.md. A finding shows the largest groups of each kind only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import pandas as pd

from kgprobe.beliefs.group_rates import GroupRates, group_of
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_names
from kgprobe.report.page import Section, table_section, write_page
from kgprobe.results.about_facts import read_about_facts
from kgprobe.results.answers import Stored, answers_of
from kgprobe.results.result import StoredComparison, write_result_files
from kgprobe.running.shared_facts import AnsweredFacts, labels_of
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import Percent, Share
from kgprobe.tables import Heading, ResultRow, Table, row_frame

# Kinds of groups, with their definition.
KINDS = {
    "entity": "subject or object of a fact",
    "relation": "relation of a fact",
    "type": "type of the subject",
    "year": "year of a fact",
}
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class GroupCell(ResultRow):
    """Rates of one result on the facts of one group; None where it has asked none of them.

    Attributes:
        group: id of the entity, relation or type; the year as text.
        result: label of the result.
        guessed: expected win rate of a guesser on the same questions.
    """

    group: str
    name: Annotated[str, Heading("group")]
    result: Annotated[str, Heading("result")]
    facts: Annotated[int, Heading("facts")]
    win_rate: Annotated[Share | None, Heading("win rate")]
    zero_sense_rate: Annotated[Share | None, Heading("zero-sense rate")]
    guessed: Annotated[float | None, Heading("by guessing", Percent)]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class GroupTable(StoredComparison):
    """Rates of groups; one row for each group and result.

    Attributes:
        by: definition of the groups.
        labels: names of the results.
        cells: rates by group and result: the largest group first; years and chosen entities in their order.
        sizes: number of facts of each group, over all results.
        left_out: number of groups beyond the limit; they have as many facts as the last one shown, or fewer.
        small: number of groups with fewer facts than the minimum.
        least: that minimum.
        shared: True if rates are over the facts that all results have answered.
    """

    by: str
    labels: Sequence[str]
    cells: Sequence[GroupCell]
    sizes: Mapping[str, int]
    left_out: int
    small: int
    least: int
    shared: bool

    row = GroupCell
    file: ClassVar[str] = "groups"

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"Rates of {counted(len(self.sizes), 'group')} by {self.by}"

    def records(self) -> Sequence[GroupCell]:
        """Return the cells, group by group."""
        return self.cells

    def tables(self) -> list[Table]:
        """Return the zero-sense rates and the win rates."""
        facts = "the facts that all results have answered" if self.shared else "each result's own facts"
        notes = [f"Shares of {facts}, with 95% intervals; —: none of the group's facts was asked."]
        if self.left_out:
            notes.append(
                f"{counted(self.left_out, 'group')} more with as many facts or fewer (limit {len(self.sizes)})."
            )
        if self.small:
            notes.append(f"{counted(self.small, 'group')} more with fewer than {counted(self.least, 'fact')}.")
        return [
            Table("zero_sense_rates", f"Zero-sense rate by {self.by}", self._rows("zero_sense_rate"), notes),
            Table("win_rates", f"Win rate by {self.by}", self._rows("win_rate"), notes),
        ]

    def _rows(self, rate: str) -> list[dict[str, Any]]:
        """Return one row for each group."""
        rows: dict[str, dict[str, Any]] = {}
        for cell in self.cells:
            row = rows.setdefault(cell.group, {"group": cell.name, "facts": self.sizes[cell.group]})
            row[cell.result] = getattr(cell, rate)
        return list(rows.values())

    def summary(self) -> str:
        """Return the number of groups in a sentence."""
        if not self.sizes:
            return f"No asked fact belongs to a group by {self.by}."
        return f"{counted(len(self.sizes), 'group')} by {self.by}, of {counted(len(self.labels), 'result')}."

    def to_dict(self) -> dict[str, Any]:
        """Return the cells and the numbers of groups, with stable keys."""
        numbers = {"groups": len(self.sizes), "left_out": self.left_out, "small": self.small, "shared": self.shared}
        return {"summary": self.summary(), "by": self.by, **numbers, "notes": list(self.notes), "cells": self.rows()}

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the cells, and both tables, as CSV files by name."""
        tables = {table.key: table.to_frame() for table in self.tables()}
        return {"groups": row_frame(self.cells, GroupCell), **tables}

    def page(self) -> Path:
        """Write a page of both tables, everything as JSON, and CSV files; return the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        write_result_files(self.folder, self.file, self.to_dict(), self.frames())
        sections = [table_section(table, self.labels) for table in self.tables()]
        settings = msgspec.json.format(msgspec.json.encode(self.config), indent=2).decode().splitlines()
        how = Section("how", "How it was made", {"parts": {"Settings": settings}})
        paragraphs = Section("text", "In words", {"paragraphs": [self.summary(), *self.notes]})
        return write_page(self.folder / f"{self.file}.html", self.title, [], [paragraphs, *sections, how])


@dataclass(frozen=True, slots=True)
class Grouped:
    """Assignment of facts to groups.

    Attributes:
        by: definition of the groups.
        groups: ids of the groups of each fact.
        names: names of the groups by id.
        order: ids in the order of the table; empty for the largest first.
        is_chosen: True if the user chose the groups: all are kept, also without facts.
    """

    by: str
    groups: Mapping[str, Sequence[str]]
    names: Mapping[str, str]
    order: Sequence[str] = ()
    is_chosen: bool = False


def group_by_kind(graph: Graph, facts: pd.DataFrame, kind: str) -> Grouped:
    """Return facts by entity, relation, type or year.

    Args:
        facts: rows of :func:`~kgprobe.results.about_facts.read_about_facts`.
        kind: a key of :data:`KINDS`.
    """
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


def group_by_entities(facts: pd.DataFrame, entities: Mapping[str, str]) -> Grouped:
    """Return the facts of chosen entities, as subject or object, in their order.

    Args:
        entities: names of the entities, by id.
    """
    groups = {}
    for fact, subject, object_ in zip(facts["fact"], facts["subject"], facts["object"], strict=True):
        groups[fact] = [entity for entity in dict.fromkeys((subject, object_)) if entity in entities]
    return Grouped("chosen entity", groups, entities, list(entities), is_chosen=True)


def group_by_object(graph: Graph, facts: pd.DataFrame, relation: str) -> Grouped:
    """Return facts by the objects of a relation: those that their subject has, or that their subject is.

    Facts of a film are grouped by its countries of origin, and facts of a country by itself.

    Args:
        relation: id of the relation.

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


def tabulate_groups(
    graph: Graph,
    results: Sequence[Stored],
    group: Callable[[pd.DataFrame], Grouped],
    *,
    year_relation: str | None = None,
    least: int = 1,
    limit: int | None = None,
    shared: bool = False,
) -> GroupTable:
    """Return the rates of results by group.

    Args:
        group: returns the groups of facts.
        year_relation: source of the years, as in :func:`~kgprobe.results.finding.make_finding`.
        least: minimum number of facts in a group, over all results; groups that the user chose are kept.
        limit: maximum number of groups, the largest; None for all.
        shared: compare the results on the facts that all of them have answered.

    Raises:
        KgprobeError: a result has no answers, or none of its facts is in the graph.
        ArgumentError: the results share no fact.

    Cost: reading all answers; a walk from each asked subject.
    """
    answered = list(map(answers_of, results))
    labels = labels_of(answered)
    frames = _frames(answered, shared)
    about, years = read_about_facts(graph, _subjects(frames.values()), year_relation)
    if about.empty:
        raise KgprobeError("None of the asked facts is in this graph.")
    grouped = group(about)
    members = _members(grouped)
    large = [name for name, facts in members.items() if grouped.is_chosen or len(facts) >= least]
    kept = _largest(large, members, limit, is_ordered=bool(grouped.order))
    cells = []
    for name in kept:
        for label, facts in zip(labels, frames.values(), strict=True):
            cells.append(_cell(name, grouped.names[name], label, facts[facts.index.isin(members[name])]))
    folders = [str(result.folder.resolve()) for result in results]
    settings = {"by": grouped.by, "order": list(grouped.order), "least": least, "limit": limit, "shared": shared}
    return GroupTable(
        by=grouped.by,
        labels=labels,
        cells=cells,
        sizes={name: len(members[name]) for name in kept},
        left_out=len(large) - len(kept),
        small=len(members) - len(large),
        least=least,
        shared=shared,
        config={"results": folders, **settings, "year_relation": year_relation},
        notes=[years.note] if grouped.by == "year" else [],
    )


def _members(grouped: Grouped) -> dict[str, list[str]]:
    """Return the facts of each group; the user's groups first, in their order."""
    members: dict[str, list[str]] = {name: [] for name in grouped.order}
    for fact, groups in grouped.groups.items():
        for name in groups:
            members.setdefault(name, []).append(fact)
    return members


def _largest(
    names: Sequence[str], members: Mapping[str, Sequence[str]], limit: int | None, *, is_ordered: bool
) -> list[str]:
    """Return the names of the largest groups, at most ``limit``: in the given order, or the largest first."""
    by_size = sorted(names, key=lambda name: (-len(members[name]), name))[:limit]
    return [name for name in names if name in set(by_size)] if is_ordered else by_size


def _frames(answered: Sequence[AnsweredFacts], shared: bool) -> dict[int, pd.DataFrame]:
    """Return the counted facts of each result, by its place."""
    frames = dict(enumerate(own.facts for own in answered))
    if not shared:
        return frames
    common = sorted(set.intersection(*(set(frame.index) for frame in frames.values())))
    if not common:
        raise ArgumentError("results", "share no fact; measure all models on the same facts.")
    return {place: frame.loc[common] for place, frame in frames.items()}


def _subjects(frames: Iterable[pd.DataFrame]) -> dict[str, str]:
    """Return the subject of each fact, by fact."""
    subjects: dict[str, str] = {}
    for frame in frames:
        subjects |= dict(zip(frame.index, frame["subject"], strict=True))
    return dict(sorted(subjects.items()))


def _cell(group: str, name: str, label: str, facts: pd.DataFrame) -> GroupCell:
    rates: GroupRates | None = group_of(name, facts) if len(facts) else None
    if rates is None:
        return GroupCell(group, name, label, 0, None, None, None)
    return GroupCell(group, name, label, rates.facts, rates.win_rate, rates.zero_sense_rate, rates.guessed)
