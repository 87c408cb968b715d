"""Paired comparison of several ways of asking the same facts with the first of them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.base.intervals import Mean, Share
from kgprobe.stats.paired_proportions import loss_interval, mcnemar
from kgprobe.stats.proportions import CONFIDENCE


class PairedDifference(NamedTuple):
    """A way of asking compared with the first one; all None for the first itself.

    Attributes:
        lost, gained: numbers of facts that only the first, and only this way, has right.
        gain: difference of the shares of right facts with Tango's 95% interval.
        p: p-value of McNemar's exact test, adjusted over the ways (Benjamini and Hochberg).
    """

    lost: int | None = None
    gained: int | None = None
    gain: Mean | None = None
    p: float | None = None

    def __str__(self) -> str:
        """Return the significance, such as ``surely worse, p = 0.01``."""
        result = "equal"
        if self.gain is None or self.p is None:
            return result
        if self.gain.value:
            sure = "surely" if self.p < 1 - CONFIDENCE else "not surely"
            result = f"{sure} {'better' if self.gain.value > 0 else 'worse'}"
        return f"{result}, p = {self.p:.2g}"


def compare_with_first(right: Mapping[str, NDArray[np.bool_]]) -> dict[str, PairedDifference]:
    """Compare each way with the first.

    >>> rows = compare_with_first({"a": np.array([True, True]), "b": np.array([True, False])})
    >>> rows["b"].lost, rows["b"].gain.value
    (1, -0.5)

    Args:
        right: correctness of the facts by way, each of shape (facts,), in the same order of facts; at least two ways.
    """
    answers, (first, *others) = np.array(list(right.values())), right
    lost, gained = (answers[0] & ~answers[1:]).sum(axis=1), (answers[1:] & ~answers[0]).sum(axis=1)
    low, high = loss_interval(lost, gained, answers.shape[1])
    ends = np.stack([(gained - lost) / answers.shape[1], -high, -low], axis=1).tolist()
    p = stats.false_discovery_control(mcnemar(lost, gained))
    differences = {first: PairedDifference()}
    columns = (lost.tolist(), gained.tolist(), [Mean(*gain) for gain in ends], p.tolist())
    differences |= dict(zip(others, map(PairedDifference, *columns), strict=True))
    return differences


def against_first(shares: Mapping[str, Share], differences: Mapping[str, PairedDifference]) -> str:
    """Return the share of the first way, and those of the others against it with their significance."""
    first, *others = [f"{way} {share}" for way, share in shares.items()]
    significance = list(map(str, differences.values()))[1:]
    parts = [f"{other} ({own})" for other, own in zip(others, significance, strict=True)]
    return f"{first}; against it {', '.join(parts)}."
