"""Grouping data of facts: labels, types of the subjects, popularity, and years.

docs/methods/findings.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kgprobe.answers.table import Answers
from kgprobe.base.dates import year_of
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import relation_names
from kgprobe.sampling.years import FACT_START, YearSource, candidate_sources, choose_source

_FACTS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """The asked facts of a data set, with their labels.

    Attributes:
        rows: by fact, with the columns of the query ``sample/about``; types, popularity and year are unknown.
        relations: labels of the relations by id.
    """

    rows: Mapping[str, Mapping[str, Any]]
    relations: Mapping[str, str]


def dataset_facts(answers: Answers, relations: Mapping[str, str]) -> DatasetFacts:
    """Return the facts of a measurement of a data set, from the evidence of its answers."""
    columns = ["fact", "relation", "subject", "subject_label", "object", "object_label"]
    rows: dict[str, Mapping[str, Any]] = {}
    for row in answers.table.select(columns).to_pylist():
        if row["object"] is not None:
            rows[row["fact"]] = row | {"types": [], "popularity": None, "year": None}
    return DatasetFacts(rows, relations)


def names_of_asked(graph: Graph | DatasetFacts, relations: Sequence[str]) -> dict[str, str]:
    """Return a name of each relation; see :func:`kgprobe.graph.names.relation_names`."""
    if isinstance(graph, DatasetFacts):
        return {relation: graph.relations.get(relation, relation) for relation in relations}
    return relation_names(graph, relations)


def read_about_facts(
    graph: Graph | DatasetFacts, subjects: Mapping[str, str], year_relation: str | None
) -> tuple[pd.DataFrame, YearSource]:
    """Return labels, types, popularity and year of facts, and the source of the years.

    Args:
        graph: the graph, or the labels of a data set's facts, which have no years.
        subjects: ids of the subjects by fact; facts that are not in the graph are left out.

    Returns:
        One row per fact: fact, relation, subject, subject_label, object, object_label, types (id and label), popularity
        and year (None if unknown).

    Cost: a walk from each subject.
    """
    if isinstance(graph, DatasetFacts):
        about = pd.DataFrame([graph.rows[fact] for fact in subjects if fact in graph.rows])
        return about, YearSource(FACT_START, "start of the fact", 0, len(about))
    sources = candidate_sources(graph, year_relation)
    rows = _rows_about(graph, subjects, sorted({*sources} - {FACT_START}))
    by_source = [_dates_of(row) for row in rows]
    dated = dict.fromkeys(sources, 0)
    for own in by_source:
        for name in sources:
            dated[name] += year_of(own.get(name)) is not None
    source = choose_source(graph, dated, len(rows))
    for row, own in zip(rows, by_source, strict=True):
        row["year"] = year_of(own.get(source.relation))
        del row["start"], row["dates"]
    return pd.DataFrame(rows), source


def _dates_of(row: Row) -> dict[str, str | None]:
    """Return the dates of a fact by source: its own start, and relations of its subject."""
    return {FACT_START: row["start"], **{date["relation"]: date["date"] for date in row["dates"]}}


def _rows_about(graph: Graph, subjects: Mapping[str, str], year_relations: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    keys = [{"subject": subject, "fact": fact} for fact, subject in subjects.items()]
    for first in range(0, len(keys), _FACTS_AT_ONCE):
        some = keys[first : first + _FACTS_AT_ONCE]
        rows += graph.read("sample/about", rows=some, year_relations=year_relations)
    return rows
