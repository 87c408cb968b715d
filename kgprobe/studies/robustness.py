"""Robustness of measures to flawed sentences: Kendall's τ between flawed and corrected verbalizations.

Section 4.3 of the distractor paper; docs/methods/studies.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.probes.clozes import ClozeItem
from kgprobe.records import Rejected
from kgprobe.report.plots import Category, CategoryPlot
from kgprobe.sampling.facts import describe_facts
from kgprobe.sanitize import visible
from kgprobe.stats.proportions import CONFIDENCE, Mean, unseen_share
from kgprobe.studies.measures import Scores, described, find_triples
from kgprobe.studies.study import Study, counted_notes, json_number
from kgprobe.verbalize.corrections import pair_up, read_verbalizations

Floats = NDArray[np.float64]

# Values of τ that differ by no more count as equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Robustness:
    """A measure's agreement with itself.

    Attributes:
        tau: Kendall's τ-b in [-1, 1]; NaN where one side has the same value everywhere, or there are fewer than 2
            pairs.
        low, high: the bootstrap's 95% percentile interval over pairs, see :func:`robustness`; NaN where ``tau`` is.
        pairs: number of pairs with both values.
        left_out: number of pairs without one of them.
    """

    tau: float
    low: float
    high: float
    pairs: int
    left_out: int


def robustness(flawed: Floats, corrected: Floats, *, samples: int = 2000, seed: int = 0) -> Robustness:
    """Return Kendall's τ-b between a measure's values on flawed and corrected sentences, with a bootstrap interval.

    If all pairs are in the same order, τ is 1 in every bootstrap sample, even with few pairs. The interval then extends
    to the τ with as many discordant pairs as chance could have hidden, see
    :func:`~kgprobe.stats.proportions.unseen_share`; pairs in opposite order are treated alike.

    Bootstrap samples without a τ are left out.

    Cost: samples x pairs², in one matrix product.

    Args:
        flawed, corrected: values in the order of the pairs, NaN where there is none; shape (pairs,).
        samples: number of bootstrap samples.
        seed: of the samples.
    """
    kept = ~(np.isnan(flawed) | np.isnan(corrected))
    pairs, left_out = int(kept.sum()), int((~kept).sum())
    # Two pairs of values are concordant by the product of the signs of their differences: infinities, too.
    first, second = _signs(flawed[kept]), _signs(corrected[kept])
    (tau,) = _taus(first, second, np.ones((1, pairs)))
    if np.isnan(tau):
        return Robustness(np.nan, np.nan, np.nan, pairs, left_out)
    # A bootstrap sample is given by the number of times that each pair is drawn.
    draws = np.random.default_rng(seed).multinomial(pairs, np.full(pairs, 1 / pairs), size=samples).astype(np.float64)
    taus = _taus(first, second, draws)
    defined = taus[~np.isnan(taus)]
    if len(defined) and np.ptp(defined) > _ROUNDING:
        low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    else:
        # τ is a mean over two pairs at a time; this is the share of these with at least one unseen pair.
        unseen = 1 - (1 - unseen_share(pairs)) ** 2
        low, high = tau - unseen * (1 + tau), tau + unseen * (1 - tau)
    return Robustness(float(tau), float(low), float(high), pairs, left_out)


def _signs(values: Floats) -> Floats:
    signs: Floats = (values[:, None] > values).astype(np.float64) - (values[:, None] < values)
    return signs


def _taus(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Return τ-b of samples that contain the i-th pair ``weights[:, i]`` times; NaN where it is undefined."""
    sums = [
        np.einsum("si,si->s", weights @ matrix, weights) for matrix in (first * second, first * first, second * second)
    ]
    product = sums[1] * sums[2]
    taus: Floats = np.divide(sums[0], np.sqrt(product), out=np.full(len(weights), np.nan), where=product > 0)
    return taus


@dataclass(frozen=True, slots=True)
class Pairs:
    """Flawed sentences and their corrections.

    Attributes:
        flawed, corrected: the same facts in the same order.
        left_out: reasons of missing pairs, one message each.
    """

    flawed: Sequence[ClozeItem]
    corrected: Sequence[ClozeItem]
    left_out: Sequence[str] = ()


