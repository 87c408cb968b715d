"""Comparison of models on the same facts: accuracies, correlations, subsumption, pairs, directions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kgprobe.analysis.directions import DirectionCounts, Directions, OneWayFact
from kgprobe.analysis.model_comparison import ModelComparison, PairDifference
from kgprobe.analysis.side_by_side import AnsweredFacts, Floats, Side, SideBySide
from kgprobe.report.plots import HeatMap
from kgprobe.report.plots_page import write_plots_page
from kgprobe.results.result import SHOWN_FACTS, Result, flat_fields, points, write_frame, write_result_files
from kgprobe.stats.proportions import Mean, Percent, Points, mean_share
from kgprobe.tables import Table, flat_row

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Comparison(Result):
    """Models side by side; one row a model, the best first.

    Attributes:
        found: accuracies, correlations, subsumption, and each two models.
        unshared: how many facts the results share, and why not all, in sentences; empty where they share all.
        directions: what is known in one direction alone, where two results differ in it; else None.
        answered: what each model did on each fact that it answered.
        config: what was compared.
        folder: where :meth:`page` writes.
    """

    found: ModelComparison
    unshared: str
    directions: Directions | None
    answered: Sequence[AnsweredFacts]
    config: Mapping[str, Any]
    folder: Path

    columns: ClassVar[Sequence[str]] = (
        *("name", "model", "probe", "asked", "shared", "win_rate", "win_rate_low", "win_rate_high"),
        *("zero_sense_rate", "guessed"),
    )

    def rows(self) -> list[dict[str, Any]]:
        """Each model over the shared facts, with Wilson's interval of its win rate."""
        return [
            {
                "name": side.name,
                "model": side.model,
                "probe": side.probe,
                "asked": side.asked,
                "shared": len(self.found.beside.facts),
                **flat_row({"win_rate": side.shared and side.shared.win_rate}),
                "zero_sense_rate": side.shared and side.shared.zero_sense_rate.value,
                "guessed": side.shared and side.shared.guessed,
            }
            for side in self.found.beside.best_first
        ]

    def tables(self) -> list[Table]:
        """Rates, accuracies by relation, subsumption, correlation, the pairs; of two models also their relations."""
        found = self.found
        tables = [models_table(found.beside), accuracy_table(found), subsumption_table(found), correlation_table(found)]
        tables += [pairs_table(found), *means_tables(found)]
        tables += [relations_table(pair) for pair in found.pairs if len(found.pairs) == 1]
        return [*tables, *(directions_tables(self.directions) if self.directions else [])]

    def summary(self) -> str:
        """Who is best, in a sentence or two; of two directions, what is known in one of them alone."""
        verdict = comparison_verdict(self.found)
        return f"{directions_verdict(self.directions)} {verdict}" if self.directions else verdict

    def one_way_frame(self) -> "pd.DataFrame":
        """Every fact that is known in one direction and not in the other; none where there is one direction."""
        import pandas as pd

        listed = self.directions.one_way if self.directions else []
        columns = [field.name for field in fields(OneWayFact)]
        frame: pd.DataFrame = pd.DataFrame([asdict(one) for one in listed], columns=columns)
        return frame

    def facts_frame(self) -> "pd.DataFrame":
        """One row a shared fact: what was asked, what is right, and whether each model had it right and preferred."""
        beside = self.found.beside
        frame = self.answered[0].facts.loc[list(beside.facts), ["subject", "relation", "question", "right_answer"]]
        for side, its, won in zip(beside.sides, self.answered, beside.won, strict=True):
            predictions = its.facts.loc[list(beside.facts), "prediction"]
            frame = frame.assign(**{f"{side.label}: right": won, f"{side.label}: prediction": predictions})
        told: pd.DataFrame = frame.rename_axis("fact").reset_index()
        return told

    def to_dict(self) -> dict[str, Any]:
        """Everything, with stable keys; what has no value is null."""
        found = self.found
        return {
            "verdict": self.summary(),
            "notes": list(self.notes),
            "unshared": self.unshared,
            "caveat": found.beside.caveat,
            "facts": len(found.beside.facts),
            "models": self.rows(),
            "labels": found.labels,
            "relations": [
                {"relation": relation, "name": name, "facts": size, "accuracy": its}
                for relation, name, size, its in zip(
                    found.relations, found.names, found.sizes, listed_numbers(found.accuracy), strict=True
                )
            ],
            "correlation": listed_numbers(found.correlation),
            "correlated_relations": len(found.relations),
            "subsumption": listed_numbers(found.subsumption),
            "pairs": [_pair_json(pair) for pair in found.pairs],
            "directions": _directions_json(self.directions) if self.directions else None,
        }

    def page(self) -> Path:
        """Write a page with heat maps and all tables, everything as JSON, and the facts as CSV; give the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        found = self.found
        title = "Forwards and backwards" if self.directions else f"{len(found.labels)} results side by side"
        tables = [*self.tables(), *(relations_table(pair) for pair in found.pairs if len(found.pairs) > 1)]
        write_result_files(self.folder, "comparison.json", self.to_dict(), "facts.csv", self.facts_frame())
        if self.directions:
            write_frame(self.folder / "one_way_facts.csv", self.one_way_frame())
        page = self.folder / "comparison.html"
        return write_plots_page(page, title, self.summary(), comparison_maps(found), tables, self.notes, self.config)


def _pair_json(pair: PairDifference) -> dict[str, Any]:
    relations = [{**flat_fields(one), "is_tie": one.is_tie} for one in pair.relations]
    return {
        **flat_fields(pair),
        "means": flat_row(pair.means),
        "better": pair.better,
        "ties": pair.ties,
        "relations": relations,
    }


def _directions_json(found: Directions) -> dict[str, Any]:
    return {
        "forwards": found.forwards_label,
        "backwards": found.backwards_label,
        "overall": _direction_row(found.overall),
        "relations": [_direction_row(one) for one in found.relations],
        "one_way_facts": [asdict(one) for one in found.one_way],
    }


def _direction_row(one: DirectionCounts) -> dict[str, Any]:
    nothing = {
        "not_backwards_low": None,
        "not_backwards_high": None,
        "not_forwards_low": None,
        "not_forwards_high": None,
    }
    return {**nothing, **flat_fields(one)}


SHOWN_RELATIONS = 5


def models_table(beside: SideBySide) -> Table:
    """The rates of models over the facts that all have answered, the best first."""
    rows = [
        {
            "model": side.label,
            "asked": side.asked,
            "shared": len(beside.facts),
            "win rate": side.shared and side.shared.win_rate,
            "zero-sense rate": side.shared and side.shared.zero_sense_rate,
            "by guessing": side.shared and Percent(side.shared.guessed),
            **_measures(beside, side),
        }
        for side in beside.best_first
    ]
    return Table("models", "Side by side", rows, [beside.caveat])


def _measures(beside: SideBySide, side: Side) -> dict[str, Any]:
    """Return the means of a model's other measures over the shared facts; one that leads has an interval."""
    place = next(number for number, other in enumerate(beside.sides) if other is side)
    measures: dict[str, Any] = {}
    for name, values in beside.values.items():
        its = values[place][~np.isnan(values[place])]
        if len(its):
            measures[name.replace("_", " ")] = mean_share(its.tolist()) if name == beside.leads else float(its.mean())
    return measures


