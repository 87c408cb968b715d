"""Classes of facts by a model's answers: SliCK's four classes, and the profile of a fact.

SliCK: Gekhman et al. 2024 (2405.05904), section 3. Profile: WikiProfile (2602.14080), with recognition among
distractors in place of the context that a fact appeared with. docs/methods/labels.md.
"""

from typing import NamedTuple

from scipy.stats import binom

from kgprobe.probes.recall.classes import class_of_answers

# Answers that a way of asking needs before it decides: fewer are too often right by luck.
FEWEST_ANSWERS = 3
# Probability of as many right answers by guessing, above which a fact is not encoded.
_LUCK = 0.05


class Counts(NamedTuple):
    """Right answers, all answers, and the probability of a right answer by guessing."""

    right: int
    answers: int
    chance: float = 0.0

    @property
    def decides(self) -> bool:
        """True if there are enough answers."""
        return self.answers >= FEWEST_ANSWERS

    @property
    def mostly_right(self) -> bool:
        """True if more than half of the answers are right."""
        return 2 * self.right > self.answers

    @property
    def beyond_chance(self) -> bool:
        """True if most answers are right, and guessing gives as many right ones with a probability below 5%."""
        return self.mostly_right and float(binom.sf(self.right - 1, self.answers, self.chance)) < _LUCK


NO_ANSWERS = Counts(0, 0)


def slick_class(greedy: Counts, sampled: Counts) -> str | None:
    """Return SliCK's class of a fact; None without greedy answers, or if samples would decide and there are none.

    >>> slick_class(Counts(10, 10), Counts(31, 160)), slick_class(Counts(0, 10), Counts(2, 160))
    ('highly known', 'weakly known')

    Greedy answers are one for each prompt with its own few-shot examples; sampled ones are at a temperature above 0,
    over the same prompts.
    """
    return class_of_answers(greedy.right, greedy.answers, sampled.right, sampled.answers)


def profile_class(recognised: Counts, recalled: Counts, thinking: Counts = NO_ANSWERS) -> str | None:
    """Return the profile of a fact; None if the answers do not decide.

    >>> profile_class(Counts(4, 4, chance=0.1), Counts(0, 3))
    'encoded, not recalled'

    A recalled fact is encoded, whatever its recognition. Without answers with thinking, a fact that is recalled by
    thinking only is among those that are not recalled.

    ``recognised`` answers choose between the object and distractors, with a ``chance`` of one over the choices; the
    others are to direct questions.
    """
    if not recalled.decides:
        return None
    if recalled.mostly_right:
        return "recalled"
    if thinking.decides and thinking.mostly_right:
        return "recalled by thinking only"
    if not recognised.decides:
        return None
    return "encoded, not recalled" if recognised.beyond_chance else "not encoded"
