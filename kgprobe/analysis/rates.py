"""How much of some facts a model knows: shares of facts, with intervals.

docs/methods/findings.md. A fact's own answers count, and nothing that neighbours propagated. Refusals, and answers
from which nothing can be read, count as wrong ones as in the paper; the rate without them is told beside it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgprobe.stats.proportions import Share, share
from kgprobe.stats.value_counts import HEAD, TAIL, TORSO, thirds_of

# Rows of a table of groups; those with most facts.
SHOWN_GROUPS = 20
DECADE = 10


def caveat_of(sampling: str | None) -> str | None:
    """What rates over a run's facts do not speak of, in a sentence; None where facts were drawn whatever the model did.

    Args:
        sampling: how the run chose its facts; None of a measurement.
    """
    chosen = {
        "hardest": "that the model probably fails on",
        "thompson": "that the model probably fails on",
        "information": "whose answers tell most",
    }
    if sampling not in chosen:
        return None
    return f"Rates are over facts {chosen[sampling]}, not over the graph."


@dataclass(frozen=True, slots=True)
class Group:
    """What a model did on some facts.

    Attributes:
        facts: how many were asked.
        win_rate: share with more own right answers than wrong ones.
        zero_sense_rate: share never answered right.
        guessed: the win rate, on average, of a guesser who is asked the same questions.
        heard: how many facts have an answer that is neither a refusal nor off the format.
        heard_win_rate: the win rate of these, by such answers alone; None where there are none.
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
        by: what they are: relation, entity, type, year.
        groups: those with most facts, at most ``SHOWN_GROUPS``; years in their order.
        left_out: how many groups there are beside them.
    """

    by: str
    groups: Sequence[Group]
    left_out: int


def group_of(name: str, examined: pd.DataFrame) -> Group:
    """What a model did on these facts.

    Args:
        examined: own answers, one row a fact, at least one: right, wrong, and of the wrong ones refused and off_format;
            and how probably a guesser would win it, guessed.
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
    """The facts in groups; a fact can be in several, or in none.

    Args:
        by: what the groups are.
        examined: see :func:`group_of`.
        keys: for each fact the keys of its groups, a list.
        names: what groups are called, by key.
        least: groups with fewer facts are left out.
    """
    told = dict(names)
    pairs = keys.explode().dropna()
    sizes = pairs.value_counts()
    # Of equal size those of the smaller key, whatever the order of the facts.
    large = sizes.index[sizes >= least]
    largest = sorted(large, key=lambda key: (-sizes[key], str(key)))[:SHOWN_GROUPS]
    groups = [group_of(told.get(key, str(key)), examined.loc[pairs.index[pairs == key]]) for key in largest]
    return Grouping(by, groups, len(sizes) - len(largest))


def by_popularity(examined: pd.DataFrame) -> Grouping:
    """The facts by thirds of their subjects' popularity, the most popular first; without it a fact is left out."""
    known = examined["popularity"].dropna()
    thirds = thirds_of(known.to_numpy(np.float64))
    found = grouped("popularity", examined, known.map(lambda value: [thirds.of(value)]), ())
    return Grouping(found.by, sorted(found.groups, key=lambda group: (HEAD, TORSO, TAIL).index(group.name)), 0)


def by_year(examined: pd.DataFrame, years: "pd.Series[Any]") -> Grouping:
    """The facts by year, or by decade where there are too many years; a fact without one is left out.

    Args:
        years: numbers or None, one a fact.
    """
    known = years.dropna().astype(int)
    if known.nunique() > SHOWN_GROUPS:
        known = known // DECADE * DECADE
        called = [(year, f"{year}s") for year in known.unique()]
    else:
        called = [(year, str(year)) for year in known.unique()]
    found = grouped("year", examined, known.map(lambda year: [year]), called)
    order = {name: year for year, name in called}
    return Grouping(found.by, sorted(found.groups, key=lambda group: order[group.name]), found.left_out)
