"""Mean Min@n and Avg@n over facts as curves in n, with bootstrap bands.

docs/methods/distractors.md: K(f) is the mean over a fact's cloze sentences; a curve is the mean of K over the asked
facts. A fact with fewer than n distractors counts with the distractors it has.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.probes.confidence import mean_by_fact
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.stats.proportions import CONFIDENCE, Mean, unseen_share
from kgprobe.tables import Table

Floats = NDArray[np.float64]
Aggregation = Literal["min", "avg"]

_REPLICATES_AT_ONCE = 200

# The values of n in tables; curves have every n.
SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Measured:
    """Min@n and Avg@n of many facts, for every n at once.

    Attributes:
        facts: ids, shape (facts,).
        min_at_n, avg_at_n: K(f) by either aggregation, shape (facts, n).
        chance: probability that a guess beats a sentence's first n distractors, averaged over a fact's sentences, shape
            (facts, n).
        present: minimum number of distractors over a fact's sentences, shape (facts,).
        former: number of distractors that were right once, shape (facts,).
        former_at: share of a fact's sentences whose distractor at each position was right once, shape (facts, n); NaN
            where none has so many distractors.
        unlike: number of distractors without a common feature with the object, shape (facts,); see
            :class:`~.evidence.Rival`.
        certified: share of the distractors that are proved to be the most plausible, in their order; None if the
            strategy gives no proof.
        unaskable: number of facts that could not be asked, by reason.
    """

    facts: tuple[str, ...]
    min_at_n: Floats
    avg_at_n: Floats
    chance: Floats
    present: NDArray[np.int64]
    former: NDArray[np.int64]
    former_at: Floats
    unlike: NDArray[np.int64]
    certified: float | None
    unaskable: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Curve:
    """Mean over facts for n = 1, 2, …, with a band; each of shape (n,). A single fact has NaN bounds."""

    mean: Floats
    low: Floats
    high: Floats


def measured(outcomes: Iterable[Outcome], count: int) -> Measured:
    """Return the measures of every fact by its outcome. Memory: 32 bytes per fact and n.

    Args:
        outcomes: outcomes of the probe; a fact that was asked several times has several rows.
        count: maximum n.
    """
    rows: list[tuple[Any, ...]] = []
    certified = total = 0
    proves = False
    unaskable: Counter[str] = Counter()
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, DistractorEvidence):
            unaskable[str(outcome.reason)] += 1
            continue
        means = evidence.min_at_n(count).mean(axis=0), evidence.avg_at_n(count).mean(axis=0)
        numbers = min(evidence.present, count), evidence.former, evidence.unlike(count)
        curves = evidence.chance_at_n(count), evidence.former_at(count)
        rows.append((outcome.fact.fact, *means, *curves, *numbers))
        for sentence in evidence.sentences:
            if sentence.certified is not None:
                proves = True
                rivals = min(len(sentence.rivals), count)
                certified += min(sentence.certified, rivals)
                total += rivals
    facts, mins, avgs, chances, former_at, present, former, unlike = zip(*rows, strict=True) if rows else [()] * 8
    return Measured(
        facts=tuple(facts),
        min_at_n=np.array(mins).reshape(-1, count),
        avg_at_n=np.array(avgs).reshape(-1, count),
        chance=np.array(chances).reshape(-1, count),
        present=np.array(present, dtype=np.int64),
        former=np.array(former, dtype=np.int64),
        former_at=np.array(former_at).reshape(-1, count),
        unlike=np.array(unlike, dtype=np.int64),
        certified=certified / total if proves else None,
        unaskable=dict(unaskable.most_common()),
    )


def common_facts(measured: Sequence[Measured]) -> list[str]:
    """Return the ids of the facts that were asked in all of the measurements, sorted.

    Raises:
        KgprobeError: there are none.
    """
    common = sorted(set.intersection(*(set(measurement.facts) for measurement in measured)))
    if not common:
        raise KgprobeError("No fact could be asked in all of these measurements; `kgprobe probe distractors` says why.")
    return common


def values_of(measured: Measured, facts: Sequence[str], aggregation: Aggregation) -> Floats:
    """Return K of some facts by an aggregation, shape (facts, n)."""
    place = {fact: row for row, fact in enumerate(measured.facts)}
    values: Floats = measured.min_at_n if aggregation == "min" else measured.avg_at_n
    return values[[place[fact] for fact in facts]]


def former_shares(measured: Measured, facts: Sequence[str]) -> Floats:
    """Return the share of some facts whose distractor at each position was right once, shape (n,).

    Only facts with so many distractors count; NaN without one.
    """
    place = {fact: row for row, fact in enumerate(measured.facts)}
    former = measured.former_at[[place[fact] for fact in facts]]
    present = ~np.isnan(former)
    sums, counts = np.where(present, former, 0.0).sum(axis=0), present.sum(axis=0)
    shares: Floats = np.divide(sums, counts, out=np.full(former.shape[1], np.nan), where=counts > 0)
    return shares


def mean_curve(values: Floats, seed: int = 0, replicates: int = 1000, *, least: float = 0.0) -> Curve:
    """Return the mean over facts with a 95% band; a single fact has no band.

    The band is the percentile bootstrap over facts. If all values are equal, the bootstrap band has no width, although
    chance may have hidden facts with other values. So the band is extended to the means that would result if the
    largest hidden share (:func:`~kgprobe.stats.proportions.unseen_share`) had the minimum, or the maximum, value. For
    values that are all 1 this is Wilson's interval.

    Cost: replicates x facts x n, in blocks of bounded memory.

    Args:
        values: K(f), shape (facts, n), at least one fact.
        seed: random seed; the same seed resamples the same facts for curves over equally many facts.
        replicates: number of bootstrap samples.
        least: minimum possible value, -1 for differences; the maximum is 1.
    """
    facts = len(values)
    mean: Floats = values.mean(axis=0)
    if facts == 1:
        return Curve(mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan))
    generator = np.random.default_rng(seed)
    means = np.empty((replicates, values.shape[1]))
    for first in range(0, replicates, _REPLICATES_AT_ONCE):
        block = means[first : first + _REPLICATES_AT_ONCE]
        # The mean of a sample depends only on how often each fact is drawn.
        block[:] = generator.multinomial(facts, np.full(facts, 1 / facts), size=len(block)) @ values / facts
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    unseen = unseen_share(facts)
    return Curve(mean, np.minimum(low, mean - unseen * (mean - least)), np.maximum(high, mean + unseen * (1 - mean)))


def curve_rows(curve: Curve) -> list[dict[str, Any]]:
    """Return a curve as rows of ``n``, ``mean``, ``low``, ``high``; the last two are None without a band."""
    rows = []
    for n in range(1, len(curve.mean) + 1):
        mean = mean_at(curve, n)
        rows.append({"n": n, "mean": mean.value, "low": mean.low, "high": mean.high})
    return rows


def shown_numbers(count: int) -> list[int]:
    """Return the values of n that a table shows, up to and including ``count``."""
    return [*(n for n in SHOWN if n < count), count]


def mean_at(curve: Curve, n: int) -> Mean:
    """Return a curve's mean at n, with its band if there is one."""
    low, high = (None if np.isnan(bound[n - 1]) else float(bound[n - 1]) for bound in (curve.low, curve.high))
    return Mean(float(curve.mean[n - 1]), low, high)


