"""Shares of facts that a model knows, with intervals, overall and by group.

docs/methods/findings.md. Only a fact's own answers count; propagated beliefs do not. Refusals and answers off the
format count as wrong, as in the paper; the rate without them is reported next to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kgprobe.stats.proportions import Share, share
from kgprobe.stats.value_counts import HEAD, TAIL, TORSO, thirds_of

# Maximum number of groups in a table: the largest.
SHOWN_GROUPS = 20
DECADE = 10


def caveat_of(sampling: str | None) -> str | None:
    """Return a sentence on the facts that a run's rates refer to; None if the model did not affect their choice.

    Args:
        sampling: the run's sampling rule; None for a measurement.
    """
    chosen = {
        "hardest": "that the model probably fails on",
        "thompson": "that the model probably fails on",
        "information": "whose answers are most informative",
    }
    if sampling not in chosen:
        return None
    return f"Rates are over facts {chosen[sampling]}, not over the graph."


@dataclass(frozen=True, slots=True)
class Group:
    """Rates of a group of facts.

    Attributes:
        facts: number of asked facts.
        win_rate: share with more own right answers than wrong ones.
        zero_sense_rate: share never answered right.
        guessed: expected win rate of a guesser on the same questions.
        heard: number of facts with an answer that is neither a refusal nor off the format.
        heard_win_rate: the win rate of these facts by such answers; None where there are none.
    """

    name: str
    facts: int
    win_rate: Share
    zero_sense_rate: Share
    guessed: float
    heard: int
    heard_win_rate: Share | None


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups of one kind.

    Attributes:
        by: kind of the groups: relation, entity, type, popularity, year.
        groups: the largest groups, at most ``SHOWN_GROUPS``; thirds and years in their order.
        left_out: number of other groups.
    """

    by: str
    groups: Sequence[Group]
    left_out: int


def group_of(name: str, examined: pd.DataFrame) -> Group:
    """Return the rates of these facts.

    Args:
        examined: one row per fact, at least one, with numbers of own answers (right, wrong, and among the wrong ones
            refused and off_format) and a guesser's probability to win it (guessed).
    """
    readable = examined["wrong"] - examined["refused"] - examined["off_format"]
    heard = examined["right"] + readable > 0
    wins = int((examined["right"] > examined["wrong"]).sum())
    heard_wins = int((examined["right"] > readable)[heard].sum())
    return Group(
        name,
        len(examined),
        share(wins, len(examined)),
        share(int((examined["right"] == 0).sum()), len(examined)),
        float(examined["guessed"].mean()),
        int(heard.sum()),
        share(heard_wins, int(heard.sum())) if heard.any() else None,
    )


def grouped(
    by: str, examined: pd.DataFrame, keys: "pd.Series[Any]", names: Iterable[tuple[Any, str]], least: int = 1
) -> Grouping:
    """Return the facts in groups; a fact can be in several, or in none.

    Args:
        by: kind of the groups.
        examined: see :func:`group_of`.
        keys: the list of each fact's group keys.
        names: pairs of a group's key and name; a missing name is replaced by the key.
        least: minimum number of facts in a group.
    """
    name_of = dict(names)
    pairs = keys.explode().dropna()
    sizes = pairs.value_counts()
    # Ties go to the smaller key, so that the order of the facts does not matter.
    large = sizes.index[sizes >= least]
    largest = sorted(large, key=lambda key: (-sizes[key], str(key)))[:SHOWN_GROUPS]
    groups = [group_of(name_of.get(key, str(key)), examined.loc[pairs.index[pairs == key]]) for key in largest]
    return Grouping(by, groups, len(sizes) - len(largest))


def by_popularity(examined: pd.DataFrame) -> Grouping:
    """Group facts by thirds of their subjects' popularity, the most popular first; facts without it are left out."""
    known = examined["popularity"].dropna()
    thirds = thirds_of(known.to_numpy(np.float64))
    grouping = grouped("popularity", examined, known.map(lambda value: [thirds.of(value)]), ())
    return replace(grouping, groups=sorted(grouping.groups, key=lambda group: (HEAD, TORSO, TAIL).index(group.name)))


def by_year(examined: pd.DataFrame, years: "pd.Series[Any]") -> Grouping:
    """Group facts by year, or by decade where there are too many years; facts without a year are left out.

    Args:
        years: numbers or None, one per fact.
    """
    known = years.dropna().astype(int)
    suffix = ""
    if known.nunique() > SHOWN_GROUPS:
        known, suffix = known // DECADE * DECADE, "s"
    names = {year: f"{year}{suffix}" for year in known.unique()}
    order = {name: year for year, name in names.items()}
    grouping = grouped("year", examined, known.map(lambda year: [year]), names.items())
    return replace(grouping, groups=sorted(grouping.groups, key=lambda group: order[group.name]))
