"""Sections of a page that compare several results."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kgprobe.analysis.examined import Examined
from kgprobe.analysis.finding import Finding
from kgprobe.analysis.side_by_side import SideBySide
from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.report.sections import Section, table_section
from kgprobe.results.finding import ranked_relations, unknown_count
from kgprobe.sanitize import counted
from kgprobe.tables import Table

# Facts that a table lists; programs get all.
SHOWN = 20


# Tables of a comparison whose cells are shares of facts.
_SHARES = ("accuracy", "subsumption")


def results_title(examined: Sequence[Examined]) -> str:
    """Return the title of a page of several results."""
    models = list(dict.fromkeys(result.finding.about.called for result in examined))
    if len(models) == 1:
        return f"Facts that {models[0]} does not know, by {len(examined)} results"
    if len(models) > 3:
        return f"Facts that {len(models)} models do not know"
    return f"Facts that {', '.join(models[:-1])} and {models[-1]} do not know"


def results_lead(examined: Sequence[Examined]) -> list[str]:
    """Return one sentence for each result: unknown facts, then the share that is known."""
    lead = []
    for result in examined:
        finding = result.finding
        least, _ = ranked_relations(finding)
        lead.append(f"{result.label}: {unknown_count(finding)}{least and f'; least known {least}'}; {_told(finding)}.")
    return lead


def _told(finding: Finding) -> str:
    measure = finding.measure
    return f"{finding.overall.win_rate} known" if measure is None else f"{measure} ({measure.details})"


def unknown_to_all(examined: Sequence[Examined]) -> list[dict[str, Any]]:
    """Return the facts that are surely unknown to every result, in the order of ids; empty if no fact is shared."""
    unknown = [_facts(result, BeliefWord.SURELY_UNKNOWN.value) for result in examined]
    shared = sorted(set(unknown[0]).intersection(*unknown[1:]))
    rows = []
    for fact in shared:
        first = unknown[0][fact]
        predictions = {result.label: facts[fact]["prediction"] for result, facts in zip(examined, unknown, strict=True)}
        rows.append({"fact": fact, "question": first["question"], "right answer": first["answer"], **predictions})
    return rows


def unknown_section(rows: Sequence[Mapping[str, Any]], shared: int) -> Section:
    """Return a section of the facts that none of the results knows.

    Args:
        rows: see :func:`unknown_to_all`.
        shared: number of shared facts.
    """
    title = f"Surely unknown to all: {len(rows):,} of {counted(shared, 'fact')} that all were asked"
    shown = [{name: value for name, value in row.items() if name != "fact"} for row in rows[:SHOWN]]
    more = len(rows) - len(shown)
    notes = ["Below each result's name: its prediction."] if shown else ["None."]
    notes += [f"{more:,} more are in the list of every asked fact."] if more else []
    return table_section(Table("unknown_to_all", title, shown, notes))


def comparison_sections(beside: SideBySide, tables: Sequence[Table]) -> list[Section]:
    """Return the tables of a comparison; a darker cell is a larger share."""
    shaded = [*(side.label for side in beside.sides), "mean"]
    return [table_section(table, shaded if table.key in _SHARES else ()) for table in tables]


def disagreements(facts: pd.DataFrame, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return the shared facts on which the results differ.

    Args:
        facts: verdict and prediction of each result, by fact.
    """
    rights = [f"{label}: right" for label in labels]
    apart = facts[facts[rights].nunique(axis="columns") > 1]
    rows: list[dict[str, Any]] = apart.to_dict("records")
    return rows


def disagreement_section(rows: Sequence[Mapping[str, Any]], labels: Sequence[str], shared: int) -> Section:
    """Return a section of the facts on which results disagree.

    Args:
        rows: see :func:`disagreements`.
        shared: number of shared facts.
    """
    shown = [
        {
            "question": row["question"],
            "right answer": row["right_answer"],
            **{label: "right" if row[f"{label}: right"] else row[f"{label}: prediction"] for label in labels},
        }
        for row in rows[:SHOWN]
    ]
    title = f"Where they disagree: {len(rows):,} of {counted(shared, 'shared fact')}"
    notes = ["“right”, or the wrong prediction."] if shown else ["They agree on all of them."]
    if len(rows) > len(shown):
        notes.append(f"{len(rows) - len(shown):,} more are in the JSON.")
    return table_section(Table("disagreements", title, shown, notes))


def suspects_section(rows: Sequence[Mapping[str, Any]], models: int) -> Section:
    """Return a section of facts that several models surely deny among facts that they know."""
    shown = [
        {
            "subject": row["subject"],
            "relation": row["relation"],
            "object": row["object"],
            "models": row["models"],
            "E[θ]": row["theta"],
            "facts around it": row["around"],
            "E[θ] around it": row["theta_around"],
        }
        for row in rows
    ]
    notes = [
        "Two models at least surely deny these facts and none surely knows them, of relations and among facts that they"
        f" know: perhaps the graph is wrong, not the {counted(models, 'model')}."
        if shown
        else "None: no fact that two models surely deny is among facts that they know."
    ]
    return table_section(Table("suspects", "Suspects: perhaps the graph is wrong", shown, notes))


def _facts(examined: Examined, belief: str) -> dict[str, dict[str, Any]]:
    table = examined.asked
    chosen = table[table["belief"] == belief]
    rows: list[dict[str, Any]] = chosen[["fact", "question", "answer", "prediction"]].to_dict("records")
    return {row["fact"]: row for row in rows}
