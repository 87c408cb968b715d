"""Shares of facts that a model knows, with intervals, overall and by group.

docs/methods/findings.md. Only a fact's own answers count; propagated beliefs do not. Refusals and answers off the
format count as wrong, as in the paper; the rate without them is reported next to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, TypeVar

import numpy as np
import pandas as pd

from kgprobe.base.intervals import Percent, Points, Share
from kgprobe.base.tables import Heading, ResultRow, Table
from kgprobe.sampling.years import YearSource
from kgprobe.stats.paired_proportions import signed_mean
from kgprobe.stats.proportions import mean_share, share
from kgprobe.stats.value_counts import HEAD, TAIL, TORSO, thirds_of

# Maximum number of groups in a table: the largest.
SHOWN_GROUPS = 20
DECADE = 10


@dataclass(frozen=True, slots=True)
class GroupRates(ResultRow):
    """Rates of a group of facts.

    Attributes:
        win_rate: share with more own right answers than wrong ones.
        zero_sense_rate: share never answered right.
        guessed: expected win rate of a guesser on the same questions.
        heard: number of facts with an answer that is neither a refusal nor off the format.
        heard_win_rate: the win rate of these facts by such answers; None where there are none.
    """

    name: str
    facts: Annotated[int, Heading("facts")]
    win_rate: Annotated[Share, Heading("win rate")]
    zero_sense_rate: Annotated[Share, Heading("zero-sense rate")]
    guessed: Annotated[float, Heading("by guessing", Percent)]
    heard: int
    heard_win_rate: Annotated[Share | None, Heading("win rate, heard")]
    group: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerRates(ResultRow):
    """Answers in words about a group of facts: means over the facts, each with the shares of its answers.

    Attributes:
        off_format: share that is neither right nor wrong by its form; counts as wrong.
        net_score: share right minus share wrong; refusals count 0.
        unplaced: share of texts that neither name anything nor are read as refusals.
    """

    name: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    right: Annotated[float, Heading("right", Percent)]
    wrong: Annotated[float, Heading("wrong", Percent)]
    refused: Annotated[Share, Heading("refused")]
    off_format: Annotated[float, Heading("off the format", Percent)]
    net_score: Annotated[Points, Heading("net score")]
    unplaced: Annotated[Share, Heading("not placed")]


def net_scores(facts: pd.DataFrame) -> pd.Series:
    """Return each fact's right answers minus its wrong ones, refusals left out, as a share of its answers."""
    return (facts["right"] - facts["wrong"] + facts["refused"]) / (facts["right"] + facts["wrong"])


def answer_rates(name: str, facts: pd.DataFrame) -> AnswerRates:
    """Return the rates of facts as :func:`group_of` gets them, with numbers of texts and of unplaced ones."""
    answers = facts["right"] + facts["wrong"]
    shares = {column: facts[column] / answers for column in ("right", "wrong", "refused", "off_format")}
    return AnswerRates(
        name,
        len(facts),
        float(shares["right"].mean()),
        float((shares["wrong"] - shares["refused"] - shares["off_format"]).mean()),
        mean_share(shares["refused"].tolist()),
        float(shares["off_format"].mean()),
        signed_mean(net_scores(facts).to_numpy(np.float64)),
        mean_share((facts["unplaced"] / facts["texts"]).tolist()),
    )


def answers_table(rates: Sequence[AnswerRates]) -> Table:
    """Return the rates of all facts and of relations as a table."""
    notes = [
        "Net score: share right minus share wrong, in points; refusals count 0, answers off the format as wrong. Not"
        " placed: neither a name of the relation, a yes or a no, nor read as a refusal."
    ]
    return Table("answers", "Right, wrong and refused", [row.cells() for row in rates], notes)


Row = TypeVar("Row", bound=ResultRow)


@dataclass(frozen=True, slots=True)
class Grouping(Generic[Row]):
    """Groups of one kind.

    Attributes:
        by: kind of the groups: relation, entity, type, popularity, year, templates.
        groups: the largest groups, at most ``SHOWN_GROUPS``; thirds and years in their order.
        source: source of the years; None for other kinds.
    """

    by: str
    groups: Sequence[Row]
    left_out: int
    source: YearSource | None = None


def group_of(name: str, facts: pd.DataFrame, group: str | None = None) -> GroupRates:
    """Return the rates of facts.

    Args:
        facts: one row per fact, at least one, with numbers of own answers (right, wrong, and among the wrong ones
            refused and off_format) and a guesser's probability to win it (guessed).
    """
    readable = facts["wrong"] - facts["refused"] - facts["off_format"]
    heard = facts["right"] + readable > 0
    wins = int((facts["right"] > facts["wrong"]).sum())
    heard_wins = int((facts["right"] > readable)[heard].sum())
    return GroupRates(
        name,
        len(facts),
        share(wins, len(facts)),
        share(int((facts["right"] == 0).sum()), len(facts)),
        float(facts["guessed"].mean()),
        int(heard.sum()),
        share(heard_wins, int(heard.sum())) if heard.any() else None,
        group,
    )


def grouped(
    by: str, facts: pd.DataFrame, keys: "pd.Series[Any]", names: Iterable[tuple[Any, str]] = (), least: int = 1
) -> Grouping[GroupRates]:
    """Return facts in groups; a fact can be in several, or in none.

    Args:
        by: kind of the groups.
        keys: each fact's group key, or the list of its keys.
        names: pairs of a group's key and name; a missing name is replaced by the key.
        least: minimum number of facts in a group.
    """
    name_of = dict(names)
    pairs = keys.explode().dropna()
    sizes = pairs.value_counts()
    # Ties go to the smaller key, so that the order of the facts does not matter.
    large = sizes.index[sizes >= least]
    largest = sorted(large, key=lambda key: (-sizes[key], str(key)))[:SHOWN_GROUPS]
    groups = [group_of(name_of.get(key, str(key)), facts.loc[pairs.index[pairs == key]], str(key)) for key in largest]
    return Grouping(by, groups, len(sizes) - len(largest))


def by_popularity(facts: pd.DataFrame) -> Grouping[GroupRates]:
    """Group facts by thirds of their subjects' popularity, the most popular first; facts without it are left out."""
    known = facts["popularity"].dropna()
    thirds = thirds_of(known.to_numpy(np.float64))
    grouping = grouped("popularity", facts, known.map(thirds.of))
    return replace(grouping, groups=sorted(grouping.groups, key=lambda group: (HEAD, TORSO, TAIL).index(group.name)))


def by_year(facts: pd.DataFrame, years: "pd.Series[Any]") -> Grouping[GroupRates]:
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
    grouping = grouped("year", facts, known, names.items())
    return replace(grouping, groups=sorted(grouping.groups, key=lambda group: order[group.name]))
