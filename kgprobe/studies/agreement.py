"""Agreement of measures by Kendall's τ: with people, and with themselves on flawed and corrected sentences.

Sections 4.2 and 4.3 of the distractor paper; docs/methods/studies.md. A measure has configurations (a number of
distractors, a number of beams, an aggregation). Calibration compares it with human scores: each fold of a
cross-validation selects the configuration with the highest τ on the other folds and reports its τ on its own facts.
Robustness compares its values on flawed sentences with those on their corrections, in every configuration.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.probes.clozes import ClozeItem
from kgprobe.records import Rejected
from kgprobe.report.plots import Category, CategoryPlot
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sanitize import visible
from kgprobe.stats.proportions import CONFIDENCE, Mean, unseen_share
from kgprobe.studies.measures import Scores, described, find_triples
from kgprobe.studies.study import Study, counted_notes, json_number
from kgprobe.verbalize.corrections import pair_up, read_verbalizations

Floats = NDArray[np.float64]

# Values of τ that differ by no more count as equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold.

    Attributes:
        best: position of the best configuration on the other folds; the first of equals.
        training: its τ on the other folds.
        tau: its τ on this fold.
        facts: number of facts in the fold.
    """

    best: int
    training: float
    tau: float
    facts: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """The agreement of a measure with human scores.

    Attributes:
        mean: mean τ of the folds, in [-1, 1]; higher is better.
        deviation: their standard deviation, with folds - 1 in the denominator.
        facts: number of facts with a human score and with a value in all configurations.
    """

    mean: float
    deviation: float
    folds: tuple[Fold, ...]
    facts: int


def calibrate(values: Floats, scores: Floats, *, folds: int = 3, seed: int = 0) -> Calibration:
    """Select a measure's configuration and compute its agreement with human scores, by cross-validation.

    A fact without a value in some configuration is left out of all, so that configurations share their facts. Folds
    are assigned before that: measures of the same facts with the same seed share their folds. Each row must be another
    fact; a repeated fact could be in training and test folds at once.

    Cost: folds x configurations x facts · log facts.

    Args:
        values: the measure of each fact, higher for better known; NaN where it has none. Shape (facts, configurations).
        scores: human scores, higher for better known; NaN where there is none. Shape (facts,).
        folds: number of folds, at least 2.
        seed: of the facts' order.

    Raises:
        KgprobeError: configurations are missing, or a fold would have fewer than 2 facts.
    """
    if values.ndim != 2 or values.shape[1] == 0 or scores.shape != values.shape[:1]:
        raise KgprobeError(
            f"Values of shape {values.shape} and scores of shape {scores.shape} cannot be calibrated: the shapes must"
            " be (facts, configurations) and (facts,)."
        )
    if folds < 2:
        raise KgprobeError(f"Cross-validation needs at least 2 folds, not {folds}.")
    fold_of = np.empty(len(scores), dtype=np.int64)
    fold_of[np.random.default_rng(seed).permutation(len(scores))] = np.arange(len(scores)) % folds
    kept = ~(np.isnan(scores) | np.isnan(values).any(axis=1))
    values, scores, fold_of = values[kept], scores[kept], fold_of[kept]
    scored = []
    for fold in range(folds):
        own = fold_of == fold
        facts = int(own.sum())
        if min(facts, len(own) - facts) < 2:
            raise KgprobeError(
                f"A fold of {facts} facts of {len(own)} is too small for τ, which needs at least 2 on both sides."
            )
        training = [agreement(column, scores[~own]) for column in values[~own].T]
        best = int(np.argmax(training))
        scored.append(Fold(best, training[best], agreement(values[own, best], scores[own]), facts))
    taus = np.array([fold.tau for fold in scored])
    return Calibration(float(taus.mean()), float(taus.std(ddof=1)), tuple(scored), len(scores))


def agreement(values: Floats, scores: Floats) -> float:
    """Return Kendall's τ-b, or 0 where all values or all scores are equal.

    Args:
        values, scores: shape (facts,), without NaN.
    """
    tau = float(stats.kendalltau(values, scores).statistic)
    return 0.0 if np.isnan(tau) else tau