def curve_tables(outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> list[Table]:
    """Return a table of both aggregations at some n, over the asked facts; no table if there are none.

    A fact that was asked several times, in the rounds of a run, counts once, with the mean of its questions.

    Args:
        described: the probe's description.
    """
    count = described["distractors"]
    measures = measured(outcomes, count)
    if not measures.facts:
        return []
    facts = len(set(measures.facts))
    least = mean_curve(mean_by_fact(measures.facts, measures.min_at_n))
    average = mean_curve(mean_by_fact(measures.facts, measures.avg_at_n))
    chance = mean_by_fact(measures.facts, measures.chance).mean(axis=0)
    rows: list[dict[str, Any]] = []
    for n in shown_numbers(count):
        least_at, average_at, by_chance = mean_at(least, n), mean_at(average, n), float(chance[n - 1])
        rows.append({"n": n, "Min@n": least_at, "by chance": by_chance, "Avg@n": average_at})
    fewer = len(set(np.array(measures.facts)[measures.present < count]))
    notes = [f"{fewer:,} facts have fewer than {count} distractors; they count with those they have."] if fewer else []
    notes += unlike_notes(measures)
    over = "one fact" if facts == 1 else f"means over {facts:,} facts, with {CONFIDENCE:.0%} bands"
    return [Table("curves", f"By the number of distractors: {over}", rows, notes)]


def unlike_notes(measured: Measured) -> list[str]:
    """Return a note on distractors that do not resemble the object, taken for lack of similar ones; none if all do."""
    unlike = f"{measured.unlike.sum():,} of {measured.present.sum():,} distractors share no feature with the object"
    return [f"{unlike}: they come last, in random order."] if measured.unlike.any() else []
