"""Comparison of models on the same facts: accuracies, correlations, subsumption, pairs, directions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kgprobe.analysis.directions import DirectionCounts, Directions, OneWayFact
from kgprobe.analysis.model_comparison import ModelComparison, PairDifference
from kgprobe.analysis.side_by_side import AnsweredFacts, ComparedModel, Floats, SideBySide
from kgprobe.report.plots import HeatMap
from kgprobe.report.plots_page import write_plots_page
from kgprobe.results.result import SHOWN_FACTS, Result, flat_fields, points, write_frame, write_result_files
from kgprobe.stats.proportions import Mean, Percent, Points, mean_share
from kgprobe.tables import Table, flat_row

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Comparison(Result):
    """Comparison of models on the same facts; one row for each model, the best first.

    Attributes:
        figures: accuracies, correlations, subsumption, and pairs of models.
        unshared: number of shared facts, and the reason why not all are, in sentences; empty if all are.
        directions: facts that are known in one direction only; None unless two results differ in direction.
        answered: each model's answers, by fact.
        config: the compared results and their settings.
        folder: target of :meth:`page`.
    """

    figures: ModelComparison
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
        """Return one row for each model over the shared facts, with the Wilson interval of its win rate."""
        return [
            {
                "name": side.name,
                "model": side.model,
                "probe": side.probe,
                "asked": side.asked,
                "shared": len(self.figures.beside.facts),
                **flat_row({"win_rate": side.shared and side.shared.win_rate}),
                "zero_sense_rate": side.shared and side.shared.zero_sense_rate.value,
                "guessed": side.shared and side.shared.guessed,
            }
            for side in self.figures.beside.best_first
        ]

    def tables(self) -> list[Table]:
        """Return rates, accuracies by relation, subsumption, correlations and pairs; for two models also relations."""
        figures = self.figures
        tables = [
            models_table(figures.beside),
            accuracy_table(figures),
            subsumption_table(figures),
            correlation_table(figures),
        ]
        tables += [pairs_table(figures), *means_tables(figures)]
        tables += [relations_table(pair) for pair in figures.pairs if len(figures.pairs) == 1]
        return [*tables, *(directions_tables(self.directions) if self.directions else [])]

    def summary(self) -> str:
        """Return the best model in a sentence or two; for two directions, also the facts known in one of them only."""
        verdict = comparison_verdict(self.figures)
        return f"{directions_verdict(self.directions)} {verdict}" if self.directions else verdict

    def one_way_frame(self) -> "pd.DataFrame":
        """Return the facts that are known in one direction only; empty unless two results differ in direction."""
        import pandas as pd

        listed = self.directions.one_way if self.directions else []
        columns = [field.name for field in fields(OneWayFact)]
        frame: pd.DataFrame = pd.DataFrame([asdict(fact) for fact in listed], columns=columns)
        return frame

    def facts_frame(self) -> "pd.DataFrame":
        """Return one row for each shared fact: question, right answer, each model's verdict and prediction."""
        beside = self.figures.beside
        frame = self.answered[0].facts.loc[list(beside.facts), ["subject", "relation", "question", "right_answer"]]
        for side, own, won in zip(beside.sides, self.answered, beside.won, strict=True):
            predictions = own.facts.loc[list(beside.facts), "prediction"]
            frame = frame.assign(**{f"{side.label}: right": won, f"{side.label}: prediction": predictions})
        table: pd.DataFrame = frame.rename_axis("fact").reset_index()
        return table

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with stable keys; missing values are null."""
        figures = self.figures
        return {
            "verdict": self.summary(),
            "notes": list(self.notes),
            "unshared": self.unshared,
            "caveat": figures.beside.caveat,
            "facts": len(figures.beside.facts),
            "models": self.rows(),
            "labels": figures.labels,
            "relations": [
                {"relation": relation, "name": name, "facts": size, "accuracy": own}
                for relation, name, size, own in zip(
                    figures.relations, figures.names, figures.sizes, listed_numbers(figures.accuracy), strict=True
                )
            ],
            "correlation": listed_numbers(figures.correlation),
            "correlated_relations": len(figures.relations),
            "subsumption": listed_numbers(figures.subsumption),
            "pairs": [_pair_json(pair) for pair in figures.pairs],
            "directions": _directions_json(self.directions) if self.directions else None,
        }

    def page(self) -> Path:
        """Write a page with heat maps and all tables, everything as JSON, and the facts as CSV; return the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        figures = self.figures
        title = "Forwards and backwards" if self.directions else f"{len(figures.labels)} results side by side"
        tables = [*self.tables(), *(relations_table(pair) for pair in figures.pairs if len(figures.pairs) > 1)]
        write_result_files(self.folder, "comparison.json", self.to_dict(), "facts.csv", self.facts_frame())
        if self.directions:
            write_frame(self.folder / "one_way_facts.csv", self.one_way_frame())
        page = self.folder / "comparison.html"
        return write_plots_page(page, title, self.summary(), comparison_maps(figures), tables, self.notes, self.config)


