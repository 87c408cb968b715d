"""Tables of how much of a whole graph a model knows: all facts and relations; types, popularity, years."""

from typing import Any

from kgprobe.analysis.graph_rates import ENOUGH, GraphRates, RateGrouping, share_of
from kgprobe.stats.design_based import Estimate
from kgprobe.tables import Table

_TITLES = {"type": "type of the subject", "popularity": "popularity of the subject"}


def graph_rate_tables(rates: GraphRates) -> list[Table]:
    """Return a table for each kind of group; the first row of the relations is all facts.

    Args:
        rates: with an overall rate.
    """
    if rates.overall is None:
        raise ValueError("the overall rate is missing")
    everything = _cells(rates.facts, rates.overall)
    tables = [_table(grouping, everything) for grouping in rates.groupings]
    if all(grouping.by != "relation" for grouping in rates.groupings):
        tables.insert(0, Table("overall", "All facts", [{"of": "all facts", **everything}]))
    return tables


def _table(grouping: RateGrouping, everything: dict[str, Any]) -> Table:
    rows = [{grouping.by: "all facts", **everything}] if grouping.by == "relation" else []
    rows += [{grouping.by: group.name, **_cells(group.facts, group.rate)} for group in grouping.groups]
    notes = []
    if grouping.left_out:
        notes.append(f"{grouping.left_out:,} more have fewer than {ENOUGH} questions.")
    title = f"By {_TITLES.get(grouping.by, grouping.by)}, estimated over the graph"
    return Table(f"by_{grouping.by}", title, rows, notes)


def _cells(facts: int, rate: Estimate) -> dict[str, Any]:
    return {"facts": facts, "questions": rate.labelled, "right": share_of(rate), "expected": f"{rate.raw:.0%}"}
