"""Models side by side, what one forgot, and what one does not say, as tables and pages."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kgprobe.analysis.forgetting import ChangedFact, FoundForgetting
from kgprobe.analysis.knowledge_gap import FoundGap, GroupGap
from kgprobe.analysis.model_comparison import ModelComparison, PairDifference
from kgprobe.analysis.side_by_side import Floats, Side, SideBySide
from kgprobe.stats.proportions import Mean, Percent, Points, mean_share
from kgprobe.studies.study import HeatMap
from kgprobe.tables import Table

# Facts and relations that are listed.
SHOWN_FACTS = 10
SHOWN_RELATIONS = 5


def points(share: float) -> str:
    """A difference of shares, in points.

    >>> points(-0.0123)
    '1.2 points'
    """
    return f"{100 * abs(share):.1f} points"


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


def forgetting_verdict(found: FoundForgetting) -> str:
    """Whether more was lost than is allowed, in a sentence or two."""
    seen = f"{points(found.loss)} {'lost' if found.loss >= 0 else 'gained'} on {found.facts:,} facts"
    bounds = f"one-sided 95% bounds of the loss {100 * found.low:.1f} and {100 * found.high:.1f} points"
    margin = f"the margin of {100 * found.margin:g} points"
    told = f"{found.verdict.value.capitalize()}: {seen} ({bounds}; {margin})."
    if found.verdict.value != "undecided":
        return told
    needed = [
        f"about {count:,} if {case}"
        for count, case in ((found.needed, "nothing is lost"), (found.needed_as_seen, "the loss is as it is seen"))
        if count is not None
    ]
    if not needed:
        return f"{told} No number of facts below ten million would do."
    return f"{told} So many facts would do, with 80% power: {'; '.join(needed)}."


def forgetting_tables(found: FoundForgetting) -> list[Table]:
    """What was lost and gained, the worst relations, and the first of the forgotten facts."""
    rows = [
        {
            "facts": found.facts,
            found.base: found.base_accuracy,
            found.tuned: found.tuned_accuracy,
            "forgotten": len(found.forgotten),
            "gained": len(found.gained),
            "loss": Points(found.loss, found.low, found.high),
            "detectable loss": None if found.detectable is None else Points(found.detectable),
        }
    ]
    notes = [
        found.caveat,
        "The loss is in points, between its one-sided 95% bounds. Detectable is the smallest loss that would be found"
        " to exceed the margin in as many facts with 80% power.",
    ]
    tables = [Table("loss", "Accuracy before and after", rows, notes)]
    if found.relations:
        worst = [
            {
                "relation": one.name,
                "facts": one.facts,
                "forgotten": one.forgotten,
                "gained": one.gained,
                "loss": Points(one.loss),
            }
            for one in found.relations[:SHOWN_RELATIONS]
        ]
        tables.append(Table("worst_relations", "Where most was lost", worst, _more(len(found.relations), worst)))
    if found.forgotten:
        listed = [_changed_row(one) for one in found.forgotten[:SHOWN_FACTS]]
        tables.append(Table("forgotten", "Right before, wrong now", listed, _more(len(found.forgotten), listed)))
    return tables


def gap_verdict(found: FoundGap) -> str:
    """How much a model holds and does not say, in a sentence."""
    overall = found.overall
    if overall.unsaid is None:
        return f"By {found.stored_by}, {found.model} knows none of the {overall.facts:,} facts."
    return (
        f"Of {overall.known:,} facts that {found.model} knows by {found.stored_by}, it misses {overall.unsaid} by"
        f" {found.said_by}."
    )


def gap_tables(found: FoundGap) -> list[Table]:
    """The gap in all and by relation, and the first of the facts."""

    def row(one: GroupGap) -> dict[str, object]:
        return {
            "relation": one.name,
            "facts": one.facts,
            f"known by {found.stored_by}": one.stored,
            f"known by {found.said_by}": one.said,
            "of the first, missed": one.unsaid,
            "known by the second alone": one.said_alone,
        }

    guessed = (
        f"A guesser knows {found.guessed[0]:.0%} by {found.stored_by} and {found.guessed[1]:.0%} by {found.said_by};"
        " what is known by luck and missed counts, too."
    )
    rows = [row(one) for one in (found.overall, *found.relations)]
    tables = [Table("gap", f"{found.model}: known by {found.stored_by}", rows, [found.caveat, guessed])]
    if found.unsaid:
        listed = [
            {"relation": one.relation_name, "question": one.question, "right": one.right_answer, "said": one.said}
            for one in found.unsaid[:SHOWN_FACTS]
        ]
        tables.append(Table("unsaid", f"Missed by {found.said_by}", listed, _more(len(found.unsaid), listed)))
    return tables


def gap_map(found: FoundGap) -> HeatMap:
    """Both shares by relation as colours."""
    return HeatMap(
        "Known by relation, the greatest gap first",
        [one.name for one in found.relations],
        [found.stored_by, found.said_by],
        [[one.stored.value, one.said.value] for one in found.relations],
        "share known",
    )


def _changed_row(one: ChangedFact) -> dict[str, object]:
    return {
        "relation": one.relation_name,
        "question": one.question,
        "right": one.right_answer,
        "prediction before": one.base_prediction,
        "prediction now": one.tuned_prediction,
    }


def _more(total: int, shown: Sequence[object]) -> list[str]:
    return [f"{len(shown)} of {total:,}."] if total > len(shown) else []


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