def _pair_json(pair: PairDifference) -> dict[str, Any]:
    relations = [{**flat_fields(relation), "is_tie": relation.is_tie} for relation in pair.relations]
    return {
        **flat_fields(pair),
        "means": flat_row(pair.means),
        "better": pair.better,
        "ties": pair.ties,
        "relations": relations,
    }


def _directions_json(directions: Directions) -> dict[str, Any]:
    return {
        "forwards": directions.forwards_label,
        "backwards": directions.backwards_label,
        "overall": _direction_row(directions.overall),
        "relations": [_direction_row(relation) for relation in directions.relations],
        "one_way_facts": [asdict(relation) for relation in directions.one_way],
    }


def _direction_row(counts: DirectionCounts) -> dict[str, Any]:
    nothing = {
        "not_backwards_low": None,
        "not_backwards_high": None,
        "not_forwards_low": None,
        "not_forwards_high": None,
    }
    return {**nothing, **flat_fields(counts)}


SHOWN_RELATIONS = 5


def models_table(beside: SideBySide) -> Table:
    """Return the rates of models over the facts that all have answered, the best first."""
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


def _measures(beside: SideBySide, side: ComparedModel) -> dict[str, Any]:
    """Return the means of a model's other measures over the shared facts; one that leads has an interval."""
    place = next(number for number, other in enumerate(beside.sides) if other is side)
    measures: dict[str, Any] = {}
    for name, values in beside.values.items():
        measured = values[place][~np.isnan(values[place])]
        if len(measured):
            measures[name.replace("_", " ")] = (
                mean_share(measured.tolist()) if name == beside.leads else float(measured.mean())
            )
    return measures


def accuracy_table(compared: ModelComparison) -> Table:
    """Return accuracies by relation and model, the relation with the highest mean first."""
    rows = [
        {
            "relation": name,
            "facts": size,
            "mean": Percent(float(accuracies.mean())),
            **_percents(compared.labels, accuracies),
        }
        for name, size, accuracies in zip(compared.names, compared.sizes, compared.accuracy, strict=True)
    ]
    return Table("accuracy", "Accuracy by relation, the highest mean first", rows)


def correlation_table(compared: ModelComparison) -> Table:
    """Return Pearson correlations of the models' accuracies over relations."""
    notes = [
        f"{name} has the same accuracy in all relations, so its correlations are undefined."
        for name in compared.constant
    ]
    if len(compared.relations) == 2:
        notes.append("Over two relations, every correlation is 1 or -1.")
    title = f"Pearson correlation of accuracies over relations ({len(compared.relations)})"
    rows = [
        {"model": label, **_cells(compared.labels, correlations)}
        for label, correlations in zip(compared.labels, compared.correlation, strict=True)
    ]
    return Table("correlation", title, rows, notes)


def subsumption_table(compared: ModelComparison) -> Table:
    """Return the share of the facts known by the row's model that the column's model knows, too."""
    title = "Subsumption: share of the facts known by the row's model that the column's model knows, too"
    unknowing = [label for label, won in zip(compared.labels, compared.beside.won, strict=True) if not won.any()]
    notes = [f"{label} knows none of the facts, so its shares are undefined." for label in unknowing]
    rows = [
        {"model": label, **_percents(compared.labels, shares)}
        for label, shares in zip(compared.labels, compared.subsumption, strict=True)
    ]
    return Table("subsumption", title, rows, notes)


def pairs_table(compared: ModelComparison) -> Table:
    """Return one row for each pair of models: difference, significance, and smallest detectable difference."""
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
    """Return differences of the probe's other metrics, by pair of models; no table if it has none."""
    rows = [{"first": pair.first, "second": pair.second, **pair.means} for pair in compared.pairs if pair.means]
    title = "Differences of means, second less first, with paired bootstrap intervals"
    return [Table("means", title, rows)] if rows else []


