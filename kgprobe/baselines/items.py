"""Input and output of a baseline: cloze sentences, and one value (or a reason) for each.

The caller takes the mean over a fact's sentences.
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
class BaselineItem:
    """A cloze sentence about a fact.

    Attributes:
        names: label and aliases of the fact's object; names of white space alone are ignored.
    """

    cloze: Cloze
    names: tuple[str, ...]

    @property
    def continuations(self) -> list[str]:
        """The distinct names as they fill the sentence's blank."""
        return self.cloze.continuations(self.names)

    @property
    def stripped(self) -> list[str]:
        """The names without surrounding white space."""
        return [name.strip() for name in self.names if name.strip()]

    @property
    def forms(self) -> list[str]:
        """The distinct names, with and without the article that they take in the blank."""
        return list(dict.fromkeys([*self.stripped, *self.continuations]))


@dataclass(frozen=True, slots=True)
class Values:
    """A baseline's values.

    Attributes:
        values: shape (sentences,); NaN where a sentence has none.
        reasons: why a sentence has no value, by its position. Such a sentence does not count as wrong.
    """

    values: Floats
    reasons: Mapping[int, str] = field(default_factory=dict)


NAMELESS = "all names of its object are white space"


def baseline_items(facts: Sequence[ClozeItem]) -> list[BaselineItem]:
    """Return the sentences of the facts, in the order of the facts."""
    items: list[BaselineItem] = []
    for fact in facts:
        names = (fact.fact.object_label, *fact.fact.object_aliases)
        items.extend(BaselineItem(cloze, names) for cloze in fact.clozes)
    return items


def single(values: Values) -> BySentence:
    """Return the values as those of a baseline without options."""
    return BySentence([{}], values.values[:, None], values.reasons)


def reason_for_none(continuations: Sequence[str], reasons: Mapping[int, str]) -> str | None:
    """Return why a sentence has no value over all of its names; None if it has one.

    Args:
        continuations: the names as they fill the blank.
        reasons: why the model cannot score a name, by its position.
    """
    return next(iter(reasons.values()), None) if continuations else NAMELESS