def accuracy_table(compared: ModelComparison) -> Table:
    """Accuracy by relation and model, the relation with the highest mean first."""
    rows = [
        {"relation": name, "facts": size, "mean": Percent(float(its.mean())), **_percents(compared.labels, its)}
        for name, size, its in zip(compared.names, compared.sizes, compared.accuracy, strict=True)
    ]
    return Table("accuracy", "Accuracy by relation, the highest mean first", rows)


def correlation_table(compared: ModelComparison) -> Table:
    """How alike the models' accuracies go up and down over relations."""
    notes = [
        f"{name} has the same accuracy in all relations, so nothing correlates with it." for name in compared.constant
    ]
    if len(compared.relations) == 2:
        notes.append("Over two relations, a correlation is 1 or -1 whatever the models.")
    title = f"Pearson correlation of accuracies over relations ({len(compared.relations)})"
    rows = [
        {"model": label, **_cells(compared.labels, its)}
        for label, its in zip(compared.labels, compared.correlation, strict=True)
    ]
    return Table("correlation", title, rows, notes)


def subsumption_table(compared: ModelComparison) -> Table:
    """Of what the row's model knows, how much the column's knows, too."""
    title = "Subsumption: of what the row's model knows, the share that the column's knows, too"
    unknowing = [label for label, won in zip(compared.labels, compared.beside.won, strict=True) if not won.any()]
    notes = [f"{label} knows none of the facts, so there is no share of it." for label in unknowing]
    rows = [
        {"model": label, **_percents(compared.labels, its)}
        for label, its in zip(compared.labels, compared.subsumption, strict=True)
    ]
    return Table("subsumption", title, rows, notes)


