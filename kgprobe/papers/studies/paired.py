"""Paired comparison of several ways of asking the same facts with the first of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from kgprobe.stats.paired_proportions import loss_interval, mcnemar
from kgprobe.stats.proportions import CONFIDENCE


def compare_with_first(right: Mapping[str, NDArray[np.bool_]]) -> dict[str, dict[str, Any]]:
    """Compare each way with the first: lost and gained facts, gain with Tango's interval, p of McNemar's exact test.

    >>> rows = compare_with_first({"a": np.array([True, True]), "b": np.array([True, False])})
    >>> rows["b"]["lost"], rows["b"]["gain"]
    (1, -0.5)

    Args:
        right: correctness of the facts by way, each of shape (facts,), in the same order of facts; at least two ways.

    Returns:
        ``lost``, ``gained``, ``gain``, ``low``, ``high`` and ``p`` by way; None in those of the first. p is adjusted
        over the ways (Benjamini and Hochberg).
    """
    answers, (first, *others) = np.array(list(right.values())), right
    lost, gained = (answers[0] & ~answers[1:]).sum(axis=1), (answers[1:] & ~answers[0]).sum(axis=1)
    low, high = loss_interval(lost, gained, answers.shape[1])
    columns = {"lost": lost, "gained": gained, "gain": (gained - lost) / answers.shape[1], "low": -high, "high": -low}
    columns["p"] = stats.false_discovery_control(mcnemar(lost, gained))
    return {first: dict.fromkeys(columns), **pd.DataFrame(columns, index=others).to_dict("index")}


def against_first(rows: Sequence[Mapping[str, Any]], name: str, value: str) -> str:
    """Return the value of the first row, and those of the others against it with their significance.

    Args:
        rows: of :func:`compare_with_first`, with their names and values in these columns.
    """
    first, *others = rows
    parts = [f"{row[name]} {row[value]} ({_significance(row)})" for row in others]
    return f"{first[name]} {first[value]}; against it {', '.join(parts)}."


def _significance(row: Mapping[str, Any]) -> str:
    """Return a row of :func:`compare_with_first` in words, such as ``surely worse, p = 0.01``."""
    result = "equal"
    if row["gain"]:
        sure = "surely" if row["p"] < 1 - CONFIDENCE else "not surely"
        result = f"{sure} {'better' if row['gain'] > 0 else 'worse'}"
    return f"{result}, p = {row['p']:.2g}"