def read_pairs(graph: Graph, table: Path) -> Pairs:
    """Return the pairs of a table whose fact is in the graph. Cost: a walk from each subject.

    Raises:
        KgprobeError: the table is unreadable, or none of its facts is in the graph.
    """
    verbalizations, damaged = read_verbalizations(table)
    pairs, unpaired = pair_up(verbalizations)
    triples = [(pair.verbalization.subject, pair.verbalization.relation, pair.verbalization.object) for pair in pairs]
    keys = find_triples(graph, triples)
    if not keys:
        raise KgprobeError(f"None of the {len(pairs)} pairs of {table} is about a fact of this graph.")
    flawed, corrected = [], []
    for index, fact in zip(keys, describe_facts(graph, list(keys.values())), strict=True):
        flawed.append(ClozeItem(fact, [pairs[index].flawed]))
        corrected.append(ClozeItem(fact, [pairs[index].corrected]))
    left_out = [pair.reason for pair in unpaired]
    left_out += ["the graph has no such fact"] * (len(pairs) - len(keys))
    for place in damaged:
        reason = place.record.reason if isinstance(place.record, Rejected) else ""
        left_out.append(visible(f"line {place.line:,}: {reason}"))
    return Pairs(flawed, corrected, left_out)


def robustness_study(
    measures: Mapping[str, tuple[Scores, Scores]],
    pairs: int,
    left_out: Sequence[str],
    model: str,
    config: Mapping[str, Any],
    seed: int = 0,
) -> Study:
    """Compute τ of every measure in every configuration; table and plot have the largest configurations.

    Args:
        measures: measures of the flawed and of the corrected sentences, by name.
        pairs: number of pairs.
        left_out: reasons of missing pairs, one message each.
        seed: of the bootstrap over pairs.
    """
    data: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    reasons: list[str] = []
    for name, (before, after) in measures.items():
        reasons += [f"{name}: {reason}" for reason in {**before.reasons, **after.reasons}.values()]
        largest = largest_configurations(before.configurations)
        for column, options in enumerate(before.configurations):
            agreement = robustness(before.values[:, column], after.values[:, column], seed=seed)
            row = {
                "measure": name,
                "options": described(options),
                "τ": json_number(agreement.tau),
                "low": json_number(agreement.low),
                "high": json_number(agreement.high),
                "pairs": agreement.pairs,
                "left out": agreement.left_out,
            }
            data.append(row)
            if column in largest:
                shown.append(row)
    ordered = sorted(shown, key=lambda row: -2.0 if row["τ"] is None else row["τ"], reverse=True)
    categories = [Category(_title(row), row["τ"], row["low"], row["high"]) for row in ordered]
    tau = "Kendall's τ, flawed against corrected, with 95% intervals"
    return Study(
        name="robustness",
        verdict=_verdict(ordered),
        title=f"Robustness to verbalization errors · {model} · {pairs} pairs of sentences",
        data=data,
        table=ordered,
        plots=[CategoryPlot("Flawed sentences against corrected ones", tau, categories, (-1.0, 1.0))],
        notes=[
            "Each measure is shown with the greatest n and the widest beam, one row per aggregation: a default without"
            f" calibration. The data have all {len(data):,} configurations.",
            *counted_notes("Not paired", left_out),
            *counted_notes("No value", reasons),
        ],
        config=config,
    )


def largest_configurations(configurations: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the positions with the greatest numbers (n, beams), one for each combination of the other options."""
    largest: dict[tuple[Any, ...], tuple[list[Any], int]] = {}
    for place, options in enumerate(configurations):
        words = tuple(value for value in options.values() if isinstance(value, str))
        numbers = [value for value in options.values() if not isinstance(value, str)]
        largest[words] = max(largest.get(words, (numbers, place)), (numbers, place))
    return sorted(place for _, place in largest.values())


def _title(row: Mapping[str, Any]) -> str:
    return f"{row['measure']} ({row['options']})" if row["options"] else str(row["measure"])


def _verdict(ordered: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the most and the least robust measure."""
    valued = [row for row in ordered if row["τ"] is not None]
    if not valued:
        return "No measure orders these facts, so that robustness is undefined."
    extremes = [f"{_title(row)}, τ {Mean(row['τ'], row['low'], row['high'])}" for row in (valued[0], valued[-1])]
    if len(valued) == 1:
        return f"Flawed sentences against corrected ones: {extremes[0]}."
    return f"Flaws of sentences matter least to {extremes[0]}, and most to {extremes[1]}."
