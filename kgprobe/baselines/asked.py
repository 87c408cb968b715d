"""What a baseline is asked, and what it says: one value for each cloze sentence, or why there is none.

The measure of a fact is the mean over its sentences; that is the caller's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError
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


def untakable(scorer: Scorer, asked: Sequence[Asked]) -> dict[int, str]:
    """Which sentences the model cannot be asked, and why, by their position: no name, or a text that it cannot take.

    Cost: one tokenization; where it fails, one more for each sentence.
    """
    reasons = {number: NAMELESS for number, one in enumerate(asked) if not one.continuations}
    rest = [number for number in range(len(asked)) if number not in reasons]
    try:
        _tokenize(scorer, [asked[number] for number in rest])
    except TextError:
        alone = {number: _reason(scorer, asked[number]) for number in rest}
        reasons |= {number: reason for number, reason in alone.items() if reason is not None}
    return reasons


def _reason(scorer: Scorer, asked: Asked) -> str | None:
    try:
        _tokenize(scorer, [asked])
    except TextError as error:
        return str(error)
    return None


def _tokenize(scorer: Scorer, asked: Sequence[Asked]) -> None:
    scorer.tokenize([one.cloze.prompt for one in asked], [one.continuations for one in asked])
