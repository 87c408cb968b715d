"""Grouping data of facts: labels, types of the subjects, popularity, and years.

docs/methods/findings.md.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from kgprobe.answers.table import Answers
from kgprobe.base.dates import year_of
from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.years import FACT_START, YearSource, candidate_sources, choose_source

_FACTS_AT_ONCE = 1_000


def about_dataset(answers: Answers) -> pd.DataFrame:
    """Return the rows of :func:`read_about_facts` for answers about a data set, whose facts have only labels."""
    columns = ["fact", "relation", "subject", "subject_label", "object", "object_label"]
    rows = [row for row in answers.table.select(columns).to_pylist() if row["object"] is not None]
    facts: pd.DataFrame = pd.DataFrame([row | {"types": [], "popularity": None, "year": None} for row in rows])
    return facts


def read_about_facts(
    graph: Graph, subjects: Mapping[str, str], year_relation: str | None
) -> tuple[pd.DataFrame, YearSource]:
    """Return labels, types, popularity and year of facts, and the source of the years.

    Args:
        subjects: ids of the subjects by fact; facts that are not in the graph are left out.

    Returns:
        One row per fact: fact, relation, subject, subject_label, object, object_label, types (id and label), popularity
        and year (None if unknown).

    Cost: a walk from each subject.
    """
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