def relations_table(pair: PairDifference) -> Table:
    """Return the differences of two models by relation."""
    rows = [
        {
            "relation": relation.name,
            "facts": relation.facts,
            pair.first: relation.first,
            pair.second: relation.second,
            "difference": _in_points(relation.difference),
            "p": relation.p,
            "adjusted p": relation.adjusted_p,
            "better": "tie" if relation.is_tie else (pair.second if relation.difference.value > 0 else pair.first),
        }
        for relation in pair.relations
    ]
    ties = f"Neither is significantly better: {', '.join(pair.ties)}." if pair.ties else "No relation is a tie."
    return Table("relations", f"{pair.second} less {pair.first}, by relation, in points", rows, [ties])


def comparison_maps(compared: ModelComparison) -> list[HeatMap]:
    """Return heat maps of accuracy, correlation and subsumption."""
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
    """Return the best model in a sentence or two; a leading metric is named first."""
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
        f"{best.label} knows most of the {facts}: {rate}. {equal} of {len(compared.pairs)} pairs of models are not"
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
        return f"With {pair.facts:,} facts, no difference is detectable."
    return f"Minimum detectable difference (80% power): {points(pair.detectable)}."


def _in_points(difference: Mean) -> Points:
    return Points(difference.value, difference.low, difference.high)


def _percents(labels: Sequence[str], values: Floats) -> dict[str, Percent | None]:
    cells = _cells(labels, values)
    return {label: None if value is None else Percent(value) for label, value in cells.items()}


def _cells(labels: Sequence[str], values: Floats) -> dict[str, float | None]:
    return dict(zip(labels, listed_numbers(np.atleast_2d(values))[0], strict=True))


def listed_numbers(values: Floats) -> list[list[float | None]]:
    """Return rows of numbers, with None in place of NaN."""
    numbers = values.astype(object)
    numbers[np.isnan(values)] = None
    listed: list[list[float | None]] = numbers.tolist()
    return listed


def directions_tables(directions: Directions) -> list[Table]:
    """Return both directions for all facts and by relation, and the first facts known in one of them only."""
    notes = [
        "A fact counts as known in a direction if it has more right answers than wrong ones. The chance level may"
        " differ between directions: see the table of results."
    ]
    rows = [_row(fact) for fact in (directions.overall, *directions.relations)]
    tables = [Table("directions", "Known forwards and backwards", rows, notes)]
    for known, missed in (("forwards", "backwards"), ("backwards", "forwards")):
        facts = [fact for fact in directions.one_way if fact.known == known]
        listed = [
            {
                "relation": fact.relation_name,
                f"known {known}": fact.known_answer,
                f"missed {missed}": fact.missed_answer,
                "asked": fact.missed_question,
                "prediction": fact.prediction,
            }
            for fact in facts[:SHOWN_FACTS]
        ]
        more = [f"{len(listed)} of {len(facts):,}."] if len(facts) > len(listed) else []
        if listed:
            tables.append(Table(f"{known}_alone", f"Known {known} and not {missed}", listed, more))
    return tables


def directions_verdict(directions: Directions) -> str:
    """Return the share of the facts known in one direction that are not known in the other, in sentences."""
    overall = directions.overall
    counts = (
        f"Directions, over {overall.facts:,} facts: {overall.forwards} known forwards, {overall.backwards} backwards."
    )
    ways = (
        (overall.not_backwards, overall.forwards_alone + overall.both, "forwards", "backwards"),
        (overall.not_forwards, overall.backwards_alone + overall.both, "backwards", "forwards"),
    )
    missed = [
        f"Not known {other}: {part} of the {known:,} facts known {direction}."
        for part, known, direction, other in ways
        if part is not None
    ]
    return " ".join([counts, *missed])


def _row(counts: DirectionCounts) -> dict[str, object]:
    return {
        "relation": counts.name,
        "facts": counts.facts,
        "forwards": counts.forwards,
        "backwards": counts.backwards,
        "both": counts.both,
        "forwards alone": counts.forwards_alone,
        "backwards alone": counts.backwards_alone,
        "not backwards": counts.not_backwards,
        "not forwards": counts.not_forwards,
    }