class HumanScore(msgspec.Struct, frozen=True):
    """The human score of one fact.

    Attributes:
        subject, relation, object: ids.
        human_score: the share of people who judge that the model knows the fact, in [0, 1].
    """

    subject: str
    relation: str
    object: str
    human_score: Annotated[float, msgspec.Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class Scored:
    """Facts of a graph with human scores.

    Attributes:
        keys: keys of the facts.
        scores: their scores, shape (facts,).
        missing: messages on scores of facts that the graph lacks.
        repeated: number of further scores of a fact.
    """

    keys: Sequence[FactKey]
    scores: Floats
    missing: Sequence[str]
    repeated: int = 0


def read_human_scores(scores: str | Path | Sequence[Mapping[str, Any]]) -> list[HumanScore]:
    """Return human scores from a list of objects with subject, relation, object and human_score, or from a file.

    The file is JSON, or a table with a header, which determines the delimiter: comma, tab or semicolon.

    Raises:
        KgprobeError: the file cannot be read, or an entry has another form; the message names it.
    """
    where = scores if isinstance(scores, (str, Path)) else "`scores`"
    try:
        if not isinstance(scores, (str, Path)):
            return msgspec.convert(scores, type=list[HumanScore])
        content = Path(scores).read_bytes()
        if content.lstrip()[:1] in (b"[", b"{", b""):
            return msgspec.json.decode(content, type=list[HumanScore])
        return _read_table(Path(scores), content)
    except msgspec.ValidationError as error:
        raise KgprobeError(f"{where}: {error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KgprobeError(f"{where} is not valid JSON: {error}.") from error
    except (OSError, ValueError) as error:
        raise KgprobeError(f"{where} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _read_table(path: Path, content: bytes) -> list[HumanScore]:
    """Return the human scores of a table with a header; other columns are ignored."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise KgprobeError(f"{path} is not valid UTF-8: {error.reason} at byte {error.start}.") from error
    delimiter = max(",\t;", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = HumanScore.__struct_fields__
    scores = []
    try:
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise KgprobeError(f"{path}: column {', '.join(missing)} is missing; it needs {', '.join(columns)}.")
        for row in reader:
            needed = {column: row[column] for column in columns}
            scores.append(msgspec.convert(needed, HumanScore, strict=False))
    except msgspec.ValidationError as error:
        raise KgprobeError(f"{path}, line {reader.line_num}: {error}.") from error
    except csv.Error as error:
        raise KgprobeError(f"{path}, line {reader.line_num + 1}: not a table row: {error}.") from error
    return scores


def find_scored(graph: Graph, scores: Sequence[HumanScore]) -> Scored:
    """Return the facts of the graph that have human scores, in their order. Cost: a walk from each subject.

    A fact with several scores counts once, with their mean; otherwise it could be in several folds.
    """
    keys = find_triples(graph, [(score.subject, score.relation, score.object) for score in scores])
    missing = ["the graph has no such fact"] * (len(scores) - len(keys))
    by_fact: defaultdict[FactKey, list[float]] = defaultdict(list)
    for index, key in keys.items():
        by_fact[key].append(scores[index].human_score)
    means = np.array([np.mean(fact_scores) for fact_scores in by_fact.values()], dtype=np.float64)
    return Scored(list(by_fact), means, missing, repeated=len(keys) - len(by_fact))


def calibration_study(
    measures: Mapping[str, Scores],
    scored: Scored,
    model: str,
    config: Mapping[str, Any],
    *,
    folds: int = 3,
    seed: int = 0,
) -> Study:
    """Compute the agreement of every measure with people, ranked on the facts for which all of them have a value.

    Measures with too few values for the folds are left out. If too few common facts remain, the measures with the
    fewest values are left out one by one.

    Args:
        measures: measures of the facts, by name.
        scored: the facts with human scores.
        folds: number of folds.
        seed: of the facts' order, the same for every measure.
    """
    reasons: list[str] = []
    untried: list[str] = []
    own: dict[str, Calibration] = {}
    for name, measure in measures.items():
        reasons += [f"{name}: {reason}" for reason in measure.reasons.values()]
        try:
            own[name] = calibrate(measure.values, scored.scores, folds=folds, seed=seed)
        except KgprobeError as error:
            # A measure with few values must not stop the others.
            untried.append(f"{name} is left out. {error}")
    measured = {name: measures[name].values for name in own}
    ranked, dropped = _ranked(measured, scored.scores, folds, seed)
    table: list[dict[str, Any]] = []
    data: list[dict[str, Any]] = []
    for name, result in ranked.items():
        row: dict[str, Any] = {
            "measure": name,
            "mean τ": result.mean,
            "deviation": result.deviation,
            "facts": result.facts,
        }
        row |= {"own facts": own[name].facts, "τ on own facts": own[name].mean}
        for number, fold in enumerate(result.folds, start=1):
            best = described(measures[name].configurations[fold.best])
            row[f"best of fold {number}"] = best
            data.append(
                {"measure": name, "fold": number, "τ": fold.tau, "facts": fold.facts, "best": best}
                | {"τ in training": fold.training, "own facts": own[name].facts}
            )
        table.append(row)
    table.sort(key=lambda row: -row["mean τ"])
    categories = []
    for row in table:
        taus = [fold.tau for fold in ranked[row["measure"]].folds]
        categories.append(Category(row["measure"], row["mean τ"], min(taus), max(taus)))
    repeated = (
        f"{scored.repeated:,} scores are repetitions for a fact; a fact counts once, with the mean of its scores."
    )
    mean_tau = f"Kendall's τ, mean over {folds} folds; whiskers: the least and the greatest of them"
    return Study(
        name="calibration",
        title=f"Agreement with people · {model} · {len(scored.scores):,} facts",
        verdict=_calibration_verdict(table, folds),
        data=data,
        table=table,
        plots=[CategoryPlot("Agreement with people", mean_tau, categories, (-1.0, 1.0))],
        notes=[
            f"In each of {folds} folds, the best configuration on the other facts is tested on the fold's own facts.",
            *_judged_on(ranked, measured, len(scored.scores)),
            *untried,
            *dropped,
            *([repeated] if scored.repeated else []),
            *counted_notes("Not among them", scored.missing),
            *counted_notes("No value", reasons),
        ],
        config=config,
    )


def _ranked(
    measured: Mapping[str, Floats], scores: Floats, folds: int, seed: int
) -> tuple[dict[str, Calibration], list[str]]:
    """Return the calibration of measures on their common facts, and a sentence on each measure left out."""
    left = dict(measured)
    dropped: list[str] = []
    while left:
        common = _common(left.values())
        try:
            ranked = {}
            for name, values in left.items():
                ranked[name] = calibrate(np.where(common[:, None], values, np.nan), scores, folds=folds, seed=seed)
        except KgprobeError:
            fewest = _fewest(left)
            del left[fewest]
            dropped.append(f"{fewest} is not ranked: with it, {int(common.sum()):,} facts would be left for all.")
        else:
            return ranked, dropped
    return {}, dropped


def _common(measured: Iterable[Floats]) -> NDArray[np.bool_]:
    """Return a mask of the facts that have a value of all measures in each configuration."""
    common: NDArray[np.bool_] = np.all(~np.isnan(np.hstack(list(measured))), axis=1)
    return common


def _fewest(measured: Mapping[str, Floats]) -> str:
    return min(measured, key=lambda name: int(_common([measured[name]]).sum()))


def _judged_on(ranked: Mapping[str, Calibration], measured: Mapping[str, Floats], facts: int) -> list[str]:
    """Return a note on the number of ranked facts, and on the measure that reduces it most."""
    if not ranked:
        return []
    common = next(iter(ranked.values())).facts
    note = f"All are ranked on the {common:,} of {facts:,} facts for which each has a value; own facts: those of one."
    others = {name: measured[name] for name in ranked}
    fewest = _fewest(others)
    del others[fewest]
    if others and (more := int(_common(others.values()).sum())) > common:
        return [f"{note} Without {fewest} there would be {more:,}."]
    return [note]


def _calibration_verdict(table: Sequence[Mapping[str, Any]], folds: int) -> str:
    if not table:
        return "No measure has values for enough facts."
    best, *others = [f"{row['measure']} (τ {row['mean τ']:.3f} ± {row['deviation']:.3f})" for row in table]
    second = f", followed by {others[0]}" if others else ""
    return f"{best} agrees best with people{second}: means over {folds} folds of {table[0]['facts']:,} facts."


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
            result = robustness(before.values[:, column], after.values[:, column], seed=seed)
            row: dict[str, Any] = {"measure": name, "options": described(options)}
            for key, value in (("τ", result.tau), ("low", result.low), ("high", result.high)):
                row[key] = json_number(value)
            row |= {"pairs": result.pairs, "left out": result.left_out}
            data.append(row)
            if column in largest:
                shown.append(row)
    ordered = sorted(shown, key=lambda row: -2.0 if row["τ"] is None else row["τ"], reverse=True)
    categories = [Category(_title(row), row["τ"], row["low"], row["high"]) for row in ordered]
    tau = "Kendall's τ, flawed against corrected, with 95% intervals"
    return Study(
        name="robustness",
        verdict=_robustness_verdict(ordered),
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


def _robustness_verdict(ordered: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the most and the least robust measure."""
    valued = [row for row in ordered if row["τ"] is not None]
    if not valued:
        return "No measure orders these facts, so that robustness is undefined."
    extremes = [f"{_title(row)}, τ {Mean(row['τ'], row['low'], row['high'])}" for row in (valued[0], valued[-1])]
    if len(valued) == 1:
        return f"Flawed sentences against corrected ones: {extremes[0]}."
    return f"Flaws of sentences matter least to {extremes[0]}, and most to {extremes[1]}."
