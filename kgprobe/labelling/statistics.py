"""Statistics of a label table: accuracy in each way, classes of a guesser, calibration of the probabilities.

docs/methods/labels.md. They need the stored answers, so that they are computed once and stored next to the table.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Annotated

import msgspec
from scipy.stats import binom

from kgprobe.base.files import read_json
from kgprobe.base.intervals import Percent, Share
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.labelling.answers import AnswersByFact
from kgprobe.labelling.classes import Counts
from kgprobe.labelling.prediction import Calibration
from kgprobe.labelling.settings import REMEDY, STATISTICS
from kgprobe.labelling.table import PROFILE, SLICK
from kgprobe.labelling.ways import PROFILED, RECALL, SAMPLED
from kgprobe.stats.proportions import mean_share


@dataclass(frozen=True, slots=True)
class WayRate(ResultRow):
    """Accuracy in one way of asking.

    Attributes:
        right: mean share of right answers; None without answers.
        guessed: mean chance level of the answers; None if it is unknown.
    """

    way: Annotated[str, Heading("way", lambda way: way.replace("_", " "))]
    facts: Annotated[int, Heading("asked")]
    answered: Annotated[int, Heading("answered")]
    right: Annotated[Share | None, Heading("right")]
    guessed: Annotated[float | None, Heading("by guessing", Percent)]


class LabelStatistics(msgspec.Struct, frozen=True):
    """Statistics of a label table.

    Attributes:
        guessed: expected share of each class for a guesser, by scheme; schemes without deciding answers are missing.
        calibration: of the probabilities; None for too few facts.
    """

    ways: Sequence[WayRate] = ()
    guessed: Mapping[str, Mapping[str, float]] = {}
    calibration: Calibration | None = None


def statistics_of(answers: AnswersByFact, calibration: Calibration | None) -> LabelStatistics:
    """Return the statistics of a table. Cost: one pass over the answers."""
    facts = list(dict.fromkeys(chain.from_iterable(own for name, own in answers.columns.items() if name != SAMPLED)))
    guessed = {
        "slick": _mean_classes(
            _slick_by_guessing(answers.of(fact, RECALL), answers.of(fact, SAMPLED)) for fact in facts
        ),
        "profile": _mean_classes(
            _profile_by_guessing(*(answers.of(fact, *columns) for columns in PROFILED)) for fact in facts
        ),
    }
    return LabelStatistics(
        _way_rates(answers), {name: shares for name, shares in guessed.items() if shares}, calibration
    )


def read_statistics(folder: Path) -> LabelStatistics:
    """Return the statistics of a table; empty if it has none, as a table that another program wrote."""
    try:
        return read_json(folder / STATISTICS, LabelStatistics, REMEDY)
    except FileNotFoundError:
        return LabelStatistics()


def _way_rates(answers: AnswersByFact) -> list[WayRate]:
    rates = []
    for column, facts in answers.columns.items():
        shares = [own.right / own.answers for own in facts.values()]
        right = mean_share(shares) if shares else None
        rates.append(WayRate(column, answers.asked[column], len(shares), right, answers.guessed.get(column)))
    return rates


def _slick_by_guessing(greedy: Counts, sampled: Counts) -> dict[str, float] | None:
    """Return the probability of each of SliCK's classes by guessing; None if the answers do not decide."""
    if not greedy.answers or not sampled.answers:
        return None
    highly = greedy.chance**greedy.answers
    none = (1 - greedy.chance) ** greedy.answers
    none_sampled = (1 - sampled.chance) ** sampled.answers
    return dict(zip(SLICK, (highly, 1 - highly - none, none * (1 - none_sampled), none * none_sampled), strict=True))


def _profile_by_guessing(recognised: Counts, recalled: Counts, thinking: Counts) -> dict[str, float] | None:
    """Return the probability of each profile by guessing; None if the answers do not decide."""
    if not recalled.decides or not recognised.decides:
        return None
    direct = _mostly_right(recalled.answers, recalled.chance)
    thought = _mostly_right(thinking.answers, thinking.chance) if thinking.decides else 0.0
    encoded = _beyond_chance(recognised.answers, recognised.chance)
    rest = (1 - direct) * (1 - thought)
    shares = (direct, (1 - direct) * thought, rest * encoded, rest * (1 - encoded))
    return dict(zip(PROFILE, shares, strict=True))


@cache
def _mostly_right(answers: int, chance: float) -> float:
    """Return the probability that a guesser has most answers right."""
    return float(binom.sf(answers // 2, answers, chance))


@cache
def _beyond_chance(answers: int, chance: float) -> float:
    """Return the probability that a guesser's answers count as beyond chance."""
    luck = [float(binom.pmf(right, answers, chance)) for right in range(answers + 1)]
    return sum(luck[right] for right in range(answers + 1) if Counts(right, answers, chance).beyond_chance)


def _mean_classes(guessed: Iterable[Mapping[str, float] | None]) -> dict[str, float]:
    """Return the mean probability of each class; empty without facts."""
    by_class: defaultdict[str, list[float]] = defaultdict(list)
    for shares in guessed:
        for name, value in (shares or {}).items():
            by_class[name].append(value)
    return {name: fmean(values) for name, values in by_class.items()}
