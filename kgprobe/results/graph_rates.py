"""Estimated shares of a whole graph that a model knows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kgprobe.analysis.graph_rates import ENOUGH, GraphRates, RateGrouping, share_of
from kgprobe.models.spec_forms import model_name
from kgprobe.results.result import Result
from kgprobe.running.callbacks import Stop
from kgprobe.sanitize import counted
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.proportions import answers_for_width
from kgprobe.tables import Table

_TITLES = {"type": "type of the subject", "popularity": "popularity of the subject"}


def graph_rate_tables(rates: GraphRates) -> list[Table]:
    """Return a table for each kind of group; the first row of the relations is all facts.

    Args:
        rates: the estimates; the overall rate must be present.
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


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class EstimatedRates(Result):
    """Estimated share of the whole graph that a model knows; one row for all facts and for each group.

    Attributes:
        rates: the estimates.
        overall: estimate for all facts.
        stopped: reason for the end of asking; None if nothing was asked.
        reason: details of that, in a sentence.
    """

    rates: GraphRates
    overall: Estimate
    stopped: Stop | None = None
    reason: str | None = None

    columns: ClassVar[Sequence[str]] = (
        *("by", "group", "name", "facts", "right", "low", "high", "standard_error"),
        *("expected", "drawn", "answers_worth"),
    )

    @property
    def width(self) -> float:
        """Width of the interval of all facts."""
        return self.overall.high - self.overall.low

    @property
    def model(self) -> str:
        """Name of the model, as people read it."""
        return model_name(self.rates.run["model"])

    def rows(self) -> list[dict[str, Any]]:
        """Return all facts first, then the groups of each kind."""
        rows = [_row("all", None, None, self.rates.facts, self.overall)]
        for grouping in self.rates.groupings:
            rows += [_row(grouping.by, group.id, group.name, group.facts, group.rate) for group in grouping.groups]
        return rows

    def tables(self) -> list[Table]:
        """Return tables of all facts and relations, types, thirds of popularity, and years."""
        return graph_rate_tables(self.rates)

    def summary(self) -> str:
        """Return the share with its interval, and the equivalent number of uniformly drawn answers."""
        overall = self.overall
        text = (
            f"{self.model} knows {share_of(overall)} of this graph's {counted(self.rates.facts, 'fact')}, estimated"
            f" from {counted(self.rates.answers, 'answer')}; {overall.raw:.0%} was predicted."
        )
        if 0 < self.width < 1:
            text += f" Equivalent to {self.uniform_answers:,} uniformly drawn answers without predictions."
        return text

    @property
    def uniform_answers(self) -> int:
        """Number of uniformly drawn answers whose interval, without predictions, has the same width."""
        return answers_for_width(self.overall.value, self.width)

    def questions_for(self, precision: float) -> tuple[int, int]:
        """Return how many more questions this run probably needs for a precision, and a new uniform run in all.

        The width of an interval falls with the square root of the answers.

        Args:
            precision: half the width of the interval, in (0, 0.5).
        """
        more = self.rates.answers * ((self.width / (2 * precision)) ** 2 - 1)
        return max(0, math.ceil(more)), answers_for_width(self.overall.value, 2 * precision)

    def to_dict(self) -> dict[str, Any]:
        """Everything, with stable keys."""
        run = self.rates.run
        return {
            "run": run["id"],
            "model": run["model"],
            "probe": run["probe"],
            "sampling": run["sampling"],
            "predictors": list(self.rates.predictors),
            "facts": self.rates.facts,
            "answers": self.rates.answers,
            "drawn": self.rates.drawn,
            "stopped": self.stopped and self.stopped.value,
            "reason": self.reason,
            "rates": self.rows(),
        }


def _row(by: str, group: str | None, name: str | None, facts: int, rate: Estimate) -> dict[str, Any]:
    return {
        "by": by,
        "group": group,
        "name": name,
        "facts": facts,
        "right": rate.value,
        "low": rate.low,
        "high": rate.high,
        "standard_error": rate.standard_error,
        "expected": rate.raw,
        "drawn": rate.labelled,
        "answers_worth": rate.labels_worth,
    }
