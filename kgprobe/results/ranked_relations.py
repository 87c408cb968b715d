"""Relations that a model knows significantly worse or better than all facts.

docs/methods/findings.md. Levels are Holm's over all ranked relations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from scipy import special

from kgprobe.base.intervals import Share
from kgprobe.beliefs.graph_rates import GroupRate
from kgprobe.beliefs.group_rates import Grouping, GroupRates
from kgprobe.stats.paired_proportions import holm_levels
from kgprobe.stats.proportions import CONFIDENCE

# A relation with fewer facts, or with a wider interval, is not ranked.
_LEAST, _WIDEST = 5, 0.5
_RELATIONS = 3


@dataclass(frozen=True, slots=True)
class RankedRelations:
    """The relations that the model knows significantly worse or better than all facts.

    Attributes:
        least: at most three, the least known first; empty if the ranked relations have fewer than half of the facts.
        best: the same, the best known first.
        ranked: number of relations with a rate: over the graph those with a narrow interval, else those with at least
            five asked facts.
        relations: number of all relations.
    """

    least: Sequence[GroupRates | GroupRate]
    best: Sequence[GroupRates | GroupRate]
    ranked: int
    relations: int

    @property
    def of(self) -> str:
        """The number of ranked relations, and of all if these are more."""
        return f"{self.ranked:,}" if self.ranked == self.relations else f"{self.ranked:,} of {self.relations:,}"

    @property
    def least_text(self) -> str:
        """The least known relations in words; empty without any."""
        return self._text("Least", self.least)

    @property
    def best_text(self) -> str:
        """The best known relations in words; empty without any."""
        return self._text("Best", self.best)

    def _text(self, title: str, groups: Sequence[GroupRates | GroupRate]) -> str:
        return f"{title} known of {self.of} relations: {', '.join(map(_rate_text, groups))}" if groups else ""


def rank_relations(grouping: Grouping[Any], whole: float, facts: int) -> RankedRelations:
    """Return the relations that are known least and best.

    A relation differs from all facts if the interval of its rate, at Holm's level for all ranked relations, does not
    contain their rate.

    Args:
        grouping: rates over the graph, or of the asked facts.
        whole: the rate of all facts.
        facts: number of all facts.
    """
    groups = sorted(filter(_is_ranked, grouping.groups), key=lambda group: (rate_of(group).value, group.name))
    least: list[Any] = []
    best: list[Any] = []
    if groups and 2 * sum(group.facts for group in groups) >= facts:
        p_values = np.array([_p_value(rate_of(group), whole) for group in groups])
        differs = p_values < holm_levels(p_values, 1 - CONFIDENCE)
        least = [group for group in compress(groups, differs) if rate_of(group).value < whole]
        best = [group for group in compress(groups[::-1], differs[::-1]) if rate_of(group).value > whole]
    return RankedRelations(least[:_RELATIONS], best[:_RELATIONS], len(groups), len(grouping.groups) + grouping.left_out)


def _p_value(rate: Share, whole: float) -> float:
    """Return the two-sided p-value of a rate against that of all facts, by the reach of its interval towards it."""
    reach = rate.high - rate.value if rate.value < whole else rate.value - rate.low
    if reach <= 0:
        return float(rate.value == whole)
    return math.erfc(abs(rate.value - whole) / reach * -special.ndtri((1 - CONFIDENCE) / 2) / math.sqrt(2))


def rate_of(group: GroupRates | GroupRate) -> Share:
    """Return the share of a group that is known."""
    return group.win_rate if isinstance(group, GroupRates) else group.right


def _is_ranked(group: GroupRates | GroupRate) -> bool:
    """Return whether a relation has enough facts, or a narrow interval."""
    return group.facts >= _LEAST if isinstance(group, GroupRates) else group.width <= _WIDEST


def _rate_text(group: GroupRates | GroupRate) -> str:
    if isinstance(group, GroupRates):
        return f"{group.name} {group.win_rate.value:.0%} of {group.facts:,}"
    return f"{group.name} {group.right}"
