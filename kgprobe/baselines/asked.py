"""What a baseline is asked, and what it says: one value for each cloze sentence, or why there is none.

The measure of a fact is the mean over its sentences; that is the caller's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgprobe.baselines.register import BySentence
from kgprobe.probes.clozes import ClozeItem
from kgprobe.verbalize.sentences import Cloze

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A cloze sentence about a fact.

    Attributes:
        names: its object's label and aliases; those of white space alone count for nothing.
    """

    cloze: Cloze
    names: tuple[str, ...]

    @property
    def continuations(self) -> list[str]:
        """The names as they fill the sentence's blank, each different one once."""
        return self.cloze.continuations(self.names)

    @property
    def forms(self) -> list[str]:
        """The names with and without what they take on in the blank (an article), each different one once."""
        return list(dict.fromkeys([*(name.strip() for name in self.names if name.strip()), *self.continuations]))


@dataclass(frozen=True, slots=True)
class Values:
    """A baseline's values.

    Attributes:
        values: one a sentence; NaN where there is none. Shape (sentences,).
        reasons: why there is none, by the sentence's position; a sentence without a value is not a wrong one.
    """

    values: Floats
    reasons: Mapping[int, str] = field(default_factory=dict)


NAMELESS = "its object has no name but white space"


def asked_of(items: Sequence[ClozeItem]) -> list[Asked]:
    """The sentences of facts, one fact's after the other's."""
    return [
        Asked(cloze, (item.fact.object_label, *item.fact.object_aliases)) for item in items for cloze in item.clozes
    ]


def single(values: Values) -> BySentence:
    """The values of a baseline that has no options."""
    return BySentence([{}], values.values[:, None], values.reasons)


def reason_for_none(continuations: Sequence[str], reasons: Mapping[int, str]) -> str | None:
    """Why a sentence has no value, which is one of all names together; None if it has one.

    Args:
        continuations: the names as they fill the blank.
        reasons: why the model cannot take a name, by its position.
    """
    return next(iter(reasons.values()), None) if continuations else NAMELESS