def pairs_table(compared: ModelComparison) -> Table:
    """Each two models: how far apart, how surely, and what could be told at all."""
    rows = [
        {
            "first": pair.first,
            "second": pair.second,
            "second - first": _in_points(pair.difference),
            "first alone": pair.lost,
            "second alone": pair.gained,
            "p": pair.p,
            "better": pair.better or "neither",
            "ties": f"{len(pair.ties)} of {len(pair.relations)} relations",
            "detectable": None if pair.detectable is None else Points(pair.detectable),
        }
        for pair in compared.pairs
    ]
    notes = [
        "Differences are in points. p: McNemar's exact test, two-sided. Ties: relations in which neither is"
        " significantly better (Benjamini and Hochberg, 5%). Detectable: the smallest difference that the test would"
        " find in as many facts with 80% power, if as large a share of them is known to one alone."
    ]
    return Table("pairs", "Differences of accuracy, two by two", rows, notes)


def means_tables(compared: ModelComparison) -> list[Table]:
    """What probes measure beside right and wrong, each two models; no table where they measure nothing more."""
    rows = [{"first": pair.first, "second": pair.second, **pair.means} for pair in compared.pairs if pair.means]
    title = "Differences of means, second less first, with paired bootstrap intervals"
    return [Table("means", title, rows)] if rows else []


def relations_table(pair: PairDifference) -> Table:
    """Two models, relation by relation."""
    rows = [
        {
            "relation": one.name,
            "facts": one.facts,
            pair.first: one.first,
            pair.second: one.second,
            "difference": _in_points(one.difference),
            "p": one.p,
            "adjusted p": one.adjusted_p,
            "better": "tie" if one.is_tie else (pair.second if one.difference.value > 0 else pair.first),
        }
        for one in pair.relations
    ]
    ties = f"Neither is significantly better: {', '.join(pair.ties)}." if pair.ties else "There is no tie."
    return Table("relations", f"{pair.second} less {pair.first}, by relation, in points", rows, [ties])


def comparison_maps(compared: ModelComparison) -> list[HeatMap]:
    """Accuracy, correlation and subsumption as colours."""
    labels = compared.labels
    accuracy = HeatMap(
        "Accuracy by relation, the highest mean first",
        compared.names,
        labels,
        listed_numbers(compared.accuracy),
        "accuracy",
    )
    correlation = HeatMap(
        correlation_table(compared).title, labels, labels, listed_numbers(compared.correlation), "r", (-1.0, 1.0)
    )
    subsumption = HeatMap(
        subsumption_table(compared).title, labels, labels, listed_numbers(compared.subsumption), "share known, too"
    )
    return [accuracy, correlation, subsumption]


def comparison_verdict(compared: ModelComparison) -> str:
    """Return who is best, in a sentence or two; where a measure leads, it is named first."""
    return f"{_leading(compared.beside)}{_best_told(compared)}"


def _leading(beside: SideBySide) -> str:
    if not beside.leads:
        return ""
    rates = [f"{side.label} {_measures(beside, side).get(beside.leads, 'none')}" for side in beside.best_first]
    return f"{beside.leads.capitalize()}: {', '.join(rates)}. "


def _best_told(compared: ModelComparison) -> str:
    facts = f"{len(compared.beside.facts):,} facts"
    if len(compared.pairs) == 1:
        return f"{_pair_told(compared.pairs[0], facts)} {_detectable_told(compared.pairs[0])}"
    best = compared.beside.best_first[0]
    equal = sum(pair.better is None for pair in compared.pairs)
    rate = best.shared and best.shared.win_rate
    return (
        f"{best.label} knows most of the {facts}: {rate}. Of {len(compared.pairs)} pairs of models, {equal} are not"
        " significantly different."
    )


def _pair_told(pair: PairDifference, facts: str) -> str:
    interval = f"95% interval {100 * (pair.difference.low or 0):.1f} to {100 * (pair.difference.high or 0):.1f}"
    ties = f"{len(pair.ties)} of {len(pair.relations)} relations are ties."
    apart = f"{100 * pair.difference.value:+.1f} points ({interval}; p = {pair.p:.2g})"
    if pair.better is None:
        return f"Neither is significantly better on the {facts}: {pair.second} less {pair.first} is {apart}. {ties}"
    return f"{pair.better} knows more of the {facts}: {pair.second} less {pair.first} is {apart}. {ties}"


def _detectable_told(pair: PairDifference) -> str:
    if pair.detectable is None:
        return f"With {pair.facts:,} facts no difference can be told."
    return f"Differences from {points(pair.detectable)} on would be found in as many facts, with 80% power."


def _in_points(difference: Mean) -> Points:
    return Points(difference.value, difference.low, difference.high)


def _percents(labels: Sequence[str], values: Floats) -> dict[str, Percent | None]:
    cells = _cells(labels, values)
    return {label: None if value is None else Percent(value) for label, value in cells.items()}


def _cells(labels: Sequence[str], values: Floats) -> dict[str, float | None]:
    return dict(zip(labels, listed_numbers(np.atleast_2d(values))[0], strict=True))


def listed_numbers(values: Floats) -> list[list[float | None]]:
    """Rows of numbers; None for NaN."""
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]


def directions_tables(found: Directions) -> list[Table]:
    """Both directions in all and by relation, and the first facts that are known in one of them alone."""
    notes = [
        "A fact counts as known in a direction where it has more right answers than wrong ones; how probably a guesser"
        " has it right may differ between directions, and stands in the table of results."
    ]
    rows = [_row(one) for one in (found.overall, *found.relations)]
    tables = [Table("directions", "Known forwards and backwards", rows, notes)]
    for known, missed in (("forwards", "backwards"), ("backwards", "forwards")):
        its = [one for one in found.one_way if one.known == known]
        listed = [
            {
                "relation": one.relation_name,
                f"known {known}": one.known_answer,
                f"missed {missed}": one.missed_answer,
                "asked": one.missed_question,
                "prediction": one.prediction,
            }
            for one in its[:SHOWN_FACTS]
        ]
        more = [f"{len(listed)} of {len(its):,}."] if len(its) > len(listed) else []
        if listed:
            tables.append(Table(f"{known}_alone", f"Known {known} and not {missed}", listed, more))
    return tables


def directions_verdict(found: Directions) -> str:
    """How much of what is known in one direction is not in the other, in a sentence or two."""
    overall = found.overall
    told = (
        f"Directions, over {overall.facts:,} facts: {overall.forwards} known forwards, {overall.backwards} backwards."
    )
    ways = (
        (overall.not_backwards, overall.forwards_alone + overall.both, "forwards", "backwards"),
        (overall.not_forwards, overall.backwards_alone + overall.both, "backwards", "forwards"),
    )
    missed = [
        f"Of {known:,} known {one}, {part} are not known {other}."
        for part, known, one, other in ways
        if part is not None
    ]
    return " ".join([told, *missed])


def _row(one: DirectionCounts) -> dict[str, object]:
    return {
        "relation": one.name,
        "facts": one.facts,
        "forwards": one.forwards,
        "backwards": one.backwards,
        "both": one.both,
        "forwards alone": one.forwards_alone,
        "backwards alone": one.backwards_alone,
        "not backwards": one.not_backwards,
        "not forwards": one.not_forwards,
    }
